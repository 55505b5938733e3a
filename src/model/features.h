// What a workflow keeps of a picture.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/tensor.h"
#include "sam3/picture.h"

namespace sam3::model {

struct Features {
  Size picture;
  // Ready to be fed: input names of the graph that follows, with their tensors.
  std::vector<std::pair<std::string, runtime::Tensor>> tensors;
  const void* maker = nullptr;  // the workflow whose graphs made them; compared, never followed
};

}  // namespace sam3::model
