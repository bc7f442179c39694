#include "apps/tgc/command.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "lib/run/repro_command.h"

namespace tgc {
namespace {

constexpr const char* kGroups[] = {"Input", "Device", "Comparison", "Search", "Output", "Pipeline", "Options"};

template <class Number>
auto make_range_check(Number least, Number most, const std::string& kind) {
  return [=](const std::string& text) -> std::string {
    Number n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    size_t sign = text.starts_with('-');
    bool is_octal = text.size() > sign + 1 && text[sign] == '0' && text[sign + 1] >= '0' && text[sign + 1] <= '9';
    bool fits = n >= least && n <= most;  // false if n is NaN
    if (error == std::errc() && end == text.data() + text.size() && !is_octal && fits) return {};
    std::ostringstream range;
    range << least << " to " << most;
    return "found '" + text + "', expected " + kind + " from " + range.str();
  };
}

// Options that do not change a failure, or that libraries write into the command that repeats it.
constexpr std::string_view kNotRepeated[] = {
    "kernel", "inputs", "seed", "var", "weights", "recorded", "native", "device", "expect", "reference", "rtol", "atol",
    "ulp", "each-stage", "target", "set", "opts", "live", "from", "against", "tinygrad", "cmd", "graph", "grow",
    "onnx-test", "bench", "repro", "save", "json", "output", "while", "count", "minutes", "known", "findings", "state",
    "jobs", "color", "help", "version", "bisect", "prove", "no-asm", "strip-paths", "port", "open"};

// Returns the given options that kNotRepeated does not list, as " --name" or " --name=value".
std::string other_given_options(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* o : app.get_options()) {
    if (!o->count() || o->get_lnames().empty()) continue;
    const std::string& name = o->get_lnames()[0];
    if (std::ranges::find(kNotRepeated, name) != std::end(kNotRepeated)) continue;
    if (o->get_expected_min() == 0) out += " --" + name;  // the option is a flag
    else for (const std::string& value : o->results()) out += " --" + name + "=" + quote_for_shell(value);
  }
  return out;
}

}  // namespace

void CliCommand::set_description(const std::string& sentence, const std::string& example, const std::string& notes) {
  cli_app_->description(sentence + "\n\nExample: " + example + "\n")->footer(notes);
}

void CliCommand::set_group(OptionGroup group) { cli_app_->option_defaults()->group(kGroups[size_t(group)]); }

void CliCommand::set_action(std::function<int()> body) {
  cli_app_->callback([body, app = cli_app_, owned = owned_values_, code = exit_code_] {
    other_options() = other_given_options(*app) + other_given_options(*app->get_parent());
    auto done = catch_failures(body);
    *code = done ? *done : report_error(done.diag());
  });
}

CliCommand::NumberCheck CliCommand::make_number_check(int64_t a, int64_t b) {
  return make_range_check(a, b, "a whole number");
}
CliCommand::NumberCheck CliCommand::make_number_check(double a, double b) { return make_range_check(a, b, "a number"); }

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string out = make_description(app) + make_usage(app, name) + make_positionals(app);
  for (const std::string group : kGroups) {
    auto options =
        app->get_options([&](const CLI::Option* o) { return o->get_group() == group && o->nonpositional(); });
    if (!options.empty()) out += make_group(group, false, options);
  }
  return out + make_subcommands(app, mode) + "\n" + make_footer(app);
}

std::string HelpFormatter::make_option_opts(const CLI::Option* o) const {
  if (o->get_type_size() == 0 || o->get_type_name().empty()) return "";
  return " " + o->get_type_name() + (o->get_expected_max() == CLI::detail::expected_max_vector_size ? " ..." : "");
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  std::ostringstream out;
  const std::string text = command->get_description();
  CLI::detail::format_help(out, command->get_name(), text.substr(0, text.find('\n')), get_column_width());
  return out.str();
}

}  // namespace tgc
