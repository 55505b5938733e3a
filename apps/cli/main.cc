// sam3: the program.
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "common.h"

namespace sam3::cli {
namespace {

template <typename Options>
Command make_command(int (*run)(const Options&)) {
  auto options = std::make_shared<Options>();
  return {Options::kName, Options::kHelp,
          [options](OptionVisitor& visitor) { options->visit(visitor); },
          [options, run] { return run(*options); }};
}

std::vector<Command> all_commands() {
  return {make_command(run_segment), make_command(run_detect),  make_command(run_classes),
          make_command(run_points),  make_command(run_inspect), make_command(run_pull),
          make_command(run_convert), make_command(run_verify),  make_command(run_quantize),
          make_command(run_eval),    make_command(run_bench)};
}

int print_version() {
  const char* library = std::getenv("SAM3_ONNXRUNTIME_LIBRARY");
  const auto info = library && *library ? runtime_info(library) : runtime_info();
  std::string text = "sam3 " + version() + "\n";
  if (info.ok()) {
    text += "ONNX Runtime " + info->version + "\ndevices:";
    for (const std::string& device : info->devices) text += " " + device;
    text += "\n";
  } else {
    text += "ONNX Runtime: " + info.error().to_string() + "\n";
  }
  const int printed = print(text);
  return info.ok() ? printed : kFailed;
}

int run(const std::vector<std::string>& arguments) {
  const std::vector<Command> commands = all_commands();
  CLI::App app("SAM 3: finds and masks every object that a phrase names, or the one under a click.",
               "sam3");
  app.require_subcommand(0, 1);
  bool show_version = false;
  app.add_flag("--version", show_version, "versions of the program and of ONNX Runtime, devices");
  int code = kDone;
  for (const Command& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name, command.help);
    CommandLineVisitor visitor(*sub);
    command.visit(visitor);
    sub->callback([&code, &command] { code = command.run(); });
  }
  bool as_json = false;
  CLI::App* options =
      app.add_subcommand("options", "all commands and options, as Markdown or JSON");
  options->add_flag("--json", as_json, "print JSON");
  options->callback(
      [&] { code = print(as_json ? options_json(commands) : options_markdown(commands)); });

  // CLI11 would take the next argument for the value.
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.starts_with("--") && argument.ends_with('='))
      return usage(argument.substr(0, argument.size() - 1) + " has an empty value");
  }
  std::vector<std::string> reversed = protect_brackets(move_options_forward(arguments, commands));
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const auto used = app.get_subcommands();
    return print(used.empty() ? app.help() : used.front()->help("sam3"));
  } catch (const CLI::ParseError& error) {
    return usage(std::string(error.what()) + "; see sam3 --help");
  }
  if (show_version) return print_version();
  if (app.get_subcommands().empty()) {
    print(app.help());
    return kUsage;
  }
  return code;
}

}  // namespace
}  // namespace sam3::cli

int main(int argc, char** argv) {
  // A reader who closes the pipe ends the printing, not the work.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return sam3::cli::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    sam3::cli::note(std::string("sam3: internal error: ") + error.what());
    return sam3::cli::kFailed;
  }
}
