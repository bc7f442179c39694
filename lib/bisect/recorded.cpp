// Bisects the recorded pipeline of a kernel of another tinygrad release: runs each recorded stage in REF, finds the
// first stage that computes something else than the AST, and the rewrite of this stage that is the cause.
#include "lib/bisect/recorded.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "lib/bisect/rewrite_sides.h"
#include "lib/compilation/pipeline.h"
#include "lib/compile/compile.h"
#include "lib/driver/import_input.h"
#include "lib/import/import_sides.h"
#include "lib/run/emulated_dtypes.h"
#include "lib/run/kernel_variables.h"
#include "lib/run/recorded_source.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/run_kernel.h"
#include "lib/runtime/compile_source.h"
#include "lib/runtime/random.h"
#include "lib/support/counted.h"
#include "lib/text/apply_rewrites.h"
#include "lib/validate/input_distribution.h"
#include "lib/validate/reference_runner.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;
using Row = Pipeline::Row;

// Arrays and variables for a run, and the results that REF computes from the AST.
struct Trial {
  Arrays inputs, expected;
  VariableValues variables;
  bool is_wide = false;  // the inputs have values of all sizes
};

// Unknown: the graph cannot be imported or run.
enum class StageResult : uint8_t { Same, Differs, Unknown };

class RecordedBisection {
 public:
  RecordedBisection(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                    const RecordedPlan& plan, FailingInputs* failing)
      : session_(session),
        in_(in),
        options_(options),
        report_(report),
        plan_(plan),
        failing_(failing),
        pipeline_(recorded_pipeline(in)),
        rows_(pipeline_->rows().value_or_throw()) {}

  Verdict find() {
    Verdict out = first_difference();
    if (out.kind != Kind::Same && reads_other_stored_elements())
      out = {.kind = Kind::Unresolved,
             .detail = "the AST reads other elements of an array that it stores: the order of its loops decides its "
                       "result, so the cause is in the schedule"};
    return out;
  }

 private:
  Verdict first_difference() {
    make_trials();
    std::vector<const Row*> rows;  // the rows with a new graph that REF can run
    for (const Row& row : rows_) {
      throw_if_cancelled();
      if (!row.list.empty() || (row.result && row.changes_graph())) rows.push_back(&row);
    }
    for (const Trial& t : trials_) {
      if (&t != &trials_[0] && last_outcome(t, rows) == StageResult::Same) continue;
      const Row* right = nullptr;  // the last row before the first wrong one
      for (const Row* row : rows) {
        const StageResult result = outcome(t, *row);
        if (result == StageResult::Same) right = row;
        if (result == StageResult::Differs) return culprit(shown_by(t), *row, right);
      }
    }
    if (auto verdict = plan_.stages_only ? std::nullopt : check_source()) return *verdict;
    if (auto verdict = find_inexact_cast(rows)) return *verdict;
    return {.kind = Kind::Same, .detail = "each of " + counted(compared_rows_.size(), "recorded stage") +
                                          " computes what the AST does"};
  }

  // Returns whether a value that the AST stores depends on another element of the same array, within one set of loops.
  bool reads_other_stored_elements() const {
    for (UOp store : toposort(in_.root)) {
      if (!store.is(Op::STORE) || !store.src(0).is(Op::INDEX)) continue;
      UOp target = store.src(0);
      if (!target.src(0).is(Op::DEFINE_GLOBAL)) continue;
      for (UOp u : toposort(store.src(1)))
        if (u.is(Op::INDEX) && u.src(0) == target.src(0) && !(u.src(1) == target.src(1))) return true;
    }
    return false;
  }
  const Trial& shown_by(const Trial& t) const {
    if (!failing_) return t;
    *failing_ = {.variables = t.variables};
    for (const BufferSpec& b : buffers_of(toposort(in_.root))) {
      const Array *a = find_array(t.inputs, b.name()), *end = find_array(t.expected, b.name());
      if (a && (b.read || (end && may_keep_element(*a, *end)))) failing_->inputs.push_back({b.name(), a->copy()});
    }
    return t;
  }
  // Returns whether an element may be the same at the end of a run as at its begin, because the kernel does
  // not store it.
  static bool may_keep_element(const Array& begin, const Array& end) {
    const size_t bytes = size_t(begin.dtype().itemsize());
    for (size_t at = 0; at + bytes <= std::min(begin.nbytes(), end.nbytes()); at += bytes)
      if (std::equal(begin.data() + at, begin.data() + at + bytes, end.data() + at)) return true;
    return false;
  }
  void throw_if_cancelled() const {
    if (session_.cancelled()) throw Failure("cancelled");
  }

