#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "lib/runtime/devices.h"

namespace tgc {

// Returns the value of `result`, or throws its Diag as a Failure. set_action() prints a Failure that `body` throws.
template <class T>
T require_value(Result<T> result) {
  return std::move(result.value_or_throw());
}

inline const int64_t kMaxJobs = 1024, kMaxShownItems = 1'000'000'000, kMaxRuns = 1'000'000;
inline const double kMaxTimeoutSeconds = 1e7;

// Groups of options, in the order in which --help prints them.
enum class OptionGroup : uint8_t { Input, Device, Comparison, Search, Output, Pipeline };

class CliCommand {
 public:
  CliCommand(CLI::App& app, const std::string& name, int& exit_code)
      : cli_app_(app.add_subcommand(name)), exit_code_(&exit_code) {}
  CLI::App* operator->() const { return cli_app_; }

  // Sets the texts of --help, which begins with `sentence` and `example` and ends with `notes`.
  void set_description(const std::string& sentence, const std::string& example, const std::string& notes = "");
  // Puts the options that are added from now on into `group`.
  void set_group(OptionGroup group);

  template <class T>
  CLI::Option* add_positional(const char* name, T& value, const std::string& help) {
    return cli_app_->add_option(name, value, help)->type_name("");
  }
  template <class T>
  CLI::Option* add_option(const char* names, T& value, const char* type, const std::string& help) {
    CLI::Option* added = cli_app_->add_option(names, value, help)->type_name(type);
    return std::string_view(type) == "DEV" ? added->each(allow_plugin) : added;
  }
  // Adds an option that may be repeated and takes one value each time.
  template <class T>
  CLI::Option* add_repeated_option(const char* names, T& values, const char* type, const std::string& help) {
    return add_option(names, values, type, help)->allow_extra_args(false)->take_all();
  }
  // Adds an option whose value is a decimal number from `least` to `most`, an integer if these are integers.
  template <class T, class Least, class Most>
  CLI::Option* add_number_option(const char* names, T& value, const char* type, Least least, Most most,
                                 const std::string& help) {
    constexpr bool is_whole = std::is_integral_v<Least> && std::is_integral_v<Most>;
    using Number = std::conditional_t<is_whole, int64_t, double>;
    return add_option(names, value, type, help)->check(make_number_check(Number(least), Number(most)));
  }
  template <class T>
  CLI::Option* add_cli_flag(const char* name, T& on, const std::string& help) {
    return cli_app_->add_flag(name, on, help);
  }
  CLI::Option* add_json_flag(bool& value, const std::string& help = "print JSON") {
    return add_cli_flag("--json", value, help);
  }
  CLI::Option* add_jobs_option(unsigned& value, const std::string& by_default) {
    return add_number_option("-j,--jobs", value, "N", 1, kMaxJobs, "number of threads; default: " + by_default);
  }

  // Returns a new T, for example the options of a command. The T lives as long as the parser.
  template <class T>
  T& make_owned_value() {
    auto made = std::make_shared<T>();
    owned_values_.push_back(made);
    return *made;
  }
  // Sets the function to run after parsing. `body` returns the exit code or throws Failure. Call this function last.
  void set_action(std::function<int()> body);

 private:
  // Checks that a text is a number from `least` to `most`: CLI11 reads -1 as a large unsigned number and 010 as 8,
  // accepts NaN in every range, and clamps numbers that overflow.
  using NumberCheck = std::function<std::string(const std::string& text)>;
  static NumberCheck make_number_check(int64_t least, int64_t most);
  static NumberCheck make_number_check(double least, double most);

  CLI::App* cli_app_;
  int* exit_code_;
  std::vector<std::shared_ptr<void>> owned_values_;
};

// Makes the text of --help: the description, the usage, the arguments, the options by group, the subcommands, and the
// notes.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { label("Positionals", "Arguments"); }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace tgc
