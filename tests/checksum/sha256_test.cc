#include "checksum/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/files.h"

namespace sam3 {
namespace {

// The examples of FIPS 180-4's first appendix.
TEST(Sha256, KnownValuesOfFiles) {
  test::TemporaryFolder folder;
  test::write_file(folder / "abc", "abc");
  EXPECT_EQ(sha256_of_file(folder / "abc").value(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  test::write_file(folder / "empty", "");
  EXPECT_EQ(sha256_of_file(folder / "empty").value(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  test::write_file(folder / "million", std::string(1'000'000, 'a'));
  EXPECT_EQ(sha256_of_file(folder / "million").value(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256_of_file(folder / "none").error().code, ErrorCode::kNotFound);
}

TEST(Sha256, ByteByByteAcrossBlocks) {
  // Expected values by coreutils' sha256sum of so many letters a.
  const std::pair<std::size_t, const char*> cases[] = {
      {1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
      {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
      {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
      {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
      {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
      {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
      {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
      {120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
      {127, "c57e9278af78fa3cab38667bef4ce29d783787a2f731d4e12200270f0c32320a"},
      {128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"},
      {200, "c2a908d98f5df987ade41b5fce213067efbcc21ef2240212a41e54b5e7c28ae5"},
  };
  for (const auto& [length, expected] : cases) {
    Sha256 single;
    for (std::size_t i = 0; i < length; ++i) single.update("a");
    EXPECT_EQ(single.hex(), expected) << length;
    Sha256 parts;
    parts.update(std::string(length / 3, 'a'));
    EXPECT_NE(parts.hex(), expected);  // asking in between changes nothing
    parts.update(std::string(length - length / 3, 'a'));
    EXPECT_EQ(parts.hex(), expected) << length;
  }
}

}  // namespace
}  // namespace sam3
