#include "lib/rewrite/matcher.h"

#include <algorithm>
#include <chrono>

#include "lib/support/check.h"
#include "lib/uop/graph.h"

namespace tgc {

using pat::PatNode;

namespace {

// A pattern with every choice made: which order of sources, which alternative.
struct Chosen {
  const PatNode* pattern;
  std::vector<Chosen> children;
};

std::vector<Chosen> choices(const PatNode& n);

// All ways to choose for the sources in this order; the first source's choices vary slowest.
void combine(const PatNode& n, std::span<const PatNode* const> order, std::vector<Chosen>& out) {
  std::vector<Chosen> partial{{&n, {}}};
  for (const PatNode* child : order) {
    auto options = choices(*child);
    std::vector<Chosen> next;
    for (const Chosen& p : partial)
      for (const Chosen& o : options) {
        next.push_back(p);
        next.back().children.push_back(o);
      }
    partial = std::move(next);
  }
  out.insert(out.end(), partial.begin(), partial.end());
}

std::vector<Chosen> choices(const PatNode& n) {
  std::vector<Chosen> out;
  if (n.alternatives) {
    for (const PatNode* child : n.children)
      for (auto& c : choices(*child)) out.push_back(std::move(c));
  } else if (n.sources == PatNode::Sources::Each || n.children.empty()) {
    out.push_back({&n, {}});
  } else if (n.permute) {
    std::vector<const PatNode*> order(n.children.begin(), n.children.end());
    TGC_CHECK(order.size() == 2, "a commutative op has two sources");
    combine(n, order, out);
    std::swap(order[0], order[1]);
    combine(n, order, out);
  } else {
    combine(n, n.children, out);
  }
  return out;
}

OpSet early_reject(const PatNode& n) {
  if (n.has_early_reject) return n.early_reject;
  OpSet need;
  for (const PatNode* child : n.children)
    if (!child->alternatives && child->ops.size() == 1) need.add(child->ops.first());
  return need;
}

bool arg_is_ints(Arg arg, std::span<const int64_t> values) {
  return arg.is_tuple() && std::equal(arg.items().begin(), arg.items().end(), values.begin(), values.end(),
                                      [](Arg a, int64_t v) { return a == Arg(v); });
}

// Matches one source of an `each`: recursive, first alternative that fits. `bound` says which captures are set.
bool match_each(const PatNode& n, UOp u, UOp* captured, uint64_t& bound) {
  if (n.alternatives) {
    for (const PatNode* child : n.children) {
      uint64_t before = bound;
      if (match_each(*child, u, captured, bound)) return true;
      bound = before;
    }
    return false;
  }
  if (!n.ops.empty() && !u.in(n.ops)) return false;
  if (!n.dtypes.empty() && !n.dtypes.contains(u.dtype())) return false;
  if (n.has_arg && !(u.arg() == n.arg)) return false;
  if (n.has_arg_ints && !arg_is_ints(u.arg(), n.arg_ints)) return false;
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

}  // namespace

Matcher::Matcher(const std::vector<const Rule*>& rules) {
  for (const Rule* rule : rules)
    for (int op = 0; op < kNumOps; op++)
      if (rule->left->ops.contains(Op(op))) add(*rule, Op(op));
}

void Matcher::add(const Rule& rule, Op root) {
  Bucket& bucket = buckets_[size_t(root)];
  Entry entry{early_reject(*rule.left), &rule, uint32_t(bucket.programs.size()), 0};
  for (const Chosen& chosen : choices(*rule.left)) {
    Program program{uint32_t(bucket.steps.size()), 0};
    struct Pending {
      const Chosen* node;
      uint8_t parent, child;
    };
    std::vector<Pending> queue{{&chosen, 0, 0}};
    uint64_t bound = 0;
    for (size_t k = 0; k < queue.size(); k++) {  // breadth first: shallow checks reject soonest
      auto [node, parent, child] = queue[k];
      const PatNode& n = *node->pattern;
      TGC_CHECK(k < 32, "pattern too large");
      Step step;
      step.pattern = &n;
      step.is_root = k == 0;
      step.any_op = k == 0 || n.ops.empty();
      step.ops = n.ops;
      step.dtypes = n.dtypes.bits();
      step.parent = parent;
      step.child = child;
      step.reg = uint8_t(k);
      step.capture = n.capture;
      if (n.capture >= 0) {
        step.capture_again = bound >> n.capture & 1;
        bound |= uint64_t(1) << n.capture;
      }
      step.arg_kind = n.has_arg ? 1 : n.has_arg_ints ? 2 : 0;
      step.each = n.sources == PatNode::Sources::Each;
      step.length_kind = n.sources == PatNode::Sources::Exact ? 1 : n.sources == PatNode::Sources::Prefix ? 2 : 0;
      step.length = uint16_t(n.children.size());
      bucket.steps.push_back(step);
      for (size_t i = 0; i < node->children.size(); i++) queue.push_back({&node->children[i], uint8_t(k), uint8_t(i)});
    }
    program.count = uint32_t(bucket.steps.size()) - program.first;
    bucket.programs.push_back(program);
    programs_++;
  }
  entry.count = uint32_t(bucket.programs.size()) - entry.first;
  bucket.entries.push_back(entry);
}

inline bool Matcher::step_matches(const Step& step, UOp u, UOp* captured) {
  if (!step.any_op && !step.ops.contains(u.op())) return false;
  if (step.length_kind && (step.length_kind == 1 ? u.num_src() != step.length : u.num_src() < step.length)) return false;
  if (step.dtypes && !DTypeSet(step.dtypes).contains(u.dtype())) return false;
  if (step.capture >= 0) {
    if (step.capture_again) {
      if (!(captured[step.capture] == u)) return false;
    } else {
      captured[step.capture] = u;
    }
  }
  if (step.arg_kind) {
    if (step.arg_kind == 1 ? !(u.arg() == step.pattern->arg) : !arg_is_ints(u.arg(), step.pattern->arg_ints)) return false;
  }
  return true;
}

inline bool Matcher::run(const Bucket& bucket, const Program& program, UOp root, UOp* captured) const {
  UOp regs[32];
  const Step* step = &bucket.steps[program.first];
  const Step* end = step + program.count;
  bool any_each = false;
  for (; step != end; ++step) {
    UOp u = step->is_root ? root : regs[step->parent].src(step->child);
    if (!step_matches(*step, u, captured)) return false;
    regs[step->reg] = u;
    any_each |= step->each;
  }
  if (!any_each) return true;
  uint64_t bound = 0;  // the captures of the straight part are all set
  for (step = &bucket.steps[program.first]; step != end; ++step)
    if (step->capture >= 0) bound |= uint64_t(1) << step->capture;
  for (step = &bucket.steps[program.first]; step != end; ++step)
    if (step->each) {
      if (regs[step->reg].num_src() == 0) {  // nothing to match, nothing bound: only a pattern without names may accept that
        if (step->pattern->children[0]->capture >= 0 || !step->pattern->children[0]->children.empty()) return false;
      }
      for (UOp s : regs[step->reg].src())
        if (!match_each(*step->pattern->children[0], s, captured, bound)) return false;
    }
  return true;
}

inline UOp Matcher::try_entry(const Bucket& bucket, const Entry& entry, UOp u, void* ctx, const char* ctx_type) const {
  UOp captured[pat::kNumCaptures];
  for (uint32_t k = 0; k < entry.count; k++) {
    if (!run(bucket, bucket.programs[entry.first + k], u, captured)) continue;
    const Rule& rule = *entry.rule;
    if (UOp out = rule.call(rule, {u, captured, ctx, ctx_type})) return out;
  }
  return {};
}

namespace {
OpSet ops_of_sources(UOp u) {
  OpSet have;
  for (UOp s : u.src()) have.add(s.op());
  return have;
}
}  // namespace

UOp Matcher::rewrite(UOp u, void* ctx, const char* ctx_type, const Rule*& hit) const {
  const Bucket& bucket = buckets_[size_t(u.op())];
  if (bucket.entries.empty()) return {};
  OpSet have = ops_of_sources(u);
  for (const Entry& entry : bucket.entries) {
    if (!have.contains_all(entry.need)) continue;
    hit = entry.rule;  // also names the rule when its action throws
    if (UOp out = try_entry(bucket, entry, u, ctx, ctx_type); out && !(out == u)) return out;
  }
  return {};
}

UOp Matcher::rewrite_counted(UOp u, void* ctx, const char* ctx_type, const Rule*& hit, RuleStats& stats) const {
  using Clock = std::chrono::steady_clock;
  const Bucket& bucket = buckets_[size_t(u.op())];
  if (bucket.entries.empty()) return {};
  if (stats.size() < num_rules()) stats.resize(num_rules());
  OpSet have = ops_of_sources(u);
  auto last = Clock::now();
  for (const Entry& entry : bucket.entries) {
    if (!have.contains_all(entry.need)) continue;
    hit = entry.rule;
    UOp out = try_entry(bucket, entry, u, ctx, ctx_type);
    auto now = Clock::now();
    if (stats.size() < num_rules()) stats.resize(num_rules());  // the action may have made a rule set
    RuleCounters& counters = stats[entry.rule->id];
    auto ns = uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(now - last).count());
    last = now;
    counters.attempts++;
    counters.total_ns += ns;
    if (out && !(out == u)) {
      counters.hits++;
      counters.hit_ns += ns;
      return out;
    }
  }
  return {};
}

}  // namespace tgc
