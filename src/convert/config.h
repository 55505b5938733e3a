// The sizes of a SAM 3 model, as its config.json gives them. Letters of shapes in this folder:
// C width, G side of the patch grid, N = G * G image tokens, T prompt tokens, Q queries.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sam3/result.h"

namespace sam3::convert {

using Size = std::int64_t;

// Of the transformers with hidden layers of their own: DETR encoder and decoder, geometry encoder.
struct TransformerConfig {
  Size layers = 0;
  Size heads = 0;
  Size inner = 0;  // width of the feed-forward layer
  std::string activation = "relu";
};

struct VisionConfig {
  Size image = 0;  // side of the square input, pixels
  Size patch = 0;
  Size pretrain_grid = 0;  // side of the table of position embeddings, patches
  Size window = 0;         // side of a window, patches
  std::set<Size> global_layers;
  Size width = 0;
  Size layers = 0;
  Size heads = 0;
  Size inner = 0;
  Size channels = 3;
  double epsilon = 1e-6;  // of every layer norm of the backbone
  double rope_theta = 10000;
  std::string activation = "gelu";
  std::vector<double> scales;  // of the neck's levels, from fine to coarse

  Size grid() const { return image / patch; }
  Size tokens() const { return grid() * grid(); }
};

struct TextConfig {
  Size vocabulary = 0;
  Size length = 0;  // tokens of a prompt
  Size width = 0;
  Size layers = 0;
  Size heads = 0;
  Size inner = 0;
  double epsilon = 1e-5;
  std::string activation = "gelu";
};

// Of the point workflow's prompt encoder and mask decoder.
struct PointConfig {
  Size layers = 0;  // of the two-way transformer, and linear layers of its feed-forward part
  Size heads = 0;
  Size inner = 0;
  Size downsample = 2;  // of the width inside cross attention
  Size masks = 4;       // mask tokens, the single one included
  Size iou_layers = 3;  // linear layers of the head that predicts IoU
  Size iou_inner = 0;
  Size point_embeddings = 4;
};

struct Config {
  VisionConfig vision;
  TextConfig text;
  Size width = 0;  // of everything behind the neck
  TransformerConfig geometry;
  Size roi = 7;  // side of the grid that a box is pooled to
  TransformerConfig encoder;
  TransformerConfig decoder;
  Size queries = 0;
  Size mask_heads = 0;
  PointConfig point;

  // Side of the finest feature map and of the masks.
  Size mask_side() const { return 4 * vision.grid(); }
};

// Of facebook/sam3. Source: the defaults of its configuration classes.
Config full_size_config();

// A config.json of the facebook/sam3 form, or of its detector alone (then the tracker's sizes are
// the full-size ones). kBadData for values that are missing, of the wrong kind, or do not go
// together, all of them at once.
Result<Config> parse_config(std::string_view json_text);
Result<Config> read_config(const std::filesystem::path& path);

}  // namespace sam3::convert
