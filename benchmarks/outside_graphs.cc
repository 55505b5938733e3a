// Times of the steps around the graphs, one thread, on a 12-megapixel JPEG picture with ten masks.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/parallel.h"
#include "formats/json.h"
#include "formats/write_picture.h"
#include "image/resize.h"
#include "mask/upsample.h"
#include "sam3/mask.h"
#include "sam3/read_picture.h"
#include "workload.h"

namespace sam3::bench {
namespace {

constexpr Size kPictureSize{4000, 3000};
constexpr int kMasks = 10;
constexpr int kSmallSide = 336;

// What the benchmarks work on, made once and before the first loop.
struct Inputs {
  TemporaryFolder folder;
  Picture photo = make_photo(kPictureSize);
  PackedMasks packed{kMasks};
  std::vector<Mask> masks;
  std::vector<formats::DetectionEntry> entries;

  Inputs() {
    formats::write_picture(jpeg(), photo).value();
    for (int i = 0; i < kMasks; ++i) {
      masks.push_back(mask::upsample_bits(packed.plane(i), kPictureSize));
      entries.push_back(describe(masks.back(), i));
    }
  }
  std::filesystem::path jpeg() const { return folder / "photo.jpg"; }
};

const Inputs& inputs() {
  static const Inputs made;
  return made;
}

void all(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state) run_path(given.jpeg(), given.packed, given.folder);
}

void read_jpeg(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state) benchmark::DoNotOptimize(read_picture(given.jpeg()).value().picture.data());
}

void preprocess_picture(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state) benchmark::DoNotOptimize(preprocess(given.photo, kInputSide).data());
}

void enlarge_masks(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state)
    for (int i = 0; i < kMasks; ++i)
      benchmark::DoNotOptimize(mask::upsample_bits(given.packed.plane(i), kPictureSize));
}

void describe_masks(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state)
    for (int i = 0; i < kMasks; ++i)
      benchmark::DoNotOptimize(describe(given.masks[static_cast<std::size_t>(i)], i));
}

void write_json_file(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state) write_document(given.folder / "photo.json", kPictureSize, given.entries);
}

void write_mask_files(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state)
    for (int i = 0; i < kMasks; ++i)
      formats::write_mask_png(given.folder / ("mask_" + std::to_string(i) + ".png"),
                              given.masks[static_cast<std::size_t>(i)])
          .value();
}

// The filter alone, to the given side.
void resize_picture(benchmark::State& state) {
  const Inputs& given = inputs();
  const auto side = static_cast<int>(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(image::resize(given.photo, {side, side}, run_serially).value().data());
}

void enlarge_bits(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state)
    benchmark::DoNotOptimize(mask::upsample_bits(given.packed.plane(0), kPictureSize));
}

void enlarge_logits(benchmark::State& state) {
  const std::vector<float> logits = make_logits(0);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        mask::upsample_logits(logits.data(), {kMaskSide, kMaskSide}, kPictureSize));
}

void measure_area(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state) benchmark::DoNotOptimize(given.masks.front().area());
}

void make_rle(benchmark::State& state) {
  const Inputs& given = inputs();
  for (auto _ : state) benchmark::DoNotOptimize(compressed_counts(given.masks.front().rle()));
}

// Not part of `all`: the picture for people, drawn with all masks and boxes, as PNG.
void write_overlay_file(benchmark::State& state) {
  const Inputs& given = inputs();
  std::vector<formats::OverlayItem> items;
  for (int i = 0; i < kMasks; ++i) {
    const auto index = static_cast<std::size_t>(i);
    items.push_back({&given.masks[index], given.entries[index].box, "object 90 %"});
  }
  for (auto _ : state)
    formats::write_overlay(given.folder / "overlay.png", given.photo, items).value();
}

#define SAM3_BENCHMARK(function) \
  BENCHMARK(function)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()

SAM3_BENCHMARK(all);
SAM3_BENCHMARK(read_jpeg);
SAM3_BENCHMARK(preprocess_picture);
SAM3_BENCHMARK(enlarge_masks);
SAM3_BENCHMARK(describe_masks);
SAM3_BENCHMARK(write_json_file);
SAM3_BENCHMARK(write_mask_files);
SAM3_BENCHMARK(resize_picture)->Arg(kInputSide)->Arg(kSmallSide);
SAM3_BENCHMARK(enlarge_bits);
SAM3_BENCHMARK(enlarge_logits);
SAM3_BENCHMARK(measure_area);
SAM3_BENCHMARK(make_rle);
SAM3_BENCHMARK(write_overlay_file);

}  // namespace
}  // namespace sam3::bench

BENCHMARK_MAIN();
