#include "lib/rewrite/matcher.h"

#include <bit>
#include <map>
#include <mutex>

#include "lib/rewrite/bucket.h"
#include "lib/rewrite/hits.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/rewrite/stats.h"
#include "lib/uop/graph.h"

namespace tgc {

using pat::PatNode;

namespace {

uint32_t next_matcher_number() {
  static std::atomic<uint32_t> next = 0;
  return next++;
}

// Returns the ops that occur under every node that the pattern `n` matches, at any depth.
OpSet ops_below(const PatNode& n) {
  if (n.has_alternatives || n.sources == PatNode::Sources::Each) return {};  // assume no op: safe, if imprecise
  OpSet out = early_reject(n);
  for (const PatNode* child : n.children) out = out | ops_below(*child);
  return out;
}

}  // namespace

Matcher::Matcher(const std::vector<const Rule*>& rules) : rules_(rules), matcher_number_(next_matcher_number()) {
  note_matcher_rules(rules);
  OpSet roots;
  for (const Rule* rule : rules) {
    roots = roots | rule->left->ops;
    is_context_used_ |= rule->is_ctx_used;
    is_context_changed_ |= rule->is_ctx_changed;
    OpRequirement wanted{rule->left->ops, ops_below(*rule->left)};
    if (std::ranges::find(op_requirements_, wanted) == op_requirements_.end()) op_requirements_.push_back(wanted);
  }
  roots.for_each([&](Op op) { rule_buckets_[size_t(op)] = std::make_unique<const RuleBucket>(op, rules_); });
}

Matcher::~Matcher() = default;

size_t Matcher::num_programs() const {
  size_t n = 0;
  for (auto& b : rule_buckets_) n += b ? b->programs().programs.size() : 0;
  return n;
}

size_t Matcher::num_rules_for(Op op) const {
  return rule_buckets_[size_t(op)] ? rule_buckets_[size_t(op)]->programs().rules.size() : 0;
}

namespace {

bool arg_is_ints(Arg arg, std::span<const int64_t> values) {
  return arg.is_tuple() && std::equal(arg.items().begin(), arg.items().end(), values.begin(), values.end(),
                                      [](Arg a, int64_t v) { return a == Arg(v); });
}

bool arg_matches(const PatNode& n, const Arg& arg) {
  return (!n.has_arg || arg == n.arg) && (!n.has_arg_ints || arg_is_ints(arg, n.arg_ints));
}

// Matches `u`, a source of a node that an `each` pattern matched or a node below such a source, with the pattern `n`.
// `bound` is the bit set of the captures that are set.
bool match_each(const PatNode& n, UOp u, UOp* captured, uint64_t& bound) {
  if (n.has_alternatives) {
    for (const PatNode* child : n.children) {
      uint64_t before = bound;
      if (match_each(*child, u, captured, bound)) return true;
      bound = before;
    }
    return false;
  }
  if (!n.ops.empty() && !u.in(n.ops)) return false;
  if (!n.dtypes.empty() && !n.dtypes.contains(u.dtype())) return false;
  if (!arg_matches(n, u.arg())) return false;
  if (n.capture >= 0) {
    uint64_t bit = uint64_t(1) << n.capture;
    if ((bound & bit) && !(captured[n.capture] == u)) return false;
    captured[n.capture] = u;
    bound |= bit;
  }
  switch (n.sources) {
    case PatNode::Sources::Any: return true;
    case PatNode::Sources::Exact:
      if (u.num_src() != n.children.size()) return false;
      break;
    case PatNode::Sources::Prefix:
      if (u.num_src() < n.children.size()) return false;
      break;
    case PatNode::Sources::Each: {
      for (UOp s : u.src())
        if (!match_each(*n.children[0], s, captured, bound)) return false;
      return true;
    }
  }
  for (size_t i = 0; i < n.children.size(); i++)
    if (!match_each(*n.children[i], u.src(i), captured, bound)) return false;
  return true;
}

[[gnu::always_inline]] inline bool step_matches(const MatchStep& step, UOp u, UOp* captured) {
  uint8_t c = step.check_bits;
  if (c == MatchStep::kCapture) return captured[step.capture] = u, true;
  if ((c & MatchStep::kOps) && !u.in(step.ops)) return false;
  if ((c & MatchStep::kExact) && u.num_src() != step.num_sources) return false;
  if ((c & MatchStep::kAtLeast) && u.num_src() < step.num_sources) return false;
  if ((c & MatchStep::kDtypes) && !DTypeSet(step.dtypes).contains(u.dtype())) return false;
  if ((c & MatchStep::kSame) && !(captured[step.capture] == u)) return false;
  if ((c & MatchStep::kArg) && !arg_matches(*step.pattern, u.arg())) return false;
  if (c & MatchStep::kCapture) captured[step.capture] = u;
  return true;
}

// Matches the sources of all nodes that `each` patterns matched. Captures outside of `each` patterns are already set.
bool match_each_patterns(const MatchStep* step, const MatchStep* end, const UOp* regs, UOp* captured, uint64_t bound) {
  for (; step != end; ++step) {
    if (!(step->check_bits & MatchStep::kEach)) continue;
    const PatNode& source = *step->pattern->children[0];
    UOp u = regs[step->destination_register];
    // without sources, `u` could leave captures of the pattern `source` unbound, so the match fails
    if (u.num_src() == 0 && (source.capture >= 0 || !source.children.empty())) return false;
    for (UOp s : u.src())
      if (!match_each(source, s, captured, bound)) return false;
  }
  return true;
}

[[gnu::always_inline]] inline bool run_program(const MatchProgram& program, const MatchStep* step, UOp root,
                                               UOp* captured) {
  union Registers {  // a union leaves the registers uninitialized, for speed
    Registers() {}
    UOp nodes[kMaxPatternNodes];
  } regs;
  const MatchStep* begin = step;
  const MatchStep* end = step + program.num_steps;
  for (; step != end; ++step) {
    UOp u = step->destination_register == 0 ? root : regs.nodes[step->parent].src(step->child);
    if (!step_matches(*step, u, captured)) return false;
    regs.nodes[step->destination_register] = u;
  }
  return !program.has_each || match_each_patterns(begin, end, regs.nodes, captured, program.outer_captures);
}

OpSet ops_of_sources(UOp u) {
  OpSet have;
  for (UOp s : u.src()) have.add(s.op());
  return have;
}

// Returns word `w` of the AND of all masks for node `u`: bit i is program 64 * w + i.
[[gnu::always_inline]] inline uint64_t allowed_programs(const BucketPrograms& code, UOp u, size_t w) {
  const size_t n = u.num_src(), words = code.num_mask_words;
  const UOp* const src = u.src().data();
  const KindMasks* const kinds = code.kind_masks.data() + w;
  const DTypeMasks* const dtypes = code.dtype_masks.data() + w;
  uint64_t bits =
      code.source_count_masks[std::min(n, kNumSourceCounts - 1) * words + w] & dtypes[dtype_class(u) * words].root;
  for (size_t i = 0; i < kNumOpPositions; i++)
    bits &= kinds[(i < n ? src[i].node()->kind : kAbsentKind) * words].source[i];
  for (size_t i = 0; i < kNumDTypePositions; i++)
    bits &= dtypes[(i < n ? dtype_class(src[i]) : kAbsentDType) * words].source[i];
  if (!(bits & code.near_programs[w])) return bits;
  NearSources near(u);
  for (size_t i = 0; i < kNumNearPositions; i++) bits &= kinds[near.kind(NearSources::kA0 + i) * words].near[i];
  return bits;
}

[[gnu::always_inline]] inline bool has_same_nodes(const MatchProgram& program, UOp u) {
  if (!program.same_pairs) return true;
  NearSources near(u);
  for (uint32_t pairs = program.same_pairs; pairs; pairs &= pairs - 1)
    if (!near.is_same_pair(size_t(std::countr_zero(pairs)))) return false;
  return true;
}

union Captures {
  Captures() {}
  UOp nodes[pat::kNumCaptures];
};

class UncountedMatch {
 public:
  explicit UncountedMatch(UOp u) : u_(u) {}
  bool has_needed_ops(const MatchProgram& p) const {
    return !p.must_check_needed_ops || ops_of_sources(u_).contains_all(p.needed_ops);
  }
  bool match_program(const MatchProgram&, auto run) { return run(); }
  UOp call_rule(const MatchProgram&, const PatternMatch&, auto run) { return run(); }
  void record_declined(const Rule& rule) { note_declined_rule(rule); }

