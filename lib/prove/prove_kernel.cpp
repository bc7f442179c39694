#include "lib/prove/prove_kernel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lib/prove/expansions.h"
#include "lib/prove/gaps.h"
#include "lib/prove/node_values.h"
#include "lib/prove/proof_time.h"
#include "lib/prove/prove_list.h"
#include "lib/prove/stage_check.h"
#include "lib/prove/stage_runner.h"
#include "lib/prove/store_order.h"
#include "lib/support/deadline.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

class KernelProver {
 public:
  KernelProver(KernelProof& out, ProofCache& cache, const KernelProofOptions& options)
      : proof_(out),
        history_(*out.rewrite_history),
        options_(options),
        ast_(history_.ast()),
        prover_(history_.graph(), ast_ ? memory_sizes(ast_) : std::map<int64_t, int64_t>(), cache) {}

  void run() {
    if (has_infinite_constants()) prover_.allow_infinities();
    std::vector<size_t> wrong;
    const std::vector<RewriteSides> sides = history_.all_rewrite_sides(wrong);
    RewriteListProver rewrites(history_.applications(), history_.graph_rewrites(), prover_,
                               [&](const RewriteSides& s) { return history_.import_sides(s); });
    proof_.rewrites = rewrites.decide_rewrites(sides);
    for (RewriteProof& r : proof_.rewrites) r.place = history_.place(r.application_index);
    for (size_t i = 0; i < stages().size(); i++) decide_expansions(i);
    decide_nested_rewrites();
    check_store_orders();
    for (size_t i = 0; i < stages().size(); i++) check_stage_replay(i), check_races(i), check_weak_values(i);
    if (const UOp last = stages().empty() ? UOp() : history_.imported_graph(stages().back().result))
      if (find_missing_barrier(last))
        add_finding(proof_, stages().size() - 1, Kind::Unknown,
                    "a thread reads what others store, without a barrier between");
    check_argument_order();
    auto checked =
        catch_failures([&] { return !ast_ || (check_stages(proof_, ast_, options_.should_check_stages), true); });
    if (!checked) {  // REF has not run the stages, and only such a run refutes a rewrite
      for (RewriteProof& r : proof_.rewrites)
        if (r.kind == Kind::Refuted && !r.counterexample.contains("stored"))
          set_verdict_unknown(r, checked.diag().message);
      throw Failure(checked.diag());
    }
    mark_isolated_sides_unknown(proof_, bool(ast_));
    for (RewriteProof& r : proof_.rewrites)
      if (r.kind == Kind::Refuted) set_shown_sides(r);
    measure_errors();
    proof_.counts = prover_.counts();
  }

 private:
  std::span<const HistoryStage> stages() const { return history_.stages(); }
  std::span<const Rewrite> applications() const { return history_.applications(); }

  // Returns true if a graph that a stage changed has a constant that is infinite or NaN.
  bool has_infinite_constants() const {
    auto is_infinite = [](UOp u) {
      return u.is(Op::CONST) && u.arg().is_float() && !std::isfinite(u.arg().to_const().as_float());
    };
    return std::ranges::any_of(stages(), [&](const HistoryStage& s) {
      return s.result && s.is_graph_changed() && std::ranges::any_of(toposort(s.result), is_infinite);
    });
  }

