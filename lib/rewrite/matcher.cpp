#include "lib/rewrite/matcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include "lib/rewrite/gate.h"
#include "lib/rewrite/hits.h"
#include "lib/support/check.h"
#include "lib/uop/graph.h"

namespace tgc {

using pat::PatNode;

namespace {

// ---- a pattern with every choice made: which order of sources, which alternative

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
    if (options.size() == 1) {  // most often
      for (Chosen& p : partial) p.children.push_back(options[0]);
      continue;
    }
    std::vector<Chosen> next;
    next.reserve(partial.size() * options.size());
    for (const Chosen& p : partial)
      for (const Chosen& o : options) {
        next.push_back(p);
        next.back().children.push_back(o);
      }
    partial = std::move(next);
  }
  out.insert(out.end(), std::make_move_iterator(partial.begin()), std::make_move_iterator(partial.end()));
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

// ---- checks of one node

bool arg_is_ints(Arg arg, std::span<const int64_t> values) {
  return arg.is_tuple() && std::equal(arg.items().begin(), arg.items().end(), values.begin(), values.end(),
                                      [](Arg a, int64_t v) { return a == Arg(v); });
}

bool arg_matches(const PatNode& n, const Arg& arg) {
  return (!n.has_arg || arg == n.arg) && (!n.has_arg_ints || arg_is_ints(arg, n.arg_ints));
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

// ---- programs

// One node of a program: where it is, and what is left to check of it.
struct Step {
  enum Check : uint8_t { kOps = 1, kExact = 2, kAtLeast = 4, kDtypes = 8, kArg = 16, kCapture = 32, kSame = 64, kEach = 128 };
  uint8_t parent, child;  // source `child` of register `parent`; the root is register 0
  uint8_t reg;            // register it goes to
  uint8_t checks;
  int8_t capture;
  uint8_t length;         // for kExact, kAtLeast
  uint32_t dtypes;        // for kDtypes
  OpSet ops;              // for kOps
  const PatNode* pattern;
};
constexpr size_t kMaxNodes = 32;

struct Program {
  const Rule* rule;
  uint32_t first, count;    // into steps
  uint32_t number;          // of its rule in the bucket
  uint64_t bound;           // its captures, but those of an each
  bool has_each;
  bool check_need;          // `need` is not implied by the steps
  OpSet need;               // ops that must be among the sources (UPat.early_reject)
};

// ---- masks: of a fact about a node, one bit for each program that the fact allows

// The dtype of a node as patterns see it: a scalar kind, or kNoValue for pointers.
constexpr size_t kNoValue = kNumScalars;
size_t dtype_class(UOp u) { return u.dtype().is_value() ? size_t(u.dtype().scalar_kind()) : kNoValue; }

constexpr size_t kPositions = 3;   // sources whose ops have masks; the first two have masks of dtypes as well
constexpr size_t kLengths = 9;     // numbers of sources, the last one for all that are greater

// For each value of a fact the row of its mask; most values share a few.
template <size_t Values>
struct MaskIndex {
  std::array<uint16_t, Values> row;
};

bool has_each_anywhere(const Chosen& c) {
  return c.pattern->sources == PatNode::Sources::Each || std::any_of(c.children.begin(), c.children.end(), has_each_anywhere);
}

uint8_t kind_of_literal(Arg arg) { return kind_of_const(arg); }

// The programs of the rules for one op.
struct Code {
  std::vector<Program> programs;
  std::vector<Step> steps;
  size_t words;                  // of a mask
  std::vector<uint64_t> masks;   // rows of `words`
  MaskIndex<kLengths> length;
  std::array<MaskIndex<kNumKinds>, kPositions> kind;
  MaskIndex<kNumScalars + 1> root_dtype;
  std::array<MaskIndex<kNumScalars + 1>, 2> dtype;

  explicit Code(const std::vector<const Rule*>& rules);
  const uint64_t* mask(uint16_t row) const { return &masks[row * words]; }

 private:
  void add(const Rule& rule, const Chosen& chosen, size_t number);
  void index_masks();
  // The rows for a fact about a node: wanted(program) is what the program's pattern has at that node, null for anything, and
  // allowed(pattern, value) whether the pattern accepts that value of the fact.
  template <size_t Values, class Wanted, class Allowed>
  MaskIndex<Values> index(Wanted wanted, Allowed allowed);

  std::vector<Chosen> chosen_;  // of each program; while it is built
};

Code::Code(const std::vector<const Rule*>& rules) {
  for (size_t i = 0; i < rules.size(); i++)
    for (Chosen& chosen : choices(*rules[i]->left)) {
      add(*rules[i], chosen, i);
      chosen_.push_back(std::move(chosen));
    }
  words = (programs.size() + 63) / 64;
  index_masks();
  chosen_.clear();
  chosen_.shrink_to_fit();
}

void Code::add(const Rule& rule, const Chosen& chosen, size_t number) {
  OpSet need = early_reject(*rule.left);
  bool implied = !rule.left->has_early_reject && !has_each_anywhere(chosen);
  Program program{&rule, uint32_t(steps.size()), 0, uint32_t(number), 0, false, !implied && !need.empty(), need};
  struct Pending {
    const Chosen* node;
    uint8_t parent, child, depth;
  };
  std::vector<Pending> queue{{&chosen, 0, 0, 0}};
  for (size_t k = 0; k < queue.size(); k++) {  // breadth first: shallow checks reject soonest
    auto [node, parent, child, depth] = queue[k];
    const PatNode& n = *node->pattern;
    TGC_CHECK(k < kMaxNodes && n.children.size() < kLengths - 1, "pattern too large");
    Step step{.parent = parent, .child = child, .reg = uint8_t(k), .checks = 0, .capture = n.capture, .length = uint8_t(n.children.size()),
              .dtypes = n.dtypes.bits(), .ops = n.ops, .pattern = &n};
    // what the masks have decided needs no check
    bool first_source = depth == 1 && child < kPositions, named_literal = n.has_arg && n.ops == OpSet(Op::CONST) && kind_of_literal(n.arg) >= kNumOps;
    if (depth > 0 && !n.ops.empty() && !first_source) step.checks |= Step::kOps;
    if (n.sources == PatNode::Sources::Exact && depth > 0) step.checks |= Step::kExact;
    if (n.sources == PatNode::Sources::Prefix && depth > 0) step.checks |= Step::kAtLeast;
    if (!n.dtypes.empty() && depth > 0 && !(first_source && child < 2)) step.checks |= Step::kDtypes;
    if ((n.has_arg || n.has_arg_ints) && !(first_source && named_literal)) step.checks |= Step::kArg;
    if (n.capture >= 0) {
      uint64_t bit = uint64_t(1) << n.capture;
      step.checks |= program.bound & bit ? Step::kSame : Step::kCapture;
      program.bound |= bit;
    }
    if (n.sources == PatNode::Sources::Each) {
      step.checks |= Step::kEach;
      program.has_each = true;
    }
    if (step.checks || !node->children.empty()) steps.push_back(step);
    for (size_t i = 0; i < node->children.size(); i++) queue.push_back({&node->children[i], uint8_t(k), uint8_t(i), uint8_t(depth + 1)});
  }
  program.count = uint32_t(steps.size()) - program.first;
  programs.push_back(program);
}

template <size_t Values, class Wanted, class Allowed>
MaskIndex<Values> Code::index(Wanted wanted, Allowed allowed) {
  MaskIndex<Values> out;
  std::vector<uint64_t> any(words), mask;  // any: of the programs that accept every value, which are most
  std::vector<std::pair<const PatNode*, size_t>> choosy;
  for (size_t p = 0; p < programs.size(); p++) {
    if (const PatNode* n = wanted(chosen_[p])) choosy.emplace_back(n, p);
    else any[p / 64] |= uint64_t(1) << (p % 64);
  }
  size_t first_row = masks.size() / words;
  for (size_t value = 0; value < Values; value++) {
    mask = any;
    for (auto [n, p] : choosy)
      if (allowed(*n, value)) mask[p / 64] |= uint64_t(1) << (p % 64);
    size_t row = first_row;
    while (row * words < masks.size() && !std::equal(mask.begin(), mask.end(), &masks[row * words])) row++;
    if (row * words == masks.size()) masks.insert(masks.end(), mask.begin(), mask.end());
    out.row[value] = uint16_t(row);
  }
  return out;
}

bool length_allowed(const PatNode& n, size_t length) {
  switch (n.sources) {
    case PatNode::Sources::Exact: return length == n.children.size();
    case PatNode::Sources::Prefix: return length >= n.children.size();
    default: return true;
  }
}

// What the pattern wants at source `i` of the root; null: anything.
const PatNode* wanted(const Chosen& root, size_t i) {
  if (root.pattern->sources == PatNode::Sources::Each) {
    const PatNode* each = root.pattern->children[0];
    return each->alternatives ? nullptr : each;
  }
  return i < root.children.size() ? root.children[i].pattern : nullptr;
}

const PatNode* if_dtypes(const PatNode* n) { return n && !n->dtypes.empty() ? n : nullptr; }
const PatNode* if_ops(const PatNode* n) { return n && !n->ops.empty() ? n : nullptr; }

bool dtype_allowed(const PatNode& n, size_t dtype) { return dtype != kNoValue && (n.dtypes.bits() >> dtype & 1); }

bool kind_allowed(const PatNode& n, size_t kind) {
  Op op = kind < kNumOps ? Op(kind) : Op::CONST;
  if (!n.ops.contains(op)) return false;
  if (op != Op::CONST || !n.has_arg || n.ops.size() != 1) return true;
  return kind_of_literal(n.arg) == kind;
}

void Code::index_masks() {
  length = index<kLengths>([](const Chosen& c) { return c.pattern; }, length_allowed);
  for (size_t i = 0; i < kPositions; i++) kind[i] = index<kNumKinds>([i](const Chosen& c) { return if_ops(wanted(c, i)); }, kind_allowed);
  for (size_t i = 0; i < 2; i++) dtype[i] = index<kNumScalars + 1>([i](const Chosen& c) { return if_dtypes(wanted(c, i)); }, dtype_allowed);
  root_dtype = index<kNumScalars + 1>([](const Chosen& c) { return if_dtypes(c.pattern); }, dtype_allowed);
}

}  // namespace

// The rules for one op. Their code is made when a node of that op first asks for it: a process that compiles one small kernel needs that of one
// op in ten.
struct Matcher::Bucket {
  Bucket(Op root, const std::vector<const Rule*>& all) {
    for (const Rule* rule : all)
      if (rule->left->ops.contains(root)) rules.push_back(rule);
  }
  ~Bucket() { delete code_.load(); }
  const Code& code() const {
    const Code* made = code_.load(std::memory_order_acquire);
    return made ? *made : make();
  }