  // ---- runs
  void make_trials() {
    constexpr double kSmall = 1e6;   // UOps that REF evaluates in a few milliseconds
    constexpr double kLarge = 2e8;
    constexpr uint64_t kWide = 16;   // number of trials with inputs of all sizes; two of them have only one sign
    Executable kernel = std::move(Executable::for_ref(in_.root).value_or_throw());
    const double work = work_of(in_.root);
    if (work > kLarge) throw Failure("the kernel is too large for REF: its AST evaluates about " +
                                     formatted("%.0e", work) + " UOps");
    std::string file;
    const Arrays given = given_inputs(options_, in_, file);
    const uint64_t seed = options_.input.seed.value_or(0);
    const InputDistribution draw = input_distribution(in_.root, seed);
    Trial usual{.variables = drawn_variables(kernel, options_.input.variables, seed)};
    usual.inputs = std::move(input_arrays(kernel.buffers(), given, file, draw).value_or_throw());
    Arrays expected = given_expected(options_, in_, file);
    if (expected.empty()) expected = std::move(run(usual, in_.root, true).value_or_throw());
    usual.expected = std::move(expected);
    if (usual.expected.empty()) throw Failure("nothing can be compared: the kernel stores no array");
    const bool is_of_bundle = in_.report.repro && options_.input.arrays.empty();  // reduce keeps the arrays of a trial
    usual.is_wide = is_of_bundle && std::ranges::any_of(usual.inputs, has_large_float);
    trials_.push_back(std::move(usual));
    if ((!given.empty() && !plan_.redraws) || work > kSmall) return;
    const Arrays none;
    for (uint64_t i = 0; i < kWide; i++) {
      Trial wide{.inputs = copy_of(trials_[0].inputs),
                 .variables = drawn_variables(kernel, options_.input.variables, seed + i),
                 .is_wide = true};
      const InputDistribution values{seed + i, draw.floats};
      const auto widened = widen_inputs(in_.root, values, plan_.redraws ? none : given, wide.inputs);
      for (NamedArray& a : wide.inputs)
        if (i < 2 && draw.floats == Floats::Normal && widened.contains(a.name)) set_signs(a.array, i == 0 ? -1 : 1);
      auto done = run(wide, in_.root, true);
      if (!done) continue;  // these values make the AST itself fail
      wide.expected = std::move(*done);
      trials_.push_back(std::move(wide));
    }
  }

  static bool has_large_float(const NamedArray& a) {
    constexpr double kUsual = 16;  // floats that fill_random() draws are smaller
    if (!dtypes::is_float(a.array.dtype())) return false;
    for (int64_t i = 0; i < a.array.size(); i++)
      if (std::fabs(element_as_double(a.array, i)) > kUsual) return true;
    return false;
  }

  // Runs a graph or list of tgc's IR in REF.
  template <class Graph>
  Result<Arrays> run(const Trial& t, const Graph& graph, bool is_ast = false) {
    report_.counts.runs++;
    const ExecuteOptions place = options_.device.execute_options(place_in_ref());
    const Arrays inputs = is_ast ? copy_of(t.inputs) : with_dtypes_of(t.inputs, buffers_of(nodes_of(graph)));
    auto done = ReferenceRunner(inputs, t.variables, place).run(graph);
    if (!done) return done.diag();
    return with_dtypes_of(done->outputs, buffers_of(toposort(in_.root)));
  }
  static std::vector<UOp> nodes_of(UOp root) { return toposort(root); }
  static std::span<const UOp> nodes_of(const std::vector<UOp>& list) { return list; }

