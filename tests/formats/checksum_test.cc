#include "formats/checksum.h"

#include <gtest/gtest.h>

#include "support/files.h"

namespace sam3::formats {
namespace {

// The examples of FIPS 180-4's first appendix.
TEST(Checksum, KnownValues) {
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

}  // namespace
}  // namespace sam3::formats
