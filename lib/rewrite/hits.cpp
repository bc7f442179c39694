#include "lib/rewrite/hits.h"

#include <map>
#include <mutex>

#include "lib/support/check.h"

namespace tgc {

namespace detail {
RuleRegister rules_hit, rules_declined, rules_checked;
}  // namespace detail

namespace {

struct TriedRules {
  std::mutex lock;
  std::map<uint32_t, Rule> by_id;
};
TriedRules& tried_rules() {
  static TriedRules tried;
  return tried;
}

bool is_noted(const detail::RuleRegister& noted, const Rule& rule) {
  return rule.id < detail::kMaxRules && noted[rule.id].load(std::memory_order_relaxed);
}

}  // namespace

void note_rules(const std::vector<const Rule*>& rules) {
  std::lock_guard guard(tried_rules().lock);
  for (const Rule* rule : rules) {
    TGC_CHECK(rule->id < detail::kMaxRules, "more rules than the registers of hits have room for");
    tried_rules().by_id.emplace(rule->id, *rule);
  }
}

bool was_hit(const Rule& rule) { return is_noted(detail::rules_hit, rule); }
bool has_declined(const Rule& rule) { return is_noted(detail::rules_declined, rule); }
bool was_checked(const Rule& rule) { return is_noted(detail::rules_checked, rule); }

std::vector<Rule> rules_tried() {
  std::lock_guard guard(tried_rules().lock);
  std::vector<Rule> out;
  for (auto& [id, rule] : tried_rules().by_id) out.push_back(rule);
  return out;
}

}  // namespace tgc
