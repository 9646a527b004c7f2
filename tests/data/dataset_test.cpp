// Data sets that are right, and each way in which one can be wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "data/datasets.h"
#include "data/temporary_folder.h"
#include "ringside/data.h"
#include "support/error_text.h"

namespace ringside {
namespace {

using test::TemporaryFolder;
using ::testing::HasSubstr;

std::string fault(const std::string& spec, ErrorKind kind = ErrorKind::kInvalidArgument) {
  return test::error_text(kind, [&] { load_dataset(spec, 0); });
}

// ---------------------------------------------------------------- digits

TEST(Digits, AreSplitAndScaled) {
  const TrainTest data = load_dataset("digits", 0);
  EXPECT_EQ(data.train.size(), 1536);
  EXPECT_EQ(data.test.size(), 261);
  for (const Dataset* part : {&data.train, &data.test}) {
    EXPECT_EQ(part->name, "digits");
    EXPECT_EQ(part->sample_shape, Shape{64});
    EXPECT_EQ(part->classes, 10);
    EXPECT_EQ(part->samples.size(), static_cast<std::size_t>(part->size() * 64));
    EXPECT_EQ(*std::min_element(part->samples.begin(), part->samples.end()), 0.0F);
    EXPECT_EQ(*std::max_element(part->samples.begin(), part->samples.end()), 1.0F);
  }
  EXPECT_EQ(data.train.samples[2], 5.0F / 16);  // the first row begins 0,0,5,13
  EXPECT_EQ(data.train.samples[3], 13.0F / 16);
  EXPECT_EQ(data.train.targets[0], 0);
  EXPECT_EQ(data.train.targets[1], 1);
  std::array<int, 10> rows{};
  for (std::int64_t target : data.test.targets) ++rows.at(static_cast<std::size_t>(target));
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), 0), 261);
  EXPECT_GT(*std::min_element(rows.begin(), rows.end()), 20);
}

std::string digit_row(const std::string& last = "7") {
  std::string row;
  for (int i = 0; i < 64; ++i) row += std::to_string(i % 17) + ",";
  return row + last;
}

TEST(Digits, RowsMayEndInAnyWay) {
  for (const char* end : {"", "\n", "\r\n"}) {
    const Dataset rows = parse_digits_csv("x.csv", digit_row() + "\n" + digit_row("0") + end);
    ASSERT_EQ(rows.size(), 2);
    EXPECT_EQ(rows.targets[0], 7);
    EXPECT_EQ(rows.samples[64 + 16], 1.0F);
  }
}

TEST(Digits, FaultsNameLineColumnAndValue) {
  const auto text_fault = [](const std::string& text) {
    return test::error_text(ErrorKind::kInvalidInput, [&] { parse_digits_csv("x.csv", text); });
  };
  const std::string row = digit_row();
  EXPECT_EQ(text_fault(row + "\n" + digit_row("10")),
            "x.csv: line 2, column 65: '10' is not a whole number from 0 to 9");
  EXPECT_EQ(text_fault("nan" + row.substr(1)),
            "x.csv: line 1, column 1: 'nan' is not a whole number from 0 to 16");
  EXPECT_EQ(text_fault("17" + row.substr(1)),
            "x.csv: line 1, column 1: '17' is not a whole number from 0 to 16");
  EXPECT_EQ(text_fault("-1" + row.substr(1)),
            "x.csv: line 1, column 1: '-1' is not a whole number from 0 to 16");
  EXPECT_EQ(text_fault(row.substr(1)),
            "x.csv: line 1, column 1: '' is not a whole number from 0 to 16");
  EXPECT_EQ(text_fault(row + ",3"), "x.csv: line 1: 66 values; a row is 64 pixels and a label");
  EXPECT_EQ(text_fault(row + "\n\n" + row),
            "x.csv: line 2: 1 values; a row is 64 pixels and a label");
}

// ---------------------------------------------------------------- MNIST

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255);
  return bytes;
}

std::string images(std::uint32_t count, std::uint32_t rows, std::uint32_t columns) {
  std::string bytes =
      big_endian(0x803) + big_endian(count) + big_endian(rows) + big_endian(columns);
  for (std::uint32_t i = 0; i < count * rows * columns; ++i) bytes += static_cast<char>(i % 256);
  return bytes;
}

std::string labels(const std::vector<int>& values) {
  std::string bytes = big_endian(0x801) + big_endian(static_cast<std::uint32_t>(values.size()));
  for (int value : values) bytes += static_cast<char>(value);
  return bytes;
}

