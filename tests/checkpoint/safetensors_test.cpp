// Files in the safetensors format: what is written is read, and follows the format's text.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/small_file.h"
#include "core/files.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"
#include "support/error_text.h"

namespace ringside::test {
namespace {

TEST(Safetensors, WhatIsWrittenIsRead) {
  const SafetensorsFile written = small_file();
  const SafetensorsFile read = parse_safetensors(to_safetensors(written), "t");
  EXPECT_EQ(read.header.metadata, written.header.metadata);
  ASSERT_EQ(read.header.entries.size(), written.header.entries.size());
  for (const SafetensorsEntry& entry : written.header.entries) {
    const SafetensorsEntry* found = read.header.find(entry.name);
    ASSERT_NE(found, nullptr) << entry.name;
    EXPECT_EQ(found->dtype, entry.dtype);
    EXPECT_EQ(found->shape, entry.shape);
    const auto before = written.bytes_of(entry);
    const auto after = read.bytes_of(*found);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin(), after.end()));
  }
  EXPECT_EQ(read.header.find("nothing"), nullptr);
}

// The text of the format: 8 bytes of length, JSON that begins with '{' and may end in blanks,
// places that fill the rest.
TEST(Safetensors, TheBytesAreTheFormats) {
  SafetensorsFile file;
  const std::vector<std::int64_t> shape = {2};
  const std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}};
  file.add("a", "U8", shape, bytes);
  EXPECT_EQ(
      to_safetensors(file),
      file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ", "\x01\x02"));
}

// A length may have the bytes by which other formats begin: 640 is 80 02, as a pickle's first.
TEST(Safetensors, AnyLengthOfTheHeaderIsRead) {
  for (const std::size_t length : {640U, 1152U, 32768U}) {
    const std::string json = "{}" + std::string(length - 2, ' ');
    EXPECT_TRUE(parse_safetensors(file_of(json), "t").header.entries.empty()) << length;
  }
}

TEST(Safetensors, TensorsAreAligned) {
  const SafetensorsFile read = parse_safetensors(to_safetensors(small_file()), "t");
  const std::size_t start = read.header.file_bytes - read.data.size();
  for (const SafetensorsEntry& entry : read.header.entries) {
    EXPECT_EQ((start + entry.begin) % *safetensors_element_bytes(entry.dtype), 0U) << entry.name;
  }
}

// Written by the library's save_file: keys sorted, metadata first.
TEST(Safetensors, ReadsWhatTheLibraryWrites) {
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]},)"
      R"("b":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}} )";
  const SafetensorsFile file = parse_safetensors(file_of(json, "abcdefgh"), "t");
  ASSERT_EQ(file.header.entries.size(), 2U);
  EXPECT_EQ(file.header.entries[0].name, "b") << "in the order of the bytes";
  EXPECT_EQ(file.header.metadata.at("format"), "pt");
  EXPECT_EQ(dtype_of_safetensors("BF16"), DType::kBFloat16);
  EXPECT_EQ(dtype_of_safetensors("I16"), std::nullopt);
}

TEST(Safetensors, AnEmptyFileOfTensorsIsOne) {
  EXPECT_TRUE(parse_safetensors(file_of("{}"), "t").header.entries.empty());
  EXPECT_TRUE(parse_safetensors(to_safetensors({}), "t").header.entries.empty());
}

TEST(Safetensors, EveryDTypeHasItsName) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64,
                            DType::kFloat16, DType::kBFloat16, DType::kUInt8}) {
    EXPECT_EQ(dtype_of_safetensors(safetensors_dtype(dtype)), dtype);
    EXPECT_EQ(safetensors_element_bytes(safetensors_dtype(dtype)), size_of(dtype));
  }
}

TEST(Safetensors, AFileTakesNoNameTwiceAndNoWrongBytes) {
  SafetensorsFile file = small_file();
  const std::vector<std::int64_t> shape = {2};
  const std::vector<std::byte> bytes(8);
  const auto add = [&](const char* name, const char* dtype) {
    return error_text(ErrorKind::kInvalidArgument, [&] { file.add(name, dtype, shape, bytes); });
  };
  EXPECT_EQ(add("0.bias", "F32"), "safetensors: the name '0.bias' is taken already");
  EXPECT_EQ(add("x", "F64"), "safetensors: 'x', F64 of shape 2, cannot have 8 bytes");
  EXPECT_EQ(add("x", "F31"), "safetensors: 'x', F31 of shape 2, cannot have 8 bytes");
}

