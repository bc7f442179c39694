#include "lib/inspect/rule_sources.h"

#include <map>
#include <string>

namespace tgc {
namespace {

struct Row {
  std::string_view set, rule, file;
  uint32_t line;
};
constexpr Row kRows[] = {
#define X(set, rule, file, line) {set, rule, file, line},
#include "lib/inspect/rule_sources.def"
#undef X
};

using Sources = std::map<std::pair<std::string_view, std::string_view>, std::string>;  // by set and rule

const Sources& sources() {
  static const Sources* const table = [] {  // never freed: views of its texts are given out
    auto* out = new Sources;
    for (const Row& r : kRows)
      out->emplace(std::pair(r.set, r.rule), std::string(r.file) + ":" + std::to_string(r.line));
    return out;
  }();
  return *table;
}

}  // namespace

std::string_view tinygrad_source(const Rule& rule) {
  auto it = sources().find({rule.set, rule.name});
  return it == sources().end() ? std::string_view() : it->second;
}

}  // namespace tgc
