// Records for each rule whether it applied, declined, or passed a test's check, to find rules that the tests do not
// cover. record_rule_events() starts the recording; until it is called, the recording functions only test a flag.
// Records last until the process ends.
#pragma once
#include <atomic>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Starts recording. Call it before the first matcher is made, because matchers add their rules to matcher_rules() when
// they are made.
void record_rule_events();

namespace detail {
inline std::atomic<bool> is_recording_rules = false;
enum class RuleEvent : uint8_t { Hit, Declined, Checked };
void note_event(const Rule& rule, RuleEvent event);
inline void note_if_recording(const Rule& rule, RuleEvent event) {
  if (is_recording_rules.load(std::memory_order_relaxed)) [[unlikely]] note_event(rule, event);
}
}  // namespace detail

void note_matcher_rules(const std::vector<const Rule*>& rules);

// Records a hit: the rule replaced a node, returned bottom_up_gate(), or matched and may have changed its context.
inline void note_hit(const Rule& rule) { detail::note_if_recording(rule, detail::RuleEvent::Hit); }

// Records that the rule declined: its pattern matched, but a guard failed, or the right side returned the empty UOp or
// the node itself. For a rule that require_rule() of lib/spec made, records a rejection.
inline void note_declined_rule(const Rule& rule) { detail::note_if_recording(rule, detail::RuleEvent::Declined); }

// Records that a test's check of this rule passed, such as a RuleTest check (lib/rewrite/testing.h).
inline void note_checked_rule(const Rule& rule) { detail::note_if_recording(rule, detail::RuleEvent::Checked); }

// True if note_hit, note_declined_rule or note_checked_rule, respectively, was recorded for the rule.
bool was_rule_hit(const Rule& rule);
bool has_declined(const Rule& rule);
bool was_rule_checked(const Rule& rule);

// True if the rule may decline or, in lib/spec, reject a node that its pattern matches.
inline bool is_guarded(const Rule& rule) { return rule.may_decline; }

// Returns the rules of all matchers made since recording began, sorted by id; copies, as rule sets may be destroyed.
std::vector<Rule> matcher_rules();

}  // namespace tgc
