// Files are read whole and written whole or not at all.

#include "core/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "ringside/error.h"

namespace ringside {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("ringside-files-" + std::to_string(::getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::kDevice, "no error was thrown");
}

TEST_F(FilesTest, WritesReplacesAndReadsAnyBytes) {
  std::string bytes(200'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  write_whole_file(path("a"), "old");
  write_whole_file(path("a"), bytes);
  EXPECT_EQ(read_whole_file(path("a")), bytes);
  write_whole_file(path("empty"), "");
  EXPECT_EQ(read_whole_file(path("empty")), "");
  EXPECT_EQ(entries(), 2u) << "a partial file was left";
}

TEST_F(FilesTest, KeepsTheUsersPermissionsAndLinks) {
  const mode_t before = ::umask(027);
  write_whole_file(path("target"), "1");
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(path("target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  fs::create_symlink("target", path("link"));
  write_whole_file(path("link"), "2");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_whole_file(path("target")), "2");
  ASSERT_EQ(::stat(path("target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u) << "of the file that was replaced";
}

TEST_F(FilesTest, ALinkToWhatIsNotThereYetStays) {
  fs::create_symlink("second", path("first"));
  fs::create_symlink("file", path("second"));
  write_whole_file(path("first"), "1");
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_TRUE(fs::is_symlink(path("second")));
  EXPECT_EQ(read_whole_file(path("file")), "1");
  fs::create_symlink("circle", path("circle"));
  EXPECT_THROW(write_whole_file(path("circle"), "1"), Error);
  EXPECT_TRUE(fs::is_symlink(path("circle")));
}

TEST_F(FilesTest, ThreadsThatWriteOneFileLeaveOneOfTheirs) {
  const auto text_of = [](char letter) { return std::string(1 << 20, letter); };
  std::vector<std::thread> threads;
  for (const char letter : {'a', 'b', 'c'}) {
    threads.emplace_back([&, letter] {
      for (int i = 0; i < 5; ++i) write_whole_file(path("one"), text_of(letter));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string result = read_whole_file(path("one"));
  ASSERT_FALSE(result.empty());
  EXPECT_EQ(result, text_of(result.front()));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FilesTest, AFullDiskIsAnErrorAndTheDeviceStays) {
  const Error error = error_of([] { write_whole_file("/dev/full", "text"); });
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_STREQ(error.what(), "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(FilesTest, SaysWhichPathCannotBeWritten) {
  EXPECT_EQ(error_of([&] { write_whole_file(path("no/such/x"), "1"); }).kind(), ErrorKind::kIo);
  EXPECT_EQ(error_of([&] { write_whole_file(folder_.string(), "1"); }).kind(), ErrorKind::kIo);
  EXPECT_EQ(error_of([&] { write_whole_file("", "1"); }).kind(), ErrorKind::kIo);
  EXPECT_EQ(entries(), 0u);
}

TEST_F(FilesTest, AMissingInputIsBadInput) {
  const Error error = error_of([&] { read_whole_file(path("missing")); });
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
  EXPECT_EQ(std::string(error.what()),
            "cannot read " + path("missing") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { read_whole_file(folder_.string()); }).kind(), ErrorKind::kInvalidInput);
}

TEST_F(FilesTest, ALimitIsKept) {
  write_whole_file(path("a"), std::string(1000, 'x'));
  EXPECT_EQ(read_whole_file(path("a"), 1000).size(), 1000u);
  const Error longer = error_of([&] { read_whole_file(path("a"), 999); });
  EXPECT_EQ(longer.kind(), ErrorKind::kInvalidInput);
  EXPECT_EQ(std::string(longer.what()),
            "cannot read " + path("a") + ": it goes on after 999 bytes");
}

TEST_F(FilesTest, WhatNeverEndsIsRefused) {
  const Error endless = error_of([] { read_whole_file("/dev/zero"); });
  EXPECT_EQ(endless.kind(), ErrorKind::kInvalidInput);
  EXPECT_STREQ(endless.what(), "cannot read /dev/zero: it goes on after 268435456 bytes");
}

TEST_F(FilesTest, MakesDirectories) {
  make_directory(path("a/b/c"));
  make_directory(path("a/b/c"));
  EXPECT_TRUE(fs::is_directory(path("a/b/c")));
  write_whole_file(path("file"), "");
  EXPECT_EQ(error_of([&] { make_directory(path("file")); }).kind(), ErrorKind::kIo);
  EXPECT_EQ(error_of([&] { make_directory(path("file/below")); }).kind(), ErrorKind::kIo);
  EXPECT_EQ(error_of([] { make_directory(""); }).kind(), ErrorKind::kIo);
}

}  // namespace
}  // namespace ringside