 private:
  UOp u_;
};

}  // namespace

// The policy of the match loop that counts into a RuleStats. Only every kEvery-th match is timed, because reading the
// clock takes longer than matching. The first kFirst calls of a rule's right side, and every kSome-th call after them,
// are timed.
class CountedMatch {
 public:
  using RuleBucket = RuleStats::RuleBucket;
  CountedMatch(RuleStats& stats, const RuleBucket& bucket, UOp u)
      : stats_(stats), bucket_(bucket), source_ops_(bucket.programs().op_class_of(u)), u_(u) {
    stats.count_bucket_try(bucket, bucket.programs().first_op_class + source_ops_);
  }
  ~CountedMatch() {  // counts the match in the destructor, because an exception may end the match
    if (reached_rule_ != kNone) stats_.count_bucket_stop(&bucket_, source_ops_, reached_rule_);
  }
  bool has_needed_ops(const MatchProgram& p) const { return !(p.needed_op_bits & ~source_ops_); }

  bool match_program(const MatchProgram& p, auto run) {
    constexpr uint32_t kEvery = 64;
    bool timed = stats_.num_matches_++ % kEvery == 0;
    uint64_t begin = timed ? now_ticks() : 0;
    bool matched = run();
    if (timed) stats_.counters_of(*p.rule).total_ns += (now_ticks() - begin) * kEvery;
    return matched;
  }

