#include "lib/prove/prove_kernel.h"

#include <algorithm>

#include "lib/execute/execution.h"
#include "lib/prove/contracts.h"
#include "lib/prove/counterexample.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/support/clocks.h"
#include "lib/uop/graph.h"
#include "lib/validate/application_sides.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/input_distribution.h"
#include "lib/validate/reference_sample.h"
#include "lib/validate/truncate_loops.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

// Memories have at most so many elements when REF evaluates the sides; offsets are taken modulo the size.
constexpr int64_t kMostElements = 4096;

std::map<int64_t, int64_t> memory_sizes(UOp ast) {
  std::map<int64_t, int64_t> out;
  for (UOp u : toposort(ast))
    if (u.is(Op::DEFINE_GLOBAL) && u.arg().is_int() && u.dtype().size() > 0)
      out[u.arg().small_int()] = std::min(kMostElements, u.dtype().size() * u.dtype().base().count());
  return out;
}

class KernelProver {
 public:
  KernelProver(KernelProof& out, ProofCache& cache)
      : out_(out),
        c_(*out.compilation),
        isolator_(c_.graph(), memory_sizes(c_.ast())),
        prover_(isolator_.isolator(), cache) {}

  void run() {
    UninstrumentedScope uninstrumented(c_.graph());
    std::span<const Application> list = out_.log.list();
    std::vector<size_t> wrong;
    std::vector<Sides> sides = sides_of_applications(c_, list, wrong);
    for (size_t i = 0; i < sides.size(); i++) {
      RewriteProof r = decide(i, sides[i]);
      r.application = i;
      out_.rewrites.push_back(std::move(r));
    }
    sample(sides);
    out_.counts = prover_.counts();
    out_.verdict = Kind::Proven;
    for (const RewriteProof& r : out_.rewrites)
      if (rank(r.kind) > rank(out_.verdict)) out_.verdict = r.kind;
  }

 private:
  static int rank(Kind k) { return k == Kind::Refuted ? 3 : k == Kind::Unknown ? 2 : k == Kind::Sampled ? 1 : 0; }

  // Decides the application `i`, whose sides are `s`.
  RewriteProof decide(size_t i, const Sides& s) {
    const Application& a = out_.log.list()[i];
    if (a.substitution_target && a.depth == 0) {
      // A stage replaced the node. The contract of the loops is decided for all replaced ranges together.
      if (a.before.is(Op::RANGE)) return decide_loops(top_of(i));
      return decide_sides({a.before, a.after});
    }
    RewriteProof out = decide_sides(s);
    if (out.kind == Kind::Proven) return out;
    if (RangeMap map = replaced_loops(i); !map.empty() && is_same_iterations(map)) {
      RewriteProof rest = decide_sides({substitute(a.before, map), a.after});
      if (rest.kind == Kind::Proven) return rest.by = "loops", rest;
    }
    return out;
  }

  RewriteProof decide_sides(const Sides& s) {
    if (!s.before || !s.after) return {.why = "the sides cannot be compared"};
    RewriteProof out{.kind = Kind::Proven, .by = "same"};
    if (s.before == s.after) return out;
    switch (lanes_.compare(s.before, s.after)) {
      case LaneForms::Answer::Same: return out.by = "lanes", out;
      case LaneForms::Answer::SameSum:
        return {.kind = Kind::Proven,
                .has_floats = dtypes::is_float(s.before.dtype()),
                .sense = FloatSense::Real,
                .by = "lanes"};
      case LaneForms::Answer::Open: break;
    }
    if (is_same_memory(s.before, s.after)) return out.by = "memory", out;
    if (is_accumulator_of(s.before, s.after, lanes_))
      return {.kind = Kind::Proven,
              .has_floats = dtypes::is_float(s.before.dtype()),
              .sense = FloatSense::Real,
              .by = "accumulator"};
    SideExpressions e = isolator_.of(s);
    switch (e.kind) {
      case SideExpressions::Kind::Same: return out;
      case SideExpressions::Kind::Unlike: return {.why = "the sides have different dtypes"};
      case SideExpressions::Kind::Open: return decide_parts(s);
      default: break;
    }
    out.by = "values";
    for (const ComparedValues& v : e.values) {
      ProofOutcome one = prover_.prove(v);
      add(out, one.has_floats, one.sense);
      if (one.kind != ProofOutcome::Kind::Proven) return {.by = "values", .why = one.why};
    }
    return out;
  }

