#include "lib/fuzz/recipe.h"

#include <charconv>

namespace tgc {
namespace {

// Removes the number at the beginning of `text` and returns it; nullopt if there is none.
std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return n;
}

std::optional<Recipe::Step> parse_step(std::string_view text) {
  auto number = take_number(text);
  if (!number) return std::nullopt;
  Recipe::Step out{.number = *number};
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    auto kernel = take_number(text);
    if (!kernel) return std::nullopt;
    out.kernel = *kernel;
  } else if (text.size() > 1 && text.starts_with(':')) {
    out.rule = text.substr(1);
    text = {};
  }
  return text.empty() ? std::optional(out) : std::nullopt;
}

}  // namespace

std::string Recipe::text() const {
  std::string out;
  for (const Step& s : steps) {
    out += (out.empty() ? "" : "/") + std::to_string(s.number);
    if (s.kernel) out += "." + std::to_string(*s.kernel);
    if (!s.rule.empty()) out += ":" + s.rule;
  }
  return out;
}

Result<Recipe> parse_recipe(std::string_view text) {
  Recipe out;
  for (std::string_view rest = text;;) {
    size_t slash = rest.find('/');
    auto step = parse_step(rest.substr(0, slash));
    if (!step)
      return Diag{.message = "'" + std::string(text) + "' names no graph of a campaign",
                  .expected = "its name as `tgc fuzz` tells it: 9411, 9411.2, 9411:RULE, 9411/2077"};
    out.steps.push_back(std::move(*step));
    if (slash == rest.npos) return out;
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace tgc