  UOp call_rule(const MatchProgram& p, const PatternMatch& match, auto run) {
    constexpr uint32_t kFirst = 32, kSome = 16;
    reached_rule_ = p.rule_index;
    RuleStats::Counters& calling = stats_.counters_of(*p.rule);
    uint32_t weight = calling.num_calls < kFirst ? 1 : calling.num_calls % kSome == 0 ? kSome : 0;
    calling.num_calls++;
    uint64_t begin = weight ? now_ticks() : 0;
    UOp out = run();
    if (out == bottom_up_gate()) return out;  // a gate does not count as a hit, as in tinygrad
    uint64_t taken = weight ? (now_ticks() - begin) * weight : 0;
    // look the counters up again, because run() may have moved their table
    RuleStats::Counters& counters = stats_.counters_of(*p.rule);
    counters.total_ns += taken;
    if (out && !(out == u_)) {
      counters.num_hits++, counters.hit_ns += taken;
      if (match.branch) counters.count_branch(match.branch);
    }
    return out;
  }
  void record_declined(const Rule& rule) {
    note_declined_rule(rule);
    reached_rule_ = kNone;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  RuleStats& stats_;
  const RuleBucket& bucket_;
  uint32_t source_ops_, reached_rule_ = kNone;
  UOp u_;
};

namespace {

template <class Count>
class OverridePolicy {
 public:
  OverridePolicy(Count& count, RewriteOverride& rewrite_override, UOp u)
      : match_policy_(count), override_(rewrite_override), u_(u) {}
  bool has_needed_ops(const MatchProgram& p) const { return match_policy_.has_needed_ops(p); }
  bool match_program(const MatchProgram& p, auto run) { return match_policy_.match_program(p, run); }
  UOp call_rule(const MatchProgram& p, const PatternMatch& match, auto run) {
    UOp out = match_policy_.call_rule(p, match, run);
    if (!out || out == u_ || out == bottom_up_gate()) return out;
    UOp replaced = override_.choose_result({p.rule, match.branch}, u_, out);
    is_declined_by_override_ = !replaced;
    return replaced ? replaced : u_;
  }
  void record_declined(const Rule& rule) {  // counts nothing if the RewriteOverride made the rule decline
    if (!std::exchange(is_declined_by_override_, false)) match_policy_.record_declined(rule);
  }