  std::vector<const Rule*> rules;

 private:
  const Code& make() const {
    std::lock_guard guard(making_);
    if (!code_.load(std::memory_order_relaxed)) code_.store(new Code(rules), std::memory_order_release);
    return *code_.load(std::memory_order_relaxed);
  }
  mutable std::mutex making_;
  mutable std::atomic<const Code*> code_{nullptr};
};

// ---- the register of hits

namespace {

constexpr size_t kMaxRules = 8192;
std::atomic<bool> rules_hit[kMaxRules];

struct TriedRules {
  std::mutex lock;
  std::map<uint32_t, Rule> by_id;
};
TriedRules& tried_rules() {
  static TriedRules tried;
  return tried;
}

void note_rules(const std::vector<const Rule*>& rules) {
  std::lock_guard guard(tried_rules().lock);
  for (const Rule* rule : rules) tried_rules().by_id.emplace(rule->id, *rule);
}

}  // namespace

void note_hit(const Rule& rule) {
  TGC_CHECK(rule.id < kMaxRules, "more rules than the register of hits has room for");
  if (!rules_hit[rule.id].load(std::memory_order_relaxed)) rules_hit[rule.id].store(true, std::memory_order_relaxed);
}

bool was_hit(const Rule& rule) { return rule.id < kMaxRules && rules_hit[rule.id].load(std::memory_order_relaxed); }

std::vector<Rule> rules_tried() {
  std::lock_guard guard(tried_rules().lock);
  std::vector<Rule> out;
  for (auto& [id, rule] : tried_rules().by_id) out.push_back(rule);
  return out;
}

Matcher::Matcher(const std::vector<const Rule*>& rules) {
  note_rules(rules);
  OpSet roots;
  for (const Rule* rule : rules) {
    roots = roots | rule->left->ops;
    uses_context_ |= rule->uses_ctx;
    changes_context_ |= rule->changes_ctx;
  }
  roots.for_each([&](Op op) { buckets_[size_t(op)] = std::make_unique<const Bucket>(op, rules); });
}

Matcher::~Matcher() = default;

size_t Matcher::num_programs() const {
  size_t n = 0;
  for (auto& b : buckets_) n += b ? b->code().programs.size() : 0;
  return n;
}

size_t Matcher::num_rules_for(Op op) const { return buckets_[size_t(op)] ? buckets_[size_t(op)]->rules.size() : 0; }

// ---- matching

namespace {

bool step_matches(const Step& step, UOp u, UOp* captured) {
  uint8_t c = step.checks;
  if ((c & Step::kOps) && !u.in(step.ops)) return false;
  if ((c & Step::kExact) && u.num_src() != step.length) return false;
  if ((c & Step::kAtLeast) && u.num_src() < step.length) return false;
  if ((c & Step::kDtypes) && !DTypeSet(step.dtypes).contains(u.dtype())) return false;
  if ((c & Step::kSame) && !(captured[step.capture] == u)) return false;
  if ((c & Step::kArg) && !arg_matches(*step.pattern, u.arg())) return false;
  if (c & Step::kCapture) captured[step.capture] = u;
  return true;
}

// Every source of every `each` node; the captures of the straight part are all set.
bool match_eaches(const Step* step, const Step* end, const UOp* regs, UOp* captured, uint64_t bound) {
  for (; step != end; ++step) {
    if (!(step->checks & Step::kEach)) continue;
    const PatNode& source = *step->pattern->children[0];
    UOp u = regs[step->reg];
    // nothing to match, nothing bound: only a pattern without names may accept that
    if (u.num_src() == 0 && (source.capture >= 0 || !source.children.empty())) return false;
    for (UOp s : u.src())
      if (!match_each(source, s, captured, bound)) return false;
  }
  return true;
}

bool run(const Program& program, const Step* step, UOp root, UOp* captured) {
  union Registers {  // no time to clear them
    Registers() {}
    UOp at[kMaxNodes];
  } regs;
  const Step* begin = step;
  const Step* end = step + program.count;
  for (; step != end; ++step) {
    UOp u = step->reg == 0 ? root : regs.at[step->parent].src(step->child);
    if (!step_matches(*step, u, captured)) return false;
    regs.at[step->reg] = u;
  }
  return !program.has_each || match_eaches(begin, end, regs.at, captured, program.bound);
}

OpSet ops_of_sources(UOp u) {
  OpSet have;
  for (UOp s : u.src()) have.add(s.op());
  return have;
}

}  // namespace

// One try of a bucket on a node: the programs that the masks allow, word by word.
struct Matcher::Attempt {
  Attempt(const Code& code, UOp u) : b(code) {
    size_t n = u.num_src();
    rows[count++] = b.mask(b.length.row[std::min(n, kLengths - 1)]);
    rows[count++] = b.mask(b.root_dtype.row[dtype_class(u)]);
    for (size_t i = 0; i < std::min(n, kPositions); i++) rows[count++] = b.mask(b.kind[i].row[u.src(i).node()->kind]);
    for (size_t i = 0; i < std::min(n, size_t(2)); i++) rows[count++] = b.mask(b.dtype[i].row[dtype_class(u.src(i))]);
  }
  uint64_t allowed(size_t word) const {
    uint64_t bits = rows[0][word];
    for (size_t i = 1; i < count; i++) bits &= rows[i][word];
    return bits;
  }