  // Compares the stores of two nodes that hold several, or that end the same loops.
  RewriteProof decide_parts(const Sides& s) {
    RewriteProof out{.kind = Kind::Proven, .by = "stores"}, open{.why = "no values to compare"};
    const bool ends = ends_same_loops(s.before, s.after);
    if (ends) return decide_sides({inside_ends(s.before), inside_ends(s.after)});
    const bool holds =
        s.before.in({Op::SINK, Op::GROUP}) && s.before.op() == s.after.op() && s.before.num_src() == s.after.num_src();
    if (!holds) return open;
    for (size_t i = 0; i < s.before.num_src(); i++) {
      RewriteProof one = decide_sides({s.before.src(i), s.after.src(i)});
      if (one.kind != Kind::Proven) return open.why = one.why, open;
      add(out, one.has_floats, one.sense);
    }
    return out;
  }

  static void add(RewriteProof& to, bool has_floats, FloatSense sense) {
    to.has_floats |= has_floats;
    to.sense = std::max(to.sense, sense);
  }

  // ---- replaced loops

  // Returns the loops that the rule of application `i` replaced by substitutions of its own: expressions of the loops
  // that are in the result. A rule may try other substitutions, too, and may replace a loop of an earlier substitution.
  RangeMap replaced_loops(size_t i) const {
    std::span<const Application> list = out_.log.list();
    std::map<uint32_t, std::vector<UOp>> targets;  // by node id of a RANGE: its replacements, the last one first
    for (size_t k = i; k-- > first_part_of(list, i);)
      if (list[k].substitution_target && list[k].depth == list[i].depth + 1 && list[k].before.is(Op::RANGE))
        targets[list[k].before.id()].push_back(list[k].substitution_target);
    if (targets.empty()) return {};
    std::set<UOp, ById> after;
    for (UOp u : toposort(list[i].after))
      if (u.is(Op::RANGE)) after.insert(u);
    RangeMap out;
    for (UOp u : toposort(list[i].before)) {
      if (!u.is(Op::RANGE) || after.contains(u) || !targets.contains(u.id())) continue;
      UOp to = resolved(u, targets, after, 0);
      if (!to) return {};
      out.emplace_back(u, to);
    }
    return out;
  }
  struct ById {
    bool operator()(UOp a, UOp b) const { return a.id() < b.id(); }
  };
  static UOp resolved(UOp range, const std::map<uint32_t, std::vector<UOp>>& targets, const std::set<UOp, ById>& after,
                      int depth) {
    auto it = targets.find(range.id());
    if (it == targets.end() || depth > 8) return {};
    for (UOp target : it->second) {
      RangeMap inner;
      bool good = true;
      for (UOp u : toposort(target)) {
        if (!u.is(Op::RANGE) || after.contains(u)) continue;
        // The rule may have simplified the size of the new loop since.
        auto same =
            std::ranges::find_if(after, [&](UOp r) { return r.arg() == u.arg() && py_equal(r.vmax(), u.vmax()); });
        UOp to = same != after.end() ? *same : resolved(u, targets, after, depth + 1);
        if (!(good = bool(to))) break;
        inner.emplace_back(u, to);
      }
      if (good) return inner.empty() ? target : substitute(target, inner);
    }
    return {};
  }

  // Returns the rewrite of the stage that contains application `i`.
  const TopRewrite& top_of(size_t i) const {
    const std::vector<TopRewrite>& all = out_.log.rewrites();
    return *std::ranges::find_if(all,
                                 [&](const TopRewrite& t) { return std::ranges::binary_search(t.applications, i); });
  }

  RewriteProof decide_loops(const TopRewrite& top) {
    auto [it, is_new] = loops_.try_emplace(&top);
    if (!is_new) return it->second;
    RangeMap map;
    for (size_t k : top.applications)
      if (const Application& a = out_.log.list()[k]; a.before.is(Op::RANGE))
        map.emplace_back(a.before, a.substitution_target);
    RewriteProof& out = it->second;
    out.why = "the new loops may run over other iterations";
    // The new loops must not be loops of the graph already, unless they are replaced themselves.
    std::vector<UOp> there;
    for (UOp u : toposort(top.input))
      if (u.is(Op::RANGE)) there.push_back(u);
    for (auto& [from, to] : map)
      for (UOp u : toposort(to)) {
        if (!u.is(Op::RANGE) || std::ranges::find(there, u) == there.end()) continue;
        if (std::ranges::find(map, u, &std::pair<UOp, UOp>::first) == map.end()) return out;
      }
    if (is_same_iterations(map)) out = {.kind = Kind::Proven, .by = "loops"};
    return out;
  }

