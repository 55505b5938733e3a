// Where `classes` puts its objects, one per picture, as soon as each is done.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sam3/result.h"

namespace sam3::cli {

class ResultStream {
 public:
  virtual ~ResultStream() = default;
  virtual Status write(const nlohmann::ordered_json& document) = 0;

  // "-": JSON Lines on standard output. A name that ends in .jsonl or .ndjson: JSON Lines. Any
  // other name: a JSON array that is complete after every write.
  static Result<std::unique_ptr<ResultStream>> open(const std::string& target);
};

}  // namespace sam3::cli
