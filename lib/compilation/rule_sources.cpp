#include "lib/compilation/rule_sources.h"

#include <map>
#include <string>

namespace tgc {
namespace {

struct RuleSourceRow {
  std::string_view set, file, rules;  // `rules` is a text such as "add-zero:42, mul-one:43"
};
constexpr RuleSourceRow kRows[] = {
#define X(set, file, rules) {set, file, rules},
#include "lib/compilation/rule_sources.def"
#undef X
};

using SourceTable = std::map<std::pair<std::string_view, std::string_view>, std::string>;

const SourceTable& source_table() {
  static const SourceTable* const table = [] {  // never freed, because callers may keep views of its strings
    auto* out = new SourceTable;
    for (auto [set, file, rules] : kRows)
      while (!rules.empty()) {
        std::string_view rule = rules.substr(0, rules.find(','));
        rules.remove_prefix(std::min(rules.size(), rule.size() + 2));
        size_t colon = rule.rfind(':');
        out->emplace(std::pair(set, rule.substr(0, colon)), std::string(file) + std::string(rule.substr(colon)));
      }
    return out;
  }();
  return *table;
}

}  // namespace

std::string_view tinygrad_source(const Rule& rule) {
  auto it = source_table().find({rule.rule_set_name, rule.name});
  return it == source_table().end() ? std::string_view() : it->second;
}

size_t num_tinygrad_sources() { return source_table().size(); }

}  // namespace tgc
