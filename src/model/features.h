// What a workflow keeps of a picture.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tensor.h"
#include "sam3/picture.h"

namespace sam3::model {

// Tensors by the names that graphs have for them.
using NamedTensors = std::map<std::string, runtime::Tensor, std::less<>>;

struct Features {
  Size picture;
  // Ready to be fed: input names of the graph that follows, with their tensors.
  std::vector<std::pair<std::string, runtime::Tensor>> tensors;
  const void* maker = nullptr;  // the workflow whose graphs made them; compared, never followed
  // What the graph that follows makes of them alone, once it was asked something.
  mutable std::mutex mutex;
  mutable std::optional<NamedTensors> derived;
};

}  // namespace sam3::model
