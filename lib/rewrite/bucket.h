// The rules for nodes of one op, ready to be matched. For lib/rewrite alone.
//
// Each way to match a rule is a program: a list of steps, one for each node of the pattern (MatchStep). Running every
// program on every node would be slow, so most are ruled out beforehand, 64 at a time. For each fact about a node that
// is known at a glance (how many sources it has, its dtype, the op of its second source, ...) there is a table that
// says, by the fact's value, which programs accept that value: a mask with one bit a program. ANDing the masks of a
// node's facts leaves the programs that may match it, mostly none or one, in their order. What a mask has decided, no
// step checks again.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "lib/rewrite/matcher.h"

namespace tgc {

// One node of a program: where it is, and what is left to check of it.
struct MatchStep {
  enum Check : uint8_t {
    kOps = 1, kExact = 2, kAtLeast = 4, kDtypes = 8, kArg = 16, kCapture = 32, kSame = 64, kEach = 128
  };
  uint8_t parent, child;  // source `child` of register `parent`; the root is register 0
  uint8_t reg;            // register it goes to
  uint8_t checks;
  int8_t capture;
  uint8_t length;         // for kExact, kAtLeast
  uint32_t dtypes;        // for kDtypes
  OpSet ops;              // for kOps
  const pat::PatNode* pattern;
};
constexpr size_t kMaxNodes = 32;

// One way to match a rule: an order of commutative sources, a choice of each alternative.
struct alignas(64) MatchProgram {
  const Rule* rule;
  uint32_t first, count;    // into steps
  uint32_t number;          // of its rule in the bucket
  uint64_t bound;           // its captures, but those of an each
  bool has_each;
  bool check_need;          // `need` is not implied by the steps
  uint16_t same = 0;        // pairs of near nodes (see NearNodes) that must be the same node
  OpSet need;               // ops that must be among the sources (UPat.early_reject)
  uint32_t need_bits = 0;   // the same in the code's own numbers
};

// ---- masks: for each value of a fact about a node, the programs that accept it

// The dtype of a node as patterns see it: a scalar kind, or kNoValue for pointers.
constexpr size_t kNoValue = kNumScalars, kAbsentDType = kNoValue + 1, kNumDTypeClasses = kAbsentDType + 1;
inline size_t dtype_class(UOp u) { return u.dtype().value_class(); }

constexpr size_t kPositions = 3;           // sources whose ops have masks
constexpr size_t kDTypePositions = 2;      // and dtypes
constexpr size_t kNearPositions = 4;       // sources of sources whose ops have masks, from NearNodes::kA0 on
constexpr size_t kLengths = 9;             // numbers of sources, the last one for all that are greater
constexpr size_t kAbsentKind = kNumKinds;  // of a source that is not there

// The masks of 64 programs for one kind of node (a constant 0, an ADD, ...), by where in the pattern a node of that
// kind is: as the first source, the second, ... They lie together in one cache line, because the few kinds that are
// common turn up in several places of the same node.
struct alignas(64) KindMasks {
  uint64_t source[kPositions] = {};
  uint64_t near[kNearPositions] = {};
};
struct alignas(32) DTypeMasks {
  uint64_t root = 0;
  uint64_t source[kDTypePositions] = {};
};

// The first two sources of a node and the first two of each of them.
struct NearNodes {
  enum Position : uint8_t { kA, kB, kA0, kA1, kB0, kB1, kNumPositions, kFar = kNumPositions };

  explicit NearNodes(UOp u);
  UOp at[kNumPositions] = {};  // empty: not there
  size_t kind(size_t position) const { return at[position] ? at[position].node()->kind : kAbsentKind; }
  bool same(size_t pair) const { return at[kPairs[pair].first] == at[kPairs[pair].second]; }
  // the pairs that may have to be the same node; a program's `same` has a bit for each
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

// The ops that must be among the sources of a node that a pattern matches (UPat.early_reject).
OpSet early_reject(const pat::PatNode& n);

struct Chosen;

// The programs of the rules for one op.
struct Code {
  std::vector<const Rule*> rules;
  std::vector<MatchProgram> programs;
  std::vector<MatchStep> steps;
  size_t words;                        // of a mask
  std::vector<uint64_t> length_masks;  // of each value all words, one after the other
  std::vector<DTypeMasks> dtype_masks;
  std::vector<KindMasks> kind_masks;
  std::vector<uint64_t> looks_near;    // of the programs that ask for KindMasks::near
  std::array<uint8_t, kNumOps> number_of = {};  // of the ops that programs need, counted from 1; of all others 0
  size_t num_classes = 1;                       // sets of those ops: what is counted of a try has a counter for each,
  size_t first_class = 0;                       // from this place on among those of all codes

  explicit Code(std::vector<const Rule*> rules);
  const uint64_t* of_length(size_t length) const { return &length_masks[length * words]; }
  const DTypeMasks* of_dtype(size_t dtype_class) const { return &dtype_masks[dtype_class * words]; }
  const KindMasks* of_kind(size_t kind) const { return &kind_masks[kind * words]; }
  // The class of a node: which of the ops that programs need are among its sources.
  uint32_t class_of(UOp u) const {
    uint32_t bits = 0;
    for (UOp s : u.src()) bits |= uint32_t(1) << number_of[size_t(s.op())];
    return bits >> 1;
  }

 private:
  void number_needs();
  void add(const Rule& rule, const Chosen& chosen, size_t number);
  void index_masks(const std::vector<Chosen>& chosen);
  // Makes the masks of a fact about a node with so many values, the words at mask(value * words + word):
  // wanted(program) is what the program's pattern has at that node, null for anything, and allowed(pattern, accept)
  // calls accept(value) for each value that the pattern accepts.
  template <class Mask, class Wanted, class Allowed>
  void index(size_t values, Mask mask, const std::vector<Chosen>& chosen, Wanted wanted, Allowed allowed);
};

// The code for one op, made when a node of that op first asks for it: a process that compiles one small kernel asks for
// one op in ten, and making them all would take longer than compiling it.
struct Matcher::Bucket {
  Bucket(Op root, const std::vector<const Rule*>& all) : root(root), all(all) {}
  ~Bucket() { delete code_.load(); }
  const Code& code() const {
    const Code* made = code_.load(std::memory_order_acquire);
    return made ? *made : make();
  }

  const Op root;
  const std::vector<const Rule*>& all;  // the matcher's

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
