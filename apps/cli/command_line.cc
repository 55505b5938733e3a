#include "command_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <type_traits>

namespace sam3::cli {
namespace {

using nlohmann::ordered_json;

// See protect_brackets.
constexpr char kTextMark = '\x1f';

constexpr std::string_view kShortOut = "-o";

// The flags of an option as CLI11 wants them.
std::string dashed(const OptionText& text) {
  const std::string flags = std::string("--") + text.name;
  return flags == "--out" ? std::string(kShortOut) + "," + flags : flags;
}

// Numbers of help texts: no trailing zeros, no exponent for whole numbers.
std::string plain_number(double value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  if (value == std::floor(value) && std::fabs(value) < 1e15)
    out << static_cast<long long>(value);
  else
    out << value;
  return out.str();
}

bool bounded(const OptionRange& range) { return range.low > std::numeric_limits<double>::lowest(); }

std::string range_text(const OptionRange& range) {
  return "from " + plain_number(range.low) + (range.high_included ? " to " : " to below ") +
         plain_number(range.high);
}

// Decimal digits only, whatever the locale: CLI11 would read 010 as octal and 0x10 as hexadecimal.
template <typename Number>
CLI::Validator range_check(const OptionRange& range) {
  return CLI::Validator(
      [range](std::string& input) -> std::string {
        Number value{};
        const char* end = input.data() + input.size();
        const auto [after, error] = std::from_chars(input.data(), end, value);
        const bool whole = std::is_integral_v<Number>;
        if (error == std::errc::invalid_argument || after != end)
          return "'" + input + "' is not a " + (whole ? "whole " : "") + "number";
        if (error != std::errc{} || !range.contains(static_cast<double>(value)))
          return input + " is not " + range_text(range);
        if (whole) input = plain_number(static_cast<double>(value));
        return "";
      },
      "", "range");
}

// Takes off what protect_brackets puts on.
CLI::Validator unprotected() {
  return CLI::Validator(
      [](std::string& input) -> std::string {
        if (input.starts_with(kTextMark)) input.erase(0, 1);
        return "";
      },
      "", "text");
}

// An unset shell variable should not pass for an option that was left out.
CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& input) -> std::string {
        if (input.starts_with(kTextMark)) input.erase(0, 1);
        return input.empty() ? "the value is empty" : "";
      },
      "", "text");
}

}  // namespace

void CommandLineVisitor::flag(const OptionText& text, bool& field) {
  app_.add_flag(dashed(text), field, text.help);
}

void CommandLineVisitor::integer(const OptionText& text, const OptionRange& range,
                                 long long& field) {
  app_.add_option(dashed(text), field, text.help)
      ->type_name(text.value)
      ->transform(range_check<long long>(range));
}

void CommandLineVisitor::real(const OptionText& text, const OptionRange& range, double& field) {
  app_.add_option(dashed(text), field, text.help)
      ->type_name(text.value)
      ->transform(range_check<double>(range))
      ->capture_default_str();
}

void CommandLineVisitor::text(const OptionText& text, std::string& field) {
  app_.add_option(dashed(text), field, text.help)
      ->type_name(text.value)
      ->transform(not_empty())
      ->capture_default_str();
}

void CommandLineVisitor::list(const OptionText& text, std::vector<std::string>& field) {
  app_.add_option(dashed(text), field, text.help)->type_name(text.value)->transform(unprotected());
}

void CommandLineVisitor::positional(const OptionText& text, std::string& field) {
  app_.add_option(text.name, field, text.help)->required()->type_name("")->transform(not_empty());
}

void CommandLineVisitor::positional_list(const OptionText& text, bool required,
                                         std::vector<std::string>& field) {
  app_.add_option(text.name, field, text.help)
      ->required(required)
      ->type_name("")
      ->transform(unprotected());
}

ordered_json& DescribingVisitor::add(const OptionText& text, const char* kind) {
  options.push_back(
      {{"name", text.name}, {"kind", kind}, {"value", text.value}, {"help", text.help}});
  return options.back();
}

void DescribingVisitor::flag(const OptionText& text, bool& field) {
  add(text, "flag")["default"] = field;
}

void DescribingVisitor::integer(const OptionText& text, const OptionRange& range,
                                long long& field) {
  ordered_json& entry = add(text, "integer");
  if (range.contains(static_cast<double>(field))) entry["default"] = field;
  if (bounded(range)) entry["minimum"] = range.low, entry["maximum"] = range.high;
}

void DescribingVisitor::real(const OptionText& text, const OptionRange& range, double& field) {
  ordered_json& entry = add(text, "real");
  entry["default"] = field;
  if (bounded(range))
    entry["minimum"] = range.low, entry[range.high_included ? "maximum" : "below"] = range.high;
}

