// What an evaluation has finished, kept in a file so that it can go on after an interruption.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "eval/coco_data.h"
#include "sam3/result.h"

namespace sam3::eval {

// What must agree when a run goes on.
struct JournalHead {
  std::string model;
  double min_score = 0;
};

// JSON Lines: first {"sam3_eval": 1, "model", "min_score", "categories"}, then for each finished
// entry of the truth {"image_id", "file", "phrase"?, "detections": [results as COCO has them]}.
class Journal {
 public:
  // Without a path, nothing is kept. A file that exists is gone on with; a last line that was cut
  // off is removed, with a warning. Errors: kNotFound for a file that cannot be written,
  // kInvalidArgument for one that is no journal or is one of another model, minimum score or truth
  // (the message says which), kBadData for a damaged line. In all these cases the file stays as it
  // was.
  static Result<Journal> open(const std::filesystem::path& path, const JournalHead& head,
                              const CocoTruth& truth);

  bool has(std::int64_t image_id) const { return finished_.contains(image_id); }
  const std::unordered_set<std::int64_t>& finished() const { return finished_; }
  // Adds an entry and hands its line to the system. `detections` is a list of COCO results.
  Status append(const CocoImage& image, nlohmann::json detections);
  // The detections of all finished entries, for coco_results().
  const nlohmann::json& results() const { return results_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Close {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };

  Status read(const std::string& text, const nlohmann::ordered_json& head, const CocoTruth& truth);
  Status read_entry(const nlohmann::json& entry, const std::string& where, const CocoTruth& truth);
  Status write(const std::string& line);
  Error error(ErrorCode code, const std::string& message) const;

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> stream_;
  std::size_t good_bytes_ = 0;  // of the file as it was found
  std::unordered_set<std::int64_t> finished_;
  nlohmann::json results_ = nlohmann::json::array();
  std::vector<std::string> warnings_;
};

}  // namespace sam3::eval