 private:
  Count& match_policy_;
  RewriteOverride& override_;
  UOp u_;
  bool is_declined_by_override_ = false;
};

template <class Count>
[[gnu::always_inline]] inline UOp apply_first_rule(const BucketPrograms& code, UOp u, void* ctx, const char* ctx_type,
                                                   RuleHit& hit, Count count) {
  Captures captures;
  const Rule* done = nullptr;  // the rule that returned `u` itself last; its other programs are skipped
  for (size_t w = 0; w < code.num_mask_words; w++)
    for (uint64_t bits = allowed_programs(code, u, w); bits; bits &= bits - 1) {
      const MatchProgram& program = code.programs[w * 64 + size_t(std::countr_zero(bits))];
      const Rule& rule = *program.rule;
      if (&rule == done || !has_same_nodes(program, u) || !count.has_needed_ops(program)) continue;
      if (!count.match_program(program, [&] {
            return run_program(program, code.match_steps.data() + program.first_step, u, captures.nodes);
          }))
        continue;
      hit.rule = &rule;  // set before the call, so that the message of an exception can name the rule
      const PatternMatch match{u, captures.nodes, ctx, ctx_type};
      UOp out = count.call_rule(program, match, [&] { return apply_rule(rule, match); });
      bool made = out && !(out == u);
      if (made || rule.is_ctx_changed) note_hit(rule);
      if (made) return hit.branch = match.branch, out;
      count.record_declined(rule);
      if (out) done = &rule;
    }
  return {};
}

}  // namespace

UOp Matcher::rewrite(UOp u, void* ctx, const char* ctx_type, RuleHit& hit) const {
  const RuleBucket* bucket = rule_buckets_[size_t(u.op())].get();
  return bucket ? apply_first_rule(bucket->programs(), u, ctx, ctx_type, hit, UncountedMatch(u)) : UOp();
}

UOp Matcher::rewrite_watched(UOp u, void* ctx, const char* ctx_type, RuleHit& hit, RuleStats* stats,
                             RewriteOverride* rewrite_override) const {
  const RuleBucket* bucket = rule_buckets_[size_t(u.op())].get();
  if (!bucket) return {};
  const BucketPrograms& code = bucket->programs();
  auto go = [&](auto& count) {
    if (!rewrite_override) return apply_first_rule<decltype(count)>(code, u, ctx, ctx_type, hit, count);
    return apply_first_rule(code, u, ctx, ctx_type, hit, OverridePolicy(count, *rewrite_override, u));
  };
  UncountedMatch not_counted(u);
  if (!stats) return go(not_counted);
  CountedMatch counted(*stats, *bucket, u);
  return go(counted);
}

namespace {

using RuleIds = std::vector<uint32_t>;

// The numbered sets of rules: sets[n] is set number n, and `numbers` maps a set to its number.
struct NumberedRuleSets {
  std::mutex mutex;  // protects this object and the making of entries of any RemainingRulesTable
  std::vector<RuleIds> sets{{}};
  std::map<RuleIds, uint16_t> numbers{{{}, 0}};

  uint16_t number_of(RuleIds ids) {
    auto [it, is_new] = numbers.try_emplace(ids, uint16_t(sets.size()));
    if (!is_new) return it->second;
    if (sets.size() == RemainingRulesTable::kMaxSets) {
      numbers.erase(it);
      return 0;
    }
    sets.push_back(std::move(ids));
    return it->second;
  }
};

NumberedRuleSets& numbered_rule_sets() {
  // never destroyed, because destructors of static objects may still rewrite graphs
  static auto* sets = new NumberedRuleSets;
  return *sets;
}

}  // namespace

RemainingRulesTable::~RemainingRulesTable() {
  for (auto& made : cached_remaining_) delete made.load();
}

const RemainingRules& RemainingRulesTable::make_remaining_rules(const Matcher& matcher, uint16_t tried) const {
  NumberedRuleSets& all = numbered_rule_sets();
  std::lock_guard guard(all.mutex);
  if (const RemainingRules* made = cached_remaining_[tried].load(std::memory_order_relaxed)) return *made;
  const RuleIds& known = all.sets[tried];
  RuleIds then = known;
  std::vector<const Rule*> rest;
  for (const Rule* rule : matcher.rules()) {
    if (std::ranges::binary_search(known, rule->rule_id)) continue;
    rest.push_back(rule);
    if (!rule->is_ctx_used) then.push_back(rule->rule_id);
  }
  std::ranges::sort(then);
  then.erase(std::unique(then.begin(), then.end()), then.end());
  auto* out = new RemainingRules{&matcher, 0, nullptr};
  if (rest.size() < matcher.rules().size()) {
    out->owned_matcher = std::make_unique<const Matcher>(rest);
    out->remaining_matcher = out->owned_matcher.get();
  }
  out->new_set_number = all.number_of(std::move(then));
  cached_remaining_[tried].store(out, std::memory_order_release);
  return *out;
}

}  // namespace tgc
