// Compiles the rules for one root op into match programs and bit masks. Private to lib/rewrite.
//
// A match program matches one alternative of a rule. It is a list of steps (MatchStep), at most one per pattern node.
// Masks rule out most programs before any step runs, 64 at a time: for each cheap fact about a node (its number of
// sources, the op of its second source, ...), a table maps the fact's value to a mask with one bit per program, set if
// the program accepts the value. The AND of the masks of a node's facts gives the candidate programs, usually none or
// one, in rule order. The steps do not repeat the checks of the root and of its sources that the masks imply.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "lib/rewrite/matcher.h"

namespace tgc {

// One step of a match program: loads the node for one pattern node into a register and runs the remaining checks on it.
struct MatchStep {
  enum Check : uint8_t {
    kOps = 1, kExact = 2, kAtLeast = 4, kDtypes = 8, kArg = 16, kCapture = 32, kSame = 64, kEach = 128
  };
  uint8_t parent, child;         // loads source `child` of the node in register `parent`; register 0 holds the root
  uint8_t destination_register;
  uint8_t check_bits;
  int8_t capture;                // capture id, for the checks kCapture and kSame; else -1
  uint8_t num_sources;           // number of sources, for the checks kExact and kAtLeast
  uint32_t dtypes;
  OpSet ops;
  const pat::PatNode* pattern;
};
constexpr size_t kMaxPatternNodes = 32;

// A program for one alternative of a rule, that is, for one order of commutative sources and one choice of each any_of.
struct alignas(64) MatchProgram {
  const Rule* rule;
  uint32_t first_step, num_steps;  // range in BucketPrograms::match_steps
  uint32_t rule_index;
  uint64_t outer_captures;         // bit set of the capture ids that patterns outside of `each` bind
  bool has_each;
  // true if `needed_ops` must be checked, because the masks and steps do not imply it
  bool must_check_needed_ops;
  // bit set of indices into NearSources::kPositionPairs: the two nodes of these pairs must be the same
  uint16_t same_pairs = 0;
  OpSet needed_ops;             // ops that must occur among the sources (UPat.early_reject)
  uint32_t needed_op_bits = 0;  // `needed_ops` as a bit set; BucketPrograms::op_numbers numbers the bits
};

// Classes of dtypes for the masks: DType::value_class(), which is kPointerDType for a pointer, an image and
// Scalar::Other; kAbsentDType for a missing source.
constexpr size_t kPointerDType = kNumScalars, kAbsentDType = kPointerDType + 1, kNumDTypeClasses = kAbsentDType + 1;
inline size_t dtype_class(UOp u) { return u.dtype().value_class(); }

constexpr size_t kNumOpPositions = 3;      // the first 3 sources of a node have masks for their op
constexpr size_t kNumDTypePositions = 2;   // the first 2 sources of a node have masks for their dtype
constexpr size_t kNumNearPositions = 4;
constexpr size_t kNumSourceCounts = 9;          // classes of source counts: 0 to 7, and 8 or more
constexpr size_t kAbsentKind = kNumNodeKinds;

// Masks of 64 programs for one kind of node (a constant 0, an ADD, ...), one mask for each position where the node may
// occur.
struct alignas(64) KindMasks {
  uint64_t source[kNumOpPositions] = {};
  uint64_t near[kNumNearPositions] = {};
};
struct alignas(32) DTypeMasks {
  uint64_t root = 0;
  uint64_t source[kNumDTypePositions] = {};
};

// A node's first two sources (A, B) and the first two sources of each (A0, A1, B0, B1).
struct NearSources {
  enum Position : uint8_t { kA, kB, kA0, kA1, kB0, kB1, kNumPositions, kFar = kNumPositions };

