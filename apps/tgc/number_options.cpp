// Options that are numbers: what they may be.
#include <CLI/CLI.hpp>
#include <charconv>
#include <sstream>

#include "apps/tgc/options.h"
#include "lib/runtime/compare.h"

namespace tgc {
namespace {

template <class Number>
NumberCheck number_between(Number least, Number most, const std::string& kind) {
  return [=](const std::string& text) -> std::string {
    Number n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    size_t sign = text.starts_with('-');
    bool is_octal = text.size() > sign + 1 && text[sign] == '0' && text[sign + 1] >= '0' && text[sign + 1] <= '9';
    bool fits = n >= least && n <= most;  // NaN is not
    if (error == std::errc() && end == text.data() + text.size() && !is_octal && fits) return {};
    std::ostringstream range;
    range << least << " to " << most;
    return "found '" + text + "', expected " + kind + " from " + range.str();
  };
}

}  // namespace

void add_tolerance_options(CLI::App& command, ToleranceOptions& tolerance) {
  constexpr double kMost = 1e38;
  command.add_option("--rtol", tolerance.rtol, "relative tolerance of floats; default: by their dtype")
      ->type_name("X")
      ->check(real_number(0, kMost));
  command.add_option("--atol", tolerance.atol, "absolute tolerance of floats; default: by their dtype")
      ->type_name("X")
      ->check(real_number(0, kMost));
  command
      .add_option("--ulp", tolerance.ulp,
                  "floats this many representable values apart are the same; alone: nothing else is")
      ->type_name("N")
      ->check(whole_number(0, int64_t{1} << 52));
}

NumberCheck whole_number(int64_t least, int64_t most) { return number_between(least, most, "a whole number"); }
NumberCheck real_number(double least, double most) { return number_between(least, most, "a number"); }

}  // namespace tgc
