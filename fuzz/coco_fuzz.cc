// COCO's instance file and, behind a zero byte, its result file.
#include <nlohmann/json.hpp>
#include <vector>

#include "eval/coco_data.h"
#include "scratch.h"

namespace {

// Whether a file asks for much work by its sizes alone: that is slow, and nothing else.
bool is_large(std::string_view text) {
  constexpr double kMost = 2000;           // pixels, coordinates
  constexpr double kRefused = 2147483646;  // larger ones are refused, or reach a limit
  const auto document = nlohmann::json::parse(text, nullptr, false);
  std::vector<const nlohmann::json*> open{&document};
  while (!open.empty()) {
    const nlohmann::json& value = *open.back();
    open.pop_back();
    const double size = value.is_number() ? std::abs(value.get<double>()) : 0;
    if (size > kMost && size < kRefused) return true;
    if (value.is_structured())
      for (const auto& part : value) open.push_back(&part);
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sam3;
  const auto [truth_text, results_text] = fuzz::halves(fuzz::text_of(data, size));
  if (is_large(truth_text) || is_large(results_text)) return 0;
  const auto truth = eval::parse_coco_truth(truth_text);
  if (!truth.ok()) return 0;
  for (const auto& annotation : truth->annotations)
    fuzz::require(truth->image_index.contains(annotation.image_id));
  const auto results = eval::parse_coco_results(results_text, *truth);
  if (!results.ok()) return 0;
  for (const auto& detection : results->detections)
    fuzz::require(truth->category_index.contains(detection.category_id));
  return 0;
}
