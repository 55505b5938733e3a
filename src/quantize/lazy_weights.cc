#include "quantize/lazy_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "base/macros.h"

namespace sam3::quantize {

using graph::ElementType;
using graph::Weight;

namespace {

Status not_finite(const std::string& name) {
  return Error{ErrorCode::kBadData,
               "the weight '" + name + "' holds infinity or NaN and cannot be quantized", "", ""};
}

// Makes values and scales in one go, and keeps the scales: they are small, and the values come
// first in a model that is written by name.
class TwoResults {
 public:
  // Fills values (if not empty) and scales.
  using Make = std::function<Status(std::span<std::byte> values, std::vector<float>& scales)>;
  explicit TwoResults(Make make) : make_(std::move(make)) {}

  Status read_values(std::span<std::byte> into) {
    std::vector<float> scales;
    SAM3_RETURN_IF_ERROR(make_(into, scales));
    keep(std::move(scales));
    return {};
  }

  Status read_scales(std::span<std::byte> into) {
    std::shared_ptr<const std::vector<float>> scales = kept();
    if (!scales) {
      std::vector<float> made;
      SAM3_RETURN_IF_ERROR(make_({}, made));
      scales = keep(std::move(made));
    }
    std::memcpy(into.data(), scales->data(), into.size());
    return {};
  }

 private:
  std::shared_ptr<const std::vector<float>> kept() {
    const std::lock_guard lock(mutex_);
    return scales_;
  }
  std::shared_ptr<const std::vector<float>> keep(std::vector<float> scales) {
    auto made = std::make_shared<const std::vector<float>>(std::move(scales));
    const std::lock_guard lock(mutex_);
    scales_ = made;
    return made;
  }

  Make make_;
  std::mutex mutex_;
  std::shared_ptr<const std::vector<float>> scales_;
};

ChannelWeights weights_of(TwoResults::Make make) {
  auto results = std::make_shared<TwoResults>(std::move(make));
  ChannelWeights weights;
  weights.values.read = [results](std::span<std::byte> into) { return results->read_values(into); };
  weights.scales.read = [results](std::span<std::byte> into) { return results->read_scales(into); };
  weights.scales.type = ElementType::kFloat;
  return weights;
}

Status make_channels(const ChannelForm& form, std::span<std::byte> values,
                     std::vector<float>& scales) {
  SAM3_ASSIGN_OR_RETURN(const std::vector<float> source, read_values<float>(form.source));
  const ChannelLayout layout = ChannelLayout::of(form.source.dims, form.axis);
  scales = largest_magnitudes(source, layout, form.parallel);
  for (float& scale : scales) {
    if (std::isinf(scale)) return not_finite(form.name);
    scale = symmetric_scale(scale);
  }
  if (values.empty()) return {};
  const ChannelRounding rounding{layout, scales, form.add_128};
  if (form.transpose)
    round_channels_transposed(source, rounding, form.parallel, values);
  else
    round_channels(source, rounding, form.parallel, values);
  return {};
}

}  // namespace

ChannelWeights quantize_channels(ChannelForm form) {
  std::vector<std::int64_t> dims = form.source.dims;
  std::vector<std::int64_t> scale_dims(form.ones_before, 1);
  scale_dims.push_back(dims[form.axis]);
  scale_dims.insert(scale_dims.end(), form.ones_after, 1);
  if (form.transpose) std::reverse(dims.begin(), dims.end());
  const bool add_128 = form.add_128;
  const auto shared = std::make_shared<const ChannelForm>(std::move(form));
  ChannelWeights weights =
      weights_of([shared](std::span<std::byte> values, std::vector<float>& scales) {
        return make_channels(*shared, values, scales);
      });
  weights.values.type = add_128 ? ElementType::kUint8 : ElementType::kInt8;
  weights.values.dims = std::move(dims);
  weights.scales.dims = std::move(scale_dims);
  return weights;
}

ChannelWeights quantize_blocks(const std::string& name, Weight source, const BlockLayout& layout,
                               ParallelFor parallel) {
  const std::int64_t scales = layout.outputs * layout.blocks();
  ChannelWeights weights =
      weights_of([=](std::span<std::byte> values, std::vector<float>& made) -> Status {
        SAM3_ASSIGN_OR_RETURN(const std::vector<float> floats, read_values<float>(source));
        const auto finite = [](float value) { return std::isfinite(value); };
        if (!std::all_of(floats.begin(), floats.end(), finite)) return not_finite(name);
        made.resize(static_cast<std::size_t>(scales));
        std::vector<std::byte> unused;
        if (values.empty()) {
          unused.resize(static_cast<std::size_t>(scales * layout.block_bytes()));
          values = unused;
        }
        pack_blocks(floats, layout, parallel, values, made);
        return {};
      });
  weights.values.type = ElementType::kUint8;
  weights.values.dims = {layout.outputs, layout.blocks(), layout.block_bytes()};
  weights.scales.dims = {scales};
  return weights;
}

Weight halve(Weight source, ParallelFor parallel) {
  Weight half{ElementType::kFloat16, source.dims, nullptr};
  half.read = [source = std::move(source),
               parallel = std::move(parallel)](std::span<std::byte> into) -> Status {
    SAM3_ASSIGN_OR_RETURN(const std::vector<float> floats, read_values<float>(source));
    const std::size_t part = std::size_t{1} << 16;
    const std::size_t parts = (floats.size() + part - 1) / part;
    parallel(static_cast<std::int64_t>(parts), [&](std::int64_t p) {
      const std::size_t begin = static_cast<std::size_t>(p) * part;
      for (std::size_t i = begin; i < std::min(floats.size(), begin + part); ++i) {
        const std::uint16_t value = to_float16(floats[i]);
        std::memcpy(into.data() + i * sizeof value, &value, sizeof value);
      }
    });
    return {};
  };
  return half;
}

Weight reshaped(Weight source, std::vector<std::int64_t> dims) {
  source.dims = std::move(dims);
  return source;
}

}  // namespace sam3::quantize