  const Code& b;
  const uint64_t* rows[2 + kPositions + 2];
  size_t count = 0;
};

namespace {
union Captures {  // no time to clear them
  Captures() {}
  UOp at[pat::kNumCaptures];
};
}  // namespace

UOp Matcher::rewrite(UOp u, void* ctx, const char* ctx_type, const Rule*& hit) const {
  const Bucket* bucket = buckets_[size_t(u.op())].get();
  if (!bucket) return {};
  const Code& code = bucket->code();
  Attempt attempt(code, u);
  Captures captures;
  const Rule* done = nullptr;  // a rule that returned the very node: its other alternatives are not tried
  for (size_t w = 0; w < code.words; w++)
    for (uint64_t bits = attempt.allowed(w); bits; bits &= bits - 1) {
      const Program& program = code.programs[w * 64 + size_t(__builtin_ctzll(bits))];
      if (program.rule == done) continue;
      if (program.check_need && !ops_of_sources(u).contains_all(program.need)) continue;
      if (!run(program, &code.steps[program.first], u, captures.at)) continue;
      hit = program.rule;  // also names the rule when its action throws
      UOp out = program.rule->call(*program.rule, {u, captures.at, ctx, ctx_type});
      if (out == u) done = program.rule;
      if ((out && !(out == u)) || program.rule->changes_ctx) note_hit(*program.rule);
      if (out && !(out == u)) return out;
    }
  return {};
}

// ---- counting

namespace {

uint64_t now_ns() { return uint64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()); }

// A clock that costs next to nothing to read.
uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return now_ns();
#endif
}

