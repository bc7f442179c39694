#include "lib/rules/rule_verdicts.h"

#include <map>

namespace tgc {
namespace {

struct VerdictRow {
  std::string_view set, rules;  // `rules` has the names and verdicts of the rules, in order: "add-zero:proven, ..."
};
constexpr VerdictRow kVerdictRows[] = {
#define X(set, rules) {set, rules},
#include "lib/rules/rule_verdicts.def"
#undef X
};

// Maps (set, rule) to the verdicts of the rules of this name, in the order of the set.
using Verdicts = std::map<std::pair<std::string_view, std::string_view>, std::vector<std::string_view>>;

const Verdicts& verdicts() {
  static const Verdicts table = [] {
    Verdicts out;
    for (auto [set, rules] : kVerdictRows)
      while (!rules.empty()) {
        std::string_view rule = rules.substr(0, rules.find(','));
        rules.remove_prefix(std::min(rules.size(), rule.size() + 2));
        size_t colon = rule.rfind(':');
        out[{set, rule.substr(0, colon)}].push_back(rule.substr(colon + 1));
      }
    return out;
  }();
  return table;
}

}  // namespace

std::string_view verdict_of(const Rule& rule) {
  auto it = verdicts().find({rule.set, rule.name});
  if (it == verdicts().end()) return {};
  size_t number = 0;  // among the rules of this name in the set
  for (uint32_t id = rule.id; id-- > 0;) {
    const Rule* earlier = rule_of(id);
    if (!earlier || earlier->set != rule.set) break;
    number += earlier->name == rule.name;
  }
  return number < it->second.size() ? it->second[number] : std::string_view();
}

}  // namespace tgc
