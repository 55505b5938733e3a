// sam3 points: the one object under clicks and/or a box.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "common.h"
#include "detections.h"
#include "formats/json.h"
#include "formats/output_paths.h"
#include "formats/write_json.h"
#include "formats/write_picture.h"

namespace sam3::cli {
namespace {

Result<PointPrompt> make_prompt(const PointsOptions& options) {
  PointPrompt prompt;
  for (const auto& [texts, points] : {std::pair{&options.point, &prompt.positive},
                                      std::pair{&options.negative, &prompt.negative}})
    for (const std::string& text : *texts) {
      const auto point = parse_point(text);
      if (!point.ok()) return point.error();
      points->push_back(*point);
    }
  if (!options.box.empty()) {
    const auto box = parse_box(options.box);
    if (!box.ok()) return box.error();
    prompt.box = *box;
  }
  if (prompt.positive.empty() && prompt.negative.empty() && !prompt.box)
    return Error{ErrorCode::kInvalidArgument,
                 "no click and no box is given; use --point x,y or --box", "", ""};
  return prompt;
}

std::string summary(const std::string& image, const Selection& selection, const Mask& mask) {
  const Box box = mask.tight_box();
  char line[256];
  std::snprintf(line, sizeof line,
                ": object %s, predicted IoU %.3f, %lld pixels, box %d,%d to %d,%d\n",
                selection.present ? "present" : "absent", static_cast<double>(selection.iou),
                static_cast<long long>(mask.area()), static_cast<int>(box.x0),
                static_cast<int>(box.y0), static_cast<int>(box.x1), static_cast<int>(box.y1));
  return image + line;
}

formats::PointEntry entry_of(const Selection& selection, const Mask& mask, bool rle) {
  formats::PointEntry entry;
  entry.iou = static_cast<double>(selection.iou);
  entry.present = selection.present;
  entry.object_score = static_cast<double>(selection.object_score);
  entry.stability = selection.stability;
  entry.token = selection.token;
  entry.area = mask.area();
  entry.box = mask.tight_box();
  if (rle) entry.rle = formats::RleText{mask.size(), compressed_counts(mask.rle())};
  return entry;
}

Status check_targets(const PointsOptions& options) {
  for (const std::string& output : {options.out, options.json})
    if (Status good = check_not_input(output, options.image); !good) return good;
  if (!options.out.empty())
    if (Status good = formats::check_output_path(options.out, formats::kMaskEndings); !good)
      return good;
  if (!options.json.empty() && options.json != "-")
    if (Status good = formats::check_output_path(options.json, formats::kJsonEndings); !good)
      return good;
  return {};
}

}  // namespace

int run_points(const PointsOptions& options) {
  set_up_log(options.run);
  const auto prompt = make_prompt(options);
  if (!prompt.ok()) return fail(prompt.error());
  if (Status good = check_targets(options); !good) return fail(good.error());
  const auto model = open_model(options.run);
  if (!model.ok()) return fail(model.error());
  Timings timings;
  const auto loaded = timings.measure(
      "read", [&] { return read_picture(options.image, read_options(options.run)); });
  if (!loaded.ok()) return fail(loaded.error());
  if (!options.run.quiet) note_warnings(options.image, *loaded);
  if (Status ready = timings.measure("load", [&] { return model->prepare(Workflow::kPoint); });
      !ready)
    return fail(ready.error());
  const auto embeddings =
      timings.measure("encode", [&] { return model->embed_image(loaded->picture); });
  if (!embeddings.ok()) return fail(embeddings.error());
  const auto selection =
      timings.measure("decode", [&] { return model->segment(*embeddings, *prompt); });
  if (!selection.ok()) return fail(selection.error());
  const Mask mask = selection->mask();
  if (!options.out.empty())
    if (Status written = formats::write_mask_png(options.out, mask); !written)
      return fail(written.error());
  const auto document =
      formats::point_document(document_head(options.image, *loaded, *model, timings),
                              entry_of(*selection, mask, options.rle));
  if (options.json == "-") return print(formats::dump_json(document) + "\n");
  if (!options.json.empty())
    if (Status written = formats::write_json(options.json, document); !written)
      return fail(written.error());
  return print(summary(options.image, *selection, mask));
}

}  // namespace sam3::cli
