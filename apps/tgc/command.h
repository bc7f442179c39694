// One command of the command line: the texts of its --help, its options in groups, and the function that runs it.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"

namespace tgc {

// Returns the value of `result`. Throws its Diag as a Failure, which Command::runs prints.
template <class T>
T require(Result<T> result) {
  return std::move(result.value_or_throw());
}

inline const int64_t kMostThreads = 1024, kMostShown = 1'000'000'000, kMostRuns = 1'000'000;
inline const double kMostSeconds = 1e7;

// The groups of options, in the order in which --help prints them.
enum class Group : uint8_t { Input, Device, Comparison, Search, Output, Pipeline };

class Command {
 public:
  Command(CLI::App& app, const std::string& name, int& exit_code)
      : app_(app.add_subcommand(name)), exit_code_(&exit_code) {}
  CLI::App* operator->() const { return app_; }

  // Sets what opens --help: a sentence that says what the command does, and one call of it. `notes` end --help.
  void describe(const std::string& sentence, const std::string& example, const std::string& notes = "");
  // Puts the options that are added after this call into `group`.
  void group(Group group);

  template <class T>
  CLI::Option* positional(const char* name, T& value, const std::string& help) {
    return option(name, value, "", help);
  }
  template <class T>
  CLI::Option* option(const char* names, T& value, const char* type, const std::string& help) {
    return app_->add_option(names, value, help)->type_name(type);
  }
  // An option that may be repeated and takes one value each time.
  template <class T>
  CLI::Option* repeated(const char* names, T& values, const char* type, const std::string& help) {
    return option(names, values, type, help)->allow_extra_args(false)->take_all();
  }
  // Options whose value is a decimal number from `least` to `most`.
  template <class T>
  CLI::Option* whole(const char* names, T& value, const char* type, int64_t least, int64_t most,
                     const std::string& help) {
    return option(names, value, type, help)->check(whole_number(least, most));
  }
  template <class T>
  CLI::Option* real(const char* names, T& value, const char* type, double least, double most, const std::string& help) {
    return option(names, value, type, help)->check(real_number(least, most));
  }
  CLI::Option* flag(const char* names, bool& value, const std::string& help) {
    return app_->add_flag(names, value, help);
  }
  CLI::Option* json(bool& value, const std::string& help = "print JSON") { return flag("--json", value, help); }
  CLI::Option* jobs(unsigned& value, const std::string& by_default) {
    return whole("-j,--jobs", value, "N", 1, kMostThreads, "number of threads; default: " + by_default);
  }

  // Returns a new T, which lives as long as the parser.
  template <class T>
  T& make() {
    auto made = std::make_shared<T>();
    owned_.push_back(made);
    return *made;
  }
  // Sets what runs once the command line is parsed. `body` returns the exit code or throws Failure. Call this last.
  void runs(std::function<int()> body);

 private:
  // Return the error for a text that is no such number. CLI11 alone reads -1 as a large unsigned number and 010 as 8,
  // accepts NaN in every range, and turns what overflows into the largest number.
  using NumberCheck = std::function<std::string(const std::string& text)>;
  static NumberCheck whole_number(int64_t least, int64_t most);
  static NumberCheck real_number(double least, double most);

  CLI::App* app_;
  int* exit_code_;
  std::vector<std::shared_ptr<void>> owned_;
};

// Prints --help: the description, the usage, the options by group, and one line for each command.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { label("Positionals", "Arguments"); }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace tgc
