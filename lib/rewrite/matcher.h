// Matcher: a rule set compiled for matching. Each rule's alternatives (the orders of commutative sources, any_of) become straight-line
// programs of one step per pattern node, bucketed by the root's op; nothing is allocated and nothing is searched while matching.
#pragma once
#include <array>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Counts per Rule::id, for `tgc stats`. Times in nanoseconds.
struct RuleCounters {
  uint64_t hits = 0, attempts = 0;
  uint64_t hit_ns = 0, total_ns = 0;
};
using RuleStats = std::vector<RuleCounters>;

class Matcher {
 public:
  explicit Matcher(const std::vector<const Rule*>& rules);

  // The node that the first rule to apply makes of `u`, else the empty UOp (PatternMatcher.rewrite). `hit` receives that rule.
  UOp rewrite(UOp u, void* ctx, const char* ctx_type, const Rule*& hit) const;
  // The same, counting into `stats` (grown as needed).
  UOp rewrite_counted(UOp u, void* ctx, const char* ctx_type, const Rule*& hit, RuleStats& stats) const;

  size_t num_programs() const { return programs_; }
  size_t num_rules_for(Op op) const { return buckets_[size_t(op)].entries.size(); }

 private:
  struct Step {
    OpSet ops;                     // ignored when any_op
    uint32_t dtypes = 0;           // bits of a DTypeSet, 0: any
    uint8_t parent = 0, child = 0;  // where the node is: source `child` of register `parent`
    uint8_t reg = 0;               // register it goes to
    int8_t capture = -1;
    bool is_root = false, any_op = true, capture_again = false, each = false;
    uint8_t arg_kind = 0;          // 0: any, 1: equals *arg, 2: the tuple arg_ints
    uint8_t length_kind = 0;       // 0: any, 1: exactly length, 2: at least length
    uint16_t length = 0;
    const pat::PatNode* pattern = nullptr;
  };
  struct Program {
    uint32_t first, count;  // into steps
  };
  struct Entry {
    OpSet need;  // ops that must be among the sources (UPat.early_reject)
    const Rule* rule;
    uint32_t first, count;  // into programs of the bucket
  };
  struct Bucket {
    std::vector<Entry> entries;
    std::vector<Program> programs;
    std::vector<Step> steps;
  };

  void add(const Rule& rule, Op root);
  bool run(const Bucket& bucket, const Program& program, UOp root, UOp* captured) const;
  static bool step_matches(const Step& step, UOp u, UOp* captured);
  UOp try_entry(const Bucket& bucket, const Entry& entry, UOp u, void* ctx, const char* ctx_type) const;

  std::array<Bucket, kNumOps> buckets_;
  size_t programs_ = 0;
};

}  // namespace tgc
