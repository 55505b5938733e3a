// Int8 and int4 forms of products and convolutions.
#pragma once

#include "graph/editable_model.h"
#include "quantize/options.h"
#include "sam3/result.h"

namespace sam3::quantize {

// See quantize(); for all precisions but kFloat16.
Result<Report> quantize_integers(graph::EditableModel& model, const Options& options);

}  // namespace sam3::quantize