  // If a rewrite of the stage is not proven or only in a weak sense: tries to decide the stage without approximations
  // of functions (expansions.h), and each approximation as a whole.
  void decide_expansions(size_t number) {
    const HistoryStage& stage = stages()[number];
    bool is_open = false;
    for (size_t top : stage.graph_rewrites)
      for (size_t k : history_.graph_rewrites()[top].application_indices) is_open |= is_weak_proof(proof_.rewrites[k]);
    std::map<size_t, std::string> open;
    auto without = is_open ? remove_expansions(history_, stage, open) : std::nullopt;
    for (auto& [k, why] : open)
      if (proof_.rewrites[k].kind == Kind::Sampled) proof_.rewrites[k].reason = why;
    if (!without) return;
    std::map<size_t, RewriteProof> proofs;
    for (auto& [k, s] : without->rewrites) {
      const bool is_changed = s.before != applications()[k].before || s.after != applications()[k].after;
      RewriteProof proof = is_changed ? decide(s) : proof_.rewrites[k];
      if (proof.kind != Kind::Proven && proof_.rewrites[k].kind == Kind::Proven) return;
      proof.application_index = k, proof.place = proof_.rewrites[k].place,
      proof.rewrite_hash = proof_.rewrites[k].rewrite_hash;
      proofs.emplace(k, std::move(proof));
    }
    for (const UnexpandedStage::Expansion& e : without->expansions) {
      RewriteProof proof{.kind = Kind::Proven,
                         .has_floats = true,
                         .sense = FloatSense::Rounding,
                         .proof_method = "approximation",
                         .largest_error = e.approximation_error.max_ulp,
                         .application_index = e.rewrite_index};
      proof.place = proof_.rewrites[e.rewrite_index].place,
      proof.rewrite_hash = proof_.rewrites[e.rewrite_index].rewrite_hash;
      proofs.emplace(e.rewrite_index, std::move(proof));
      const UOp function = e.approximation.function;
      proof_.approximations[e.approximation.key] = {
          std::string(tgc::name_of(function.op())) + " " + std::string(function.dtype().name()), e.approximation_error};
    }
    for (size_t top : stage.graph_rewrites)
      for (size_t k : history_.graph_rewrites()[top].application_indices)
        if (auto it = proofs.find(k); it != proofs.end()) proof_.rewrites[k] = std::move(it->second);
        else set_proven_by(proof_.rewrites[k], "approximation");
    unexpanded_stages_.emplace(number, std::move(*without));
  }
  static bool is_weak_proof(const RewriteProof& r) {
    return r.kind != Kind::Proven || (r.has_floats && r.sense >= FloatSense::ButNan);
  }

  // Decides nested rewrites by the rewrite that contains them: if it is proven, so are they. Rewrites of an attempt
  // that the compilation discarded count as proven, too.
  void decide_nested_rewrites() {
    for (size_t i = applications().size(); i-- > 0;) {
      if (applications()[i].depth == 0) {
        if (!history_.is_rewrite_used(i)) set_proven_by(proof_.rewrites[i], "discarded");
        continue;
      }
      size_t whole = i + 1;
      while (whole < applications().size() && history_.stage_index_of(whole) == history_.stage_index_of(i) &&
             applications()[whole].depth >= applications()[i].depth)
        whole++;
      const bool has_whole = whole < applications().size() && history_.is_part_of(i, whole);
      RewriteProof& r = proof_.rewrites[i];
      if (has_whole && proof_.rewrites[whole].kind != Kind::Proven) {
        if (!applications()[i].substitution_target || r.kind == Kind::Proven ||
            applications()[i].before == applications()[i].after)
          continue;
        r.kind = proof_.rewrites[whole].kind == Kind::Sampled ? Kind::Sampled : Kind::Unknown;
        r.reason = "a part of a rewrite that is not proven", r.counterexample.clear();
        continue;
      }
      set_proven_by(r, has_whole ? "part" : "discarded");
    }
  }
  static void set_proven_by(RewriteProof& r, std::string_view by) {
    r.reason.clear(), r.counterexample.clear();
    r.kind = Kind::Proven, r.has_floats = false, r.sense = {}, r.proof_method = by;
  }

  void check_store_orders() {
    for (size_t i = 0; i < stages().size(); i++) {
      const UOp input = history_.imported_graph(stages()[i].input),
                result = history_.imported_graph(stages()[i].result);
      check_store_order(rewrites_of(proof_, i), applications(), input, result);
    }
  }

