#include "model/preprocess.h"

#include <vector>

#include "base/macros.h"
#include "image/resize.h"

namespace sam3::model {
namespace {

std::size_t plane_values(int side) {
  return std::size_t{3} * static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
}

}  // namespace

Result<runtime::Tensor> pixel_values(const Picture& picture, int side,
                                     const image::Normalization& normalization,
                                     const ParallelFor& runner) {
  SAM3_ASSIGN_OR_RETURN(const Picture square, image::resize(picture, {side, side}, runner));
  std::vector<float> planes(plane_values(side));
  image::write_float_planes(square, normalization, planes, runner);
  return runtime::Tensor({1, 3, side, side}, std::move(planes));
}

Result<runtime::Tensor> pixel_bytes(const Picture& picture, int side, const ParallelFor& runner) {
  SAM3_ASSIGN_OR_RETURN(const Picture square, image::resize(picture, {side, side}, runner));
  std::vector<std::uint8_t> planes(plane_values(side));
  image::write_byte_planes(square, planes, runner);
  return runtime::Tensor({3, side, side}, std::move(planes));
}

}  // namespace sam3::model
