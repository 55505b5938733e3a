// The commands: each parses what its options leave as text, calls the library, and prints.
#pragma once

#include "options.h"

namespace sam3::cli {

int run_segment(const SegmentOptions& options);
int run_detect(const DetectOptions& options);
int run_classes(const ClassesOptions& options);
int run_points(const PointsOptions& options);
int run_inspect(const InspectOptions& options);
int run_pull(const PullOptions& options);
int run_convert(const ConvertOptions& options);
int run_verify(const VerifyOptions& options);
int run_quantize(const QuantizeOptions& options);
int run_eval(const EvalOptions& options);
int run_bench(const BenchOptions& options);

}  // namespace sam3::cli
