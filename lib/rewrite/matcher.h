// Matcher: a rule set compiled for matching. Each rule's alternatives (the orders of commutative sources, any_of) become programs,
// bucketed by the root's op. What a program asks of the root and of its first sources (number, ops, dtypes) is a bit in the masks of
// its bucket: a few ANDs leave the programs that may match, and those run a step per node and constraint that the masks do not decide.
// Nothing is allocated and nothing is searched while matching.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Counts of a rule, for `tgc stats`. Times in nanoseconds.
struct RuleCounters {
  uint64_t hits = 0, attempts = 0;
  uint64_t hit_ns = 0, total_ns = 0;
};

class Matcher {
  struct Bucket;

 public:
  // What was counted. Counting must be quick: of a try it notes how far it came, and which rules that were is worked out at the end.
  class Stats {
   public:
    Stats();
    std::vector<RuleCounters> by_rule();  // by Rule::id

   private:
    friend class Matcher;
    struct Tries {  // of a bucket, on nodes with sources of these ops, to the rule of this number
      const Bucket* bucket;
      OpSet have;
      uint32_t reached;
      uint64_t count;
    };
    Tries& find(const Bucket* bucket, OpSet have, uint32_t reached);
    void note(const Bucket* bucket, OpSet have, uint32_t reached);
    RuleCounters& of(const Rule& rule);

    std::vector<RuleCounters> counters_;  // attempts are not in them, and times are in ticks
    std::vector<Tries> table_;            // open addressing, a power of two
    size_t used_ = 0;
    uint64_t start_ticks_, start_ns_;
  };

  explicit Matcher(const std::vector<const Rule*>& rules);
  ~Matcher();

  // The node that the first rule to apply makes of `u`, else the empty UOp (PatternMatcher.rewrite). `hit` receives that rule.
  UOp rewrite(UOp u, void* ctx, const char* ctx_type, const Rule*& hit) const;
  // The same, counting into `stats`.
  UOp rewrite_counted(UOp u, void* ctx, const char* ctx_type, const Rule*& hit, Stats& stats) const;

  // Whether a rule of the set looks at the context of the rewrite. Without one, what becomes of a node is the same in every rewrite.
  bool uses_context() const { return uses_context_; }
  // Whether a rule may change the context: then the order of the rewrites can be seen.
  bool changes_context() const { return changes_context_; }
  bool has_rules_for(Op op) const { return buckets_[size_t(op)] != nullptr; }
  size_t num_programs() const;
  size_t num_rules_for(Op op) const;

 private:
  struct Attempt;

  std::array<std::unique_ptr<const Bucket>, kNumOps> buckets_;  // null: no rule for that op
  bool uses_context_ = false, changes_context_ = false;
};
using RuleStats = Matcher::Stats;

}  // namespace tgc