  explicit NearSources(UOp u);
  UOp nodes[kNumPositions] = {};  // indexed by Position; the empty UOp if the source is missing
  size_t kind(size_t position) const { return nodes[position] ? nodes[position].node()->kind : kAbsentKind; }
  bool is_same_pair(size_t pair) const {
    return nodes[kPositionPairs[pair].first] == nodes[kPositionPairs[pair].second];
  }
  // pairs of positions that a pattern such as x + x may require to have the same node; see MatchProgram::same_pairs
  static constexpr std::array<std::pair<Position, Position>, 11> kPositionPairs{{
      {kA, kB}, {kA, kB0}, {kA, kB1}, {kB, kA0}, {kB, kA1}, {kA0, kB0}, {kA0, kB1}, {kA1, kB0}, {kA1, kB1}, {kA0, kA1},
      {kB0, kB1}}};
};

inline NearSources::NearSources(UOp u) {
  for (size_t i = 0; i < std::min<size_t>(2, u.num_src()); i++) {
    UOp s = nodes[kA + i] = u.src(i);
    for (size_t j = 0; j < std::min<size_t>(2, s.num_src()); j++) nodes[kA0 + 2 * i + j] = s.src(j);
  }
}

// Returns the ops that occur among the sources of every node that the pattern matches (UPat.early_reject).
OpSet early_reject(const pat::PatNode& n);

struct PatternChoice;

// The match programs and masks of all rules for one root op.
struct BucketPrograms {
  std::vector<const Rule*> rules;
  std::vector<MatchProgram> programs;
  std::vector<MatchStep> match_steps;
  size_t num_mask_words;
  std::vector<uint64_t> source_count_masks;  // at index n * num_mask_words: the mask for n sources (8: 8 or more)
  std::vector<DTypeMasks> dtype_masks;
  std::vector<KindMasks> kind_masks;
  std::vector<uint64_t> near_programs;    // mask of the programs that use the masks in KindMasks::near
  // indexed by op: the number, from 1, of an op that occurs in the `needed_ops` of a program; 0 for other ops
  std::array<uint8_t, kNumOps> op_numbers = {};
  size_t num_op_classes = 1;                       // number of values of op_class_of(): 2 ** (number of numbered ops)
  // RuleStats::tries_by_class_[first_op_class + c] counts tries at nodes of class c
  size_t first_op_class = 0;

  explicit BucketPrograms(std::vector<const Rule*> rules);
  // Returns the class of node `u`: the set of ops among its sources, as a bit set in which only numbered ops count.
  uint32_t op_class_of(UOp u) const {
    uint32_t bits = 0;
    for (UOp s : u.src()) bits |= uint32_t(1) << op_numbers[size_t(s.op())];
    return bits >> 1;
  }

 private:
  void assign_op_numbers();
  void add_rule(const Rule& rule, const PatternChoice& chosen, size_t number);
  void build_masks(const std::vector<PatternChoice>& chosen);
  // Fills the mask table of a fact that has `values` possible values. mask(value * num_mask_words + i) is word i of the
  // mask for `value`. wanted(program) returns the pattern node that constrains the fact; null if the program accepts
  // every value. allowed(pattern node, accept) calls accept(value) for each value that the pattern node accepts.
  template <class Mask, class Wanted, class Allowed>
  void fill_fact_masks(size_t values, Mask mask, const std::vector<PatternChoice>& chosen, Wanted wanted,
                       Allowed allowed);
};

// The rules for one root op. Their BucketPrograms are built on first use.
struct Matcher::RuleBucket {
  RuleBucket(Op root, const std::vector<const Rule*>& all) : root(root), all_rules(all) {}
  ~RuleBucket() { delete bucket_programs_.load(); }
  const BucketPrograms& programs() const {
    const BucketPrograms* made_programs = bucket_programs_.load(std::memory_order_acquire);
    return made_programs ? *made_programs : make_programs();
  }

  const Op root;
  const std::vector<const Rule*>& all_rules;  // all rules of the matcher, not only those for nodes of op `root`

 private:
  const BucketPrograms& make_programs() const {
    std::lock_guard guard(making_mutex_);
    if (!bucket_programs_.load(std::memory_order_relaxed)) {
      std::vector<const Rule*> rules;
      for (const Rule* rule : all_rules)
        if (rule->left->ops.contains(root)) rules.push_back(rule);
      bucket_programs_.store(new BucketPrograms(std::move(rules)), std::memory_order_release);
    }
    return *bucket_programs_.load(std::memory_order_relaxed);
  }
  mutable std::mutex making_mutex_;
  mutable std::atomic<const BucketPrograms*> bucket_programs_{nullptr};
};

}  // namespace tgc