  StageResult compare(const Trial& t, const Result<Arrays>& done) {
    if (!done) return done.diag().kernel_fault ? StageResult::Differs : StageResult::Unknown;
    if (is_exact_) {
      auto is_same = [&](const NamedArray& e) {
        const Array* a = find_array(*done, e.name);
        return a && a->nbytes() == e.array.nbytes() && std::equal(a->data(), a->data() + a->nbytes(), e.array.data());
      };
      return std::ranges::all_of(t.expected, is_same) ? StageResult::Same : StageResult::Differs;
    }
    const ReferenceRunner ref(t.inputs, t.variables, options_.device.execute_options(place_in_ref()));
    Arrays settled;
    auto compared = ref.compare(in_.root, *done, t.expected, options_.compare, Recheck::IfCheap, &settled);
    if (!compared) return StageResult::Unknown;
    for (size_t i = 0; i < compared->size(); i++) {
      const Comparison& c = (*compared)[i];
      if (c.passed()) continue;
      if (t.is_wide && !is_beyond_rounding(c, *find_array(settled, c.name), t.expected[i].array)) continue;
      report_.failure = c.text().substr(0, c.text().find('\n'));
      return StageResult::Differs;
    }
    return StageResult::Same;
  }

  // Returns whether more than rounding makes the arrays differ. With inputs of all sizes, roundings can add up to more
  // than the tolerance for usual inputs, and another order of operations can overflow.
  static bool is_beyond_rounding(const Comparison& c, const Array& actual, const Array& expected) {
    if (!dtypes::is_float(c.dtype)) return true;
    const int bytes = c.dtype.itemsize();
    const double tolerance = bytes >= 4 ? 1e-3 : bytes == 2 ? 3e-2 : 0.2;
    const double large = bytes == 8 ? 1e150 : c.dtype.scalar_kind() == Scalar::Float16 ? 1e3 : bytes == 1 ? 100 : 1e18;
    for (int64_t i = 0; i < actual.size(); i++) {
      const double a = element_as_double(actual, i), e = element_as_double(expected, i);
      if (a == e || !(std::fabs(e) < large)) continue;
      if (!std::isfinite(a) || std::fabs(a - e) > tolerance * std::max(std::fabs(a), std::fabs(e)) + c.tolerance.atol)
        return true;
    }
    return false;
  }

  // Runs a recorded graph, which may be a part of a stage.
  StageResult outcome(const Trial& t, UOp original) {
    auto [known, is_new] = outcomes_.try_emplace({&t, original.id()}, StageResult::Unknown);
    if (!is_new) return known->second;
    const ImportedGraph* graph = imported(original);
    if (!graph) return StageResult::Unknown;
    return outcomes_[{&t, original.id()}] = compare(t, run(t, graph->root));
  }
  StageResult outcome(const Trial& t, const Row& row) {
    StageResult result;
    if (row.list.empty()) {
      result = outcome(t, row.result);
    } else {
      auto imported = import_graph(row.list.back(), row.list, in_.graph->settings());
      result = imported ? compare(t, run(t, imported->list)) : StageResult::Unknown;
    }
    if (result != StageResult::Unknown) compared_rows_.insert(&row);
    return result;
  }
  const ImportedGraph* imported(UOp original) {
    auto [it, is_new] = imported_.try_emplace(original.id());
    if (is_new)
      if (auto graph = import_graph(original, {}, in_.graph->settings())) it->second = std::move(*graph);
    return it->second.graph ? &it->second : nullptr;
  }

