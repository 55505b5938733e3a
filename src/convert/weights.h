// Where a converter's weights come from: a checkpoint, or a random generator.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "convert/safetensors.h"
#include "graph/editable_model.h"
#include "sam3/result.h"

namespace sam3::convert {

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // The tensor `key` as float, which must have the sizes `dims`. kNotFound or kBadData.
  virtual Result<graph::Weight> find(const std::string& key,
                                     const std::vector<std::int64_t>& dims) const = 0;
};

// model.safetensors, or the files that model.safetensors.index.json names, in the layout of
// facebook/sam3 (detector_model.*, tracker_model.*, tracker_neck.*). The doubled prefix
// tracker_model.tracker_model.* of some re-saved checkpoints is read as well.
class Checkpoint : public WeightSource {
 public:
  // kNotFound or kBadData, with the file; a missing shard is named.
  static Result<Checkpoint> open(const std::filesystem::path& folder);
  Result<graph::Weight> find(const std::string& key,
                             const std::vector<std::int64_t>& dims) const override;

 private:
  // Which parts of the model none of the tensors belongs to.
  std::string holds_text() const;

  std::filesystem::path folder_;
  std::vector<SafetensorsFile> files_;
};

// Reproducible random weights: layer norms and biases as untrained ones, everything else normal
// with a standard deviation that keeps activations within bounds. Every tensor depends on the seed
// and its key alone.
class RandomWeights : public WeightSource {
 public:
  explicit RandomWeights(std::uint64_t seed) : seed_(seed) {}
  Result<graph::Weight> find(const std::string& key,
                             const std::vector<std::int64_t>& dims) const override;

 private:
  std::uint64_t seed_;
};

}  // namespace sam3::convert
