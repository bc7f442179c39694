// Matcher: a rule set compiled for matching. Each rule's alternatives (the orders of commutative sources, any_of)
// become programs, bucketed by the root's op. What a program asks of the root and of its first sources (number, ops,
// dtypes) is a bit in the masks of its bucket: a few ANDs leave the programs that may match, and those run a step per
// node and constraint that the masks do not decide. Nothing is allocated and nothing is searched while matching.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "lib/rewrite/negative_cache.h"
#include "lib/rewrite/rules.h"

namespace tgc {

class Intervention;
class RuleStats;

class Matcher {
 public:
  explicit Matcher(const std::vector<const Rule*>& rules);
  ~Matcher();

  // The node that the first rule to apply makes of `u`, else the empty UOp (PatternMatcher.rewrite). `hit` receives
  // that rule.
  UOp rewrite(UOp u, void* ctx, const char* ctx_type, Hit& hit) const;
  // The same, counting into `stats` and asking `intervention`, each unless it is null.
  UOp rewrite_watched(UOp u, void* ctx, const char* ctx_type, Hit& hit, RuleStats* stats,
                      Intervention* intervention) const;

  // Whether a rule of the set looks at the context of the rewrite. Without one, what becomes of a node is the same in
  // every rewrite.
  bool uses_context() const { return uses_context_; }
  // Whether a rule may change the context: then the order of the rewrites can be seen.
  bool changes_context() const { return changes_context_; }
  const std::vector<const Rule*>& rules() const { return rules_; }
  uint32_t number() const { return number_; }  // of all matchers, from 0 on
  // Whether a rule may apply to a node of a graph that has nodes of these ops alone.
  bool may_apply(OpSet ops) const {
    return std::ranges::any_of(wanted_,
                               [&](const Wanted& w) { return w.roots.intersects(ops) && ops.contains_all(w.below); });
  }
  // The rules that may apply to a node of which it is known which do not.
  const RemainingRules& after(uint16_t tried) const { return after_tried_.get(*this, tried); }
  bool has_rules_for(Op op) const { return buckets_[size_t(op)] != nullptr; }
  size_t num_programs() const;
  size_t num_rules_for(Op op) const;

 private:
  friend class RuleStats;
  struct Bucket;

  struct Wanted {
    OpSet roots, below;  // one of these, above all of those
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };

  std::vector<const Rule*> rules_;
  const uint32_t number_;
  std::vector<Wanted> wanted_;  // by rules, each once
  RemainingRulesTable after_tried_;
  std::array<std::unique_ptr<const Bucket>, kNumOps> buckets_;  // null: no rule for that op
  bool uses_context_ = false, changes_context_ = false;
};

}  // namespace tgc