size_t hash(const void* bucket, OpSet have, uint32_t reached) {
  uint64_t h = reinterpret_cast<uintptr_t>(bucket) ^ have.word(0) * 0x9E3779B97F4A7C15 ^ have.word(1) * 0xC2B2AE3D27D4EB4F ^ reached * 0x165667B19E3779F9;
  return h ^ h >> 29;
}

}  // namespace

Matcher::Stats::Stats() : table_(1024), start_ticks_(ticks()), start_ns_(now_ns()) {}

RuleCounters& Matcher::Stats::of(const Rule& rule) {
  if (rule.id >= counters_.size()) counters_.resize(num_rules());
  return counters_[rule.id];
}

// The entry of that key, made if there is none.
Matcher::Stats::Tries& Matcher::Stats::find(const Bucket* bucket, OpSet have, uint32_t reached) {
  size_t mask = table_.size() - 1, slot = hash(bucket, have, reached) & mask;
  for (; table_[slot].bucket; slot = (slot + 1) & mask)
    if (Tries& t = table_[slot]; t.bucket == bucket && t.reached == reached && t.have == have) return t;
  used_++;
  return table_[slot] = {bucket, have, reached, 0};
}

void Matcher::Stats::note(const Bucket* bucket, OpSet have, uint32_t reached) {
  find(bucket, have, reached).count++;
  if (used_ * 2 < table_.size()) return;
  std::vector<Tries> old(table_.size() * 2);
  std::swap(old, table_);
  used_ = 0;
  for (const Tries& t : old)
    if (t.bucket) find(t.bucket, t.have, t.reached).count = t.count;
}

