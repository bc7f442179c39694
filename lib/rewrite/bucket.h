// Compiles the rules for one root op into match programs and bit masks. Private to lib/rewrite.
//
// A match program is one way to match a rule: a list of steps (MatchStep), one per pattern node. Most programs are
// ruled out before any step runs, 64 at a time. Cheap facts about a node (number of sources, dtype, op of its second
// source, ...) each have a table from the fact's value to a mask with one bit per program: the programs that accept the
// value. ANDing the masks of a node's facts leaves the candidate programs, usually none or one, in rule order. The
// steps do not check again what the masks have decided.
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
  uint8_t parent, child;  // loads source `child` of the node in register `parent`; register 0 holds the root
  uint8_t reg;            // destination register
  uint8_t checks;         // bit set of Check
  int8_t capture;         // capture id for kCapture and kSame, else -1
  uint8_t length;         // number of sources for kExact and kAtLeast
  uint32_t dtypes;        // the accepted dtypes, for the check kDtypes
  OpSet ops;              // the accepted ops, for the check kOps
  const pat::PatNode* pattern;
};
constexpr size_t kMaxNodes = 32;

// One way to match a rule: a fixed order of commutative sources and one choice per any_of.
struct alignas(64) MatchProgram {
  const Rule* rule;
  uint32_t first, count;    // range in Code::steps
  uint32_t number;          // index of its rule in Code::rules
  uint64_t bound;           // bit set of the capture ids that the program binds outside of `each`
  bool has_each;
  bool check_need;          // true if the masks and steps do not imply `need`, so that it must be checked separately
  uint16_t same = 0;        // bit set of pairs in NearNodes::kPairs; the two nodes of each pair must be the same node
  OpSet need;               // ops that must occur among the sources (UPat.early_reject)
  uint32_t need_bits = 0;   // `need` as bits numbered by Code::number_of
};

// ---- masks: for each value of a fact about a node, the set of programs that accept this value

// Dtype classes that patterns distinguish: the scalar kinds, kNoValue for pointers, kAbsentDType for a missing source.
constexpr size_t kNoValue = kNumScalars, kAbsentDType = kNoValue + 1, kNumDTypeClasses = kAbsentDType + 1;
inline size_t dtype_class(UOp u) { return u.dtype().value_class(); }

constexpr size_t kPositions = 3;           // number of leading sources that have a mask for their op
constexpr size_t kDTypePositions = 2;      // number of leading sources that have a mask for their dtype
constexpr size_t kNearPositions = 4;       // number of sources of the first two sources (kA0, kA1, kB0, kB1)
constexpr size_t kLengths = 9;             // classes of source counts: 0 to 7, and 8 or more
constexpr size_t kAbsentKind = kNumKinds;  // kind of a missing source

// Masks of 64 programs for one kind of node (a constant 0, an ADD, ...): one mask for each position of the node in the
// pattern. The masks share a cache line, because a common kind occurs at several positions.
struct alignas(64) KindMasks {
  uint64_t source[kPositions] = {};
  uint64_t near[kNearPositions] = {};
};
struct alignas(32) DTypeMasks {
  uint64_t root = 0;
  uint64_t source[kDTypePositions] = {};
};

// A node's first two sources (A, B) and the first two sources of each (A0, A1, B0, B1).
struct NearNodes {
  enum Position : uint8_t { kA, kB, kA0, kA1, kB0, kB1, kNumPositions, kFar = kNumPositions };

  explicit NearNodes(UOp u);
  UOp at[kNumPositions] = {};  // the nodes by Position; the empty UOp if the source is missing
  size_t kind(size_t position) const { return at[position] ? at[position].node()->kind : kAbsentKind; }
  bool same(size_t pair) const { return at[kPairs[pair].first] == at[kPairs[pair].second]; }
  // pairs of positions whose nodes a repeated capture may require to be equal; MatchProgram::same has one bit per pair
  static constexpr std::array<std::pair<Position, Position>, 11> kPairs{{
      {kA, kB}, {kA, kB0}, {kA, kB1}, {kB, kA0}, {kB, kA1}, {kA0, kB0}, {kA0, kB1}, {kA1, kB0}, {kA1, kB1}, {kA0, kA1},
      {kB0, kB1}}};
};

inline NearNodes::NearNodes(UOp u) {
  for (size_t i = 0; i < std::min<size_t>(2, u.num_src()); i++) {
    UOp s = at[kA + i] = u.src(i);
    for (size_t j = 0; j < std::min<size_t>(2, s.num_src()); j++) at[kA0 + 2 * i + j] = s.src(j);
  }
}

// Returns the ops that must occur among the sources of any node that the pattern matches (UPat.early_reject).
OpSet early_reject(const pat::PatNode& n);

struct Chosen;

// The match programs and masks of all rules for one root op.
struct Code {
  std::vector<const Rule*> rules;
  std::vector<MatchProgram> programs;
  std::vector<MatchStep> steps;
  size_t words;                        // mask length in 64-bit words
  std::vector<uint64_t> length_masks;  // [number of sources * words + word]; next two: [fact value * words + word]
  std::vector<DTypeMasks> dtype_masks;
  std::vector<KindMasks> kind_masks;
  std::vector<uint64_t> looks_near;    // mask of the programs that use the masks in KindMasks::near
  std::array<uint8_t, kNumOps> number_of = {};  // 1, 2, ... for ops in a program's `need`; 0 for all other ops
  size_t num_classes = 1;                       // number of node classes (subsets of the numbered ops); see class_of
  size_t first_class = 0;                       // index of its first node class in RuleStats' table of all Codes

  explicit Code(std::vector<const Rule*> rules);
  // Returns the class of node `u`: the bit set of those numbered ops that occur among the sources of `u`.
  uint32_t class_of(UOp u) const {
    uint32_t bits = 0;
    for (UOp s : u.src()) bits |= uint32_t(1) << number_of[size_t(s.op())];
    return bits >> 1;
  }

 private:
  void number_needs();
  void add(const Rule& rule, const Chosen& chosen, size_t number);
  void index_masks(const std::vector<Chosen>& chosen);
  // Fills the mask table of one fact that has `values` possible values; mask(value * words + word) is one 64-bit word
  // of it. wanted(program) returns the pattern node that constrains the fact, or null if the program accepts every
  // value. allowed(pattern, accept) calls accept(value) for each value that the pattern node accepts.
  template <class Mask, class Wanted, class Allowed>
  void index(size_t values, Mask mask, const std::vector<Chosen>& chosen, Wanted wanted, Allowed allowed);
};

// Lazily compiled Code for one op, built when a node of that op is first matched. A process that compiles one small
// kernel needs about one op in ten; building all of them would take longer than the compilation.
struct Matcher::Bucket {
  Bucket(Op root, const std::vector<const Rule*>& all) : root(root), all(all) {}
  ~Bucket() { delete code_.load(); }
  const Code& code() const {
    const Code* made = code_.load(std::memory_order_acquire);
    return made ? *made : make();
  }

  const Op root;
  const std::vector<const Rule*>& all;  // all rules of the matcher, for every root op

 private:
  const Code& make() const {
    std::lock_guard guard(making_);
    if (!code_.load(std::memory_order_relaxed)) {
      std::vector<const Rule*> rules;
      for (const Rule* rule : all)
        if (rule->left->ops.contains(root)) rules.push_back(rule);
      code_.store(new Code(std::move(rules)), std::memory_order_release);
    }
    return *code_.load(std::memory_order_relaxed);
  }
  mutable std::mutex making_;
  mutable std::atomic<const Code*> code_{nullptr};
};

}  // namespace tgc