class Mnist : public ::testing::Test {
 protected:
  Mnist() {
    folder_.write("train-images-idx3-ubyte", images(5, 4, 3));
    folder_.write("train-labels-idx1-ubyte", labels({0, 9, 1, 2, 3}));
    folder_.write_gzip("t10k-images-idx3-ubyte.gz", images(2, 4, 3));
    folder_.write_gzip("t10k-labels-idx1-ubyte.gz", labels({4, 5}));
  }
  TrainTest load() const { return load_dataset("mnist:" + folder_.path(), 0); }
  /// The fault when the training images (or another file) are `bytes`, less the folder's name.
  std::string fault_with(const std::string& bytes,
                         const std::string& name = "train-images-idx3-ubyte") const {
    folder_.write(name, bytes);
    std::string text = test::error_text(ErrorKind::kInvalidInput, [&] { load(); });
    for (std::size_t at; (at = text.find(folder_.path())) != std::string::npos;) {
      text.replace(at, folder_.path().size(), "DIR");
    }
    return text;
  }
  TemporaryFolder folder_;
};

TEST_F(Mnist, ReadsPlainAndGzip) {
  const TrainTest data = load();
  EXPECT_EQ(data.train.name, "mnist");
  EXPECT_EQ(data.train.sample_shape, (Shape{1, 4, 3}));
  EXPECT_EQ(data.train.targets, (std::vector<std::int64_t>{0, 9, 1, 2, 3}));
  EXPECT_EQ(data.test.targets, (std::vector<std::int64_t>{4, 5}));
  ASSERT_EQ(data.train.samples.size(), 60U);
  EXPECT_EQ(data.train.samples[51], 51.0F / 255);
  EXPECT_EQ(data.test.samples[23], 23.0F / 255);
}

TEST_F(Mnist, SaysWhichNamesItLookedFor) {
  std::filesystem::remove(folder_.file("train-images-idx3-ubyte"));
  const std::string text = test::error_text(ErrorKind::kInvalidInput, [&] { load(); });
  EXPECT_THAT(text, HasSubstr("train-images-idx3-ubyte, train-images-idx3-ubyte.gz"));
  EXPECT_THAT(text, HasSubstr(folder_.path()));
  EXPECT_EQ(fault("mnist:/nowhere", ErrorKind::kInvalidInput),
            "mnist:/nowhere: there is no such directory");
  EXPECT_EQ(fault("mnist:", ErrorKind::kInvalidArgument), "data 'mnist:': names no directory");
  EXPECT_EQ(fault("text:", ErrorKind::kInvalidArgument), "data 'text:': names no file");
}

TEST_F(Mnist, RefusesWrongMagicNumbers) {
  EXPECT_EQ(fault_with(labels({1})),
            "DIR/train-images-idx3-ubyte: begins with 0x00000801; an IDX file of bytes with 3 "
            "dimensions begins with 0x00000803");
  folder_.write_gzip("x.gz", images(5, 4, 3));
  EXPECT_THAT(fault_with(folder_.read("x.gz")), HasSubstr("begins with 0x1f8b"));
}

TEST_F(Mnist, RefusesFilesThatEndEarlyOrLate) {
  const std::string whole = images(5, 4, 3);
  EXPECT_EQ(fault_with(whole.substr(0, 75)),
            "DIR/train-images-idx3-ubyte: 5x4x3 values should take 60 bytes from byte 16 on, but "
            "only 59 are there");
  EXPECT_EQ(fault_with(whole.substr(0, 9)),
            "DIR/train-images-idx3-ubyte: the sizes should take 12 bytes from byte 4 on, but only "
            "5 are there");
  EXPECT_EQ(fault_with(whole + "x"),
            "DIR/train-images-idx3-ubyte: goes on after byte 76, where it should end");
  EXPECT_EQ(fault_with(""), "DIR/train-images-idx3-ubyte: is empty");
}

TEST_F(Mnist, ALyingHeaderCostsNothing) {
  const std::string header = big_endian(0x803) + big_endian(1000000);
  EXPECT_THAT(fault_with(header + big_endian(32) + big_endian(32)),
              HasSubstr("1000000x32x32 values should take 1024000000 bytes"));
  EXPECT_THAT(fault_with(header + big_endian(0xffffffff) + big_endian(0xffffffff)),
              HasSubstr("claims 1000000x4294967295x4294967295 values: must be 1 to 1073741824"));
  EXPECT_THAT(fault_with(images(0, 28, 28)), HasSubstr("claims 0x28x28 values"));
}

