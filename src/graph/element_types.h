// Element types of the values of a graph.
#pragma once

#include <map>
#include <string>

#include "graph/editable_model.h"

namespace sam3::graph {

// By name: what the graph declares, else what follows from the operators. Values whose type cannot
// be told are not in it.
using ElementTypes = std::map<std::string, ElementType, std::less<>>;
ElementTypes infer_types(const EditableModel& model);

}  // namespace sam3::graph
