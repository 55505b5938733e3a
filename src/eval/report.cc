// Evaluation as JSON and as a table.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "eval/evaluation.h"

namespace sam3::eval {
namespace {

using nlohmann::ordered_json;

ordered_json number(double value) {
  return value < 0 || !std::isfinite(value) ? ordered_json(nullptr) : ordered_json(value);
}

ordered_json number(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json coco_json(const CocoNumbers& numbers) {
  ordered_json object = ordered_json::object();
  for (std::size_t i = 0; i < numbers.size(); ++i) object[kCocoMeasures[i]] = number(numbers[i]);
  return object;
}

ordered_json counts_json(const MatchCounts& counts, bool has_masks) {
  const bool some = counts.matches > 0;
  return {{"F1", counts.f1()},
          {"precision", counts.precision()},
          {"recall", counts.recall()},
          {"matches", counts.matches},
          {"detections", counts.detections},
          {"objects", counts.truths},
          {"box_iou", some ? ordered_json(counts.mean_box_iou()) : ordered_json()},
          {"mask_iou", some && has_masks ? ordered_json(counts.mean_mask_iou()) : ordered_json()}};
}

ordered_json presence_json(const PresenceCounts& presence) {
  return {{"present", presence.present},
          {"absent", presence.absent},
          {"false_present", presence.false_present},
          {"false_absent", presence.false_absent}};
}

ordered_json measures_json(const SaCoMeasures& measures) {
  return {{"cgF1", measures.cgf1},
          {"pmF1", measures.positive_micro_f1},
          {"positive_micro_precision", measures.positive_micro_precision},
          {"positive_macro_F1", number(measures.positive_macro_f1)},
          {"precision", measures.precision},
          {"recall", measures.recall},
          {"F1", measures.f1}};
}

ordered_json sa_co_json(const SaCoScores& scores, bool has_masks) {
  ordered_json object = {{"iou", has_masks ? "mask" : "box"}};
  object.update(measures_json(scores.mean));
  object.update(ordered_json{{"IL_MCC", scores.il_mcc},
                             {"IL_precision", scores.il_precision},
                             {"IL_recall", scores.il_recall},
                             {"IL_F1", scores.il_f1},
                             {"IL_FPR", scores.il_fpr},
                             {"at_50", measures_json(scores.at_50)},
                             {"at_75", measures_json(scores.at_75)}});
  return object;
}

// "0.512", right-aligned.
std::string fixed(std::optional<double> value, int width) {
  char text[32] = "-";
  if (value && std::isfinite(*value)) std::snprintf(text, sizeof text, "%.3f", *value);
  const std::string shown = text;
  const auto blanks = static_cast<std::size_t>(width) - std::min(shown.size(), std::size_t(width));
  return std::string(blanks, ' ') + shown;
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  std::size_t length = 0;
  for (const char c : text) length += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  const std::string blanks(width - std::min(length, width), ' ');
  return left ? text + blanks : blanks + text;
}

std::string count(std::int64_t value, std::size_t width) {
  return padded(std::to_string(value), width, false);
}

// A name that fits its column and cannot steer a terminal.
std::string shown_name(const std::string& name, std::size_t width) {
  std::string text;
  std::size_t length = 0;
  const std::string valid = replace_invalid_utf8(name);
  for (std::size_t at = 0; at < valid.size();) {
    const auto code = decode_utf8(valid, at);
    if (!code) continue;
    if (++length >= width) return text + "…";
    append_utf8(*code < 0x20 || (*code >= 0x7F && *code < 0xA0) ? U'?' : *code, text);
  }
  return text;
}

constexpr std::size_t kNameWidth = 28;
constexpr int kNumberWidth = 10;

std::string coco_rows(const Evaluation& evaluation) {
  std::string text = padded("", kNameWidth, true);
  for (const char* name : kCocoMeasures) text += padded(name, kNumberWidth, false);
  const auto row = [&](const char* name, const CocoNumbers& numbers) {
    text += "\n" + padded(name, kNameWidth, true);
    for (const double value : numbers)
      text += fixed(value < 0 ? std::nullopt : std::optional(value), kNumberWidth);
  };
  row("boxes", evaluation.box);
  if (evaluation.mask) row("masks", *evaluation.mask);
  return text + "\n";
}

std::string summary_rows(const Evaluation& evaluation) {
  const auto row = [](const char* name, std::string rest) {
    while (rest.ends_with(' ')) rest.pop_back();
    return padded(name, kNameWidth, true) + rest + "\n";
  };
  const auto named = [](const char* name, double value) {
    return std::string(name) + fixed(value, 0) + "  ";
  };
  const MatchCounts& counts = evaluation.counts;
  std::string detection = named("F1 ", counts.f1()) + named("precision ", counts.precision()) +
                          named("recall ", counts.recall());
  if (counts.matches > 0) detection += named("box IoU ", counts.mean_box_iou());
  if (counts.matches > 0 && evaluation.has_masks)
    detection += named("mask IoU ", counts.mean_mask_iou());
  const SaCoScores& sa_co = evaluation.sa_co;
  const PresenceCounts& presence = evaluation.presence;
  return row(evaluation.has_masks ? "at box and mask IoU 0.5" : "at box IoU 0.5", detection) +
         row(evaluation.has_masks ? "SA-Co (masks)" : "SA-Co (boxes)",
             named("cgF1 ", sa_co.mean.cgf1) + named("pmF1 ", sa_co.mean.positive_micro_f1) +
                 named("IL_MCC ", sa_co.il_mcc)) +
         row("presence", std::to_string(presence.false_present) + " false of " +
                             std::to_string(presence.absent) + " absent, " +
                             std::to_string(presence.false_absent) + " missed of " +
                             std::to_string(presence.present) + " present");
}

std::string prompt_rows(const Evaluation& evaluation) {
  std::string text = padded("prompt", kNameWidth, true);
  for (const char* name : {"AP box", "AP mask", "F1", "precision", "recall", "objects", "found",
                           "matched", "false", "missed"})
    text += padded(name, kNumberWidth, false);
  text += "\n";
  for (const PromptScores& prompt : evaluation.prompts) {
    text += padded(shown_name(prompt.name, kNameWidth), kNameWidth, true);
    text += fixed(prompt.box_ap, kNumberWidth) + fixed(prompt.mask_ap, kNumberWidth);
    const MatchCounts& counts = prompt.counts;
    for (const double value : {counts.f1(), counts.precision(), counts.recall()})
      text += fixed(value, kNumberWidth);
    for (const std::int64_t value : {counts.truths, counts.detections, counts.matches,
                                     prompt.presence.false_present, prompt.presence.false_absent})
      text += count(value, kNumberWidth);
    text += "\n";
  }
  return text;
}

}  // namespace

ordered_json evaluation_json(const Evaluation& evaluation) {
  const MatchOptions& matching = evaluation.options.matching;
  ordered_json document;
  document["images"] = evaluation.images;
  document["queries"] = evaluation.queries;
  document["threshold"] = evaluation.options.threshold;
  document["box"] = coco_json(evaluation.box);
  document["mask"] = evaluation.mask ? coco_json(*evaluation.mask) : ordered_json(nullptr);
  document["matching"] = counts_json(evaluation.counts, evaluation.has_masks);
  document["matching"]["least_box_iou"] = matching.box_iou;
  document["matching"]["least_mask_iou"] =
      evaluation.has_masks ? ordered_json(matching.mask_iou) : ordered_json(nullptr);
  document["sa_co"] = sa_co_json(evaluation.sa_co, evaluation.has_masks);
  document["presence"] = presence_json(evaluation.presence);
  document["prompts"] = ordered_json::array();
  for (const PromptScores& prompt : evaluation.prompts) {
    ordered_json entry = {{"prompt", replace_invalid_utf8(prompt.name)},
                          {"AP_box", number(prompt.box_ap)},
                          {"AP_mask", number(prompt.mask_ap)}};
    entry.update(counts_json(prompt.counts, evaluation.has_masks));
    entry.update(presence_json(prompt.presence));
    document["prompts"].push_back(std::move(entry));
  }
  return document;
}

std::string evaluation_table(const Evaluation& evaluation) {
  std::string head = std::to_string(evaluation.images) +
                     (evaluation.has_phrases ? " pictures with a phrase, " : " pictures, ") +
                     std::to_string(evaluation.prompts.size()) + " prompts, " +
                     std::to_string(evaluation.counts.truths) + " objects, " +
                     std::to_string(evaluation.counts.detections) + " detections with a score of " +
                     fixed(evaluation.options.threshold, 0) + " or more\n\n";
  return head + coco_rows(evaluation) + "\n" + summary_rows(evaluation) + "\n" +
         prompt_rows(evaluation);
}

}  // namespace sam3::eval