TEST_F(Mnist, RefusesPartsThatDoNotFit) {
  EXPECT_EQ(
      fault_with(images(4, 4, 3)),
      "DIR/train-images-idx3-ubyte has 4 images but DIR/train-labels-idx1-ubyte has 5 labels");
  EXPECT_EQ(fault_with(images(5, 3, 4)),
            "mnist:DIR: training images are 1x3x4 but test images 1x4x3");
}

TEST_F(Mnist, RefusesLabelsOutOfRange) {
  EXPECT_EQ(fault_with(labels({0, 1, 2, 10, 4}), "train-labels-idx1-ubyte"),
            "DIR/train-labels-idx1-ubyte: label 10 of sample 3 (byte 11): must be 0 to 9");
}

TEST_F(Mnist, RefusesDamagedGzip) {
  const std::string name = "t10k-images-idx3-ubyte.gz";
  const std::string whole = folder_.read(name);
  EXPECT_THAT(fault_with(whole.substr(0, whole.size() - 6), name),
              HasSubstr("ends in the middle of its gzip data"));
  EXPECT_THAT(fault_with(whole.substr(0, 30), name), HasSubstr("it is truncated"));
  EXPECT_EQ(fault_with(images(2, 4, 3), name),
            "DIR/t10k-images-idx3-ubyte.gz: is not gzip data: it begins with 0000, not with 1f8b");
  std::string flipped = whole;
  flipped[flipped.size() - 7] ^= 1;  // in the checksum
  EXPECT_EQ(fault_with(flipped, name),
            "DIR/t10k-images-idx3-ubyte.gz: the gzip data is damaged after 40 decompressed bytes: "
            "incorrect data check");
  EXPECT_EQ(fault_with("", name), "DIR/t10k-images-idx3-ubyte.gz: is empty");
}

TEST_F(Mnist, ReadsFilesOfManyChunks) {
  const std::string big = images(3000, 28, 28);
  folder_.write("train-images-idx3-ubyte", big);
  folder_.write("train-labels-idx1-ubyte", labels(std::vector<int>(3000, 1)));
  folder_.write_gzip("t10k-images-idx3-ubyte.gz", big);
  folder_.write_gzip("t10k-labels-idx1-ubyte.gz", labels(std::vector<int>(3000, 1)));
  const TrainTest data = load();
  EXPECT_EQ(data.train.samples, data.test.samples);
  EXPECT_EQ(data.train.samples.back(), static_cast<float>((3000 * 784 - 1) % 256) / 255);
}

TEST_F(Mnist, RefusesWhatIsNoRegularFile) {
  std::filesystem::remove(folder_.file("train-images-idx3-ubyte"));
  std::filesystem::create_directory(folder_.file("train-images-idx3-ubyte"));
  EXPECT_THAT(test::error_text(ErrorKind::kInvalidInput, [&] { load(); }),
              HasSubstr("is a directory, not a file"));
  std::filesystem::remove(folder_.file("train-images-idx3-ubyte"));
  std::filesystem::create_symlink("/dev/zero", folder_.file("train-images-idx3-ubyte"));
  EXPECT_THAT(test::error_text(ErrorKind::kInvalidInput, [&] { load(); }),
              HasSubstr("is not a regular file"));
}

// ---------------------------------------------------------------- random

TEST(RandomData, ComesFromTheSeedAlone) {
  const TrainTest data = load_dataset("random:60:2x3:4", 5);
  EXPECT_EQ(data.train.size(), 50);
  EXPECT_EQ(data.test.size(), 10);
  EXPECT_EQ(data.train.sample_shape, (Shape{2, 3}));
  EXPECT_EQ(data.train.classes, 4);
  EXPECT_EQ(data.train.samples.size(), 300U);
  for (float value : data.train.samples) {
    EXPECT_GE(value, 0.0F);
    EXPECT_LE(value, 1.0F);
  }
  EXPECT_EQ(load_dataset("random:60:2x3:4", 5).train.samples, data.train.samples);
  EXPECT_NE(load_dataset("random:60:2x3:4", 6).train.samples, data.train.samples);
}

