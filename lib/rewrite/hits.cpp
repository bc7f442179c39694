#include "lib/rewrite/hits.h"

#include <array>
#include <map>
#include <mutex>

#include "lib/support/result.h"

namespace tgc {
namespace {

using detail::RuleEvent;
constexpr size_t kMaxRules = 8192;

struct RuleEventRecord {
  std::array<std::atomic<uint8_t>, kMaxRules> events = {};
  std::mutex mutex;
  std::map<uint32_t, Rule> rules_by_id;
};
RuleEventRecord& rule_event_record() {
  static RuleEventRecord all;
  return all;
}

constexpr uint8_t event_bit(RuleEvent event) { return uint8_t(1u << unsigned(event)); }

bool is_recorded(const Rule& rule, RuleEvent event) {
  return rule.rule_id < kMaxRules && rule_event_record().events[rule.rule_id] & event_bit(event);
}

}  // namespace

void record_rule_events() { detail::is_recording_rules = true; }

void detail::note_event(const Rule& rule, RuleEvent event) {
  TGC_CHECK(rule.rule_id < kMaxRules, "more rules than there is room to note");
  if (is_recorded(rule, event)) return;
  rule_event_record().events[rule.rule_id] |= event_bit(event);
}

void note_matcher_rules(const std::vector<const Rule*>& rules) {
  if (!detail::is_recording_rules) return;
  std::lock_guard guard(rule_event_record().mutex);
  for (const Rule* rule : rules) rule_event_record().rules_by_id.emplace(rule->rule_id, *rule);
}

bool was_rule_hit(const Rule& rule) { return is_recorded(rule, RuleEvent::Hit); }
bool has_declined(const Rule& rule) { return is_recorded(rule, RuleEvent::Declined); }
bool was_rule_checked(const Rule& rule) { return is_recorded(rule, RuleEvent::Checked); }

std::vector<Rule> matcher_rules() {
  std::lock_guard guard(rule_event_record().mutex);
  std::vector<Rule> out;
  for (auto& [rule_id, rule] : rule_event_record().rules_by_id) out.push_back(rule);
  return out;
}

}  // namespace tgc
