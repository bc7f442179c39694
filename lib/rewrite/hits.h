// Which rules were ever hit in this process, and which declined: tells what tests leave out.
#pragma once
#include <atomic>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Notes that these are tried from now on: before any of the others is called for one of them.
void note_rules(const std::vector<const Rule*>& rules);

namespace detail {
inline constexpr size_t kMaxRules = 8192;
using RuleRegister = std::atomic<bool>[kMaxRules];  // by rule id
extern RuleRegister rules_hit, rules_declined, rules_checked;

// Written once, so that what all threads look at stays in their caches.
inline void note(RuleRegister& noted, const Rule& rule) {
  if (!noted[rule.id].load(std::memory_order_relaxed)) noted[rule.id].store(true, std::memory_order_relaxed);
}
}  // namespace detail

// Notes that the rule made a node of another, or gated one.
inline void note_hit(const Rule& rule) { detail::note(detail::rules_hit, rule); }

// Notes that the rule declined: its pattern matched, and its right side made nothing, or the node itself; a rule of a spec refused a node.
inline void note_declined(const Rule& rule) { detail::note(detail::rules_declined, rule); }

// Notes that a test tried the rule on a node, alone, and that it did what the test expects (RuleTest of lib/rewrite/testing.h).
inline void note_checked(const Rule& rule) { detail::note(detail::rules_checked, rule); }

// Whether the rule was noted since the process began, or was tried with a context to change.
bool was_hit(const Rule& rule);

// Whether the rule was noted to decline since the process began.
bool has_declined(const Rule& rule);

// Whether a test of its own tried the rule since the process began.
bool was_checked(const Rule& rule);

// Whether the rule may decline what its pattern matches: its right side computes. Algebra never does.
inline bool is_guarded(const Rule& rule) { return rule.function != nullptr; }

// The rules of all sets that anything was matched with since the process began, by id; copies, for a set may be gone.
std::vector<Rule> rules_tried();

}  // namespace tgc