  // Looks for a rewrite of a CAST that computes other bits. The comparison of whole kernels accepts differences that
  // rounding can explain, but IEEE 754 defines the result of a cast to the last bit.
  std::optional<Verdict> find_inexact_cast(const std::vector<const Row*>& rows) {
    std::set<const Row*> suspicious;
    const Trial& t = trials_.back();
    for (const Row* row : rows) {
      evaluate(t, *row);
      for (const Rewrite& m : row->rewrites)
        if (is_inexact_cast(m)) suspicious.insert(row);
    }
    if (suspicious.empty()) return std::nullopt;
    is_exact_ = true;
    outcomes_.clear();
    for (const Row* row : rows) {
      const StageResult result = outcome(t, *row);
      if (result != StageResult::Differs) continue;
      if (!suspicious.contains(row)) return std::nullopt;
      const Rewrite* m = by_replay(shown_by(t), *row);
      return m && is_inexact_cast(*m) ? std::optional(verdict(*row, *m)) : std::nullopt;
    }
    return std::nullopt;
  }
  bool is_inexact_cast(const Rewrite& m) const {
    auto found = sides_.find(&m);
    return m.before.is(Op::CAST) && found != sides_.end() &&
           (found->second.kind == EquivalenceResult::Kind::Differ || !found->second.exactly);
  }

  // Returns the outcome of the last row that REF can run.
  StageResult last_outcome(const Trial& t, const std::vector<const Row*>& rows) {
    StageResult out = StageResult::Unknown;
    for (size_t i = rows.size(); i-- > 0 && out == StageResult::Unknown;) out = outcome(t, *rows[i]);
    return out;
  }

  // ---- the rewrites of a stage

  // Names the culprit among the rewrites of the rows after `right` (null: the AST) up to `wrong`.
  Verdict culprit(const Trial& t, const Row& wrong, const Row* right) {
    Verdict out{.kind = Kind::Unresolved, .stage = std::string(wrong.stage->name)};
    if (!pipeline_->can(Ability::Rewrites)) {
      out.detail = "this is the first recorded stage that computes something else; a recording of "
                   "tinygrad_export.py --rewrites lets bisect look for the rule";
      return out;
    }
    const Row* first = rows_.data();
    if (right) first = right + 1;
    for (const Row* row = first; row <= &wrong; row++) evaluate(t, *row);
    if (const Rewrite* m = by_replay(t, wrong)) return verdict(wrong, *m);
    for (const Row* row = first; row <= &wrong; row++)
      if (const Rewrite* m = by_sides(t, *row)) return verdict(*row, *m);
    out.detail = "this is the first recorded stage that computes something else, but no single rewrite is the cause";
    return out;
  }

  // Compares both sides of each rewrite of a row in REF, at sample points.
  void evaluate(const Trial& t, const Row& row) {
    SidesImporter importer(in_.graph->settings());
    std::vector<Sides> sides;
    std::vector<const Rewrite*> of;
    for (const Rewrite& m : row.rewrites) {
      report_.counts.rewrites++;
      auto both = importer.import(m.before, m.after);
      if (!both || both->pairs.empty()) continue;
      report_.counts.compared++;
      for (auto [before, after] : both->pairs) sides.push_back({before, after, both->tolerance}), of.push_back(&m);
    }
    if (sides.empty()) return;
    auto results = compare_in_batches(sides, t.inputs, t.variables);
    if (!results) return;
    for (size_t i = 0; i < sides.size(); i++) {
      EquivalenceResult& known = sides_[of[i]];
      const EquivalenceResult& next = (*results)[i];
      if (known.kind != EquivalenceResult::Kind::Differ || (next.beyond_rounding && next.points > known.points))
        known = next;
    }
  }

  bool is_suspect(const Rewrite& m, int one_in) const {
    auto found = sides_.find(&m);
    return found != sides_.end() && found->second.differs_at_one_in(one_in);
  }

