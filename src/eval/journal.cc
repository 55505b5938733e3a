#include "eval/journal.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/macros.h"
#include "eval/json_fields.h"

namespace sam3::eval {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kMark = "sam3_eval";
constexpr int kVersion = 1;

std::string line_of(const ordered_json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

ordered_json head_of(const JournalHead& head, const CocoTruth& truth) {
  ordered_json document = {{kMark, kVersion}, {"model", head.model}, {"min_score", head.min_score}};
  ordered_json& categories = document["categories"] = ordered_json::array();
  for (const CocoCategory& category : truth.categories)
    categories.push_back({category.id, category.name});
  return document;
}

std::string system_message() { return std::generic_category().message(errno); }

}  // namespace

Error Journal::error(ErrorCode code, const std::string& message) const {
  return {code, message, path_.string(), ""};
}

Result<Journal> Journal::open(const fs::path& path, const JournalHead& head,
                              const CocoTruth& truth) {
  Journal journal;
  journal.path_ = path;
  if (path.empty()) return journal;
  const ordered_json first = head_of(head, truth);
  std::error_code ignored;
  std::size_t size = 0;
  if (fs::exists(path, ignored)) {
    SAM3_ASSIGN_OR_RETURN(const std::string text, read_text(path));
    SAM3_RETURN_IF_ERROR(journal.read(text, first, truth));
    size = text.size();
  }
  journal.stream_.reset(std::fopen(path.c_str(), "ab"));
  if (!journal.stream_)
    return journal.error(ErrorCode::kNotFound,
                         "this journal cannot be written (" + system_message() + ")");
  if (journal.good_bytes_ < size) {
    std::error_code failed;
    fs::resize_file(path, journal.good_bytes_, failed);
    if (failed) return journal.error(ErrorCode::kRuntime, "the cut-off line cannot be removed");
    journal.warnings_.push_back(path.string() +
                                ": the last line was cut off; its picture is run again");
  }
  if (journal.good_bytes_ == 0) SAM3_RETURN_IF_ERROR(journal.write(line_of(first)));
  return journal;
}

Status Journal::read(const std::string& text, const ordered_json& head, const CocoTruth& truth) {
  const std::string head_line = line_of(head);
  if (head_line.starts_with(text) && text.size() < head_line.size()) return {};
  std::size_t end = text.find('\n');
  const auto first = parse_json(std::string_view(text).substr(0, end));
  if (end == std::string::npos || !first.ok() || !first->is_object() || !first->contains(kMark))
    return error(ErrorCode::kInvalidArgument,
                 "this is no journal of an evaluation; another file must be named");
  for (const auto& [key, value] : head.items())
    if (const auto found = first->find(key); found == first->end() || *found != json(value))
      return error(ErrorCode::kInvalidArgument, "this journal belongs to another run: its " + key +
                                                    " differs; another file must be named");
  good_bytes_ = ++end;
  for (int number = 2; end < text.size(); ++number) {
    const std::size_t start = end;
    end = text.find('\n', start);
    if (end == std::string::npos) return {};
    const auto entry = parse_json(std::string_view(text).substr(start, end - start));
    ++end;
    if (!entry.ok() && end == text.size()) return {};
    const std::string where = "line " + std::to_string(number);
    if (!entry.ok()) return error(ErrorCode::kBadData, where + ": " + entry.error().message);
    SAM3_RETURN_IF_ERROR(read_entry(*entry, where, truth));
    good_bytes_ = end;
  }
  return {};
}

Status Journal::read_entry(const json& entry, const std::string& where, const CocoTruth& truth) {
  const auto bad = [&](const Error& reason) { return error(reason.code, reason.message); };
  const auto fields = Fields::of(entry, where);
  if (!fields.ok()) return bad(fields.error());
  const auto id = fields->integer("image_id");
  const auto file = fields->text_or("file", "");
  const auto phrase = fields->text_or("phrase", "");
  const auto detections = fields->list("detections");
  if (!id.ok()) return bad(id.error());
  for (const auto* text : {&file, &phrase})
    if (!text->ok()) return bad(text->error());
  if (!detections.ok()) return bad(detections.error());
  const auto image = truth.image_index.find(*id);
  if (image == truth.image_index.end() || truth.images[image->second].file_name != *file ||
      truth.images[image->second].phrase != *phrase)
    return error(ErrorCode::kInvalidArgument, "this journal belongs to another truth: " + where +
                                                  " is about the picture " + std::to_string(*id) +
                                                  ", " + *file + "; another file must be named");
  if (!finished_.insert(*id).second) return {};
  for (const json& detection : **detections) results_.push_back(detection);
  return {};
}

Status Journal::append(const CocoImage& image, json detections) {
  if (stream_) {
    ordered_json entry = {{"image_id", image.id}, {"file", image.file_name}};
    if (!image.phrase.empty()) entry["phrase"] = image.phrase;
    entry["detections"] = detections;
    SAM3_RETURN_IF_ERROR(write(line_of(entry)));
  }
  finished_.insert(image.id);
  for (json& detection : detections) results_.push_back(std::move(detection));
  return {};
}

Status Journal::write(const std::string& line) {
  if (std::fwrite(line.data(), 1, line.size(), stream_.get()) == line.size() &&
      std::fflush(stream_.get()) == 0)
    return {};
  return error(ErrorCode::kRuntime, "this journal cannot be written (" + system_message() + ")");
}

}  // namespace sam3::eval