std::vector<RuleCounters> Matcher::Stats::by_rule() {
  double scale = double(now_ns() - start_ns_) / double(std::max<uint64_t>(1, ticks() - start_ticks_));
  for (const Tries& t : table_) {
    if (!t.bucket) continue;
    uint32_t next = 0;
    for (const Program& p : t.bucket->code().programs) {
      if (p.number < next) continue;  // another alternative of the same rule
      if (p.number > t.reached) break;
      next = p.number + 1;
      if (t.have.contains_all(p.need)) of(*p.rule).attempts += t.count;
    }
  }
  std::vector<RuleCounters> out = counters_;
  for (RuleCounters& c : counters_) c.attempts = 0;
  for (RuleCounters& c : out) c.hit_ns = uint64_t(double(c.hit_ns) * scale), c.total_ns = uint64_t(double(c.total_ns) * scale);
  return out;
}

UOp Matcher::rewrite_counted(UOp u, void* ctx, const char* ctx_type, const Rule*& hit, Stats& stats) const {
  const Bucket* bucket = buckets_[size_t(u.op())].get();
  if (!bucket) return {};
  const Code& code = bucket->code();
  Attempt attempt(code, u);
  Captures captures;
  OpSet have = ops_of_sources(u);
  struct Note {  // on every way out, an exception included
    ~Note() { stats.note(bucket, have, reached); }
    Stats& stats;
    const Bucket* bucket;
    OpSet have;
    uint32_t reached;
  } note{stats, bucket, have, UINT32_MAX};
  const Rule* done = nullptr;
  for (size_t w = 0; w < code.words; w++)
    for (uint64_t bits = attempt.allowed(w); bits; bits &= bits - 1) {
      size_t number = w * 64 + size_t(__builtin_ctzll(bits));
      const Program& program = code.programs[number];
      if (program.rule == done) continue;
      if (!have.contains_all(program.need)) continue;
      // matching takes a few nanoseconds: every kEvery-th is timed; an action always is
      constexpr uint32_t kEvery = 16;
      thread_local uint32_t runs = 0;
      bool sampled = runs++ % kEvery == 0;
      uint64_t begin = sampled ? ticks() : 0;
      bool matched = run(program, &code.steps[program.first], u, captures.at);
      if (sampled) stats.of(*program.rule).total_ns += (ticks() - begin) * kEvery;
      if (!matched) continue;
      hit = program.rule;
      note.reached = program.number;
      begin = ticks();
      UOp out = program.rule->call(*program.rule, {u, captures.at, ctx, ctx_type});
      if (out == bottom_up_gate()) return note_hit(*program.rule), out;  // tinygrad counts it neither
      uint64_t taken = ticks() - begin;
      RuleCounters& counters = stats.of(*program.rule);
      counters.total_ns += taken;
      if (out && !(out == u)) {
        counters.hits++;
        counters.hit_ns += taken;
        note_hit(*program.rule);
        return out;
      }
      note.reached = UINT32_MAX;
      if (out) done = program.rule;
    }
  return {};
}

}  // namespace tgc
