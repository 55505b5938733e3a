// Both kinds of tokenizer file and, behind a zero byte, a prompt.
#include "scratch.h"
#include "text/tokenizer.h"

namespace {

void use(const sam3::Result<sam3::Tokenizer>& tokenizer, std::string_view prompt) {
  if (!tokenizer.ok()) return;
  constexpr int kLength = 32;
  const auto encoding = tokenizer->encode(prompt, kLength);
  if (encoding.ok())
    sam3::fuzz::require(encoding->ids.size() == kLength && encoding->mask.size() == kLength &&
                        prompt.ends_with(encoding->dropped));
  const auto all = tokenizer->encode_all(prompt);
  sam3::fuzz::require(all.ok() == encoding.ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [file, prompt] = sam3::fuzz::halves(sam3::fuzz::text_of(data, size));
  use(sam3::Tokenizer::from_tokenizer_json(file), prompt);
  use(sam3::Tokenizer::from_clip_json(file), prompt);
  static_cast<void>(sam3::Tokenizer::is_blank(prompt));
  return 0;
}