  // Searches for the first rewrite after which the graph is wrong.
  const Rewrite* by_replay(const Trial& t, const Row& row) {
    const std::vector<const Rewrite*> own = row.own_rewrites();
    const size_t n = own.size();
    if (!row.result || n == 0) return nullptr;
    for (bool bottom_up : {false, true}) {
      // a stage that is a function may also change the graph without a rewrite
      const UOp last = pipeline_->replay(row, n, bottom_up);
      if (!(last == row.result) && (!last || outcome(t, last) != StageResult::Differs)) continue;
      auto result = [&](size_t count) {
        throw_if_cancelled();
        UOp graph = count == n ? last : pipeline_->replay(row, count, bottom_up);
        return !graph ? StageResult::Unknown : graph == row.input ? StageResult::Same : outcome(t, graph);
      };
      // Invariant: the graph is right after `right` rewrites and not right after `wrong` rewrites.
      size_t right = 0, wrong = n;
      while (wrong - right > 1) {
        const size_t middle = (right + wrong) / 2;
        (result(middle) == StageResult::Same ? right : wrong) = middle;
      }
      const Rewrite& whole = *own[wrong - 1];
      if (result(wrong) != StageResult::Differs) return nullptr;
      proof_ = "in REF the graph is right before it, and wrong after it";
      const Rewrite* nested = nested_culprit(row, whole);
      return nested ? nested : &whole;
    }
    return nullptr;
  }

  // Returns a rewrite that the rule of `whole` made while it ran, and whose sides differ; null if there is none.
  const Rewrite* nested_culprit(const Row& row, const Rewrite& whole) {
    const Rewrite* first = &whole;
    while (first > row.rewrites.data() && first[-1].depth > whole.depth) first--;
    for (const Rewrite* m = first; m < &whole; m++)
      if ((is_exact_ ? is_inexact_cast(*m) : is_suspect(*m, 4)) && !is_substitution(*m)) return m;
    return nullptr;
  }
  bool is_substitution(const Rewrite& m) const { return m.place.starts_with("uop/ops.py:"); }

  // Returns the rewrite whose sides differ, if it is the only one, or if the graph is right without it.
  const Rewrite* by_sides(const Trial& t, const Row& row) {
    std::vector<const Rewrite*> suspects;
    for (const Rewrite& m : row.rewrites)
      if (is_suspect(m, 32) && !is_substitution(m)) suspects.push_back(&m);
    for (const Rewrite* m : suspects) {
      if (!row.result) break;
      const UOp without = apply_rewrites(row.result, {{m->after, m->before}}, true);
      if (!without || without == row.result || outcome(t, without) != StageResult::Same) continue;
      proof_ = "in REF the graph after the stage is wrong, and right without the rewrite";
      return m;
    }
    auto is_same_rule = [&](const Rewrite* m) { return m->place == suspects[0]->place; };
    if (suspects.empty() || !std::ranges::all_of(suspects, is_same_rule)) return nullptr;
    auto clear = std::ranges::find_if(suspects, [&](const Rewrite* m) { return is_suspect(*m, 4); });
    return clear == suspects.end() ? nullptr : *clear;
  }

  Verdict verdict(const Row& row, const Rewrite& m) {
    Verdict out{.kind = Kind::Rewrite, .stage = std::string(row.stage->name), .rule = m.place, .location = m.place};
    for (const Rewrite& other : row.rewrites) {
      out.rewrite += other.place == m.place;
      if (&other == &m) break;
    }
    const GoldenStage* stage = row.recorded;
    if (stage && !stage->at.empty()) {
      const std::string& call = stage->at[0];
      out.stage_location = call;
      if (m.depth == 0 && (is_substitution(m) || m.place == call)) {
        // the stage is a function that chooses what is replaced
        out.rule = out.location = call, out.function_location = stage->function;
        out.stage_location = stage->at[std::min<size_t>(1, stage->at.size() - 1)];
      }
    }
    out.tinygrad_location = out.location;
    out.before = side_text(m.before), out.after = side_text(m.after);
    if (auto found = sides_.find(&m); found != sides_.end() && found->second.kind == EquivalenceResult::Kind::Differ) {
      out.witness = found->second.point;
      out.witness["before"] = found->second.before, out.witness["after"] = found->second.after;
    }
    out.confirmed = !proof_.empty();
    out.proof = proof_.empty() ? "its sides differ, and its stage is the first wrong one" : proof_;
    return out;
  }