  // Evaluates the sides that were not proven in REF.
  void sample(const std::vector<Sides>& sides) {
    std::vector<Sides> open;
    std::vector<RewriteProof*> of;
    for (RewriteProof& r : out_.rewrites)
      if (r.kind != Kind::Proven) open.push_back(sides[r.application]), of.push_back(&r);
    if (open.empty()) return;
    auto results = compare_in_batches(open, {}, {}, 1);
    for (size_t i = 0; results && i < of.size(); i++) {
      const EquivalenceResult& e = (*results)[i];
      if (e.kind == EquivalenceResult::Kind::Same) of[i]->kind = Kind::Sampled;
      if (e.kind != EquivalenceResult::Kind::Differ) {
        if (auto found = find_counterexample(isolator_, open[i]))
          of[i]->kind = Kind::Refuted, of[i]->counterexample = found->point;
        continue;
      }
      of[i]->kind = e.beyond_rounding ? Kind::Refuted : Kind::Sampled;
      of[i]->counterexample = e.point;
      of[i]->counterexample["before"] = e.before, of[i]->counterexample["after"] = e.after;
    }
    sample_stages();
  }

  // Runs the graphs before and after each stage in REF that has a rewrite without values. Loops are shortened.
  void sample_stages() {
    std::map<const StageRow*, std::optional<bool>> is_same;
    for (RewriteProof& r : out_.rewrites) {
      if (r.kind != Kind::Unknown) continue;
      const Application& a = out_.log.list()[r.application];
      auto run = std::ranges::find(out_.log.stages(), a.stage, &StageRun::row);
      if (!a.stage || run == out_.log.stages().end() || !run->result || !run->result.is(Op::SINK)) continue;
      auto [it, is_new] = is_same.try_emplace(a.stage);
      if (is_new) {
        auto same = catch_failures([&] { return stores_the_same(run->result); });
        if (same) it->second = *same;
      }
      if (it->second) r.kind = *it->second ? Kind::Sampled : Kind::Refuted;
    }
  }

  // Returns whether the graph stores the same elements as the kernel's AST.
  bool stores_the_same(UOp after) {
    constexpr double kWork = 4e6;  // limit for the UOps that REF evaluates
    constexpr size_t kMostStored = 256;  // elements of each array
    const UOp ast = c_.ast();
    if (inputs_.empty()) {
      auto kernel = Executable::for_ref(ast);
      inputs_ =
          std::move(input_arrays(kernel.value_or_throw().buffers(), {}, "", input_distribution(ast)).value_or_throw());
    }
    Graph graph(c_.graph().settings());
    Stored stored =
        std::move(stored_in_ref(truncate_loops(graph, after, kWork), inputs_, {}, kMostStored).value_or_throw());
    Arrays expected = std::move(values_at(ast, inputs_, {}, stored.places).value_or_throw());
    auto arrays = std::move(compare_outputs(ast, stored.values, expected).value_or_throw());
    return std::ranges::all_of(arrays, &Comparison::passed);
  }

  KernelProof& out_;
  Compilation& c_;
  SideIsolator isolator_;
  Prover prover_;
  LaneForms lanes_;
  Arrays inputs_;
  std::map<const TopRewrite*, RewriteProof> loops_;
};

}  // namespace

size_t KernelProof::count(Kind kind) const { return size_t(std::ranges::count(rewrites, kind, &RewriteProof::kind)); }

FloatSense KernelProof::weakest() const {
  FloatSense out = FloatSense::Uninterpreted;
  for (const RewriteProof& r : rewrites)
    if (r.kind == Kind::Proven && r.has_floats) out = std::max(out, r.sense);
  return out;
}

bool KernelProof::has_floats() const { return std::ranges::any_of(rewrites, &RewriteProof::has_floats); }

std::unique_ptr<KernelProof> prove_kernel(Compilation compilation, ProofCache& cache) {
  auto begin = Clock::now();
  auto out = std::make_unique<KernelProof>();
  out->kernel = compilation.name();
  out->compilation.emplace(std::move(compilation));
  out->compilation->watch(&out->log);
  if (auto& list = out->compilation->list(); !list) out->error = list.diag();
  out->compilation->watch(nullptr);
  if (!out->error)
    if (auto done = catch_failures([&] { return KernelProver(*out, cache).run(), true; }); !done)
      out->error = done.diag();
  if (out->error) out->verdict = Kind::Unknown;
  out->seconds = seconds_since(begin);
  return out;
}

}  // namespace tgc
