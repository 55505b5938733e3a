// Options are declared once, in a struct, and visited for everything that needs to know them:
// command line flags, help, the table in the docs, JSON.
//
//   struct FooOptions {
//     double threshold = 0.5;
//     void visit(OptionVisitor& v) {
//       v.real({"threshold", "X", "keep scores above X"}, {0, 1, false}, threshold);
//     }
//   };
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace sam3 {

struct OptionText {
  const char* name;   // without dashes: "max-pixels"
  const char* value;  // what stands for the value in help: "N"; "" for a flag
  const char* help;   // lower case, no full stop
};

// low <= value <= high, or < high if high does not belong to it.
struct OptionRange {
  double low = std::numeric_limits<double>::lowest();
  double high = std::numeric_limits<double>::max();
  bool high_included = true;

  bool contains(double value) const {
    return value >= low && (high_included ? value <= high : value < high);
  }
};

// The field holds the default when it is visited.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  virtual void flag(const OptionText& text, bool& field) = 0;
  virtual void integer(const OptionText& text, const OptionRange& range, long long& field) = 0;
  virtual void real(const OptionText& text, const OptionRange& range, double& field) = 0;
  virtual void text(const OptionText& text, std::string& field) = 0;
  virtual void list(const OptionText& text, std::vector<std::string>& field) = 0;
  // Arguments without a name, in the order of the visits; a list takes all that are left.
  virtual void positional(const OptionText& text, std::string& field) = 0;
  virtual void positional_list(const OptionText& text, bool required,
                               std::vector<std::string>& field) = 0;
};

}  // namespace sam3
