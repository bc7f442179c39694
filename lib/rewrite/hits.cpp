#include "lib/rewrite/hits.h"

#include <array>
#include <map>
#include <mutex>

#include "lib/support/result.h"

namespace tgc {
namespace {

using detail::RuleEvent;
constexpr size_t kMaxRules = 8192;

struct Notes {
  std::array<std::atomic<uint8_t>, kMaxRules> events = {};
  std::mutex lock;
  std::map<uint32_t, Rule> tried;
};
Notes& notes() {
  static Notes all;
  return all;
}

constexpr uint8_t bit_of(RuleEvent event) { return uint8_t(1u << unsigned(event)); }

bool is_noted(const Rule& rule, RuleEvent event) {
  return rule.rule_id < kMaxRules && notes().events[rule.rule_id] & bit_of(event);
}

}  // namespace

void record_rule_events() { detail::is_recording_rules = true; }

void detail::note_event(const Rule& rule, RuleEvent event) {
  TGC_CHECK(rule.rule_id < kMaxRules, "more rules than there is room to note");
  if (is_noted(rule, event)) return;
  notes().events[rule.rule_id] |= bit_of(event);
}

void note_tried_rules(const std::vector<const Rule*>& rules) {
  if (!detail::is_recording_rules) return;
  std::lock_guard guard(notes().lock);
  for (const Rule* rule : rules) notes().tried.emplace(rule->rule_id, *rule);
}

bool was_rule_hit(const Rule& rule) { return is_noted(rule, RuleEvent::Hit); }
bool has_declined(const Rule& rule) { return is_noted(rule, RuleEvent::Declined); }
bool was_rule_checked(const Rule& rule) { return is_noted(rule, RuleEvent::Checked); }

std::vector<Rule> tried_rules() {
  std::lock_guard guard(notes().lock);
  std::vector<Rule> out;
  for (auto& [rule_id, rule] : notes().tried) out.push_back(rule);
  return out;
}

}  // namespace tgc
