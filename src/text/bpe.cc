#include "text/bpe.h"

#include <optional>
#include <queue>
#include <utility>

#include "base/macros.h"
#include "base/utf8.h"

namespace sam3::text {
namespace {

using Vocabulary = std::unordered_map<std::string_view, std::int32_t>;

Result<Vocabulary> read_vocabulary(const Json& section) {
  if (!section.is_object()) return bad_json("\"model.vocab\" is not an object");
  Vocabulary vocabulary;
  vocabulary.reserve(section.size());
  for (auto entry = section.begin(); entry != section.end(); ++entry) {
    const auto id = to_id(*entry, entry.key());
    if (!id) return id.error();
    vocabulary.emplace(entry.key(), *id);
  }
  return vocabulary;
}

std::optional<std::int32_t> look_up(const Vocabulary& vocabulary, std::string_view token) {
  const auto found = vocabulary.find(token);
  if (found == vocabulary.end()) return std::nullopt;
  return found->second;
}

struct Pair {
  std::string_view left;
  std::string_view right;
};

// One entry of "merges", in either of its two forms.
std::optional<Pair> read_pair(const Json& entry) {
  if (const auto* text = entry.get_ptr<const std::string*>()) {
    const std::size_t space = text->find(' ');
    if (space == std::string::npos || text->find(' ', space + 1) != std::string::npos)
      return std::nullopt;
    return Pair{std::string_view(*text).substr(0, space),
                std::string_view(*text).substr(space + 1)};
  }
  if (!entry.is_array() || entry.size() != 2) return std::nullopt;
  const auto* left = entry[0].get_ptr<const std::string*>();
  const auto* right = entry[1].get_ptr<const std::string*>();
  if (!left || !right) return std::nullopt;
  return Pair{*left, *right};
}

}  // namespace

ByteSymbols byte_level_symbols() {
  ByteSymbols symbols;
  char32_t next = 0x100;
  for (std::size_t byte = 0; byte < symbols.size(); ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    append_utf8(printable ? static_cast<char32_t>(byte) : next++, symbols[byte]);
  }
  return symbols;
}

Result<Bpe> Bpe::from_json(const Json& section) {
  constexpr std::string_view kWhere = "model";
  SAM3_ASSIGN_OR_RETURN(const std::string type, need_string(section, "type", kWhere));
  if (type != "BPE") return unsupported_json("model type \"" + type + "\"");
  for (const char* flag : {"byte_fallback", "ignore_merges"}) {
    SAM3_ASSIGN_OR_RETURN(const bool set, bool_or(section, flag, false, kWhere));
    if (set) return unsupported_json("\"model." + std::string(flag) + "\"");
  }
  const Json* dropout = find_member(section, "dropout");
  if (dropout && *dropout != 0) return unsupported_json("\"model.dropout\"");
  const Json* prefix = find_member(section, "continuing_subword_prefix");
  if (prefix && *prefix != "") return unsupported_json("\"model.continuing_subword_prefix\"");

  SAM3_ASSIGN_OR_RETURN(const Json* vocab, need_member(section, "vocab", kWhere));
  SAM3_ASSIGN_OR_RETURN(const Json* merges, need_member(section, "merges", kWhere));
  BpeSource source{*vocab, *merges, "", ""};
  if (find_member(section, "end_of_word_suffix")) {
    SAM3_ASSIGN_OR_RETURN(source.end_of_word_suffix,
                          need_string(section, "end_of_word_suffix", kWhere));
  }
  if (find_member(section, "unk_token")) {
    SAM3_ASSIGN_OR_RETURN(source.unknown_token, need_string(section, "unk_token", kWhere));
  }
  SAM3_ASSIGN_OR_RETURN(source.fuse_unknown, bool_or(section, "fuse_unk", false, kWhere));
  return make(source, byte_level_symbols());
}

Result<Bpe> Bpe::make(const BpeSource& source, const ByteSymbols& symbols) {
  SAM3_ASSIGN_OR_RETURN(const Vocabulary vocabulary, read_vocabulary(source.vocab));
  Bpe bpe;
  bpe.fuse_unknown_ = source.fuse_unknown;
  if (!source.unknown_token.empty()) {
    const auto id = look_up(vocabulary, source.unknown_token);
    if (!id) return bad_json("unk_token \"" + source.unknown_token + "\" is not in the vocabulary");
    bpe.unknown_ = *id;
  }
  for (std::size_t byte = 0; byte < symbols.size(); ++byte) {
    bpe.inner_[byte] = look_up(vocabulary, symbols[byte]).value_or(kMissing);
    bpe.final_[byte] =
        look_up(vocabulary, symbols[byte] + source.end_of_word_suffix).value_or(kMissing);
  }

  if (!source.merges.is_array()) return bad_json("\"model.merges\" is not an array");
  bpe.merges_.reserve(source.merges.size());
  std::string merged;
  std::int32_t rank = 0;
  for (const Json& entry : source.merges) {
    const auto where = [&] { return "merge " + std::to_string(rank); };
    const auto pair = read_pair(entry);
    if (!pair) return bad_json(where() + " is not a pair of tokens");
    merged.assign(pair->left).append(pair->right);
    const auto left = look_up(vocabulary, pair->left);
    const auto right = look_up(vocabulary, pair->right);
    const auto id = look_up(vocabulary, merged);
    if (!left || !right || !id) {
      const std::string_view missing = !left ? pair->left : !right ? pair->right : merged;
      return bad_json(where() + " needs token \"" + std::string(missing) +
                      "\", which is not in the vocabulary");
    }
    bpe.merges_[key(*left, *right)] = {rank++, *id};
  }
  return bpe;
}

const Bpe::Merge* Bpe::find_merge(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

// One word being merged: the best pair, leftmost first, until no pair is in the table. An object
// serves many words, so that short ones cost no allocation.
class Bpe::Word {
 public:
  explicit Word(const Bpe& bpe) : bpe_(bpe) {}

  void append_tokens(const TracedText& text, Span word, std::vector<Token>& tokens) {
    pieces_.clear();
    for (std::size_t i = word.begin; i < word.end; ++i) {
      bytes_.clear();
      append_utf8(text.chars[i], bytes_);
      for (std::size_t b = 0; b < bytes_.size(); ++b) {
        const bool last = i + 1 == word.end && b + 1 == bytes_.size();
        add_byte(static_cast<unsigned char>(bytes_[b]), last, text.origins[i]);
      }
    }
    merge();
    for (const Piece& piece : pieces_)
      if (piece.id != kMissing) tokens.push_back({piece.id, piece.origin});
  }

 private:
  // A part of the word; `previous` and `next` chain the parts that are left.
  struct Piece {
    std::int32_t id;
    std::int32_t previous;
    std::int32_t next;
    std::size_t origin;
  };

  struct Candidate {
    std::int32_t rank;
    std::int32_t left;
    std::int32_t left_id;
    std::int32_t right_id;
    std::int32_t merged_id;
    bool operator<(const Candidate& other) const {  // the queue's top is its largest element
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  void add_byte(unsigned char byte, bool last, std::size_t origin) {
    std::int32_t id = (last ? bpe_.final_ : bpe_.inner_)[byte];
    if (id == kMissing) {
      id = bpe_.unknown_;
      if (id == kMissing) return;
      if (bpe_.fuse_unknown_ && !pieces_.empty() && pieces_.back().id == id) return;
    }
    const auto index = static_cast<std::int32_t>(pieces_.size());
    if (index > 0) pieces_.back().next = index;
    pieces_.push_back({id, index - 1, -1, origin});
  }

  void merge() {
    for (std::size_t i = 0; i + 1 < pieces_.size(); ++i) offer(static_cast<std::int32_t>(i));
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      Piece& left = at(best.left);
      // A candidate is out of date once one of its parts has been merged with another neighbour.
      if (left.id != best.left_id || left.next < 0 || at(left.next).id != best.right_id) continue;
      Piece& right = at(left.next);
      left.id = best.merged_id;
      left.next = right.next;
      right.id = kMissing;
      if (left.next >= 0) {
        at(left.next).previous = best.left;
        offer(best.left);
      }
      if (left.previous >= 0) offer(left.previous);
    }
  }

  Piece& at(std::int32_t index) { return pieces_[static_cast<std::size_t>(index)]; }

  // Queues the pair that begins at `left`, which has a right neighbour, if it can be merged.
  void offer(std::int32_t left) {
    const std::int32_t left_id = at(left).id;
    const std::int32_t right_id = at(at(left).next).id;
    if (const Merge* merge = bpe_.find_merge(left_id, right_id))
      candidates_.push({merge->rank, left, left_id, right_id, merge->id});
  }

  const Bpe& bpe_;
  std::string bytes_;
  std::vector<Piece> pieces_;
  std::priority_queue<Candidate> candidates_;
};

void Bpe::encode(const TracedText& text, const std::vector<Span>& words,
                 std::vector<Token>& tokens) const {
  Word merging(*this);
  for (const Span word : words) merging.append_tokens(text, word, tokens);
}

}  // namespace sam3::text
