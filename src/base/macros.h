// Handing errors upwards.
#pragma once

#include <utility>

#include "sam3/result.h"

#define SAM3_CONCAT_INNER(a, b) a##b
#define SAM3_CONCAT(a, b) SAM3_CONCAT_INNER(a, b)

// Returns the error of a Status expression, if it has one.
#define SAM3_RETURN_IF_ERROR(expression) \
  if (::sam3::Status sam3_status = (expression); !sam3_status) return sam3_status.error()

// Assigns the value of a Result expression to `target`, or returns its error.
#define SAM3_ASSIGN_OR_RETURN(target, expression) \
  SAM3_ASSIGN_OR_RETURN_IMPL(SAM3_CONCAT(sam3_result_, __LINE__), target, expression)
#define SAM3_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return result.error();                     \
  target = *std::move(result)
