#include "quantize/quantize.h"

#include "base/macros.h"
#include "quantize/float16.h"
#include "quantize/integer_pass.h"

namespace sam3::quantize {

Result<Report> quantize(graph::EditableModel& model, const Options& options) {
  SAM3_RETURN_IF_ERROR(check(options));
  SAM3_RETURN_IF_ERROR(graph::check_order(model.proto.graph(), model));
  if (options.precision == Precision::kFloat16) return quantize_float16(model, options);
  if (!options.ops.empty()) return quantize_integers(model, options);
  Options completed = options;
  completed.ops = default_ops(options.precision, "");
  return quantize_integers(model, completed);
}

}  // namespace sam3::quantize
