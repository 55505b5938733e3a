// From declared options to CLI11, to Markdown and to JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/options.h"

namespace sam3::cli {

// Adds what it visits to a CLI11 command.
class CommandLineVisitor : public OptionVisitor {
 public:
  explicit CommandLineVisitor(CLI::App& app) : app_(app) {}
  void flag(const OptionText& text, bool& field) override;
  void integer(const OptionText& text, const OptionRange& range, long long& field) override;
  void real(const OptionText& text, const OptionRange& range, double& field) override;
  void text(const OptionText& text, std::string& field) override;
  void list(const OptionText& text, std::vector<std::string>& field) override;
  void positional(const OptionText& text, std::string& field) override;
  void positional_list(const OptionText& text, bool required,
                       std::vector<std::string>& field) override;

 private:
  CLI::App& app_;
};

// Collects what it visits: [{"name", "value", "help", "default"?, "minimum"?, "maximum"?, "kind"}].
class DescribingVisitor : public OptionVisitor {
 public:
  void flag(const OptionText& text, bool& field) override;
  void integer(const OptionText& text, const OptionRange& range, long long& field) override;
  void real(const OptionText& text, const OptionRange& range, double& field) override;
  void text(const OptionText& text, std::string& field) override;
  void list(const OptionText& text, std::vector<std::string>& field) override;
  void positional(const OptionText& text, std::string& field) override;
  void positional_list(const OptionText& text, bool required,
                       std::vector<std::string>& field) override;

  nlohmann::ordered_json options = nlohmann::ordered_json::array();

 private:
  nlohmann::ordered_json& add(const OptionText& text, const char* kind);
};

// A command as the program and its documentation know it.
struct Command {
  std::string name;
  std::string help;
  std::function<void(OptionVisitor&)> visit;
  std::function<int()> run;
};

// The program's options as a Markdown page (docs/cli.md) and as JSON.
std::string options_markdown(const std::vector<Command>& commands);
std::string options_json(const std::vector<Command>& commands);

// `--` ends a list such as --classes, so people go on with options behind the file names that
// follow it. Behind `--`, an argument that is the name of an option of the command, and not of a
// file, is taken as that option; it is moved in front of `--` with its values.
std::vector<std::string> move_options_forward(const std::vector<std::string>& arguments,
                                              const std::vector<Command>& commands);

// CLI11 takes "[a, b]" for a list of its own; this puts a mark in front of such arguments, which
// the options take off again.
std::vector<std::string> protect_brackets(std::vector<std::string> arguments);

}  // namespace sam3::cli