// What is written must be read again.
TEST(Safetensors, NamesAreUtf8WithoutNulAndNotEmpty) {
  SafetensorsFile file;
  const auto add = [&](const std::string& name) {
    return error_text(ErrorKind::kInvalidArgument, [&] { file.add(name, "U8", {}, {}); });
  };
  EXPECT_EQ(add("w\xff"), "safetensors: the name \"w\\ufffd\" is not UTF-8");
  EXPECT_EQ(add(std::string("a\0b", 3)), "safetensors: the name 'a b' has a NUL");
  EXPECT_EQ(add("__metadata__"), "safetensors: the name '__metadata__' is taken already");
  EXPECT_EQ(add(""), "safetensors: a name is empty, which no key of a state_dict is");
}

TEST(Safetensors, EntriesMadeByHandAreChecked) {
  const auto refusal = [](const std::function<void(std::vector<SafetensorsEntry>&)>& change) {
    SafetensorsFile file = small_file();
    change(file.header.entries);
    return error_text(ErrorKind::kInvalidArgument, [&] { to_safetensors(file); });
  };
  using Entries = std::vector<SafetensorsEntry>;
  EXPECT_EQ(
      refusal([](Entries& e) { e[0].begin = e[0].end = 1000; }),
      "safetensors: '0.weight' at bytes 1000 to 1000 does not lie in the data, which have 52");
  EXPECT_EQ(refusal([](Entries& e) { e[0].begin = 25; }),
            "safetensors: '0.weight' at bytes 25 to 24 does not lie in the data, which have 52");
  EXPECT_EQ(refusal([](Entries& e) { e[0].end = 20; }),
            "safetensors: '0.weight', F32 of shape 2x3, cannot have 20 bytes");
  EXPECT_EQ(refusal([](Entries& e) { e[0].dtype = "F31"; }),
            "safetensors: '0.weight', F31 of shape 2x3, cannot have 24 bytes");
  EXPECT_EQ(refusal([](Entries& e) { e[2].name = e[0].name; }),
            "safetensors: the name '0.weight' is taken already");
  EXPECT_EQ(refusal([](Entries& e) { e[0].name = "\xc3"; }),
            "safetensors: the name \"\\ufffd\" is not UTF-8");
}

TEST(Safetensors, ANameThatWasAddedByHandIsTaken) {
  SafetensorsFile file;
  file.header.entries.push_back({"a", "U8", {0}, 0, 0});
  const std::vector<std::int64_t> empty = {0};
  EXPECT_EQ(error_text(ErrorKind::kInvalidArgument, [&] { file.add("a", "U8", empty, {}); }),
            "safetensors: the name 'a' is taken already");
}

// Each by itself takes no longer than the first.
TEST(Safetensors, ManyTensorsAreWrittenAndRead) {
  constexpr int kMany = 100'000;
  SafetensorsFile file;
  const std::vector<std::int64_t> empty = {0};
  for (int i = 0; i < kMany; ++i) file.add(std::to_string(i), "U8", empty, {});
  EXPECT_EQ(parse_safetensors(to_safetensors(file), "t").header.entries.size(), kMany);
}

class SafetensorsFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("ringside-safetensors-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

TEST_F(SafetensorsFiles, AreWrittenWholeAndReadInPartsOrWhole) {
  const std::string target = path("a.safetensors");
  write_whole_file(target, "old");
  write_safetensors(small_file(), target);
  EXPECT_EQ(read_whole_file(target), to_safetensors(small_file()));
  EXPECT_EQ(read_safetensors(target).data, parse_safetensors(read_whole_file(target), "t").data);
  const SafetensorsHeader header = read_safetensors_header(target);
  EXPECT_EQ(header.entries.size(), 5U);
  EXPECT_EQ(header.file_bytes, std::filesystem::file_size(target));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("")), {}), 1)
      << "a partial file was left";
}

TEST_F(SafetensorsFiles, ThatCannotBeReadAreNamed) {
  const auto text = [](const std::string& file) {
    return error_text(ErrorKind::kInvalidInput, [&] { read_safetensors_header(file); });
  };
  EXPECT_EQ(text(path("none")), "cannot read " + path("none") + ": No such file or directory");
  EXPECT_EQ(text(path("")), "cannot read " + path("") + ": Is a directory");
  EXPECT_EQ(text("/dev/zero"), "/dev/zero: is not a regular file");
  const std::string bytes = to_safetensors(small_file());
  for (const std::size_t size : {0U, 7U, 8U, 100U}) {
    write_whole_file(path("cut"), std::string_view(bytes).substr(0, size));
    EXPECT_NE(text(path("cut")).find("cut: "), std::string::npos) << size;
    EXPECT_NE(error_text(ErrorKind::kInvalidInput, [&] { read_safetensors(path("cut")); }), "");
  }
}

TEST_F(SafetensorsFiles, AFullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(error_text(ErrorKind::kIo, [&] { write_safetensors(small_file(), "/dev/full"); }),
            "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace ringside::test
