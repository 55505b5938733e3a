// The golden cases of tests/data/eval.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/coco_data.h"
#include "support/files.h"

namespace sam3::test {

struct EvalCase {
  nlohmann::json truth;
  nlohmann::json results;
  nlohmann::json expected;
};

inline EvalCase eval_case(const std::string& name) {
  const auto document = nlohmann::json::parse(read_file(data("eval") / (name + ".case.json")));
  return {document.at("truth"), document.at("results"), document.at("expected")};
}

inline std::vector<std::string> eval_case_names() {
  return {"small",           "random_1",   "random_2",   "ties",          "crowds", "no_crowds",
          "many_detections", "boxes_only", "masks_only", "identity_zero", "phrases"};
}

// The names of the cases whose expectations have a member.
inline std::vector<std::string> eval_cases_with(const std::string& member) {
  std::vector<std::string> names;
  for (const std::string& name : eval_case_names())
    if (eval_case(name).expected.contains(member)) names.push_back(name);
  return names;
}

inline eval::CocoTruth truth_of(const EvalCase& golden) {
  return eval::parse_coco_truth(golden.truth.dump()).value();
}

inline eval::CocoResults results_of(const EvalCase& golden, const eval::CocoTruth& truth) {
  return eval::coco_results(golden.results, truth).value();
}

}  // namespace sam3::test
