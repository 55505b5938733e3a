// SAM 3 on pictures: every object that a phrase names, or the one object under clicks or a box.
//
//   auto model = sam3::Model::open("models/demo").value();
//   auto picture = sam3::read_picture("photo.jpg").value().picture;
//   auto features = model.encode_image(picture).value();
//   for (const auto& found : model.detect(features, "red circle").value())
//     std::printf("%.2f at %.0f,%.0f\n", found.score, found.box.x0, found.box.y0);
//
// A Model and everything it returns are values: cheap to copy, and their const methods may be
// called from several threads at once. Answers are the same, bit for bit, whatever the number of
// callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sam3/export.h"
#include "sam3/mask.h"
#include "sam3/picture.h"
#include "sam3/result.h"

namespace sam3 {

enum class Workflow { kText, kPoint };

struct ModelOptions {
  // "cpu", "auto", or another device of `RuntimeInfo`; with ":N" for the N-th of its kind. A device
  // that cannot be had is an error (kUnavailable), except for "auto".
  std::string device = "auto";
  // Threads of a run; 0 counts the processors that this process may use.
  int threads = 0;
  // Keeps at most one of the encoders of pictures and phrases open, each from its first use to the
  // other's: less memory, and loading again for the next picture and for new phrases on it.
  bool low_memory = false;
  // Exact rewrites that make graphs faster or smaller while they are loaded: "all", "none", or
  // names to leave out, such as "-attention,-kept-masks". "plain": none, and ONNX Runtime's own
  // settings of memory and sums, for comparisons.
  std::string rewrite = "all";
  // A folder that gets a profile of each graph (Chrome's trace format) when the model goes. Empty:
  // none.
  std::string profile;
  // ONNX Runtime's library: a path, or a name for the dynamic linker. The first one of a process
  // stays.
  std::string onnxruntime = "libonnxruntime.so.1";
};

// The ONNX Runtime that is loaded.
struct RuntimeInfo {
  std::string version;
  std::vector<std::string>
      devices;  // names that `ModelOptions::device` may have here, without "auto"
};
SAM3_API Result<RuntimeInfo> runtime_info(const std::string& onnxruntime = "libonnxruntime.so.1");

// All device names that are known, whether this machine has them or not.
SAM3_API std::vector<std::string> known_devices();

// This library's version, e.g. "0.1.0".
SAM3_API std::string version();

namespace model {
class Core;
struct Features;
class MaskSource;
}  // namespace model

// One object that a phrase names.
struct SAM3_API Detection {
  std::string prompt;
  float score = 0;  // sigmoid(pred_logits) * sigmoid(presence_logits), in (0, 1)
  Box box;          // displayed pixels, clamped to the picture
  int query = 0;    // row of the detector's output

  // The object's mask at the picture's size, made anew on each call. From packed bits: bilinear
  // with half-pixel centres of 0/1, then > 0.5; the edges show the steps of the detector's grid.
  // Empty (0 x 0) if none was asked for.
  Mask mask() const;

  std::shared_ptr<const model::MaskSource> source;
};

// An example object: a box asks for everything that looks alike. The browser family takes one, and
// the five-graph family where the package has a geometry_encoder.
struct Exemplar {
  Box box;  // any two opposite corners; clipped to the picture
  bool positive = true;
};

struct DetectOptions {
  // Detections with a score above this are kept; in [0, 1).
  double threshold = 0.5;
  // Only for packages that take one; else kUnsupported. The prompt may be empty then.
  std::optional<Exemplar> exemplar;
  // At most this many, those with the highest scores; 0: all.
  std::size_t limit = 0;
  // Without masks the network's mask head is not run, where the package allows that; the masks of
  // the detections are empty then.
  bool masks = true;
};

// Clicks and a box for one object, in displayed pixels. At least one click or a box. Clicks on the
// right and lower edges (x = width, y = height) still belong to the picture.
struct PointPrompt {
  std::vector<Point> positive;
  std::vector<Point> negative;
  std::optional<Box> box;  // any two opposite corners; clipped to the picture
};

// The one object under clicks and/or a box.
struct SAM3_API Selection {
  float iou = 0;           // predicted IoU of the chosen mask
  bool present = false;    // object_score_logits > 0
  float object_score = 0;  // sigmoid(object_score_logits)
  double stability = 0;  // of mask token 0: pixels with logit > 0.05 over pixels with logit > -0.05
  int token = 0;         // which of the decoder's masks was chosen

  // The mask at the picture's size: bilinear with half-pixel centres of the logits, then > 0.
  Mask mask() const;

  std::shared_ptr<const model::MaskSource> source;
};

// What the text workflow keeps of a picture. May be asked many times.
class SAM3_API ImageFeatures {
 public:
  ImageFeatures() = default;
  Size picture_size() const;
  bool empty() const { return !features_; }

