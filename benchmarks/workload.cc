#include "workload.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/parallel.h"
#include "formats/write_json.h"
#include "formats/write_picture.h"
#include "image/normalize.h"
#include "image/resize.h"
#include "sam3/read_picture.h"

namespace sam3::bench {
namespace {

constexpr int kMaskRowBytes = (kMaskSide + 7) / 8;
constexpr std::size_t kMaskBytes = std::size_t{kMaskSide} * kMaskRowBytes;
constexpr int kObjectsInPhoto = 10;
constexpr image::Normalization kNormalization{{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}};

// The n-th of a sequence in [0, 1) that fills the range evenly; `key` picks the sequence.
double spread(int n, double key) {
  const double value = (n + 1) * key;
  return value - std::floor(value);
}

// An ellipse with a wavy edge; all coordinates are shares of the picture's sides.
class Object {
 public:
  explicit Object(int index)
      : x_(0.2 + 0.6 * spread(index, 0.7548776662)), y_(0.2 + 0.6 * spread(index, 0.5698402910)) {
    const double share = 0.02 + 0.06 * spread(index, 0.6180339887);
    const double aspect = 0.7 + 0.7 * spread(index, 0.4142135624);
    x_radius_ = std::sqrt(share * aspect / std::numbers::pi);
    y_radius_ = std::sqrt(share / aspect / std::numbers::pi);
  }

  // Above 0 inside, falling away from the centre.
  double depth(double x, double y) const {
    const double across = (x - x_) / x_radius_;
    const double down = (y - y_) / y_radius_;
    const double distance = across * across + down * down;
    if (distance > kReach) return 1 - distance;
    return 1 + kWave * std::sin(9 * across) * std::cos(7 * down) - distance;
  }

  bool reaches_row(double y) const { return std::abs(y - y_) < y_radius_ * std::sqrt(kReach); }

 private:
  static constexpr double kWave = 0.3;
  static constexpr double kReach = 1 + kWave;

  double x_;
  double y_;
  double x_radius_;
  double y_radius_;
};

// Fixed noise in [-1, 1) for a point of a grid.
float grid_noise(int x, int y, int cell) {
  std::uint32_t bits = static_cast<std::uint32_t>(x) * 0x9E3779B1U ^
                       static_cast<std::uint32_t>(y) * 0x85EBCA77U ^
                       static_cast<std::uint32_t>(cell) * 0xC2B2AE3DU;
  bits = (bits ^ bits >> 15) * 0x2C1B3C6DU;
  bits = (bits ^ bits >> 12) * 0x297A2D39U;
  return static_cast<float>(static_cast<std::int32_t>(bits ^ bits >> 15)) / 2147483648.0F;
}

// Adds row y of noise that changes every `cell` pixels, linear between.
void add_noise(std::span<float> row, int y, int cell, float strength) {
  const int above = y / cell;
  const float down = static_cast<float>(y % cell) / static_cast<float>(cell);
  const auto at_column = [&](int x) {
    return std::lerp(grid_noise(x, above, cell), grid_noise(x, above + 1, cell), down) * strength;
  };
  float left = 0;
  float right = at_column(0);
  int across = 0;
  int column = 0;
  for (float& value : row) {
    if (across == 0) left = std::exchange(right, at_column(++column));
    value += std::lerp(left, right, static_cast<float>(across) / static_cast<float>(cell));
    across = across + 1 == cell ? 0 : across + 1;
  }
}

// What is seen in a row: the number of an object, or -1 for the background.
void find_objects(const std::vector<Object>& objects, double y, std::span<int> row) {
  std::fill(row.begin(), row.end(), -1);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!objects[i].reaches_row(y)) continue;
    for (std::size_t x = 0; x < row.size(); ++x) {
      const double across = (static_cast<double>(x) + 0.5) / static_cast<double>(row.size());
      if (objects[i].depth(across, y) > 0) row[x] = static_cast<int>(i);
    }
  }
}

std::array<float, 3> colour_of(int object, float down) {
  if (object < 0) return {90 + 60 * down, 110 + 30 * down, 160 - 70 * down};
  const auto level = [&](double key) { return static_cast<float>(40 + 170 * spread(object, key)); };
  return {level(0.61), level(0.37), level(0.83)};
}

formats::DocumentHead document_head(Size picture) {
  formats::DocumentHead head;
  head.image = "photo.jpg";
  head.size = picture;
  head.model = "none";
  head.device = "cpu";
  return head;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "sam3-benchmark-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder can be made");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