  // Repeats the rewrites of a stage, and compares the graph with the stage's result. Pairs of nodes that differ are
  // decided like the sides of rewrites.
  void check_stage_replay(size_t number) {
    constexpr size_t kMostPairs = 64;
    const HistoryStage& stage = stages()[number];
    if (!stage.result)
      return (void)add_finding(proof_, number, Kind::Unknown, "the recording lacks the graph of the stage");
    if (!stage.is_graph_changed()) return;
    for (auto [given, had] : history_.find_corresponding_nodes(stage)) {
      if (given == had) continue;
      const UOp from = given ? given : stage.input;
      std::vector<RewriteSides> pairs = graph_difference(from, had, kMostPairs);
      if (pairs.empty()) continue;
      RewriteProof proof{.kind = Kind::Proven, .proof_method = "graphs"};
      std::string why = "the stage changes the graph without a recorded rewrite that explains it: ";
      for (const RewriteSides& s : pairs) {
        const RewriteProof one = decide(s);
        proof.has_floats |= one.has_floats, proof.sense = std::max(proof.sense, one.sense);
        if (one.kind == Kind::Proven) continue;
        if (proof.kind == Kind::Proven) why += node_text(s.before) + " became " + node_text(s.after);
        proof.kind = Kind::Unknown;
      }
      RewriteProof& finding = add_finding(proof_, number, proof.kind, why);
      finding.proof_method = proof.proof_method, finding.has_floats = proof.has_floats, finding.sense = proof.sense;
      if (finding.kind != Kind::Proven) return;
    }
  }

  // Adds a finding if the linear list does not define buffers in the order of their numbers, in which the runtime
  // passes them. REF cannot show this error, because it finds buffers by number.
  void check_argument_order() {
    UOp last;
    for (UOp u : history_.linear_list()) {
      if (!u.is(Op::DEFINE_GLOBAL) || !u.arg().is_int()) continue;
      if (last && u.arg().small_int() < last.arg().small_int())
        return (void)add_finding(proof_, stages().size() - 1, Kind::Unknown,
                                 "the linear list defines data" + u.arg().repr() + " after data" + last.arg().repr() +
                                     ", but arguments are passed by number");
      last = u;
    }
  }

  // Adds a finding if a stage changes the parallel axes and several threads may store to the same element of its
  // result, unless as many threads could do so before the stage.
  void check_races(size_t number) {
    const HistoryStage& stage = stages()[number];
    const UOp input = history_.imported_graph(stage.input), result = history_.imported_graph(stage.result);
    if (!input || !result || input == result || parallel_axes(input) == parallel_axes(result)) return;
    const int64_t threads = num_parallel_iterations(result);
    const bool has_more = threads < 0 || threads != num_parallel_iterations(input);
    if (find_store_race(result) && (has_more || !find_store_race(input)))
      add_finding(proof_, number, Kind::Unknown, "several threads may store to one element").proof_method = "races";
  }