  // ---- the source

  bool has_floats() const {
    return std::ranges::any_of(toposort(in_.root), [](UOp u) { return dtypes::is_float(u.dtype().base()); });
  }

  // Runs the recorded source on its device. Returns a verdict if it computes something else than the AST.
  std::optional<Verdict> check_source() {
    if (!has_recorded_source(in_)) return std::nullopt;
    auto place = placement_for(session_, options_.device.name, in_);
    if (!place || !place->target || place->is_ref) return std::nullopt;
    auto made = recorded_executable(in_, *place, 0);
    if (!made) return Verdict{.kind = Kind::Renderer, .detail = made.diag().text()};
    report_.device = place->label;
    for (const Trial& t : trials_) {
      if (&t != &trials_[0] && has_floats()) break;  // devices differ in float operations on values of all sizes
      auto result = [&] {
        report_.counts.runs++;
        auto inputs = input_arrays(made->buffers(), t.inputs, "", std::nullopt);
        if (!inputs) return StageResult::Unknown;
        auto done = execute(*made, *place->device, *inputs, t.variables, options_.device.execute_options(*place));
        if (!done) {
          report_.failure = done.diag().message;
          const bool is_fault = done.diag().kernel_fault || report_.failure.starts_with("killed by ");
          return is_fault ? StageResult::Differs : StageResult::Unknown;
        }
        return compare(t, Result<Arrays>(copy_of(done->outputs)));
      };
      if (result() != StageResult::Differs) continue;
      shown_by(t);
      Verdict out{.kind = Kind::Device,
                  .detail = "each recorded stage and the list are right in REF: the renderer, the compiler or the "
                            "device is wrong",
                  .stage = "source"};
      if (place->target->device != "CPU") return out;
      out.kind = Kind::Renderer;
      out.detail = "each recorded stage and the list are right in REF, but the source is wrong with every compiler";
      auto job = job_for(made->source());
      for (bool by_other : {false, true}) {
        if (!job) break;
        job->passes = by_other ? -1 : 0, job->by_other = by_other;
        auto code = compile_uncached(*job, Artifact::Binary);
        if (!code) continue;
        made->set_code(std::move(*code));
        if (result() != StageResult::Same) continue;
        out.kind = Kind::Compiler, out.confirmed = true;
        out.detail = by_other ? "the source is right if the other compiler compiles it"
                              : "the source is right without the compiler's optional passes";
        break;
      }
      return out;
    }
    return std::nullopt;
  }

  const Session& session_;
  InputGraph& in_;
  const RunOptions& options_;
  BisectReport& report_;
  const RecordedPlan plan_;
  FailingInputs* const failing_;
  const std::unique_ptr<Pipeline> pipeline_;
  const std::span<const Row> rows_;
  std::deque<Trial> trials_;
  std::map<std::pair<const Trial*, uint32_t>, StageResult> outcomes_;  // by trial and id of the recorded graph
  std::map<uint32_t, ImportedGraph> imported_;                     // by id of the recorded graph
  std::set<const Row*> compared_rows_;
  std::map<const Rewrite*, EquivalenceResult> sides_;
  std::string proof_;
  bool is_exact_ = false;  // compare bit by bit, not up to rounding
};

}  // namespace

Verdict bisect_recorded(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                        const RecordedPlan& plan, FailingInputs* failing) {
  return RecordedBisection(session, in, options, report, plan, failing).find();
}

}  // namespace tgc
