// Reading safetensors: the three element types, and files that lie.
#include "convert/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support/files.h"

namespace sam3::convert {
namespace {

using testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + data;
}

template <typename T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

Result<SafetensorsFile> open(const test::TemporaryFolder& folder, const std::string& content) {
  test::write_file(folder / "model.safetensors", content);
  return SafetensorsFile::open(folder / "model.safetensors");
}

std::vector<float> values_of(const SafetensorsFile& file, const std::string& name) {
  return graph::read_values<float>(file.weight(file.tensors().at(name))).value();
}

TEST(Safetensors, Float32) {
  const test::TemporaryFolder folder;
  const auto file =
      open(folder, file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                           bytes_of<float>({1.5F, -2})));
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  EXPECT_THAT(values_of(*file, "a"), testing::ElementsAre(1.5F, -2));
}

TEST(Safetensors, HalfPrecisionOfBothKinds) {
  const test::TemporaryFolder folder;
  // 1, -2, the largest, the smallest subnormal, infinity
  const std::string half = bytes_of<std::uint16_t>({0x3C00, 0xC000, 0x7BFF, 0x0001, 0x7C00});
  const std::string brain = bytes_of<std::uint16_t>({0x3F80, 0xC049});
  const auto file =
      open(folder, file_of(R"({"h":{"dtype":"F16","shape":[5],"data_offsets":[0,10]},)"
                           R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[10,14]}})",
                           half + brain));
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  EXPECT_THAT(values_of(*file, "h"), testing::ElementsAre(1, -2, 65504, std::ldexp(1.0F, -24),
                                                          std::numeric_limits<float>::infinity()));
  EXPECT_THAT(values_of(*file, "b"), testing::ElementsAre(1, -3.140625F));
}

TEST(Safetensors, OtherTypesKeepTheirName) {
  const test::TemporaryFolder folder;
  const auto file =
      open(folder, file_of(R"({"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})",
                           bytes_of<std::int64_t>({7})));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->tensors().at("i").type, StoredType::kOther);
  EXPECT_EQ(file->tensors().at("i").type_name, "I64");
  const auto values = graph::read_values<float>(file->weight(file->tensors().at("i")));
  ASSERT_FALSE(values.ok());
  EXPECT_THAT(values.error().message, testing::HasSubstr("I64"));
}

struct BadHeader {
  const char* header;
  const char* message;
};

class HostileHeader : public testing::TestWithParam<BadHeader> {};

TEST_P(HostileHeader, IsRefusedInOneSentence) {
  const auto parsed = parse_safetensors_header(GetParam().header, 8 + 1000 + 16);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kBadData);
  EXPECT_THAT(parsed.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileHeader,
    testing::Values(
        BadHeader{"[1,2]", "no JSON object"}, BadHeader{"{\"a\":", "no JSON object"},
        BadHeader{R"({"a":5})", "lacks dtype"},
        BadHeader{R"({"a":{"dtype":"F32","shape":[1]}})", "lacks dtype"},
        BadHeader{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,5000]}})",
                  "lies at [0,5000]"},
        BadHeader{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", "lies at [8,4]"},
        BadHeader{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,4]}})", "lies at [-4,4]"},
        BadHeader{R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0.0,4.0]}})", "lies at"},
        BadHeader{R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "ask for 12"},
        BadHeader{R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "impossible sizes"},
        BadHeader{R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}})",
                  "impossible sizes"},
        // The product wraps around to 4 bytes in 64 bits.
        BadHeader{R"({"a":{"dtype":"F32","shape":[4294967296,1073741824,4],"data_offsets":[0,4]}})",
                  "impossible sizes"},
        BadHeader{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                  R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                  "lie over each other"}));

TEST(Safetensors, CutAndForeignFiles) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(open(folder, "abc").error().message, HasSubstr("3 bytes"));
  EXPECT_THAT(open(folder, std::string(64, '\xFF')).error().message, HasSubstr("the header would"));
  EXPECT_THAT(open(folder, "version https://git-lfs.github.com/spec/v1\noid x\n").error().message,
              HasSubstr("Git LFS pointer"));
  const std::string whole =
      file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", bytes_of<float>({1, 2}));
  EXPECT_THAT(open(folder, whole.substr(0, whole.size() - 1)).error().message,
              HasSubstr("lies at"));
  EXPECT_EQ(SafetensorsFile::open(folder / "none").error().code, ErrorCode::kNotFound);
}

TEST(Safetensors, AFileThatShrinksIsAnErrorNotACrash) {
  const test::TemporaryFolder folder;
  const auto file =
      open(folder, file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                           bytes_of<float>({1, 2})));
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(folder / "model.safetensors", 10);
  const auto read = graph::read_values<float>(file->weight(file->tensors().at("a")));
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("cut"));
}

}  // namespace
}  // namespace sam3::convert