// The nearest mean of the training samples must tell the class of nearly all test samples.
TEST(RandomData, CanBeLearned) {
  const TrainTest data = load_dataset("random:600:64:10", 1);
  std::vector<std::array<double, 64>> means(10);
  for (std::size_t i = 0; i < data.train.targets.size(); ++i) {
    for (std::size_t j = 0; j < 64; ++j) {
      means[static_cast<std::size_t>(data.train.targets[i])][j] +=
          data.train.samples[64 * i + j] / 50;
    }
  }
  int correct = 0;
  for (std::size_t i = 0; i < data.test.targets.size(); ++i) {
    std::vector<double> distances;
    for (const auto& mean : means) {
      double distance = 0;
      for (std::size_t j = 0; j < 64; ++j) {
        distance +=
            (data.test.samples[64 * i + j] - mean[j]) * (data.test.samples[64 * i + j] - mean[j]);
      }
      distances.push_back(distance);
    }
    const auto nearest = std::min_element(distances.begin(), distances.end()) - distances.begin();
    correct += nearest == data.test.targets[i] ? 1 : 0;
  }
  EXPECT_GT(correct, 95);
}

TEST(RandomData, FaultsNameTheValue) {
  EXPECT_EQ(fault("random:10"), "data 'random:10': must have three parts");
  EXPECT_EQ(fault("random:0:64:10"),
            "data 'random:0:64:10': N '0' must be a whole number from 2 to 1073741824");
  EXPECT_THAT(fault("random:1000000000000:64:10"), HasSubstr("N '1000000000000' must be"));
  EXPECT_THAT(fault("random:10:64:-1"), HasSubstr("CLASSES '-1' must be"));
  EXPECT_THAT(fault("random:10:8xx8:2"), HasSubstr("size '' must be"));
  EXPECT_THAT(fault("random:10:8x:2"), HasSubstr("shape '8x' ends with an x"));
  EXPECT_THAT(fault("random:10::2"), HasSubstr("size '' must be"));
  EXPECT_THAT(fault("random:10:1x1x1x1x1x1:2"), HasSubstr("6 dimensions: at most 5"));
  EXPECT_THAT(fault("random:10:1000000x1000000:2"), HasSubstr("is too large"));
  EXPECT_THAT(fault("random:1000000:2000:2"), HasSubstr("are too many"));
}

TEST(Data, UnknownNamesShowTheGrammar) {
  for (const char* spec : {"digit", "", "mnist", "random", "digits:1", "cifar:/x"}) {
    EXPECT_EQ(fault(spec), "data '" + std::string(spec) +
                               "': must be digits, mnist:DIR, random:N:SHAPE:CLASSES or text:FILE");
  }
}

// ---------------------------------------------------------------- text

class Text : public ::testing::Test {
 protected:
  std::string spec() const { return "text:" + folder_.file("a.txt"); }
  test::TemporaryFolder folder_;
};

TEST_F(Text, IsCutIntoSequencesAndItsLastTenthTests) {
  std::string text;
  for (int i = 0; i < 107; ++i)
    text.push_back(static_cast<char>(200 + i));  // beyond 127, and wraps
  folder_.write("a.txt", text);
  const TrainTest data = load_dataset(spec(), 0, 4);
  EXPECT_TRUE(data.train.is_text());
  EXPECT_EQ(data.train.classes, 256);
  EXPECT_EQ(data.train.sample_shape, Shape{4});
  EXPECT_EQ(data.train.targets_per_sample(), 4);
  EXPECT_EQ(data.train.text.size(), 97U);
  EXPECT_EQ(data.train.size(), 24);  // 96 bytes and the one behind the last
  EXPECT_EQ(data.test.text.size(), 10U);
  EXPECT_EQ(data.test.size(), 2);
  EXPECT_EQ(data.train.text[0], 200);
  EXPECT_EQ(data.test.text[0], (200 + 97) % 256);
}

TEST_F(Text, MayBeGzip) {
  folder_.write_gzip("a.txt.gz", std::string(1000, 'a'));
  EXPECT_EQ(load_dataset(spec() + ".gz", 0, 8).train.text.size(), 900U);
}

TEST_F(Text, MustBeThereAndLongEnough) {
  EXPECT_THAT(fault(spec(), ErrorKind::kInvalidInput), HasSubstr("a.txt"));
  folder_.write("a.txt", std::string(649, 'a'));
  EXPECT_EQ(fault(spec(), ErrorKind::kInvalidInput),
            folder_.file("a.txt") +
                ": has 649 bytes, and the last tenth must hold a test sequence of 64 bytes and the "
                "next one: at least 650 bytes are needed");
  folder_.write("a.txt", std::string(650, 'a'));
  EXPECT_EQ(load_dataset(spec(), 0).test.size(), 1);
}

}  // namespace
}  // namespace ringside