 private:
  friend class Model;
  std::shared_ptr<const model::Features> features_;
};

// What the point workflow keeps of a picture. May be asked many times.
class SAM3_API ImageEmbeddings {
 public:
  ImageEmbeddings() = default;
  Size picture_size() const;
  bool empty() const { return !features_; }

 private:
  friend class Model;
  std::shared_ptr<const model::Features> features_;
};

struct GraphInfo {
  std::string name;
  std::string file;
  std::string producer;
  std::int64_t opset = 0;
  std::int64_t nodes = 0;
  std::vector<std::string> inputs;  // "pixel_values float[1,3,336,336]"
  std::vector<std::string> outputs;
  std::uint64_t weight_bytes = 0;  // of the files beside the graph
};

struct ModelInfo {
  std::string folder;
  std::string name;               // from model.json, else the folder's name
  std::string family;             // "five-graph" or "browser"
  int image_size = 0;             // side of the square model input, in pixels
  int text_length = 0;            // tokens of a prompt, padding included
  int queries = 0;                // detections at most per prompt
  std::string mask_bits;          // "msb-first" or "lsb-first"; empty where masks are not packed
  std::vector<GraphInfo> graphs;  // of the workflows that are there
  std::vector<std::string> workflows;  // "text", "point"
  std::vector<std::string> problems;   // differences from the contract, one sentence each
};

struct Tokens {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> mask;  // 1 for the prompt with its two end marks, 0 for padding
  std::string dropped;             // the part of the text that did not fit
};

class SAM3_API Model {
 public:
  // An empty model, which answers every call with kInvalidArgument.
  Model() = default;

  // Opens a package folder. Nothing heavy is loaded yet. Errors: kNotFound or kBadData for a folder
  // that holds no model, with what is missing; see ModelOptions for the device.
  static Result<Model> open(const std::filesystem::path& folder, const ModelOptions& options = {});

  // Checks files and contract of the graphs that a workflow needs, all differences at once, and
  // opens them (with low_memory, encoders when they are needed). The other calls do this by
  // themselves; only graphs of the workflow are touched.
  Status prepare(Workflow workflow) const;

  // Text workflow.
  Result<ImageFeatures> encode_image(const Picture& picture) const;
  // Detections by falling score. None is a value, not an error. A prompt that is too long is cut
  // (see tokenize). kInvalidArgument for a blank prompt, one that is no valid UTF-8, or a threshold
  // outside [0, 1) (or below the one baked into the graph).
  Result<std::vector<Detection>> detect(const ImageFeatures& features, std::string_view prompt,
                                        const DetectOptions& options = {}) const;
  Result<Tokens> tokenize(std::string_view text) const;

  // Point workflow.
  Result<ImageEmbeddings> embed_image(const Picture& picture) const;
  Result<Selection> segment(const ImageEmbeddings& embeddings, const PointPrompt& prompt) const;

  // The model's input for a picture: planes of normalised RGB, [3, image_size, image_size]; uint8
  // values as floats in the browser family, which normalises in the graph.
  Result<std::vector<float>> model_input(const Picture& picture) const;

  // Reads every graph's declarations; slow on large models (but reads no weights).
  Result<ModelInfo> info() const;
  std::string requested_device() const;
  std::string effective_device() const;
  int threads() const;
  std::string name() const;

 private:
  explicit Model(std::shared_ptr<const model::Core> core) : core_(std::move(core)) {}
  std::shared_ptr<const model::Core> core_;
};

// Opens the graph of one model file and runs it once on made-up inputs: zeros of the declared
// sizes, 1 for sizes that are free. Errors: those of a file that cannot be read; kBadData if the
// engine refuses the graph, kRuntime if it fails while running; kUnsupported if an input has a type
// that no values can be made up for (the graph has been opened then).
SAM3_API Status try_graph(const std::filesystem::path& file, const ModelOptions& options = {});

// True for text that shows nothing: white space, control and zero-width characters, or nothing at
// all.
SAM3_API bool is_blank_prompt(std::string_view text);

// One class's detections of a picture, for merge_classes.
struct ClassDetection {
  Detection detection;
  int merged_into = -1;  // index, in the same list, of the detection that covers it; -1 if it stays
};

// Merges the answers for several class names of one picture: by falling score over all classes, a
// detection goes when its mask overlaps a kept one of another class by an IoU of at least
// `overlap`. The result has the order of
// `detections` but does not depend on it. Masks are compared on the
// detector's grid. Source: the published five-graph card, --overlap of its classes script.
SAM3_API Result<std::vector<ClassDetection>> merge_classes(std::vector<Detection> detections,
                                                           double overlap);

}  // namespace sam3
