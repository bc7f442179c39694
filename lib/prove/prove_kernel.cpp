#include "lib/prove/prove_kernel.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lib/prove/gaps.h"
#include "lib/prove/node_values.h"
#include "lib/prove/proof_time.h"
#include "lib/prove/prove_list.h"
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
      : out_(out),
        history_(*out.history),
        options_(options),
        ast_(history_.ast()),
        prover_(history_.graph(), ast_ ? memory_sizes(ast_) : std::map<int64_t, int64_t>(), cache) {
    if (ast_) runner_.emplace(ast_);
  }

  void run() {
    if (has_infinities()) prover_.set_infinities();
    std::vector<size_t> wrong;
    const std::vector<Sides> sides = history_.sides(wrong);
    ListProver rewrites(history_.list(), history_.tops(), prover_, [&](const Sides& s) { return history_.import(s); });
    out_.rewrites = rewrites.run(sides);
    for (RewriteProof& r : out_.rewrites) r.place = history_.place(r.application);
    settle_parts();
    check_order();
    for (size_t i = 0; i < stages().size(); i++) check_links(i), check_races(i), check_weak_values(i);
    if (const UOp last = stages().empty() ? UOp() : history_.imported(stages().back().result))
      if (find_missing_barrier(last))
        add_finding(stages().size() - 1, Kind::Unknown, "a thread reads what others store, without a barrier between");
    check_arguments();
    auto checked = catch_failures([&] { return !runner_ || (check_stages(), true); });
    if (!checked) {  // only a run of the stage refutes a rewrite
      for (RewriteProof& r : out_.rewrites)
        if (r.kind == Kind::Refuted && !r.counterexample.contains("stored")) set_unknown(r, checked.diag().message);
      throw Failure(checked.diag());
    }
    doubt_isolated_sides();
    for (RewriteProof& r : out_.rewrites)
      if (r.kind == Kind::Refuted) show_sides(r);
    measure_errors();
    out_.counts = prover_.counts();
  }

 private:
  std::span<const HistoryStage> stages() const { return history_.stages(); }
  std::span<const Application> list() const { return history_.list(); }

  // Returns whether a graph has a constant that is infinite or NaN, such as the first value of a maximum.
  bool has_infinities() const {
    auto is_infinite = [](UOp u) {
      return u.is(Op::CONST) && u.arg().is_float() && !std::isfinite(u.arg().to_const().as_float());
    };
    return std::ranges::any_of(stages(), [&](const HistoryStage& s) {
      return s.result && s.changes_graph() && std::ranges::any_of(toposort(s.result), is_infinite);
    });
  }

  // A part of a proven rewrite is right as a part of it. A part of an attempt that was discarded has no whole.
  void settle_parts() {
    for (size_t i = list().size(); i-- > 0;) {
      if (list()[i].depth == 0) {
        if (!history_.is_used(i)) set_part(out_.rewrites[i], "discarded");
        continue;
      }
      size_t whole = i + 1;
      while (whole < list().size() && history_.stage_of(whole) == history_.stage_of(i) &&
             list()[whole].depth >= list()[i].depth)
        whole++;
      const bool has_whole = whole < list().size() && history_.is_part_of(i, whole);
      RewriteProof& r = out_.rewrites[i];
      if (has_whole && out_.rewrites[whole].kind != Kind::Proven) {
        if (!list()[i].substitution_target || r.kind == Kind::Proven || list()[i].before == list()[i].after) continue;
        r.kind = out_.rewrites[whole].kind == Kind::Sampled ? Kind::Sampled : Kind::Unknown;
        r.why = "a part of a rewrite that is not proven", r.counterexample.clear();
        continue;
      }
      set_part(r, has_whole ? "part" : "discarded");
    }
  }
  static void set_part(RewriteProof& r, std::string_view by) {
    r.why.clear(), r.counterexample.clear();
    r.kind = Kind::Proven, r.has_floats = false, r.sense = {}, r.by = by;
  }

  std::vector<RewriteProof*> rewrites_of(size_t stage) {
    std::vector<RewriteProof*> out;
    for (RewriteProof& r : out_.rewrites)
      if (history_.stage_of(r.application) == stage) out.push_back(&r);
    return out;
  }

  void check_order() {
    for (size_t i = 0; i < stages().size(); i++) {
      const UOp input = history_.imported(stages()[i].input), result = history_.imported(stages()[i].result);
      check_store_order(rewrites_of(i), list(), input, result);
    }
  }

  // ---- whether the rewrites of a stage lead from its input to its result

  RewriteProof& add_finding(size_t stage, Kind kind, std::string why) {
    out_.findings.push_back({.kind = kind, .why = std::move(why), .application = SIZE_MAX});
    out_.findings.back().place = {.stage_number = stage, .stage = stages()[stage].name, .rule = {}};
    return out_.findings.back();
  }

  // Compares what the rewrites of a stage give with its result. Pairs of nodes that differ are decided like rewrites.
  void check_links(size_t number) {
    constexpr size_t kMostPairs = 64;
    const HistoryStage& stage = stages()[number];
    if (!stage.result) return (void)add_finding(number, Kind::Unknown, "the recording lacks the graph of the stage");
    if (!stage.changes_graph()) return;
    for (auto [given, had] : history_.links(stage)) {
      if (given == had) continue;
      const UOp from = given ? given : stage.input;
      std::vector<Sides> pairs = graph_difference(from, had, kMostPairs);
      if (pairs.empty()) continue;
      RewriteProof proof{.kind = Kind::Proven, .by = "graphs"};
      std::string why = "the stage changes the graph without a recorded rewrite that explains it: ";
      for (const Sides& s : pairs) {
        const RewriteProof one = decide(s);
        proof.has_floats |= one.has_floats, proof.sense = std::max(proof.sense, one.sense);
        if (one.kind == Kind::Proven) continue;
        if (proof.kind == Kind::Proven) why += text_of(s.before) + " became " + text_of(s.after);
        proof.kind = Kind::Unknown;
      }
      RewriteProof& finding = add_finding(number, proof.kind, why);
      finding.by = proof.by, finding.has_floats = proof.has_floats, finding.sense = proof.sense;
      if (finding.kind != Kind::Proven) return;
    }
  }

  // A renderer makes arguments of the buffers in the order of the list, and the runtime passes them by number. A run of
  // the list in REF does not show this, because REF finds buffers by number.
  void check_arguments() {
    UOp last;
    for (UOp u : history_.linear()) {
      if (!u.is(Op::DEFINE_GLOBAL) || !u.arg().is_int()) continue;
      if (last && u.arg().small_int() < last.arg().small_int())
        return (void)add_finding(stages().size() - 1, Kind::Unknown,
                                 "the linear list defines data" + u.arg().repr() + " after data" + last.arg().repr() +
                                     ", but arguments are passed by number");
      last = u;
    }
  }

  // If a stage makes an axis parallel, no two threads may store to the same element.
  void check_races(size_t number) {
    const HistoryStage& stage = stages()[number];
    const UOp input = history_.imported(stage.input), result = history_.imported(stage.result);
    if (!input || !result || input == result || parallel_axes(input) == parallel_axes(result)) return;
    if (find_store_race(result) && !find_store_race(input))
      add_finding(number, Kind::Unknown, "several threads may store to one element").by = "races";
  }

  // A value that is proven in a weak sense must not reach an op that may make a large difference of a tiny one.
  void check_weak_values(size_t number) {
    constexpr size_t kMost = 64;
    const HistoryStage& stage = stages()[number];
    if (!stage.result || !stage.changes_graph()) return;
    size_t count = 0, checked = 0;
    std::optional<bool> decides;
    for (size_t top : stage.tops)
      for (size_t k : history_.tops()[top].applications) {
        count++;
        RewriteProof& r = out_.rewrites[k];
        if (r.kind != Kind::Proven || !r.has_floats || r.sense < FloatSense::ButNan) continue;
        if (!decides) decides = has_decisions(stage.result) || has_decisions(stage.input);
        if (!*decides) return;
        std::optional<std::string> op = "a node that is not found";
        if (++checked <= kMost)
          if (const UOp graph = history_.replay(stage, count)) op = decision_on(graph, list()[k].after, r.sense);
        if (!op) continue;
        r.kind = Kind::Unknown, r.by = {};
        r.why = "it is proven in the sense '" + std::string(tgc::name_of(r.sense)) + "', but " + *op + " depends on it";
      }
  }

  void show_sides(RewriteProof& r) {
    const Application& shown = list()[r.application];
    auto pairs = history_.import({shown.before, shown.after});
    if (!pairs || pairs->empty()) return;
    auto expression = [](UOp u) {
      constexpr size_t kMost = 300;
      if (u.dtype() == dtypes::void_) return std::string();
      const std::string out = render(u);
      return out.size() > kMost ? out.substr(0, kMost) + "..." : out;
    };
    const Sides& s = (*pairs)[0];
    r.before = expression(s.before), r.after = expression(s.after);
    const auto a = r.counterexample.find("before"), b = r.counterexample.find("after");
    if (a == r.counterexample.end() || b == r.counterexample.end()) return;
    r.before_nodes = node_values(s.before, r.counterexample, a->second);
    r.after_nodes = node_values(s.after, r.counterexample, b->second);
  }

  // Measures the first rewrite over the reals of each rule and stage.
  void measure_errors() {
    constexpr size_t kMost = 8;
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (RewriteProof& r : out_.rewrites) {
      if (r.kind != Kind::Proven || !r.has_floats || r.sense != FloatSense::Real) continue;
      if (seen.size() >= kMost || !seen.emplace(r.place.stage, r.place.rule).second) continue;
      const Application& a = list()[r.application];
      if (const auto pairs = history_.import({a.before, a.after})) r.error = prover_.error_of(*pairs);
    }
  }

  static std::string text_of(UOp u) {
    const std::string arg = u.arg().is_none() ? "" : " " + u.arg().repr();
    return std::string(name_of(u.op())) + " " + std::string(u.dtype().repr()) + arg.substr(0, 60);
  }

  RewriteProof decide(const Sides& s) {
    auto pairs = history_.import(s);
    return pairs ? prover_.decide(*pairs) : RewriteProof{.why = pairs.diag().message};
  }

  // ---- what REF computes

  // Runs the graph after each stage in REF, at sample inputs. In the first wrong one, a rewrite is wrong. If all is
  // proven and the kernel is not small, the last graph alone is run: if it is right, nothing else needs to be.
  void check_stages() {
    const bool is_open = std::ranges::any_of(out_.rewrites, [](auto& r) { return r.kind != Kind::Proven; }) ||
                         std::ranges::any_of(out_.findings, [](auto& r) { return r.kind != Kind::Proven; });
    const bool runs_stages = is_open || options_.checks_stages;
    if (!is_open) runner_->compute_few();
    if (!is_open && runs_stages && !runner_->is_small())
      if (is_last_right()) return (void)check_list();
    size_t right = SIZE_MAX;  // the last stage that REF could run; SIZE_MAX: the AST
    auto first = [&] { return right == SIZE_MAX ? 0 : right + 1; };
    for (size_t i = 0; runs_stages && i < stages().size(); i++) {
      if (!stages()[i].changes_graph() || !stages()[i].result) continue;
      if (is_time_over()) throw Failure("the time is over");
      const auto difference = runner_->difference_from_ast(history_.imported(stages()[i].result), kTrials);
      if (!difference) continue;
      out_.checked_stages++;
      if (!difference->empty()) return accuse(first(), i, *difference);
      for (size_t k = first(); k <= i; k++) acquit(k);
      right = i;
    }
    if (check_list())
      for (size_t k = first(); k < stages().size(); k++) acquit(k);
  }

  // Returns whether the last graph that REF can run stores what the AST stores.
  bool is_last_right() {
    for (size_t i = stages().size(); i-- > 0;) {
      if (!stages()[i].changes_graph() || !stages()[i].result) continue;
      const auto difference = runner_->difference_from_ast(history_.imported(stages()[i].result), kTrials);
      if (!difference) continue;
      out_.checked_stages += difference->empty();
      return difference->empty();
    }
    return false;
  }

  // No proof covers the linear list, so REF runs it in any case. Returns whether it stores what the AST stores.
  bool check_list() {
    if (stages().empty()) return false;
    const auto difference = runner_->difference_from_ast(history_.linear(), kTrials);
    if (!difference || difference->empty()) return difference.has_value();
    RewriteProof& finding = add_finding(stages().size() - 1, Kind::Refuted, "the linear list is wrong");
    finding.counterexample["stored"] = *difference;
    return false;
  }

  // Rules of the scheduler and substitutions by a stage move elements between loops, so that the sides of one rewrite
  // alone need not be equal; and a value in place of Invalid is right where a node above it has the same condition.
  // So only a run of the stage in REF refutes such a rewrite.
  void doubt_isolated_sides() {
    for (RewriteProof& r : out_.rewrites) {
      if (r.kind != Kind::Refuted || r.counterexample.contains("stored")) continue;
      const auto before = r.counterexample.find("before");
      const bool is_invalid = before != r.counterexample.end() && before->second == "Invalid";
      if (moves_elements(r) || (!runner_ && is_invalid)) set_unknown(r, "REF does not run the graph of the stage");
    }
  }

  bool moves_elements(const RewriteProof& r) const {
    const Application& a = list()[r.application];
    return r.place.rule.starts_with("schedule/") || (a.substitution_target && a.depth == 0);
  }

  // Returns whether both sides are indices that are computed from loops alone. REF runs all iterations of the loops.
  bool has_only_loops(const Application& a) {
    const auto pairs = history_.import({a.before, a.after});
    auto is_of_loops = [](UOp u) {
      return dtypes::is_int(u.dtype()) && std::ranges::all_of(toposort(u), [](UOp x) {
               return x.in(ops::ALU | OpSet{Op::RANGE, Op::SPECIAL, Op::CONST});
             });
    };
    return pairs && !pairs->empty() && std::ranges::all_of(*pairs, [&](const Sides& s) {
      return s.before && s.after && is_of_loops(s.before) && is_of_loops(s.after);
    });
  }

  // Says where the sides of a rewrite differ, and why it is not refuted.
  static void set_unknown(RewriteProof& r, std::string_view reason) {
    r.kind = Kind::Unknown, r.why = "its sides differ";
    for (auto& [name, value] : r.counterexample)
      r.why += (name == r.counterexample.begin()->first ? " where " : ", ") + name + " = " + value;
    r.why += "; but " + std::string(reason), r.counterexample.clear();
  }

  // REF computes the same after a stage as before it: no rewrite of the stage is wrong for the sample inputs.
  void acquit(size_t stage) {
    // REF shows what a gap computes, and saw no thread store another value to an element of another thread
    for (RewriteProof& f : out_.findings)
      if (f.place.stage_number == stage && f.kind == Kind::Unknown && (f.by == "races" || f.by == "graphs"))
        f.kind = Kind::Sampled;
    for (RewriteProof* r : rewrites_of(stage)) {
      if (r->kind == Kind::Unknown) r->kind = Kind::Sampled;
      if (r->kind != Kind::Refuted || is_shown_by(*r, stage)) continue;
      set_unknown(*r, "the stage computes the same at sample inputs");
      if (moves_elements(*r) || has_only_loops(list()[r->application])) r->kind = Kind::Sampled;
    }
  }

  // Returns whether the stage computes something else if each array holds the value at which the sides of a rewrite
  // differ. Adds how to the rewrite's counterexample.
  bool is_shown_by(RewriteProof& r, size_t stage) {
    const auto difference = runner_->difference_at(history_.imported(stages()[stage].result), r.counterexample);
    if (difference && !difference->empty()) r.counterexample["stored"] = *difference;
    return difference && !difference->empty();
  }

  // The graph after the stage `last` is wrong, and that before the stage `first` is right.
  void accuse(size_t first, size_t last, const std::string& difference) {
    const std::string after = first == last ? "" : ", after '" + std::string(stages()[last].name) + "'";
    std::vector<RewriteProof*> open, known;
    for (size_t i = first; i <= last; i++)
      for (RewriteProof* r : rewrites_of(i)) {
        if (r->kind == Kind::Refuted) known.push_back(r);
        if (r->kind != Kind::Proven && r->kind != Kind::Refuted) open.push_back(r);
      }
    std::vector<RewriteProof*> gaps;
    for (RewriteProof& f : out_.findings)
      if (f.place.stage_number <= last && f.kind != Kind::Proven) gaps.push_back(&f);
    for (RewriteProof* r : known) r->counterexample["stored"] = difference + after;
    const bool is_explained = name_guilty(open) || !known.empty();
    if (is_explained) return;
    if (!open.empty() && (gaps.empty() || open.size() == 1)) return set_refuted(*open[0], difference + after);
    if (!gaps.empty()) return set_refuted(*gaps[0], difference + after);
    RewriteProof& bug = add_finding(last, Kind::Refuted,
                                    "each rewrite is proven, but REF disagrees: this is a bug of tgc's prover");
    bug.counterexample["stored"] = difference + after;
  }

  static void set_refuted(RewriteProof& r, const std::string& difference) {
    r.kind = Kind::Refuted, r.counterexample["stored"] = difference;
  }

  // Of the open rewrites of wrong stages, those are wrong before which the graph stores the right elements, and after
  // which it does not. Returns whether there is one.
  bool name_guilty(std::span<RewriteProof* const> open) {
    constexpr size_t kMost = 32;
    bool is_found = false;
    for (RewriteProof* r : open.first(std::min(kMost, open.size()))) {
      const std::optional<std::string> difference = difference_at(*r);
      if (!difference) continue;
      if (difference->empty()) r->kind = Kind::Sampled;
      else set_refuted(*r, *difference), is_found = true;
    }
    return is_found;
  }

  // Compares the graphs before and after a rewrite, or the rewrite of the stage that contains it.
  std::optional<std::string> difference_at(const RewriteProof& r) {
    const size_t number = history_.stage_of(r.application);
    if (number == SIZE_MAX) return std::nullopt;
    size_t count = 0;
    for (size_t top : stages()[number].tops)
      for (size_t k : history_.tops()[top].applications) count += k < r.application;
    const UOp before = history_.replay(stages()[number], count), after = history_.replay(stages()[number], count + 1);
    if (!before || !after) return std::nullopt;
    return runner_->difference(history_.imported(before), history_.imported(after));
  }

  static constexpr size_t kTrials = 3;  // draws of inputs

  KernelProof& out_;
  RewriteHistory& history_;
  const KernelProofOptions& options_;
  const UOp ast_;
  SidesProver prover_;
  std::optional<StageRunner> runner_;
};

