// The graphs of both families, built from a checkpoint's weights. Shapes as in config.h.
#pragma once

#include <string>
#include <vector>

#include "convert/builder.h"
#include "convert/config.h"
#include "convert/weights.h"
#include "graph/editable_model.h"
#include "sam3/result.h"

namespace sam3::convert {

// Where the learned vector "no memory" is added to the coarsest embedding of the point workflow.
// Source: facebookresearch/sam3 adds it; the library transformers (5.24) adds it to the coarsest
// level of its neck, which the decoder reads only if the neck has three levels.
enum class NoMemory { kOriginal, kReference };

struct GraphOptions {
  NoMemory no_memory = NoMemory::kOriginal;
  bool free_prompt_length = false;  // of the detector, so that exemplars can follow the text
};

// Five-graph family.
Result<graph::EditableModel> build_vision_encoder(const Config& config, const WeightSource& source);
Result<graph::EditableModel> build_text_encoder(const Config& config, const WeightSource& source);
Result<graph::EditableModel> build_detector(const Config& config, const WeightSource& source,
                                            const GraphOptions& options);
Result<graph::EditableModel> build_tracker_vision_encoder(const Config& config,
                                                          const WeightSource& source,
                                                          const GraphOptions& options);
Result<graph::EditableModel> build_prompt_decoder(const Config& config, const WeightSource& source);
// fpn_2 f32[1,C,G,G], input_boxes f32[1,n,4] (centre x, centre y, width, height in 0..1),
// input_boxes_labels i64[1,n] (1 positive, 0 negative) -> prompt_features f32[1,n+1,C], the boxes'
// tokens and one for the picture, prompt_mask i64[1,n+1], all 1.
Result<graph::EditableModel> build_geometry_encoder(const Config& config,
                                                    const WeightSource& source);

// Browser family: spec of inputs and outputs as the published three-graph model has them.
Result<graph::EditableModel> build_browser_image_encoder(const Config& config,
                                                         const WeightSource& source);
Result<graph::EditableModel> build_browser_language_encoder(const Config& config,
                                                            const WeightSource& source);
Result<graph::EditableModel> build_browser_decoder(const Config& config,
                                                   const WeightSource& source);

// Parts that several graphs have.

// pixel_values f32[1,3,image,image] -> [1,width,G,G]
Value build_backbone(Builder& b, const VisionConfig& config, const Value& pixels);
// One level of a neck ("detector_model.vision_encoder.neck" or "tracker_neck"), scale 4, 2 or 1.
Value build_neck_level(Builder& b, const Config& config, const Value& features,
                       const std::string& neck, std::size_t level);
// ids i64[1,T] -> f32[1,T,width]. Where at least half of the table's rows are zero, as in small
// trained models that know few words, only the others are kept, with a row number for each token.
Value build_token_embeddings(Builder& b, const TextConfig& config, const Value& ids);
// ids i64[1,T], attention_mask i64[1,T] or "" -> last hidden state f32[1,T,width] of the text model
Value build_text_model(Builder& b, const TextConfig& config, const Value& ids, const Value& mask);
Value build_text_projection(Builder& b, const Config& config, const Value& hidden);

// The sine encoding of the positions of a map of the neck, sides x sides: [1, sides * sides, C].
// It is declared as two small factors.
Value build_position_encoding(Builder& b, Size width, Size side);
// The same as a map, [1, C, side, side].
Value build_position_map(Builder& b, Size width, Size side);
// x f32[n] in 0..1 -> f32[n, features], sine and cosine in turn.
Value build_sine_encoding(Builder& b, const Value& x, Size features);
// [.., 4] centre x, centre y, width, height -> x0, y0, x1, y1
Value build_corners(Builder& b, const Value& boxes);
// valid bool[1,T] -> f32[1,1,1,T], 0 or the lowest number
Value build_attention_bias(Builder& b, const Value& valid);

struct DetectorInputs {
  std::vector<Value> fpn;  // fine to coarse
  Value prompt;            // f32[1,T,C]
  Value valid;             // bool[1,T]
  Value positions;         // f32[1,N,C] of the coarsest map; "": built in
};
struct DetectorOutputs {
  Value embeddings;  // of the masks, f32[1,Q,C]
  Value pixels;      // f32[1,C,S*S]; a mask's logits are products of the two
  Value boxes;       // f32[1,Q,4], x0, y0, x1, y1 in 0..1
  Value logits;      // f32[1,Q]
  Value presence;    // f32[1,1]
  Value semantic;    // logits f32[1,1,S,S]
};
DetectorOutputs build_detection(Builder& b, const Config& config, const DetectorInputs& in);

struct GeometryInputs {
  Value fpn_2;      // f32[1,C,G,G]
  Value boxes;      // f32[1,n,4]
  Value labels;     // i64[1,n]
  Value valid;      // bool[1,n+1], or "" where all are
  Value positions;  // as in DetectorInputs
};
// f32[1,n+1,C]
Value build_geometry(Builder& b, const Config& config, const GeometryInputs& in);

}  // namespace sam3::convert
