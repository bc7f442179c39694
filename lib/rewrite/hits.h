// Which rules ever applied, declined, or were tested alone: shows what the tests leave out. Nothing is noted until a
// test asks for it with note_from_now_on(); until then a rule that applies costs one look at a flag. Notes are of the
// process: they last until it ends.
#pragma once
#include <atomic>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Begins to note. To be called before the first matcher is made: rules of sets that were compiled before are not among
// rules_tried().
void note_from_now_on();

namespace detail {
inline std::atomic<bool> notes_rules = false;
enum class RuleEvent : uint8_t { Hit, Declined, Checked };
void note(const Rule& rule, RuleEvent event);
inline void note_if_wanted(const Rule& rule, RuleEvent event) {
  if (notes_rules.load(std::memory_order_relaxed)) [[unlikely]] note(rule, event);
}
}  // namespace detail

// The rules are tried from now on: a matcher is made of them.
void note_rules(const std::vector<const Rule*>& rules);

// The rule made a node of another, or gated one, or was tried with a context to change.
inline void note_hit(const Rule& rule) { detail::note_if_wanted(rule, detail::RuleEvent::Hit); }

// The rule declined: its pattern matched, and its right side made nothing, or the node itself; a rule of a spec refused
// a node.
inline void note_declined(const Rule& rule) { detail::note_if_wanted(rule, detail::RuleEvent::Declined); }

// A test tried the rule on a node, alone, and it did what the test expects (RuleTest of lib/rewrite/testing.h).
inline void note_checked(const Rule& rule) { detail::note_if_wanted(rule, detail::RuleEvent::Checked); }

// Whether that was noted of the rule.
bool was_hit(const Rule& rule);
bool has_declined(const Rule& rule);
bool was_checked(const Rule& rule);

// Whether the rule may decline what its pattern matches: it is guarded, or its right side computes.
// Algebra alone never does.
inline bool is_guarded(const Rule& rule) { return rule.may_decline; }

// The rules of all sets that anything was matched with, by id; copies, for a set may be gone.
std::vector<Rule> rules_tried();

}  // namespace tgc
