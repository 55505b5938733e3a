// The options of every command, declared once.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"

namespace sam3::cli {

// Of every command that runs a model.
struct RunOptions {
  std::string model;
  std::string device = "auto";
  long long threads = 0;
  long long max_pixels = 1'000'000'000;
  bool allow_truncated = false;
  bool low_memory = false;
  bool quiet = false;
  bool verbose = false;

  void visit(OptionVisitor& v) {
    v.text({"model", "DIR", "model package; else SAM3_MODEL, else the demo model"}, model);
    v.text({"device", "NAME", "cpu, auto, or a device of `sam3 --version`; :N for the N-th"},
           device);
    v.integer({"threads", "N", "threads of a run; without it, the processors this process may use"},
              {1, 512}, threads);
    v.integer({"max-pixels", "N", "refuse pictures with more pixels, before decoding them"},
              {1, 1e12}, max_pixels);
    v.flag({"allow-truncated", "", "accept pictures that are cut off or damaged, with a warning"},
           allow_truncated);
    v.flag({"low-memory", "", "release the picture encoder after each picture"}, low_memory);
    v.flag({"quiet", "", "no notes, warnings or progress"}, quiet);
    v.flag({"verbose", "", "more notes, the engine's among them"}, verbose);
  }
};

struct TextOptions {
  double threshold = 0.5;
  std::string box;
  std::string negative_box;

  void visit(OptionVisitor& v) {
    v.real({"threshold", "X", "keep detections with a score above X"}, {0, 1, false}, threshold);
    v.text({"box", "x0,y0,x1,y1", "an example of what to find, in pixels (browser family only)"},
           box);
    v.text({"negative-box", "x0,y0,x1,y1", "an example of what not to find (browser family only)"},
           negative_box);
  }
};

struct SegmentOptions {
  static constexpr const char* kName = "segment";
  static constexpr const char* kHelp = "find and mask every object that a phrase names";

  RunOptions run;
  TextOptions text;
  std::string image;
  std::vector<std::string> prompts;
  std::string out;
  std::string masks;
  std::string json;
  bool rle = false;

  void visit(OptionVisitor& v) {
    v.positional({"IMAGE", "", "picture file"}, image);
    v.positional_list({"PROMPT", "", "short phrases, each asked on its own"}, false, prompts);
    v.text({"out", "FILE", "overlay picture to write: .png, .jpg or .webp"}, out);
    v.text({"masks", "DIR", "folder for one mask picture (0/255) per detection"}, masks);
    v.text({"json", "FILE", "result as JSON; - for standard output"}, json);
    v.flag({"rle", "", "put run-length masks (COCO) into the JSON"}, rle);
    text.visit(v);
    run.visit(v);
  }
};

struct DetectOptions {
  static constexpr const char* kName = "detect";
  static constexpr const char* kHelp = "boxes and scores as JSON on standard output, no masks";

  RunOptions run;
  TextOptions text;
  std::string image;
  std::vector<std::string> prompts;

  void visit(OptionVisitor& v) {
    v.positional({"IMAGE", "", "picture file"}, image);
    v.positional_list({"PROMPT", "", "short phrases, each asked on its own"}, false, prompts);
    text.visit(v);
    run.visit(v);
  }
};

struct ClassesOptions {
  static constexpr const char* kName = "classes";
  static constexpr const char* kHelp =
      "ask many pictures for a list of classes; JSON Lines, one object per picture";

  RunOptions run;
  std::vector<std::string> images;
  std::vector<std::string> classes;
  std::string file;
  double threshold = 0.5;
  double overlap = 0.5;
  std::string json = "-";
  std::string overlays;
  std::string masks;
  std::string out;
  bool rle = false;

  void visit(OptionVisitor& v) {
    v.positional_list(
        {"IMAGE", "", "picture files, folders or patterns; after -- following a list"}, true,
        images);
    v.list({"classes", "NAME", "class names"}, classes);
    v.text({"file", "LIST", "file with one class name per line"}, file);
    v.real({"threshold", "X", "keep detections with a score above X"}, {0, 1, false}, threshold);
    v.real({"overlap", "X",
            "merge detections of different classes whose masks overlap by an IoU of X or more"},
           {0, 1}, overlap);
    v.text({"json", "FILE",
            "results: - for JSON Lines on standard output, FILE.jsonl for JSON Lines, "
            "FILE.json for an array that grows"},
           json);
    v.text({"overlays", "DIR", "folder for one labelled overlay per picture"}, overlays);
    v.text({"masks", "DIR", "folder for one mask picture (0/255) per detection"}, masks);
    v.text({"out", "DIR",
            "folder for all of it: a JSON file, an overlay and the masks of each picture"},
           out);
    v.flag({"rle", "", "put run-length masks (COCO) into the JSON"}, rle);
    run.visit(v);
  }
};

struct PointsOptions {
  static constexpr const char* kName = "points";
  static constexpr const char* kHelp = "mask the one object under clicks and/or a box";

  RunOptions run;
  std::string image;
  std::vector<std::string> point;
  std::vector<std::string> negative;
  std::string box;
  std::string out;
  std::string json;
  bool rle = false;

  void visit(OptionVisitor& v) {
    v.positional({"IMAGE", "", "picture file"}, image);
    v.list({"point", "x,y", "clicks on the object, in pixels of the picture as displayed"}, point);
    v.list({"negative", "x,y", "clicks on what does not belong to it"}, negative);
    v.text({"box", "x0,y0,x1,y1", "box around the object, in pixels"}, box);
    v.text({"out", "FILE.png", "mask picture (0/255) to write"}, out);
    v.text({"json", "FILE", "result as JSON; - for standard output"}, json);
    v.flag({"rle", "", "put the run-length mask (COCO) into the JSON"}, rle);
    run.visit(v);
  }
};

struct InspectOptions {
  static constexpr const char* kName = "inspect";
  static constexpr const char* kHelp =
      "look inside: `model`, `tokens PROMPT`, or `pixels IMAGE [x,y ...]`";

  RunOptions run;
  std::string what;
  std::vector<std::string> arguments;
  std::string input;
  bool verify = false;
  bool json = false;

  void visit(OptionVisitor& v) {
    v.positional({"WHAT", "", "model, tokens or pixels"}, what);
    v.positional_list({"ARGUMENT", "", "a prompt; or a picture and positions x,y"}, false,
                      arguments);
    v.text({"input", "FILE.npy", "with pixels: write the model's input tensor"}, input);
    v.flag({"verify", "", "with model: compare every file with the SHA-256 of quantization.json"},
           verify);
    v.flag({"json", "", "print JSON"}, json);
    run.visit(v);
  }
};

}  // namespace sam3::cli