Picture make_photo(Size size) {
  const auto width = static_cast<std::size_t>(size.width);
  const auto height = static_cast<std::size_t>(size.height);
  auto pixels = std::make_shared<std::vector<std::uint8_t>>(3 * width * height);
  std::uint8_t* target = pixels->data();
  std::vector<Object> objects;
  for (int i = 0; i < kObjectsInPhoto; ++i) objects.emplace_back(i);
  std::vector<int> seen(width);
  std::vector<float> shade(width);
  for (int y = 0; y < size.height; ++y) {
    const float down = static_cast<float>(y) / static_cast<float>(size.height);
    std::fill(shade.begin(), shade.end(), 0.0F);
    for (const auto& [cell, strength] :
         {std::pair{256, 40.0F}, {64, 15.0F}, {16, 8.0F}, {5, 8.0F}, {1, 8.0F}})
      add_noise(shade, y, cell, strength);
    find_objects(objects, (y + 0.5) / size.height, seen);
    for (std::size_t x = 0; x < width; ++x)
      for (const float level : colour_of(seen[x], down))
        *target++ = static_cast<std::uint8_t>(std::clamp(level + shade[x], 0.0F, 255.0F));
  }
  const std::uint8_t* data = pixels->data();
  return Picture(size, std::shared_ptr<const std::uint8_t>(std::move(pixels), data));
}

PackedMasks::PackedMasks(int count)
    : count_(count), bits_(kMaskBytes * static_cast<std::size_t>(count)) {
  auto byte = bits_.begin();
  for (int i = 0; i < count; ++i) {
    const std::vector<float> logits = make_logits(i);
    for (std::size_t start = 0; start < logits.size(); start += 8, ++byte)
      for (std::size_t bit = 0; bit < 8; ++bit)
        if (logits[start + bit] > 0) *byte = static_cast<std::uint8_t>(*byte | 0x80 >> bit);
  }
}

mask::BitPlane PackedMasks::plane(int index) const {
  mask::BitPlane plane;
  plane.size = {kMaskSide, kMaskSide};
  plane.data = bits_.data() + kMaskBytes * static_cast<std::size_t>(index);
  plane.bytes_per_row = kMaskRowBytes;
  plane.order = mask::BitOrder::kMsbFirst;
  return plane;
}

std::vector<float> make_logits(int index) {
  static_assert(kMaskSide % 8 == 0, "a byte holds eight columns of one row");
  const Object object(index);
  std::vector<float> logits;
  logits.reserve(std::size_t{kMaskSide} * kMaskSide);
  for (int y = 0; y < kMaskSide; ++y)
    for (int x = 0; x < kMaskSide; ++x)
      logits.push_back(
          static_cast<float>(8 * object.depth((x + 0.5) / kMaskSide, (y + 0.5) / kMaskSide)));
  return logits;
}

std::vector<float> preprocess(const Picture& picture, int side) {
  const Picture square = image::resize(picture, {side, side}, run_serially).value();
  std::vector<float> planes(std::size_t{3} * static_cast<std::size_t>(side) *
                            static_cast<std::size_t>(side));
  image::write_float_planes(square, kNormalization, planes, run_serially);
  return planes;
}

formats::DetectionEntry describe(const Mask& mask, int index) {
  formats::DetectionEntry entry;
  entry.prompt = "object";
  entry.score = 1 - spread(index, 0.5);
  entry.box = mask.tight_box();
  entry.area = mask.area();
  entry.rle = formats::RleText{mask.size(), compressed_counts(mask.rle())};
  return entry;
}

void write_document(const std::filesystem::path& path, Size picture,
                    const std::vector<formats::DetectionEntry>& entries) {
  formats::write_json(path, formats::detections_document(document_head(picture), entries)).value();
}

void run_path(const std::filesystem::path& picture, const PackedMasks& masks,
              const TemporaryFolder& results) {
  const LoadedPicture loaded = read_picture(picture).value();
  const Size size = loaded.picture.size();
  if (preprocess(loaded.picture, kInputSide).empty()) throw std::runtime_error("no planes");
  std::vector<formats::DetectionEntry> entries;
  for (int i = 0; i < masks.count(); ++i) {
    const Mask mask = mask::upsample_bits(masks.plane(i), size);
    entries.push_back(describe(mask, i));
    formats::write_mask_png(results / ("mask_" + std::to_string(i) + ".png"), mask).value();
  }
  write_document(results / "photo.json", size, entries);
}

}  // namespace sam3::bench