std::unique_ptr<KernelProof> proof_of(std::string kernel, std::string producer, ProofCache& cache,
                                      const KernelProofOptions& options,
                                      const std::function<std::unique_ptr<RewriteHistory>()>& history) {
  auto begin = Clock::now();
  auto out = std::make_unique<KernelProof>();
  out->kernel = std::move(kernel), out->producer = std::move(producer);
  constexpr double kProcessorSeconds = 30, kSeconds = 300;  // by default; the second limit is for work of other threads
  const DeadlineScope limit(options.timeout_seconds.value_or(kSeconds));
  std::optional<ProcessorLimit> processor_limit;
  if (!options.timeout_seconds) processor_limit.emplace(kProcessorSeconds);
  auto done = catch_failures([&] {
    out->history = history();
    KernelProver(*out, cache, options).run();
    return true;
  });
  if (!done && out->history && is_time_over())
    out->findings.push_back({.kind = Kind::Unknown, .why = done.diag().message, .application = SIZE_MAX});
  else if (!done)
    out->error = done.diag();
  out->set_verdict();
  out->seconds = seconds_since(begin);
  return out;
}

}  // namespace

size_t KernelProof::count(Kind kind) const { return size_t(std::ranges::count(rewrites, kind, &RewriteProof::kind)); }

