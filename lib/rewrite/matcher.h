// A rule set compiled for matching; bucket.h describes how.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

class Matcher;
class RewriteOverride;
class RuleStats;

// Negative cache: stores with each node which rules declined the node, so that later rewrites do not try these rules on
// it again. A rule that reads no context and declined a node once always declines it, because nodes never change. The
// rules have also declined all nodes below the node, because a rewrite applies the rules to the sources of a node
// first.
//
// A node stores a number that identifies a set of rules (RewriterDataAccess in workspace.h); 0 is the empty set. The
// sets are numbered per process. There are few sets, because a node's set is the union of the rule sets that were tried
// on the node, without the rules that read a context.

// The rules of one matcher that are left to try on nodes that one particular set of rules already declined.
struct RemainingRules {
  const Matcher* remaining_matcher;
  // number of the set to store in the node once all rules of `remaining_matcher` have declined it, too; 0 if the set
  // has no number
  uint16_t new_set_number;
  // owns `remaining_matcher`, unless `remaining_matcher` is the matcher itself
  std::unique_ptr<const Matcher> owned_matcher;
};

// The RemainingRules of one matcher, indexed by the number of the node's set. Entries are made on first use.
class RemainingRulesTable {
 public:
  static constexpr size_t kMaxSets = 256;  // maximum number of sets; further sets have no number and are not cached

  RemainingRulesTable() = default;
  ~RemainingRulesTable();
  const RemainingRules& remaining_rules_for(const Matcher& matcher, uint16_t tried) const {
    const RemainingRules* made = cached_remaining_[tried].load(std::memory_order_acquire);
    return made ? *made : make_remaining_rules(matcher, tried);
  }

 private:
  const RemainingRules& make_remaining_rules(const Matcher& matcher, uint16_t tried) const;
  mutable std::array<std::atomic<const RemainingRules*>, kMaxSets> cached_remaining_ = {};
};

class Matcher {
 public:
  explicit Matcher(const std::vector<const Rule*>& rules);
  ~Matcher();

  // Returns the result of the first rule that applies to `u`, and stores the rule in `hit`. Returns the empty UOp if no
  // rule applies (PatternMatcher.rewrite); then `hit` has the last rule whose pattern matched, if any. `ctx_type` is
  // the type_key of the object that `ctx` points to.
  UOp rewrite(UOp u, void* ctx, const char* ctx_type, RuleHit& hit) const;
  // Like rewrite, but counts tries and hits in `stats` and lets `rewrite_override` choose results; either may be null.
  UOp rewrite_watched(UOp u, void* ctx, const char* ctx_type, RuleHit& hit, RuleStats* stats,
                      RewriteOverride* rewrite_override) const;

  // True if a rule reads the rewrite's context. If no rule does, the result for a node is the same in every rewrite.
  bool is_context_used() const { return is_context_used_; }
  // True if a rule may change the rewrite's context. Then the order of the rewrites can change the result.
  bool is_context_changed() const { return is_context_changed_; }
  const std::vector<const Rule*>& rules() const { return rules_; }
  // index of this matcher among all matchers of the process
  uint32_t matcher_number() const { return matcher_number_; }
  // True if a rule may apply to some node of a graph that contains only these ops.
  bool may_apply(OpSet ops) const {
    return std::ranges::any_of(op_requirements_, [&](const OpRequirement& r) {
      return r.root_ops.intersects(ops) && ops.contains_all(r.below_ops);
    });
  }
  // Returns the rules to try on a node for which the negative cache stores the set number `tried`.
  const RemainingRules& remaining_rules_after(uint16_t tried) const {
    return remaining_rules_.remaining_rules_for(*this, tried);
  }
  bool has_rules_for(Op op) const { return rule_buckets_[size_t(op)] != nullptr; }
  size_t num_programs() const;
  size_t num_rules_for(Op op) const;

 private:
  friend class RuleStats;
  struct RuleBucket;

  struct OpRequirement {
    // the rule can match only a root with an op in `root_ops` and all ops of `below_ops` among the nodes under it
    OpSet root_ops, below_ops;
    friend bool operator==(const OpRequirement&, const OpRequirement&) = default;
  };

  std::vector<const Rule*> rules_;
  const uint32_t matcher_number_;
  std::vector<OpRequirement> op_requirements_;
  RemainingRulesTable remaining_rules_;
  // indexed by the root's op; null if no rule's pattern has a root of this op
  std::array<std::unique_ptr<const RuleBucket>, kNumOps> rule_buckets_;
  bool is_context_used_ = false, is_context_changed_ = false;
};

}  // namespace tgc
