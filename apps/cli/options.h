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
  std::string rewrite = "all";
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
    v.flag({"low-memory", "", "keep one encoder open at a time"}, low_memory);
    v.text({"rewrite", "LIST", "exact rewrites of the graphs: all, none, -NAME,-NAME, or plain"},
           rewrite);
    v.flag({"quiet", "", "no notes, warnings or progress"}, quiet);
    v.flag({"verbose", "", "more notes, the engine's among them"}, verbose);
  }
};

// Of every command that works on models as files.
struct WorkOptions {
  long long threads = 0;
  bool quiet = false;

  void visit(OptionVisitor& v) {
    v.integer({"threads", "N", "threads; without it, the processors this process may use"},
              {1, 512}, threads);
    v.flag({"quiet", "", "no notes or progress"}, quiet);
  }
};

struct TextOptions {
  double threshold = 0.5;
  std::string box;
  std::string negative_box;

  void visit(OptionVisitor& v) {
    v.real({"threshold", "X", "keep detections with a score above X"}, {0, 1, false}, threshold);
    v.text(
        {"box", "x0,y0,x1,y1", "an example of what to find, in pixels; for models that take one"},
        box);
    v.text(
        {"negative-box", "x0,y0,x1,y1", "an example of what not to find; for models that take one"},
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

struct VerifyOptions {
  static constexpr const char* kName = "verify";
  static constexpr const char* kHelp =
      "checksums, contract and self-test of a package; with --reference also quality gates";

  std::string model;
  std::string reference;
  std::vector<std::string> images;
  std::string prompts;
  double limit = 0.05;
  double threshold = 0.5;
  std::string graphs;
  bool layers = false;
  std::string search;
  std::string precision = "int8";
  std::string ops;
  std::string page;
  bool record = false;
  bool json = false;
  std::string device = "cpu";
  WorkOptions work;

  void visit(OptionVisitor& v) {
    v.positional({"MODEL", "", "model package"}, model);
    v.text({"reference", "DIR", "package whose answers are right, in float32"}, reference);
    v.list({"images", "FILE", "pictures to compare by: files, folders, patterns"}, images);
    v.text({"prompts", "FILE",
            "what to ask: a phrase a line for all pictures, or JSON {\"picture.jpg\": [phrases]}"},
           prompts);
    v.real({"limit", "X", "how far a gate may be below 1"}, {0, 1}, limit);
    v.real({"threshold", "X", "detections with a score above X"}, {0, 1, false}, threshold);
    v.text({"graphs", "LIST", "graphs to compare; else all that both packages have"}, graphs);
    v.flag({"layers", "", "also the relative error behind every layer with weights"}, layers);
    v.text({"search", "GRAPH",
            "quantize GRAPH of the reference: each node alone, then find those to leave out"},
           search);
    v.text({"precision", "NAME", "of --search, as in `sam3 quantize`"}, precision);
    v.text({"ops", "LIST", "operators of --search, from MatMul,Conv,ConvTranspose"}, ops);
    v.text({"page", "DIR", "new folder for a page with the worst answers side by side"}, page);
    v.flag({"record", "",
            "write self_test.json, the answers that the self-test expects, and gates to "
            "quantization.json"},
           record);
    v.flag({"json", "", "print JSON"}, json);
    v.text({"device", "NAME", "cpu, auto, or a device of `sam3 --version`"}, device);
    work.visit(v);
  }
};

struct ConvertOptions {
  static constexpr const char* kName = "convert";
  static constexpr const char* kHelp = "a checkpoint of SAM 3 (safetensors) to a model package";

  std::vector<std::string> checkpoint;
  std::string out;
  std::string precision = "int8";
  std::string family = "five";
  std::string random_init;
  std::string no_memory = "original";
  bool exemplars = false;
  std::string tokenizer;
  std::string name;
  WorkOptions work;

  void visit(OptionVisitor& v) {
    v.positional_list({"CHECKPOINT", "", "folder with config.json and model.safetensors"}, false,
                      checkpoint);
    v.text({"out", "DIR", "model package to write; must not exist"}, out);
    v.text({"precision", "NAME", "fp32, or one of those of `sam3 quantize`: int8, fp16, ..."},
           precision);
    v.text({"family", "NAME", "five (five graphs, both workflows) or browser (three graphs)"},
           family);
    v.text({"random-init", "SEED",
            "random weights; CHECKPOINT may be a config.json, without it sizes are the full ones"},
           random_init);
    v.text(
        {"no-mem", "NAME",
         "original or reference: whose treatment of no_memory_embedding the point workflow gets"},
        no_memory);
    v.flag({"exemplars", "", "also a geometry encoder, so that --box works in the text workflow"},
           exemplars);
    v.text({"tokenizer", "DIR", "folder with tokenizer.json; else CHECKPOINT, else the demo model"},
           tokenizer);
    v.text({"name", "NAME", "the model's name; else that of the folder"}, name);
    work.visit(v);
  }
};

struct PullOptions {
  static constexpr const char* kName = "pull";
  static constexpr const char* kHelp = "fetch a model package from a hub, a web server or a folder";

  std::string source;
  std::string out;
  std::string only;
  std::string revision = "main";
  std::string endpoint;
  std::string token_env;
  bool accept_license = false;
  long long retries = 5;
  double retry_wait = 1;
  double stall_timeout = 30;
  bool quiet = false;

  void visit(OptionVisitor& v) {
    v.positional({"SOURCE", "", "OWNER/MODEL on the hub, http(s) address of a folder, or a folder"},
                 source);
    v.text({"out", "DIR", "where it goes; else a folder here with the source's last name"}, out);
    v.text({"only", "NAME", "text or point: the graphs of one workflow and what belongs to them"},
           only);
    v.text({"revision", "NAME", "branch, tag or commit on the hub"}, revision);
    v.text({"endpoint", "URL", "the hub; else HF_ENDPOINT, else https://huggingface.co"}, endpoint);
    v.text({"token-env", "NAME",
            "environment variable that holds the token; else HF_TOKEN, for the hub only"},
           token_env);
    v.flag({"accept-license", "", "you have read and accept the licence that the model names"},
           accept_license);
    v.integer({"retries", "N", "tries after a failed one that brought nothing"}, {0, 1000},
              retries);
    v.real({"retry-wait", "S", "seconds before trying again, doubled each time"}, {0, 600},
           retry_wait);
    v.real({"stall-timeout", "S", "give a connection up after so many seconds of almost nothing"},
           {1, 86400}, stall_timeout);
    v.flag({"quiet", "", "no notes or progress"}, quiet);
  }
};

struct QuantizeOptions {
  static constexpr const char* kName = "quantize";
  static constexpr const char* kHelp = "a model package, or one ONNX file, with fewer bits";

  std::string in;
  std::vector<std::string> out_argument;
  std::string out;
  std::string precision = "int8";
  bool weights_only = false;
  std::string ops;
  std::string graphs;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  bool patch_embedding = false;
  bool no_run = false;
  std::string device = "cpu";
  WorkOptions work;
  bool verbose = false;

  void visit(OptionVisitor& v) {
    v.positional({"IN", "", "model package (folder) or ONNX file"}, in);
    v.positional_list({"OUT", "", "what to write; or with --out"}, false, out_argument);
    v.text({"out", "PATH", "what to write: a new folder or file, as IN is one"}, out);
    v.text(
        {"precision", "NAME",
         "int8 (activations too), int8-weights, int8-blocks, int4-blocks (MatMulNBits), or fp16"},
        precision);
    v.flag({"weights-only", "", "activations stay float: short for --precision int8-weights"},
           weights_only);
    v.text({"ops", "LIST",
            "operators, from MatMul,Conv,ConvTranspose; without it MatMul, and all three in a "
            "vision_encoder"},
           ops);
    v.text({"graphs", "LIST", "graphs to quantize, e.g. vision_encoder,detector; else all"},
           graphs);
    v.list({"include", "PATTERN", "only nodes whose names match one of these (* and ?)"}, include);
    v.list({"exclude", "PATTERN", "no nodes whose names match one of these"}, exclude);
    v.flag({"patch-embedding", "", "also the convolution that cuts the picture into patches"},
           patch_embedding);
    v.flag({"no-run", "", "do not load the result and run it once before it gets its name"},
           no_run);
    v.text({"device", "NAME", "device of that run"}, device);
    work.visit(v);
    v.flag({"verbose", "", "name every node that is left as it is, and why"}, verbose);
  }
};

struct EvalOptions {
  static constexpr const char* kName = "eval";
  static constexpr const char* kHelp =
      "measure a model or its results against ground truth: AP, F1, cgF1, presence";

  RunOptions run;
  std::string truth;
  std::string images;
  std::string results;
  std::string out;
  double threshold = 0.5;
  double min_score = 0;
  bool json = false;

  void visit(OptionVisitor& v) {
    v.text({"truth", "FILE", "instance file of COCO or SA-Co"}, truth);
    v.text({"images", "DIR", "folder of the pictures that the truth names"}, images);
    v.text({"results", "FILE", "result file of COCO to measure; no model runs"}, results);
    v.text({"out", "FILE",
            "journal of finished pictures (JSON Lines); a run that finds it goes on after them"},
           out);
    v.real({"threshold", "X", "F1, cgF1 and presence count detections with a score of X or more"},
           {0, 1}, threshold);
    v.real({"min-score", "X",
            "keep detections with a score above X; average precision needs the low ones"},
           {0, 1, false}, min_score);
    v.flag({"json", "", "print JSON"}, json);
    run.visit(v);
  }
};

struct BenchOptions {
  static constexpr const char* kName = "bench";
  static constexpr const char* kHelp = "measure time and memory of a model that has both workflows";

  RunOptions run;
  std::string image;
  long long runs = 3;
  bool baseline = false;
  bool profile = false;
  std::string json;

  void visit(OptionVisitor& v) {
    v.text({"image", "FILE", "picture to measure with; without it, a small made-up one"}, image);
    v.integer({"runs", "N", "runs of each step; the table shows medians"}, {1, 1000}, runs);
    v.flag({"baseline", "", "run plain ONNX Runtime on the untouched graphs too, and compare"},
           baseline);
    v.flag({"profile", "", "then one more run, with the time of every operator in every graph"},
           profile);
    v.text({"json", "FILE", "result as JSON; - for standard output"}, json);
    run.visit(v);
  }
};

}  // namespace sam3::cli
