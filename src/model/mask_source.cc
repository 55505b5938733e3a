#include "model/mask_source.h"

namespace sam3::model {

mask::BitPlane BitMaskSource::plane() const {
  const auto height = static_cast<std::size_t>(bits_.dim(2));
  const auto bytes_per_row = static_cast<std::size_t>(bits_.dim(3));
  mask::BitPlane plane;
  plane.size = {static_cast<int>(8 * bytes_per_row), static_cast<int>(height)};
  plane.data = bits_.bytes().data() + static_cast<std::size_t>(query_) * height * bytes_per_row;
  plane.bytes_per_row = bytes_per_row;
  plane.order = order_;
  return plane;
}

Size LogitMaskSource::low() const {
  return {static_cast<int>(logits_.dim(4)), static_cast<int>(logits_.dim(3))};
}

const float* LogitMaskSource::plane() const {
  const auto pixels = static_cast<std::size_t>(logits_.dim(3) * logits_.dim(4));
  return logits_.floats().data() + static_cast<std::size_t>(token_) * pixels;
}

Mask LogitMaskSource::full() const { return mask::upsample_logits(plane(), low(), picture_); }
Mask LogitMaskSource::compact() const { return mask::upsample_logits(plane(), low(), low()); }

}  // namespace sam3::model
