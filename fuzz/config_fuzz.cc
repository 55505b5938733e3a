// A checkpoint's config.json, and for tiny sizes the graph that is built from it.
#include "convert/config.h"
#include "convert/graphs.h"
#include "scratch.h"

namespace {

bool is_tiny(const sam3::convert::TextConfig& text) {
  constexpr sam3::convert::Size kMost = 64;
  return text.layers <= 4 && text.vocabulary <= kMost && text.length <= kMost &&
         text.width <= kMost && text.inner <= kMost;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sam3;
  const auto config = convert::parse_config(fuzz::text_of(data, size));
  if (!config.ok() || !is_tiny(config->text)) return 0;
  const auto model = convert::build_text_encoder(*config, convert::RandomWeights(1));
  fuzz::require(model.ok());
  fuzz::require(graph::check_order(model->proto.graph(), *model).ok());
  return 0;
}