size_t KernelProof::distinct(Kind kind) const {
  std::set<std::string_view> forms;
  size_t out = 0;
  for (const RewriteProof& r : rewrites)
    out += r.kind == kind && (r.form.empty() || forms.insert(r.form).second);
  return out;
}

FloatSense KernelProof::weakest() const {
  FloatSense out = FloatSense::Uninterpreted;
  for (const auto* list : {&rewrites, &findings})
    for (const RewriteProof& r : *list)
      if (r.kind == Kind::Proven && r.has_floats) out = std::max(out, r.sense);
  return out;
}

std::optional<double> KernelProof::largest_error() const {
  std::optional<double> out;
  for (const RewriteProof& r : rewrites)
    if (r.kind == Kind::Proven && r.error) out = std::max(out.value_or(0), *r.error);
  return out;
}

bool KernelProof::has_floats() const { return std::ranges::any_of(rewrites, &RewriteProof::has_floats); }

void KernelProof::set_verdict() {
  auto rank = [](Kind k) { return k == Kind::Refuted ? 3 : k == Kind::Unknown ? 2 : k == Kind::Sampled ? 1 : 0; };
  verdict = error || !history ? Kind::Unknown : Kind::Proven;
  for (const auto* list : {&rewrites, &findings})
    for (const RewriteProof& r : *list)
      if (rank(r.kind) > rank(verdict)) verdict = r.kind;
}

std::unique_ptr<KernelProof> prove_kernel(Compilation compilation, ProofCache& cache,
                                          const KernelProofOptions& options) {
  std::string name = compilation.name();
  return proof_of(std::move(name), "", cache, options, [&] { return native_history(std::move(compilation)); });
}

std::unique_ptr<KernelProof> prove_recording(const InputGraph& in, ProofCache& cache,
                                             const KernelProofOptions& options) {
  auto out = proof_of(in.info.name, in.info.producer, cache, options, [&] { return recorded_history(in); });
  out->is_schedule = in.is_tensor_graph;
  const GoldenRecord& record = *in.record;
  const bool has_kernel = !record.error && !record.source_error && (record.linear || record.source);
  if (has_kernel || in.is_tensor_graph || out->error) return out;
  // The stages that tinygrad finished may be wrong, but without a compiled kernel nothing is right.
  std::string why = "the record has no compiled kernel";
  for (const auto& raised : {record.error, record.source_error})
    if (raised) why += ": tinygrad raised " + raised->substr(0, std::min<size_t>(raised->find('\n'), 120));
  out->error = Diag{.message = why};
  if (out->verdict != Kind::Refuted) out->set_verdict();
  return out;
}

}  // namespace tgc
