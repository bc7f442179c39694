#include "lib/rewrite/bucket.h"

#include <bit>

#include "lib/support/result.h"

namespace tgc {

using pat::PatNode;

// A pattern in which one alternative of each any_of and one order of the sources of each node are chosen, except below
// an `each`.
struct PatternChoice {
  const PatNode* pattern;
  std::vector<PatternChoice> children;
};

OpSet early_reject(const PatNode& n) {
  if (n.has_early_reject) return n.early_reject;
  OpSet need;
  for (const PatNode* child : n.children)
    if (!child->has_alternatives && child->ops.size() == 1) need.add(child->ops.first());
  return need;
}

namespace {

std::vector<PatternChoice> pattern_choices(const PatNode& n);

void combine_choices(const PatNode& n, std::span<const PatNode* const> order, std::vector<PatternChoice>& out) {
  std::vector<PatternChoice> partial{{&n, {}}};
  for (const PatNode* child : order) {
    auto options = pattern_choices(*child);
    if (options.size() == 1) {
      for (PatternChoice& p : partial) p.children.push_back(options[0]);
      continue;
    }
    std::vector<PatternChoice> next;
    next.reserve(partial.size() * options.size());
    for (const PatternChoice& p : partial)
      for (const PatternChoice& o : options) {
        next.push_back(p);
        next.back().children.push_back(o);
      }
    partial = std::move(next);
  }
  out.insert(out.end(), std::make_move_iterator(partial.begin()), std::make_move_iterator(partial.end()));
}

std::vector<PatternChoice> pattern_choices(const PatNode& n) {
  std::vector<PatternChoice> out;
  if (n.has_alternatives) {
    for (const PatNode* child : n.children)
      for (auto& c : pattern_choices(*child)) out.push_back(std::move(c));
  } else if (n.sources == PatNode::Sources::Each || n.children.empty()) {
    out.push_back({&n, {}});
  } else if (n.permute) {
    std::vector<const PatNode*> order(n.children.begin(), n.children.end());
    TGC_CHECK(order.size() == 2, "a commutative op has two sources");
    combine_choices(n, order, out);
    std::swap(order[0], order[1]);
    combine_choices(n, order, out);
  } else {
    combine_choices(n, n.children, out);
  }
  return out;
}

bool has_each_anywhere(const PatternChoice& c) {
  return c.pattern->sources == PatNode::Sources::Each ||
         std::any_of(c.children.begin(), c.children.end(), has_each_anywhere);
}

uint8_t near_position(size_t depth, size_t near, size_t i) {
  if (i > 1 || depth > 1) return NearSources::kFar;
  if (depth == 0) return uint8_t(NearSources::kA + i);
  return near <= NearSources::kB ? uint8_t(NearSources::kA0 + 2 * (near - NearSources::kA) + i)
                                 : uint8_t(NearSources::kFar);
}

uint16_t position_pair_bit(size_t a, size_t b) {
  for (size_t i = 0; i < NearSources::kPositionPairs.size(); i++) {
    auto [x, y] = NearSources::kPositionPairs[i];
    if ((a == x && b == y) || (a == y && b == x)) return uint16_t(1 << i);
  }
  return 0;
}

}  // namespace

BucketPrograms::BucketPrograms(std::vector<const Rule*> of_op) : rules(std::move(of_op)) {
  std::vector<PatternChoice> all;
  for (size_t i = 0; i < rules.size(); i++)
    for (PatternChoice& chosen : pattern_choices(*rules[i]->left)) {
      add_rule(*rules[i], chosen, i);
      all.push_back(std::move(chosen));
    }
  num_mask_words = (programs.size() + 63) / 64;
  build_masks(all);
  assign_op_numbers();
}

void BucketPrograms::assign_op_numbers() {
  static std::atomic<size_t> classes{0};
  OpSet needed;
  for (const MatchProgram& p : programs) needed = needed | p.needed_ops;
  TGC_CHECK(needed.size() < 16, "the rules of an op ask for too many ops among its sources");
  uint8_t n = 0;
  needed.for_each([&](Op op) { op_numbers[size_t(op)] = ++n; });
  for (MatchProgram& p : programs)
    p.needed_ops.for_each([&](Op op) { p.needed_op_bits |= uint32_t(1) << (op_numbers[size_t(op)] - 1); });
  num_op_classes = size_t(1) << n;
  first_op_class = classes.fetch_add(num_op_classes);
}

void BucketPrograms::add_rule(const Rule& rule, const PatternChoice& chosen, size_t number) {
  OpSet need = early_reject(*rule.left);
  bool implied = !rule.left->has_early_reject && !has_each_anywhere(chosen);
  MatchProgram program{&rule, uint32_t(match_steps.size()), 0, uint32_t(number), 0, false, !implied && !need.empty(), 0,
                       need};
  struct PendingNode {
    const PatternChoice* node;
    uint8_t parent, child, depth;
    uint8_t near_position;
  };
  std::vector<PendingNode> queue{{&chosen, 0, 0, 0, NearSources::kFar}};
  std::array<uint8_t, pat::kNumCaptures> bound_at;  // indexed by capture id: the Position where the capture is bound
  for (size_t k = 0; k < queue.size(); k++) {  // breadth first, because shallow checks reject soonest
    auto [node, parent, child, depth, near] = queue[k];
    const PatNode& n = *node->pattern;
    TGC_CHECK(k < kMaxPatternNodes && n.children.size() < kNumSourceCounts - 1, "pattern too large");
    MatchStep step{.parent = parent,
                   .child = child,
                   .destination_register = uint8_t(k),
                   .check_bits = 0,
                   .capture = n.capture,
                   .num_sources = uint8_t(n.children.size()),
                   .dtypes = n.dtypes.bits(),
                   .ops = n.ops,
                   .pattern = &n};
    // the bucket and its masks check the root's op, dtype and number of sources, and the ops and dtypes of the root's
    // first sources, so the steps need not check them
    bool first_source = depth == 1 && child < kNumOpPositions,
         named_literal = n.has_arg && n.ops == OpSet(Op::CONST) && kind_of_const(n.arg) >= kNumOps;
    if (depth > 0 && !n.ops.empty() && !first_source) step.check_bits |= MatchStep::kOps;
    if (n.sources == PatNode::Sources::Exact && depth > 0) step.check_bits |= MatchStep::kExact;
    if (n.sources == PatNode::Sources::Prefix && depth > 0) step.check_bits |= MatchStep::kAtLeast;
    if (!n.dtypes.empty() && depth > 0 && !(first_source && child < 2)) step.check_bits |= MatchStep::kDtypes;
    if ((n.has_arg || n.has_arg_ints) && !(first_source && named_literal)) step.check_bits |= MatchStep::kArg;
    if (n.capture >= 0) {
      uint64_t bit = uint64_t(1) << n.capture;
      step.check_bits |= program.outer_captures & bit ? MatchStep::kSame : MatchStep::kCapture;
      if (program.outer_captures & bit) program.same_pairs |= position_pair_bit(bound_at[size_t(n.capture)], near);
      else bound_at[size_t(n.capture)] = near;
      program.outer_captures |= bit;
    }
    if (n.sources == PatNode::Sources::Each) {
      step.check_bits |= MatchStep::kEach;
      program.has_each = true;
    }
    if (step.check_bits || !node->children.empty()) match_steps.push_back(step);
    for (size_t i = 0; i < node->children.size(); i++)
      queue.push_back({&node->children[i], uint8_t(k), uint8_t(i), uint8_t(depth + 1), near_position(depth, near, i)});
  }
  program.num_steps = uint32_t(match_steps.size()) - program.first_step;
  programs.push_back(program);
}

namespace {

// The functions *_allowed call accept(value) for every value of a fact that the pattern node `n` accepts.
template <class Accept>
void visit_source_counts_allowed(const PatNode& n, Accept accept) {
  for (size_t length = 0; length < kNumSourceCounts; length++)
    if (n.sources == PatNode::Sources::Exact ? length == n.children.size()
                                             : n.sources != PatNode::Sources::Prefix || length >= n.children.size())
      accept(length);
}
template <class Accept>
void visit_dtypes_allowed(const PatNode& n, Accept accept) {
  for (uint32_t bits = n.dtypes.bits(); bits; bits &= bits - 1) accept(size_t(std::countr_zero(bits)));
}
template <class Accept>
void visit_kinds_allowed(const PatNode& n, Accept accept) {
  for (int w = 0; w < 2; w++)
    for (uint64_t bits = n.ops.word(w); bits; bits &= bits - 1)
      if (size_t op = size_t(64 * w + std::countr_zero(bits)); op != size_t(Op::CONST)) accept(op);
  if (!n.ops.contains(Op::CONST)) return;
  if (n.has_arg && n.ops.size() == 1) return accept(kind_of_const(n.arg));
  accept(size_t(Op::CONST));
  for (size_t kind = kNumOps; kind < kNumNodeKinds; kind++) accept(kind);
}

// Return the pattern node for the root (root_pattern), for source `i` of the root (child_pattern), and for source `j`
// of source `i` (near_pattern). Return null if the pattern has no such node, or if steps check the node instead of
// masks.
const PatNode* root_pattern(const PatternChoice& root) { return root.pattern; }
const PatNode* child_pattern(const PatternChoice& root, size_t i) {
  if (root.pattern->sources == PatNode::Sources::Each) {
    const PatNode* each = root.pattern->children[0];
    return each->has_alternatives ? nullptr : each;
  }
  return i < root.children.size() ? root.children[i].pattern : nullptr;
}
const PatNode* near_pattern(const PatternChoice& root, size_t i, size_t j) {
  return i < root.children.size() && j < root.children[i].children.size() ? root.children[i].children[j].pattern
                                                                          : nullptr;
}

const PatNode* pattern_with_dtypes(const PatNode* n) { return n && !n->dtypes.empty() ? n : nullptr; }
const PatNode* pattern_with_ops(const PatNode* n) { return n && !n->ops.empty() ? n : nullptr; }

bool has_near_ops(const PatternChoice& root) {
  bool wants = false;
  for (size_t i = 0; i < kNumNearPositions; i++) wants |= pattern_with_ops(near_pattern(root, i / 2, i % 2)) != nullptr;
  return wants;
}

}  // namespace

template <class Mask, class Wanted, class Allowed>
void BucketPrograms::fill_fact_masks(size_t values, Mask mask, const std::vector<PatternChoice>& all, Wanted wanted,
                       Allowed allowed) {
  std::vector<uint64_t> any(num_mask_words);
  for (size_t p = 0; p < programs.size(); p++) {
    uint64_t bit = uint64_t(1) << (p % 64);
    if (const PatNode* n = wanted(all[p]))
      allowed(*n, [&](size_t value) { mask(value * num_mask_words + p / 64) |= bit; });
    else any[p / 64] |= bit;
  }
  for (size_t i = 0; i < values * num_mask_words; i++) mask(i) |= any[i % num_mask_words];
}

void BucketPrograms::build_masks(const std::vector<PatternChoice>& all) {
  auto lengths = [](const PatNode& n, auto accept) { visit_source_counts_allowed(n, accept); };
  auto dtypes = [](const PatNode& n, auto accept) { visit_dtypes_allowed(n, accept); };
  auto kinds = [](const PatNode& n, auto accept) { visit_kinds_allowed(n, accept); };
  // The masks of sources accept a missing source: `each` patterns allow it, and the length masks reject it for other
  // patterns.
  auto or_absent = [](auto allowed, size_t absent) {
    return [=](const PatNode& n, auto accept) { allowed(n, accept), accept(absent); };
  };
  source_count_masks.resize(kNumSourceCounts * num_mask_words);
  dtype_masks.resize(kNumDTypeClasses * num_mask_words);
  kind_masks.resize((kAbsentKind + 1) * num_mask_words);
  fill_fact_masks(
      kNumSourceCounts, [&](size_t i) -> uint64_t& { return source_count_masks[i]; }, all, root_pattern, lengths);
  fill_fact_masks(
      kNumDTypeClasses, [&](size_t i) -> uint64_t& { return dtype_masks[i].root; }, all,
      [](const PatternChoice& c) { return pattern_with_dtypes(root_pattern(c)); }, dtypes);
  for (size_t s = 0; s < kNumDTypePositions; s++)
    fill_fact_masks(
        kNumDTypeClasses, [&](size_t i) -> uint64_t& { return dtype_masks[i].source[s]; }, all,
        [s](const PatternChoice& c) { return pattern_with_dtypes(child_pattern(c, s)); },
        or_absent(dtypes, kAbsentDType));
  for (size_t s = 0; s < kNumOpPositions; s++)
    fill_fact_masks(
        kAbsentKind + 1, [&](size_t i) -> uint64_t& { return kind_masks[i].source[s]; }, all,
        [s](const PatternChoice& c) { return pattern_with_ops(child_pattern(c, s)); }, or_absent(kinds, kAbsentKind));
  for (size_t s = 0; s < kNumNearPositions; s++)
    fill_fact_masks(kAbsentKind + 1, [&](size_t i) -> uint64_t& { return kind_masks[i].near[s]; }, all,
                    [s](const PatternChoice& c) { return pattern_with_ops(near_pattern(c, s / 2, s % 2)); }, kinds);
  near_programs.resize(num_mask_words);
  for (size_t p = 0; p < programs.size(); p++)
    if (tgc::has_near_ops(all[p])) near_programs[p / 64] |= uint64_t(1) << (p % 64);
}

}  // namespace tgc