  // Sets a rewrite that is proven in a weak sense to unknown if an op that may turn a tiny difference into a large one
  // depends on its value, or may do so.
  void check_weak_values(size_t number) {
    constexpr size_t kMost = 64;
    const HistoryStage& stage = stages()[number];
    if (!stage.result || !stage.is_graph_changed()) return;
    if (auto it = unexpanded_stages_.find(number); it != unexpanded_stages_.end()) return check_weak_values(it->second);
    size_t count = 0, checked = 0;
    std::optional<bool> decides;
    for (size_t top : stage.graph_rewrites)
      for (size_t k : history_.graph_rewrites()[top].application_indices) {
        count++;
        RewriteProof& r = proof_.rewrites[k];
        if (r.kind != Kind::Proven || !r.has_floats || r.sense < FloatSense::ButNan) continue;
        if (!decides) decides = has_discontinuous_op(stage.result) || has_discontinuous_op(stage.input);
        if (!*decides) return;
        std::optional<std::string> op = "a node that is not found";
        if (++checked <= kMost)
          if (const UOp graph = history_.replay_stage(stage, count))
            op = find_sensitive_op(r, graph, applications()[k].after);
        if (op) mark_weak_unknown(r, *op);
      }
  }
  void check_weak_values(const UnexpandedStage& stage) {
    std::map<size_t, UOp> weak;
    for (auto& [k, s] : stage.rewrites) weak[k] = s.after;
    for (auto& e : stage.expansions) weak[e.rewrite_index] = e.function;
    for (auto [k, value] : weak) {
      RewriteProof& r = proof_.rewrites[k];
      if (r.kind != Kind::Proven || !is_weak_proof(r)) continue;
      const UOp graph = stage.rewrites.contains(k) ? stage.replay_rewrites(k) : stage.result;
      std::optional<std::string> op = "a node that is not found";
      if (graph) op = find_sensitive_op(r, graph, value);
      if (op) mark_weak_unknown(r, *op);
    }
  }
  // Returns find_amplifying_op() for `value`, which is proven in the weak sense r.sense. But if the only such ops are
  // divisions by a zero of either sign, and the AST divides, too, sets r.sense to Finite and returns nullopt: Finite
  // does not cover infinities that a kernel makes of finite numbers.
  std::optional<std::string> find_sensitive_op(RewriteProof& r, UOp graph, UOp value) {
    auto op = find_amplifying_op(graph, value, r.sense);
    if (!op || r.sense > FloatSense::Finite) return op;
    if (!ast_has_quotient_) ast_has_quotient_ = ast_ && has_quotient(ast_);
    if (!*ast_has_quotient_ || find_amplifying_op(graph, value, FloatSense::Finite, true)) return op;
    r.sense = FloatSense::Finite;
    return std::nullopt;
  }
  static void mark_weak_unknown(RewriteProof& r, const std::string& op) {
    r.kind = Kind::Unknown, r.proof_method = {};
    r.reason = "it is proven in the sense '" + std::string(tgc::name_of(r.sense)) + "', but " + op + " depends on it";
  }

  void set_shown_sides(RewriteProof& r) {
    const Rewrite& shown = applications()[r.application_index];
    auto pairs = history_.import_sides({shown.before, shown.after});
    if (!pairs || pairs->empty()) return;
    auto expression = [](UOp u) {
      constexpr size_t kMost = 300;
      if (u.dtype() == dtypes::void_) return std::string();
      const std::string out = render(u);
      return out.size() > kMost ? out.substr(0, kMost) + "..." : out;
    };
    const RewriteSides& s = (*pairs)[0];
    r.before = expression(s.before), r.after = expression(s.after);
    const auto a = r.counterexample.find("before"), b = r.counterexample.find("after");
    if (a == r.counterexample.end() || b == r.counterexample.end()) return;
    r.before_nodes = node_values(s.before, r.counterexample, a->second);
    r.after_nodes = node_values(s.after, r.counterexample, b->second);
  }

  // Measures the errors of some proofs over the reals.
  void measure_errors() {
    constexpr size_t kMost = 8;
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (RewriteProof& r : proof_.rewrites) {
      if (r.kind != Kind::Proven || !r.has_floats || r.sense != FloatSense::Real) continue;
      if (seen.size() >= kMost || !seen.emplace(r.place.stage, r.place.rule).second) continue;
      const Rewrite& a = applications()[r.application_index];
      if (const auto pairs = history_.import_sides({a.before, a.after}))
        r.largest_error = prover_.largest_error_of(*pairs);
    }
  }

  static std::string node_text(UOp u) {
    const std::string arg = u.arg().is_none() ? "" : " " + u.arg().repr();
    return std::string(name_of(u.op())) + " " + std::string(u.dtype().repr()) + arg.substr(0, 60);
  }

  RewriteProof decide(const RewriteSides& s) {
    auto pairs = history_.import_sides(s);
    return pairs ? prover_.decide_sides(*pairs) : RewriteProof{.reason = pairs.diag().message};
  }

  KernelProof& proof_;
  RewriteHistory& history_;
  const KernelProofOptions& options_;
  const UOp ast_;
  SidesProver prover_;
  std::map<size_t, UnexpandedStage> unexpanded_stages_;
  std::optional<bool> ast_has_quotient_;
};

