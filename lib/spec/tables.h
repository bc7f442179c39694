// Functions that make the rules of lib/spec (allow, require and decide), and the rule sets.
#pragma once
#include "lib/rewrite/rules.h"
#include "lib/uop/graph.h"

namespace tgc {

enum class Answer : uint8_t { Yes, No, Decline };

// Returns what a spec rule must return for `answer`: the empty UOp for Decline, else the verdict node of Yes or No.
UOp verdict_node(UOp node, Answer answer);

// Returns true if all sources but the first are of dtype index.
bool has_index_sources(UOp u);

// Calls a rule made by `allow`, which accepts every node that its pattern matches.
UOp call_allow_rule(const Rule& rule, const PatternMatch& match);
// Calls a rule made by `require`, which accepts a matched node if its test returns true, and else rejects it.
UOp call_require_rule(const Rule& rule, const PatternMatch& match);
// Calls a rule made by `decide`, whose test answers Yes (accept the node), No (reject it) or Decline.
UOp call_decide_rule(const Rule& rule, const PatternMatch& match);

template <pat::PatLike P>
Rule make_spec_rule(const RuleName& name, P pattern, UOp (*call)(const Rule&, const PatternMatch&),
                    AnyFunction test = nullptr) {
  return {.name = name.text, .file = name.file, .line = name.line, .left = pattern.node(), .call = call,
          .function = test,
          .may_decline = test != nullptr};
}
template <pat::PatLike P>
Rule allow(RuleName name, P pattern) { return make_spec_rule(name, pattern, call_allow_rule); }
template <pat::PatLike P>
Rule require(RuleName name, P pattern, bool (*test)(UOp)) {
  return make_spec_rule(name, pattern, call_require_rule, reinterpret_cast<AnyFunction>(test));
}
template <pat::PatLike P>
Rule decide(RuleName name, P pattern, Answer (*test)(UOp)) {
  return make_spec_rule(name, pattern, call_decide_rule, reinterpret_cast<AnyFunction>(test));
}

const RuleSet& shared_spec();          // ops that are valid at any stage
const RuleSet& movement_spec();
const RuleSet& untagged_tensor_spec();
const RuleSet& tensor_spec();
const RuleSet& shared_codegen_spec();  // rules common to kernels and programs
const RuleSet& kernel_spec();
const RuleSet& program_spec();
const RuleSet& full_spec();

}  // namespace tgc
