// A checkpoint file: the header alone, then the whole file and its tensors.
#include "convert/safetensors.h"
#include "scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sam3;
  constexpr std::uint64_t kMostBytes = 1 << 20;
  static const fuzz::Scratch scratch;
  const std::string_view bytes = fuzz::text_of(data, size);
  const auto header = convert::parse_safetensors_header(bytes, bytes.size() + 1000);
  if (header.ok())
    for (const auto& [name, tensor] : *header)
      fuzz::require(tensor.offset <= bytes.size() + 1000 &&
                    tensor.bytes <= bytes.size() + 1000 - tensor.offset);
  const auto file = convert::SafetensorsFile::open(scratch.write("model.safetensors", bytes));
  if (!file.ok()) return 0;
  for (const auto& [name, tensor] : file->tensors()) {
    if (tensor.type == convert::StoredType::kOther) {  // nobody may ask for it
      fuzz::require(
          !graph::read_values<float>({graph::ElementType::kFloat, {0}, file->weight(tensor).read})
               .ok());
      continue;
    }
    const graph::Weight weight = file->weight(tensor);
    // What the header's check lets through is in the file, so it is small and can be read.
    fuzz::require(weight.bytes() <= kMostBytes || weight.bytes() <= 2 * bytes.size());
    fuzz::require(graph::read_values<float>(weight).ok());
  }
  return 0;
}
