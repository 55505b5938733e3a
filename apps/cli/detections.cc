#include "detections.h"

#include <cmath>
#include <cstdio>
#include <map>

#include "base/utf8.h"
#include "formats/output_names.h"
#include "formats/write_picture.h"

namespace sam3::cli {

namespace fs = std::filesystem;

Result<std::optional<Exemplar>> parse_exemplar(const std::string& box,
                                               const std::string& negative) {
  if (box.empty() && negative.empty()) return std::optional<Exemplar>();
  if (!box.empty() && !negative.empty())
    return Error{ErrorCode::kInvalidArgument,
                 "--box and --negative-box cannot be used together: these graphs take one example",
                 "", ""};
  auto parsed = parse_box(box.empty() ? negative : box);
  if (!parsed.ok()) return parsed.error();
  return std::optional<Exemplar>(Exemplar{*parsed, !box.empty()});
}

Result<std::vector<Detection>> detect_all(const Model& model, const ImageFeatures& features,
                                          const std::vector<std::string>& prompts,
                                          const sam3::DetectOptions& options) {
  if (prompts.empty()) return model.detect(features, "", options);
  std::vector<Detection> all;
  for (const std::string& prompt : prompts) {
    auto detections = model.detect(features, prompt, options);
    if (!detections.ok()) return detections.error();
    std::move(detections->begin(), detections->end(), std::back_inserter(all));
  }
  return all;
}

namespace {

std::string label_of(const Detection& detection) {
  char score[16];
  std::snprintf(score, sizeof score, " %d %%",
                static_cast<int>(std::lround(detection.score * 100)));
  return detection.prompt + score;
}

// "photo.jpg_red-circle_2.png" for the second detection of a prompt.
class MaskNames {
 public:
  MaskNames(const std::vector<Detection>& detections, std::string picture)
      : picture_(std::move(picture)) {
    for (const Detection& detection : detections) prompts_.push_back(detection.prompt);
    names_ = formats::prompt_names(prompts_);
  }
  std::string next(std::size_t index) {
    const std::string& name = names_[index];
    return picture_ + "_" + name + "_" + std::to_string(++counts_[name]) + ".png";
  }

 private:
  std::string picture_;
  std::vector<std::string> prompts_;
  std::vector<std::string> names_;
  std::map<std::string, int> counts_;
};

formats::DetectionEntry entry_of(const Detection& detection) {
  formats::DetectionEntry entry;
  entry.prompt = detection.prompt;
  entry.score = static_cast<double>(detection.score);
  entry.box = detection.box;
  return entry;
}

}  // namespace

Result<std::vector<formats::DetectionEntry>> write_detections(
    const Picture& picture, const std::vector<Detection>& detections,
    const std::vector<std::vector<Detection>>& merged, const PictureTargets& targets) {
  MaskNames names(detections, targets.name);
  formats::Overlay overlay(picture);
  if (!targets.masks.empty())
    if (Status made = make_folder((targets.masks / targets.name).parent_path()); !made)
      return made.error();
  std::vector<formats::DetectionEntry> entries;
  for (std::size_t i = 0; i < detections.size(); ++i) {
    const Detection& detection = detections[i];
    formats::DetectionEntry entry = entry_of(detection);
    if (!merged.empty())
      for (const Detection& other : merged[i])
        entry.merged.push_back({other.prompt, static_cast<double>(other.score), other.box});
    if (targets.areas) {
      const Mask mask = detection.mask();
      entry.area = mask.area();
      if (targets.rle) entry.rle = formats::RleText{mask.size(), compressed_counts(mask.rle())};
      if (!targets.masks.empty())
        if (Status written = formats::write_mask_png(targets.masks / names.next(i), mask); !written)
          return written.error();
      if (!targets.overlay.empty())
        if (Status drawn = overlay.draw({&mask, detection.box, label_of(detection)}); !drawn)
          return drawn.error();
    }
    entries.push_back(std::move(entry));
  }
  if (!targets.overlay.empty()) {
    if (Status made = make_folder(fs::absolute(targets.overlay).parent_path()); !made)
      return made.error();
    if (Status written = formats::write_picture(targets.overlay, overlay.picture()); !written)
      return written.error();
  }
  return entries;
}

formats::DocumentHead document_head(const std::string& image, const LoadedPicture& loaded,
                                    const Model& model, const Timings& timings) {
  formats::DocumentHead head;
  head.image = image;
  head.size = loaded.picture.size();
  head.model = model.name();
  head.device = model.effective_device();
  head.timings = timings.stages();
  head.warnings = loaded.warnings;
  return head;
}

std::vector<std::string> dropped_text(const Model& model, const std::vector<std::string>& prompts) {
  constexpr std::size_t kMostShown = 200;
  std::vector<std::string> warnings;
  for (const std::string& prompt : prompts) {
    const auto tokens = model.tokenize(prompt);
    if (!tokens.ok() || tokens->dropped.empty()) continue;
    warnings.push_back("the prompt '" + replace_invalid_utf8(prompt.substr(0, 40)) +
                       "…' is too long; this part does not fit: " +
                       replace_invalid_utf8(tokens->dropped.substr(0, kMostShown)) +
                       (tokens->dropped.size() > kMostShown ? " …" : ""));
  }
  return warnings;
}

void note_warnings(const std::string& image, const LoadedPicture& loaded) {
  for (const std::string& warning : loaded.warnings) note("sam3: " + image + ": " + warning);
}

}  // namespace sam3::cli
