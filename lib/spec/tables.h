// Functions that make the rules of lib/spec (allow_rule, require_rule and decide_rule), and the rule sets.
#pragma once
#include "lib/rewrite/rules.h"
#include "lib/uop/graph.h"

namespace tgc {

enum class SpecAnswer : uint8_t { Yes, No, Decline };

// Returns what a spec rule must return for `answer`: the empty UOp for Decline, else the verdict node of Yes or No.
UOp verdict_node(UOp node, SpecAnswer answer);

// Returns true if all sources but the first are of dtype index.
bool has_index_sources(UOp u);

// Calls a rule made by `allow_rule`, which accepts every node that its pattern matches.
UOp call_allow_rule(const Rule& rule, const PatternMatch& match);
// Calls a rule made by `require_rule`, which accepts a matched node if its test returns true, and else rejects it.
UOp call_require_rule(const Rule& rule, const PatternMatch& match);
// Calls a rule made by `decide_rule`, whose test answers Yes (accept the node), No (reject it) or Decline.
UOp call_decide_rule(const Rule& rule, const PatternMatch& match);

template <pat::PatLike P>
Rule make_spec_rule(const RuleName& name, P pattern, UOp (*call)(const Rule&, const PatternMatch&),
                    UntypedFunction test = nullptr) {
  return {.name = name.text, .file = name.file, .line = name.line, .left = pattern.node(), .call = call,
          .function = test,
          .may_decline = test != nullptr};
}
template <pat::PatLike P>
Rule allow_rule(RuleName name, P pattern) { return make_spec_rule(name, pattern, call_allow_rule); }
template <pat::PatLike P>
Rule require_rule(RuleName name, P pattern, bool (*test)(UOp)) {
  return make_spec_rule(name, pattern, call_require_rule, reinterpret_cast<UntypedFunction>(test));
}
template <pat::PatLike P>
Rule decide_rule(RuleName name, P pattern, SpecAnswer (*test)(UOp)) {
  return make_spec_rule(name, pattern, call_decide_rule, reinterpret_cast<UntypedFunction>(test));
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