void DescribingVisitor::text(const OptionText& text, std::string& field) {
  ordered_json& entry = add(text, "text");
  if (!field.empty()) entry["default"] = field;
}

void DescribingVisitor::list(const OptionText& text, std::vector<std::string>&) {
  add(text, "list");
}

void DescribingVisitor::positional(const OptionText& text, std::string&) {
  add(text, "argument")["required"] = true;
}

void DescribingVisitor::positional_list(const OptionText& text, bool required,
                                        std::vector<std::string>&) {
  add(text, "arguments")["required"] = required;
}

namespace {

ordered_json describe(const Command& command) {
  DescribingVisitor visitor;
  command.visit(visitor);
  return visitor.options;
}

bool is_argument(const ordered_json& option) {
  const std::string kind = option["kind"];
  return kind == "argument" || kind == "arguments";
}

std::string markdown_row(const ordered_json& option) {
  std::string name = option["name"];
  const std::string kind = option["kind"];
  if (!is_argument(option)) name = (name == "out" ? "-o`, `--" : "--") + name;
  const std::string value = option["value"];
  if (!value.empty()) name += " " + value;
  if (kind == "list") name += " ...";
  if (kind == "arguments") name += " ...";
  std::string row = "| `" + name + "` | " + option["help"].get<std::string>() + " | ";
  if (option.contains("default") && kind != "flag") {
    const auto& value_of = option["default"];
    row += "`" +
           (value_of.is_string() ? value_of.get<std::string>()
                                 : plain_number(value_of.get<double>())) +
           "`";
  }
  row += " | ";
  if (option.contains("minimum")) {
    const bool included = option.contains("maximum");
    row += plain_number(option["minimum"]) + (included ? " to " : " to below ") +
           plain_number(option[included ? "maximum" : "below"]);
  }
  return row + " |\n";
}

}  // namespace

std::string options_markdown(const std::vector<Command>& commands) {
  std::string page =
      "# Commands and options\n\n"
      "Made from the declarations in `apps/cli/options.h` by `sam3 options`; a test compares the "
      "two.\n\n"
      "Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 a "
      "run "
      "failed (the\nJSON says which picture), 2 wrong usage. Positions and boxes are pixels of the "
      "picture "
      "as displayed, after the\nrotation that EXIF asks for.\n";
  for (const Command& command : commands) {
    page += "\n## sam3 " + command.name + "\n\n" + command.help + "\n\n";
    page += "| argument or option | meaning | default | range |\n|---|---|---|---|\n";
    for (const auto& option : describe(command)) page += markdown_row(option);
  }
  return page;
}

std::string options_json(const std::vector<Command>& commands) {
  ordered_json document = ordered_json::object();
  for (const Command& command : commands)
    document[command.name] = {{"help", command.help}, {"options", describe(command)}};
  return document.dump(1) + "\n";
}

std::vector<std::string> protect_brackets(std::vector<std::string> arguments) {
  for (std::string& argument : arguments)
    if (argument.starts_with('[')) argument.insert(0, 1, kTextMark);
  return arguments;
}

std::vector<std::string> move_options_forward(const std::vector<std::string>& arguments,
                                              const std::vector<Command>& commands) {
  const auto end_mark = std::find(arguments.begin(), arguments.end(), "--");
  if (arguments.empty() || end_mark == arguments.end()) return arguments;
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& c) { return c.name == arguments[0]; });
  if (command == commands.end()) return arguments;
  const ordered_json options = describe(*command);
  // The kind of the option that an argument names; empty if it is a file or names none.
  const auto kind_of = [&](const std::string& argument) -> std::string {
    if (argument == kShortOut) return "text";
    if (!argument.starts_with("--") || std::filesystem::exists(argument)) return "";
    const std::string name = argument.substr(2, argument.find('=') - 2);
    for (const auto& option : options)
      if (option["name"] == name && !is_argument(option))
        return argument.find('=') == std::string::npos ? option["kind"].get<std::string>() : "flag";
    return "";
  };
  std::vector<std::string> front(arguments.begin(), end_mark);
  std::vector<std::string> back;
  for (auto at = end_mark + 1; at != arguments.end(); ++at) {
    const std::string kind = kind_of(*at);
    if (kind.empty()) {
      back.push_back(*at);
      continue;
    }
    front.push_back(*at);
    if (kind == "flag") continue;
    do {
      if (at + 1 == arguments.end() || !kind_of(*(at + 1)).empty()) break;
      front.push_back(*++at);
    } while (kind == "list");
  }
  // CLI11 drops the mark that ends a list and goes on looking for options; a second one stops it.
  const auto last_option =
      std::find_if(front.rbegin(), front.rend(),
                   [&](const std::string& argument) { return !kind_of(argument).empty(); });
  if (last_option != front.rend() && kind_of(*last_option) == "list") front.emplace_back("--");
  front.emplace_back("--");
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

}  // namespace sam3::cli
