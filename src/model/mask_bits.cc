#include "model/mask_bits.h"

#include <deque>
#include <optional>
#include <set>
#include <vector>

namespace sam3::model {
namespace {

// Eight weights 128…1 or shifts 7…0 put the first column into the highest bit; 1…128 or 0…7 into
// the lowest.
std::optional<mask::BitOrder> order_of(const std::vector<double>& constant) {
  static const std::vector<double> kWeights{1, 2, 4, 8, 16, 32, 64, 128};
  static const std::vector<double> kShifts{0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<double> reversed(constant.rbegin(), constant.rend());
  if (constant == kWeights || constant == kShifts) return mask::BitOrder::kLsbFirst;
  if (reversed == kWeights || reversed == kShifts) return mask::BitOrder::kMsbFirst;
  return std::nullopt;
}

bool is_comparison(const std::string& op_type) {
  return op_type == "Greater" || op_type == "GreaterOrEqual" || op_type == "Less" ||
         op_type == "LessOrEqual";
}

}  // namespace

Result<mask::BitOrder> find_bit_order(const graph::ModelFile& detector) {
  // Packing takes a handful of nodes; what lies behind the comparison is the network.
  constexpr std::size_t kMostNodes = 64;
  std::deque<std::string> todo{"pred_masks_bits"};
  std::set<std::string> seen;
  while (!todo.empty() && seen.size() < kMostNodes) {
    const std::string value = todo.front();
    todo.pop_front();
    if (!seen.insert(value).second) continue;
    if (const auto constant = detector.constant(value)) {
      if (const auto order = order_of(*constant)) return *order;
      continue;
    }
    const graph::Node* node = detector.producer_of(value);
    if (!node || is_comparison(node->op_type)) continue;
    todo.insert(todo.end(), node->inputs.begin(), node->inputs.end());
  }
  return Error{ErrorCode::kUnsupported,
               "the order of the bits in pred_masks_bits cannot be told from the graph",
               detector.path().string(), "detector"};
}

}  // namespace sam3::model
