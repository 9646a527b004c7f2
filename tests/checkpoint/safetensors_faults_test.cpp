// Damaged and hostile files: each is an error that says what is wrong, and where.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/small_file.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"
#include "support/error_text.h"

namespace ringside::test {
namespace {

std::string fault_of(const std::string& bytes) {
  return error_text(ErrorKind::kInvalidInput, [&] { parse_safetensors(bytes, "f"); });
}

std::string entry(std::string_view name, std::string_view begin, std::string_view end,
                  std::string_view shape = "[1]", std::string_view dtype = "F32") {
  return std::string("\"")
      .append(name)
      .append(R"(":{"dtype":")")
      .append(dtype)
      .append(R"(","shape":)")
      .append(shape)
      .append(",\"data_offsets\":[")
      .append(begin)
      .append(",")
      .append(end)
      .append("]}");
}

std::string with_entries(const std::vector<std::string>& entries, std::size_t data_bytes) {
  std::string json = "{";
  for (const std::string& text : entries) json += (json.size() > 1 ? "," : "") + text;
  return file_of(json + "}", std::string(data_bytes, 'x'));
}

TEST(SafetensorsFaults, HeadersThatCannotBe) {
  EXPECT_EQ(fault_of("abc"),
            "f: has 3 bytes: a safetensors file begins with 8 for the length of its header");
  EXPECT_EQ(fault_of(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10)),
            "f: its header would have 9223372036854775807 bytes, at most 100000000 are read");
  EXPECT_EQ(fault_of(std::string("\x20\0\0\0\0\0\0\0{}", 10)),
            "f: its header would have 32 bytes, but the file ends after 2: cut off?");
  EXPECT_EQ(fault_of(file_of("")), "f: its header does not begin with '{'");
  EXPECT_EQ(fault_of(file_of("[1]")), "f: its header does not begin with '{'");
  EXPECT_EQ(fault_of(file_of("{\"a\":")), "f: byte 6 of the header: no JSON goes on like that");
  EXPECT_EQ(fault_of(file_of("{} {}")), "f: byte 4 of the header: no JSON goes on like that");
  EXPECT_EQ(fault_of(file_of(std::string_view("{}\0}", 4))), "f: byte 3 of the header is a NUL");
  EXPECT_EQ(fault_of(file_of("{\"\xff\":1}")), "f: byte 3 of the header: is not UTF-8");
}

TEST(SafetensorsFaults, OtherFormatsAreNamed) {
  EXPECT_EQ(fault_of("PK\x03\x04 and so on"),
            "f: is a zip archive, such as torch.save writes, not in the safetensors format");
  EXPECT_EQ(fault_of("\x80\x02}q"), "f: is a Python pickle, not in the safetensors format");
  EXPECT_EQ(fault_of("\x89HDF\r\n"), "f: is an HDF5 file, not in the safetensors format");
}

TEST(SafetensorsFaults, PlacesThatCannotBe) {
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "8")}, 8)),
            "f: 'a': F32 of shape 1 needs 4 bytes, but its place has 8 bytes");
  EXPECT_EQ(fault_of(with_entries({entry("a", "4", "0")}, 4)),
            "f: 'a': its bytes begin at 4 and end before it, at 0");
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4"), entry("b", "2", "6")}, 6)),
            "f: 'b' at bytes 2 to 6 overlaps 'a' at 0 to 4");
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4"), entry("b", "0", "4")}, 4)),
            "f: 'b' at bytes 0 to 4 overlaps 'a' at 0 to 4");
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4"), entry("b", "6", "10")}, 10)),
            "f: bytes 4 to 6, before 'b', belong to no tensor: a hole");
  EXPECT_EQ(fault_of(with_entries({entry("a", "4", "8")}, 8)),
            "f: bytes 0 to 4, before 'a', belong to no tensor: a hole");
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4")}, 2)),
            "f: 'a' at bytes 0 to 4 lies outside of the file, which has 2 bytes after its header: "
            "cut off?");
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4")}, 7)),
            "f: 3 bytes at the end belong to no tensor");
}

TEST(SafetensorsFaults, SizesThatCannotBe) {
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "0", "[4294967296,4294967296,16]")}, 0)),
            "f: 'a': F32 of shape 4294967296x4294967296x16 needs more bytes than can be counted, "
            "but its place has 0 bytes");
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4", "[-1]")}, 4)),
            "f: 'a', 'shape' has the number -1, must be a list of whole numbers");
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4", "[1.5]")}, 4)),
            "f: 'a', 'shape' has the number 1.5, must be a list of whole numbers");
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "18446744073709551615")}, 4)),
            "f: 'a', 'data_offsets' has the number 18446744073709551615, which is too large, must "
            "be a list of whole numbers");
  std::string many = "[1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4", many + "]")}, 4)),
            "f: 'a', 'shape' has more than 64 numbers");
}

TEST(SafetensorsFaults, EntriesOfAnotherForm) {
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4", "[1]", "F31")}, 4)),
            "f: 'a': dtype 'F31' does not exist in the format");
  EXPECT_EQ(fault_of(with_entries({entry("a", "0", "4"), entry("a", "4", "8")}, 8)),
            "f: 'a' stands there twice");
  EXPECT_EQ(fault_of(with_entries({entry("", "0", "4")}, 4)),
            "f: the name of a tensor is empty, which no key of a state_dict is");
  EXPECT_EQ(fault_of(file_of(R"({"a":{"dtype":"F32","dtype":"F32"}})")),
            "f: 'a', 'dtype' stands there twice");
  EXPECT_EQ(fault_of(file_of(R"({"a":{"dtype":"F32","shape":[]}})")),
            "f: 'a' has no field 'data_offsets'");
  EXPECT_EQ(fault_of(file_of(R"({"a":{"dtype":"F32","shape":[],"more":1}})")),
            "f: 'a', 'more' is no field of a tensor, which has dtype, shape and data_offsets");
  EXPECT_EQ(fault_of(file_of(R"({"a":{"dtype":["F32"]}})")),
            "f: 'a', 'dtype' is a list, must be a text");
  EXPECT_EQ(fault_of(file_of(R"({"a":{"data_offsets":[0]}})")),
            "f: 'a', 'data_offsets' has 1 numbers instead of a begin and an end");
  EXPECT_EQ(fault_of(file_of(R"({"a":7})")), "f: 'a' is the number 7, not an object");
  EXPECT_EQ(fault_of(file_of(R"({"a":{"shape":{}}})")),
            "f: 'a', 'shape' is an object, must be a list of whole numbers");
  EXPECT_EQ(fault_of(file_of(R"({"__metadata__":{"step":7}})")),
            "f: '__metadata__', 'step' is the number 7, metadata are texts");
  EXPECT_EQ(fault_of(file_of(R"({"__metadata__":{"a":"1","a":"2"}})")),
            "f: '__metadata__', 'a' stands there twice");
  EXPECT_NE(fault_of(file_of("{\"a\\u0000b\":{}}")).find("a key of the header has a NUL"),
            std::string::npos);
}

// Nesting costs neither stack nor memory.
TEST(SafetensorsFaults, DeepHeadersAreRefusedAtTheFirstLevel) {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string deep = R"({"a":{"shape":)";
    for (int i = 0; i < 1'000'000; ++i) deep += open;
    EXPECT_EQ(fault_of(file_of(deep)).substr(0, 15), "f: 'a', 'shape'") << open;
  }
}

}  // namespace
}  // namespace ringside::test
