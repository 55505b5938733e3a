// SHA-256, of bytes as they come and of files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "sam3/result.h"

namespace sam3 {

class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  // Of all bytes so far, as 64 lower-case hexadecimal digits; more may follow.
  std::string hex() const;

 private:
  struct State;  // of the library
  struct Free {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, Free> state_;
};

// kNotFound when the file cannot be opened, kBadData when reading fails.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace sam3
