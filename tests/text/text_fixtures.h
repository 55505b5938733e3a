// Files of tests/data/text. A fault throws, which fails the test that caused it.
#pragma once

#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "text/tokenizer.h"

namespace sam3::test {

inline std::string read_text_fixture(const std::string& name) {
  std::ifstream file(std::string(SAM3_TEST_DATA) + "/text/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline nlohmann::json read_json_fixture(const std::string& name) {
  return nlohmann::json::parse(read_text_fixture(name));
}

inline const Tokenizer& five_graph_tokenizer() {
  static const Tokenizer tokenizer =
      Tokenizer::from_tokenizer_json(read_text_fixture("tokenizer.json")).value();
  return tokenizer;
}

inline const Tokenizer& browser_tokenizer() {
  static const Tokenizer tokenizer =
      Tokenizer::from_clip_json(read_text_fixture("clip_tokenizer.json")).value();
  return tokenizer;
}

inline std::string repeat(const std::string& text, std::size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

// Processor time of this process, which other work on the machine hardly changes.
inline double seconds_of(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace sam3::test