std::unique_ptr<KernelProof> prove_history(std::string kernel, std::string producer, ProofCache& cache,
                                           const KernelProofOptions& options,
                                           const std::function<std::unique_ptr<RewriteHistory>()>& rewrite_history) {
  auto begin = Clock::now();
  auto out = std::make_unique<KernelProof>();
  out->kernel = std::move(kernel), out->producer = std::move(producer);
  constexpr double kProcessorSeconds = 30, kSeconds = 1500;
  const DeadlineScope limit(options.timeout_seconds.value_or(kSeconds));
  std::optional<ProcessorTimeLimit> processor_limit;
  if (!options.timeout_seconds) processor_limit.emplace(kProcessorSeconds);
  auto done = catch_failures([&] {
    out->rewrite_history = rewrite_history();
    KernelProver(*out, cache, options).run();
    return true;
  });
  if (!done && out->rewrite_history && is_time_over())
    out->stage_findings.push_back(
        {.kind = Kind::Unknown, .reason = done.diag().message, .application_index = SIZE_MAX});
  else if (!done)
    out->error = done.diag();
  out->set_verdict();
  out->proof_seconds = seconds_since(begin);
  return out;
}

}  // namespace

size_t KernelProof::num_with_verdict(Kind kind) const {
  return size_t(std::ranges::count(rewrites, kind, &RewriteProof::kind));
}

size_t KernelProof::num_distinct_proofs(Kind kind) const {
  std::set<std::string_view> forms;
  size_t out = 0;
  for (const RewriteProof& r : rewrites)
    out += r.kind == kind && (r.rewrite_hash.empty() || forms.insert(r.rewrite_hash).second);
  return out;
}

FloatSense KernelProof::weakest_sense() const {
  FloatSense out = FloatSense::Uninterpreted;
  for (const auto* list : {&rewrites, &stage_findings})
    for (const RewriteProof& r : *list)
      if (r.kind == Kind::Proven && r.has_floats) out = std::max(out, r.sense);
  return out;
}

std::optional<double> KernelProof::largest_error() const {
  std::optional<double> out;
  for (const RewriteProof& r : rewrites)
    if (r.kind == Kind::Proven && r.sense == FloatSense::Real && r.largest_error)
      out = std::max(out.value_or(0), *r.largest_error);
  return out;
}

bool KernelProof::has_floats() const { return std::ranges::any_of(rewrites, &RewriteProof::has_floats); }

void KernelProof::set_verdict() {
  auto rank = [](Kind k) { return k == Kind::Refuted ? 3 : k == Kind::Unknown ? 2 : k == Kind::Sampled ? 1 : 0; };
  verdict = error || !rewrite_history ? Kind::Unknown : Kind::Proven;
  for (const auto* list : {&rewrites, &stage_findings})
    for (const RewriteProof& r : *list)
      if (rank(r.kind) > rank(verdict)) verdict = r.kind;
}

std::unique_ptr<KernelProof> prove_kernel(Compilation compilation, ProofCache& cache,
                                          const KernelProofOptions& options) {
  std::string name = compilation.name();
  return prove_history(std::move(name), "", cache, options,
                       [&] { return make_native_history(std::move(compilation)); });
}

std::unique_ptr<KernelProof> prove_recording(const InputGraph& in, ProofCache& cache,
                                             const KernelProofOptions& options) {
  auto out = prove_history(in.info.name, in.info.producer, cache, options, [&] { return make_recorded_history(in); });
  out->is_schedule = in.is_tensor_graph;
  const GoldenRecord& record = *in.record;
  const bool has_kernel = !record.error && !record.source_error && (record.linear || record.source);
  if (has_kernel || in.is_tensor_graph || out->error) return out;
  // tinygrad did not finish the kernel: it may be refuted, but it cannot be proven
  std::string why = "the record has no compiled kernel";
  for (const auto& raised : {record.error, record.source_error})
    if (raised) why += ": tinygrad raised " + raised->substr(0, std::min<size_t>(raised->find('\n'), 120));
  out->error = Diag{.message = why};
  if (out->verdict != Kind::Refuted) out->set_verdict();
  return out;
}

}  // namespace tgc
