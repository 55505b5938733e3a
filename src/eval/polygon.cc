#include "eval/polygon.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "base/macros.h"

namespace sam3::eval {
namespace {

// Steps of the fine grid in a pixel; the middle of a pixel is between steps 2 and 3.
constexpr std::int64_t kFine = 5;
constexpr std::int64_t kMiddle = 2;
constexpr double kFarthest = 1e6;

struct FinePoint {
  std::int64_t x = 0;
  std::int64_t y = 0;
};

// Halves go up, and what is negative goes towards zero: the rounding of pycocotools.
std::int64_t rounded(double value) { return static_cast<std::int64_t>(value + 0.5); }

std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return value > 0 ? (value + by - 1) / by : -(-value / by);
}

Error bad_polygon(const std::string& what) {
  return {.code = ErrorCode::kBadData, .message = "polygon: " + what, .file = {}, .graph = {}};
}

// The places, counted down the columns, at which a boundary enters or leaves the polygon.
class Boundary {
 public:
  explicit Boundary(Size size) : size_(size) {}

  void draw(std::span<const double> coordinates) {
    const std::size_t points = coordinates.size() / 2;
    const auto fine = [&](std::size_t i) {
      return FinePoint{rounded(static_cast<double>(kFine) * coordinates[2 * i]),
                       rounded(static_cast<double>(kFine) * coordinates[2 * i + 1])};
    };
    started_ = false;
    for (std::size_t i = 0; i < points; ++i) draw_edge(fine(i), fine((i + 1) % points));
  }

  // Sorted.
  std::vector<std::int64_t> places() && {
    std::sort(places_.begin(), places_.end());
    return std::move(places_);
  }

 private:
  // Every step along the longer axis is a point. The other coordinate is always computed from the
  // end with the lower one on the longer axis, so that an edge has the same points from both sides.
  void draw_edge(FinePoint start, FinePoint end) {
    const std::int64_t width = std::abs(end.x - start.x);
    const std::int64_t height = std::abs(end.y - start.y);
    const bool flat = width >= height;
    const bool backward = flat ? start.x > end.x : start.y > end.y;
    const std::int64_t steps = flat ? width : height;
    const FinePoint low = backward ? end : start;
    const FinePoint high = backward ? start : end;
    const std::int64_t rise = flat ? high.y - low.y : high.x - low.x;
    const double slope = steps == 0 ? 0 : static_cast<double>(rise) / static_cast<double>(steps);
    for (std::int64_t i = 0; i <= steps; ++i) {
      const std::int64_t t = backward ? steps - i : i;
      const std::int64_t other =
          rounded(static_cast<double>(flat ? low.y : low.x) + slope * static_cast<double>(t));
      step_to(flat ? FinePoint{low.x + t, other} : FinePoint{other, low.y + t});
    }
  }

  void step_to(FinePoint point) {
    const FinePoint before = std::exchange(last_, point);
    if (!std::exchange(started_, true) || point.x == before.x) return;
    const std::int64_t column = (point.x < before.x ? point.x : point.x - 1) - kMiddle;
    if (column < 0 || column % kFine != 0 || column / kFine >= size_.width) return;
    const std::int64_t row = divided_up(std::min(point.y, before.y) - kMiddle, kFine);
    places_.push_back(column / kFine * size_.height +
                      std::clamp<std::int64_t>(row, 0, size_.height));
  }

  Size size_;
  bool started_ = false;
  FinePoint last_;
  std::vector<std::int64_t> places_;
};

Status check_polygon(std::span<const double> coordinates) {
  if (coordinates.size() < 6 || coordinates.size() % 2 != 0)
    return bad_polygon(std::to_string(coordinates.size()) +
                       " numbers are no list of three or more points");
  for (const double value : coordinates)
    if (!(std::abs(value) <= kFarthest))
      return bad_polygon("the coordinate " + std::to_string(value) + " is out of range");
  return {};
}

}  // namespace

Result<Rle> rle_from_polygons(std::span<const std::vector<double>> polygons, Size size) {
  const std::int64_t pixels = std::int64_t{size.width} * size.height;
  if (pixels > std::numeric_limits<std::uint32_t>::max())
    return Error{ErrorCode::kLimit, "a mask of " + std::to_string(pixels) + " pixels", "", ""};
  // Where a polygon begins (+1) and ends (-1) to cover pixels.
  std::vector<std::pair<std::int64_t, int>> changes;
  for (const std::vector<double>& polygon : polygons) {
    SAM3_RETURN_IF_ERROR(check_polygon(polygon));
    Boundary boundary(size);
    boundary.draw(polygon);
    int change = 1;
    for (const std::int64_t place : std::move(boundary).places()) {
      changes.emplace_back(place, change);
      change = -change;
    }
    if (change < 0) changes.emplace_back(pixels, change);
  }
  std::sort(changes.begin(), changes.end());
  Rle rle{size, {}};
  std::int64_t last = 0;
  int covering = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const std::int64_t place = changes[i].first;
    const bool was_covered = covering > 0;
    while (i < changes.size() && changes[i].first == place) covering += changes[i++].second;
    if (was_covered == (covering > 0)) continue;
    rle.counts.push_back(static_cast<std::uint32_t>(place - last));
    last = place;
  }
  if (last < pixels || rle.counts.empty())
    rle.counts.push_back(static_cast<std::uint32_t>(pixels - last));
  return rle;
}

}  // namespace sam3::eval
