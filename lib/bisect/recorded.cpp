#include "lib/bisect/recorded.h"

#include <algorithm>
#include <optional>

#include "lib/bisect/known_faults.h"
#include "lib/bisect/opened_loop.h"
#include "lib/bisect/recorded_backend.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/stage_comparer.h"
#include "lib/compilation/pipeline.h"
#include "lib/import/import_sides.h"
#include "lib/rewrite/apply_rewrites.h"
#include "lib/run/recorded_race.h"
#include "lib/support/counted.h"
#include "lib/support/first_wrong.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;
using StageData = Pipeline::StageData;

using Trial = RecordedTrial;

struct KnownFaultRewrite {
  const StageData* row = nullptr;
  size_t num_replayed = 0;
  UOp before, after;
};

std::string stage_name(const StageData& row) { return std::string(row.stage->name); }

class RecordedBisection {
 public:
  RecordedBisection(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                    const RecordedBisectPlan& plan, FailingInputs* failing)
      : session_(session),
        input_graph_(in),
        options_(options),
        report_(report),
        plan_(plan),
        failing_inputs_(failing),
        pipeline_(std::move(session.pipeline(in).value_or_throw())),
        rows_(pipeline_->rows().value_or_throw()),
        comparer_(session, in, options, report, plan),
        backend_(session, in, options, report, comparer_) {}

  Verdict find_verdict() {
    report_.pipeline_kind = pipeline_->kind();
    Verdict out = first_difference();
    if (out.kind != Kind::Same && reads_other_stored_elements())
      out = {.kind = Kind::Unresolved,
             .detail = "the AST reads other elements of an array that it stores: the order of its loops decides its "
                       "result, so the cause is in the schedule"};
    return out;
  }

 private:
  Verdict first_difference() {
    comparer_.make_trials();
    std::vector<const StageData*> rows;
    for (const StageData& row : rows_) {
      throw_if_cancelled();
      if (!row.list.empty() || (row.result && row.changes_graph())) rows.push_back(&row);
    }
    std::optional<Verdict> known;
    for (Trial& t : comparer_.trials())
      if (auto verdict = search_trial(t, rows, known)) return *verdict;
    if (auto verdict = find_dropped_barrier()) return *verdict;
    if (auto verdict = plan_.should_skip_source ? std::nullopt : backend_.check_source()) {
      if (verdict->kind != Kind::Same && backend_.failing_trial()) store_failing_inputs(*backend_.failing_trial());
      if (verdict->kind != Kind::Same || comparer_.compared_rows().empty()) return *verdict;
    }
    if (known) return *known;
    if (auto verdict = find_inexact_cast(rows)) return *verdict;
    report_.failure_text.clear();
    if (comparer_.compared_rows().empty() && !rows.empty() && !backend_.has_compared_source())
      throw Failure("nothing was compared: no recorded stage can be run in REF (" + comparer_.unknown_reason() +
                    "), and the recorded source was not run: " + backend_.not_run_reason());
    const size_t compared = comparer_.compared_rows().size();
    const std::string stages = "each of " + count_text(compared, "recorded stage") + " computes what the AST does";
    const std::string source = source_note();
    const std::string up_to = source.empty() ? "" : "up to the recorded source: ";
    return {.kind = Kind::Same,
            .detail = up_to + stages + left_out_note(rows.size() - compared) + verdict_note_ + source};
  }

  // If threads race for shared memory in the linear list, names the rewrite that drops a barrier or, if there is none,
  // the stage that should add the barrier. REF cannot show a race, because it runs the threads in lockstep.
  std::optional<Verdict> find_dropped_barrier() {
    const auto race = find_recorded_race(*pipeline_);
    if (!race) return std::nullopt;
    Verdict out{.kind = Kind::Barrier, .detail = race->text()};
    auto barriers = [](UOp u) {
      return u ? std::ranges::count_if(toposort(u), [](UOp x) { return x.is(Op::BARRIER); }) : 0;
    };
    for (const StageData& row : rows_) {
      const std::string at = row.recorded_stage ? row.recorded_stage->first_call_place() : "";
      if (row.stage->name == kBarrierStageName) {  // this stage has to add the barrier
        out.stage = stage_name(row), out.stage_location = at;
        out.function = std::string(race->is_load_first ? "add_war" : "add_raw") + "_barrier (codegen/__init__.py)";
      }
      if (!row.result || barriers(row.result) >= barriers(row.input)) continue;
      for (const Rewrite& m : row.rewrites) {
        if (barriers(m.after) >= barriers(m.before)) continue;
        out.stage = stage_name(row), out.stage_location = at, out.function.clear();
        out.rule = out.location = out.tinygrad_location = m.source_location;
        out.before = tree_text(m.before, 3), out.after = tree_text(m.after, 3);
        auto has_place = [&](const Rewrite& o) { return o.source_location == m.source_location; };
        out.rewrite_number = 1 + size_t(std::count_if(row.rewrites.data(), &m, has_place));
        return out;
      }
    }
    return out;
  }

  std::string left_out_note(size_t count) const {
    if (!count || comparer_.unknown_reason().empty()) return "";
    return "; " + count_text(count, "other stage") + " cannot be run in REF: " + comparer_.unknown_reason();
  }

  std::string source_note() const {
    const std::string& target = input_graph_.info.target;
    if (plan_.should_skip_source || backend_.has_compared_source() || target.empty() || !input_graph_.record->source)
      return "";
    return "; nothing is known about the recorded source, which was not run: " + backend_.not_run_reason();
  }

  // Looks for the first stage that differs for the inputs of `t`, and returns the verdict on its culprit. If a known
  // fault explains the culprit, continues the search after it if it can, and sets `known` to the first such verdict.
  std::optional<Verdict> search_trial(Trial& t, const std::vector<const StageData*>& rows,
                                      std::optional<Verdict>& known) {
    constexpr int kMostKnown = 8;
    first_row_ = nullptr, first_rewrite_index_ = 0;
    for (const KnownFaultRewrite& k : known_fault_rewrites_) skip_known_rewrite(t, k);
    for (int tries = 0; tries < kMostKnown; tries++) {
      throw_if_cancelled();
      if (!options_.compare.should_run_each_stage && last_outcome(t, rows) == StageResult::Same) {
        const bool is_usual = &t == &comparer_.trials().front();
        if (is_usual && !comparer_.is_large()) compare_intermediate_stages(t, rows);
        return std::nullopt;
      }
      const StageData *right = nullptr, *wrong = nullptr;
      for (const StageData* row : rows) {
        if (first_row_ && row < first_row_) continue;
        const StageResult result = comparer_.outcome(t, *row);
        if (result == StageResult::Same) right = row;
        if (result == StageResult::Differs) wrong = row;
        if (wrong) break;
      }
      if (!wrong) return std::nullopt;
      if (are_wrong_stages_unlikely(t, rows)) return std::nullopt;
      Verdict found = find_culprit(store_failing_inputs(t), *wrong, right);
      if (found.kind != Kind::Known || !found_rewrite_.after) return found;
      if (!known) known = found;
      known_fault_rewrites_.push_back(found_rewrite_);
      skip_known_rewrite(t, found_rewrite_);
    }
    return std::nullopt;
  }
  void compare_intermediate_stages(const Trial& t, const std::vector<const StageData*>& rows) {
    for (const StageData* row : rows)
      if (comparer_.outcome(t, *row) == StageResult::Differs && verdict_note_.empty())
        verdict_note_ = "; '" + stage_name(*row) +
                "' looks wrong, but the stages after it are right: tgc may not import it rightly";
    report_.failure_text.clear();
  }
  // If the known rewrite `k` changes the results of `t`, makes the search begin after `k`, with new expected results.
  void skip_known_rewrite(Trial& t, const KnownFaultRewrite& k) {
    if (comparer_.outcome(t, k.before) != StageResult::Same || comparer_.outcome(t, k.after) != StageResult::Differs)
      return;
    comparer_.set_expected_graph(t, k.after);
    first_row_ = k.row, first_rewrite_index_ = k.num_replayed;
  }
  // Returns true if REF cannot run the last row, but the recorded source was run and is right. Then the import is
  // probably wrong.
  bool are_wrong_stages_unlikely(const Trial& t, const std::vector<const StageData*>& rows) {
    if (plan_.should_skip_source || options_.compare.should_run_each_stage ||
        comparer_.outcome(t, *rows.back()) != StageResult::Unknown)
      return false;
    if (backend_.source_outcome(t) != StageResult::Same) return false;
    verdict_note_ = ", or is right in the recorded source";
    return true;
  }

  // Returns true if the AST stores a value that depends on an element of the same array at another index expression.
  bool reads_other_stored_elements() const {
    for (UOp store : toposort(input_graph_.root)) {
      if (!store.is(Op::STORE) || !store.src(0).is(Op::INDEX)) continue;
      UOp target = store.src(0);
      if (!target.src(0).is(Op::DEFINE_GLOBAL)) continue;
      for (UOp u : toposort(store.src(1)))
        if (u.is(Op::INDEX) && u.src(0) == target.src(0) && !(u.src(1) == target.src(1))) return true;
    }
    return false;
  }
  const Trial& store_failing_inputs(const Trial& t) const {
    if (!failing_inputs_) return t;
    *failing_inputs_ = {.variables = t.variables};
    for (const BufferSpec& b : buffers_of_nodes(toposort(input_graph_.root))) {
      const Array *a = find_array(t.inputs, b.name()), *end = find_array(t.expected, b.name());
      if (a && (b.is_read || (end && may_keep_element(*a, *end))))
        failing_inputs_->inputs.push_back({b.name(), a->copy()});
    }
    return t;
  }
  static bool may_keep_element(const Array& begin, const Array& end) {
    const size_t bytes = size_t(begin.dtype().itemsize());
    for (size_t at = 0; at + bytes <= std::min(begin.nbytes(), end.nbytes()); at += bytes)
      if (std::equal(begin.data() + at, begin.data() + at + bytes, end.data() + at)) return true;
    return false;
  }
  void throw_if_cancelled() const {
    if (session_.is_cancelled()) throw Failure("cancelled");
  }

  // Looks for a rewrite that changes bits which IEEE 754 defines: of the result of a cast or, if must_be_exact(), of
  // any result.
  std::optional<Verdict> find_inexact_cast(const std::vector<const StageData*>& rows) {
    std::set<const StageData*> suspicious;
    const Trial &usual = comparer_.trials().front(), &t = comparer_.trials().back();
    for (const StageData* row : rows) {
      compare_row_sides(t, *row);
      for (const Rewrite& m : row->rewrites)
        if (is_inexact_cast(m)) suspicious.insert(row);
    }
    const bool must_be_exact = comparer_.must_be_exact();
    if (suspicious.empty() && !must_be_exact) return std::nullopt;
    comparer_.require_exact_results();
    for (const Trial& trial : comparer_.trials()) {
      const bool is_extreme = trial.has_edge_cases || trial.has_large_values;
      if (&trial != &usual && &trial != &t && !(must_be_exact && is_extreme)) continue;
      if (must_be_exact && last_outcome(trial, rows) == StageResult::Same) continue;
      const StageData* right = nullptr;
      for (const StageData* row : rows) {
        const StageResult result = comparer_.outcome(trial, *row);
        if (result == StageResult::Same) right = row;
        if (result != StageResult::Differs) continue;
        if (must_be_exact) compare_row_sides(trial, *row);
        if (!suspicious.contains(row) && !must_be_exact) return std::nullopt;
        const Rewrite* m = find_by_replay(store_failing_inputs(trial), *row, right, false);
        if (m && (must_be_exact || is_inexact_cast(*m))) return make_verdict(trial, *row, *m);
        if (verdict_note_.empty())
          verdict_note_ = ", but '" + stage_name(*row) + "' rounds otherwise than IEEE 754's casts do";
        break;
      }
    }
    return std::nullopt;
  }
  // Returns true if `m` rewrites a CAST and its sides differ. If both have the same dtype, they must be equal to the
  // last bit; else tinygrad emulates a float dtype, and rounds later, when the value is stored.
  bool is_inexact_cast(const Rewrite& m) const {
    auto found = side_results_.find(&m);
    if (!m.before.is(Op::CAST) || found == side_results_.end()) return false;
    return found->second.kind == EquivalenceResult::Kind::Differ ||
           (m.before.dtype() == m.after.dtype() && !found->second.is_exact);
  }

  // Returns true if the sides of `m` must be equal to the last bit, and are not.
  bool is_inexact_rewrite(const Rewrite& m) const {
    if (!comparer_.must_be_exact() || m.before.is(Op::CAST)) return is_inexact_cast(m);
    auto found = side_results_.find(&m);
    if (!(m.before.dtype() == m.after.dtype())) return false;
    return found != side_results_.end() &&
           (found->second.kind == EquivalenceResult::Kind::Differ || !found->second.is_exact);
  }

  StageResult last_outcome(const Trial& t, const std::vector<const StageData*>& rows) {
    StageResult out = StageResult::Unknown;
    for (size_t i = rows.size(); i-- > 0 && out == StageResult::Unknown;) out = comparer_.outcome(t, *rows[i]);
    return out;
  }

  // Names the culprit among the rewrites of the rows after `right` up to `wrong`. A null `right` is the AST.
  Verdict find_culprit(const Trial& t, const StageData& wrong, const StageData* right) {
    Verdict out{.kind = Kind::Unresolved, .stage = stage_name(wrong)};
    if (!pipeline_->has_ability(Ability::Rewrites)) {
      out.detail = "this is the first recorded stage that computes something else; a recording of "
                   "tinygrad_export.py --rewrites lets bisect look for the rule";
      return out;
    }
    const StageData* first = rows_.data();
    if (right) first = right + 1;
    for (const StageData* row = first; row <= &wrong; row++) compare_row_sides(t, *row);
    found_rewrite_ = {}, verdict_proof_.clear();
    for (bool only_whole : {true, false})
      if (const Rewrite* m = find_by_replay(t, wrong, right, only_whole)) return make_verdict(t, wrong, *m);
    for (const StageData* row = first; row <= &wrong; row++)
      if (const Rewrite* m = rewrite_that_opens_loop(row->rewrites)) {
        verdict_proof_ = "its result uses a loop outside of this loop, and all stages before it are right";
        return make_verdict(t, *row, *m);
      }
    for (const StageData* row = first; row <= &wrong; row++) {
      if (row != &wrong && row->changes_graph()) {  // a row between `right` and `wrong` that REF cannot run
        out.stage = stage_name(*row);
        out.detail = "this recorded stage cannot be run in REF (" + comparer_.unknown_reason() + "), and '" +
                     stage_name(wrong) + "' after it computes something else";
        const Rewrite* m = find_by_sides(t, *row);
        return m ? make_verdict(t, *row, *m) : out;
      }
      if (const Rewrite* m = find_by_sides(t, *row)) return make_verdict(t, *row, *m);
    }
    const bool is_opts = wrong.recorded_stage && stage_name(wrong) == "apply opts";
    if (is_opts && has_right_input(wrong, right)) return opts_stage_verdict(wrong);
    out.detail = "this is the first recorded stage that computes something else, but no single rewrite is the cause";
    return out;
  }
  Verdict opts_stage_verdict(const StageData& row) {
    Verdict out{.kind = Kind::Rewrite, .stage = stage_name(row)};
    const GoldenStage& stage = *row.recorded_stage;
    out.rule = out.location = out.tinygrad_location = stage.function;
    out.function_location = stage.function;
    out.stage_location = stage.first_call_place();
    out.is_confirmed = true, out.proof = "in REF the graph is right before the stage, and wrong after it";
    const auto& program = input_graph_.record->program;
    if (program && !program->applied_opts.empty())
      out.detail = "the opts of the kernel are the cause: " + program->applied_opts;
    return out;
  }
  // Compares in REF, at sample points, both sides of each rewrite of `row` that can be imported. Sets side_results_.
  void compare_row_sides(const Trial& t, const StageData& row) {
    SidesImporter importer(input_graph_.graph->settings());
    std::vector<RewriteSides> sides;
    std::vector<const Rewrite*> of;
    for (const Rewrite& m : row.rewrites) {
      report_.counts.num_rewrites++;
      auto both = importer.import(m.before, m.after);
      if (!both || both->pairs.empty()) continue;
      report_.counts.num_compared++;
      for (auto [before, after] : both->pairs) sides.push_back({before, after, both->tolerance}), of.push_back(&m);
    }
    if (sides.empty()) return;
    auto results = compare_in_batches(sides, t.inputs, t.variables);
    if (!results) return;
    for (size_t i = 0; i < sides.size(); i++) {
      EquivalenceResult& known = side_results_[of[i]];
      const EquivalenceResult& next = (*results)[i];
      const bool is_exact = known.is_exact && next.is_exact;
      if (known.kind != EquivalenceResult::Kind::Differ ||
          (next.is_beyond_rounding && next.num_differing_points > known.num_differing_points))
        known = next;
      known.is_exact = is_exact;
    }
  }

  bool is_suspect(const Rewrite& m, int one_in) const {
    auto found = side_results_.find(&m);
    return found != side_results_.end() && found->second.differs_at_one_point_in(one_in);
  }
  bool has_right_input(const StageData& row, const StageData* right_row) const {
    return row.input == (right_row ? right_row->result : pipeline_->ast());
  }
  // Returns a rewrite before which the graph is right and after which it is wrong, or the culprit nested in it; null if
  // none is found. With `only_whole`, graphs in which only some uses of a loop are rewritten count as unknown.
  const Rewrite* find_by_replay(const Trial& t, const StageData& row, const StageData* right_row, bool only_whole) {
    const std::vector<const Rewrite*> own = row.own_rewrites();
    const size_t n = own.size();
    if (!row.result || n == 0) return nullptr;
    const bool is_right_before = has_right_input(row, right_row);
    for (bool bottom_up : {false, true}) {
      // skip this order of rewriting if it does not lead to the row's result, or to another graph that is wrong as well
      const UOp last = pipeline_->replay_rewrites(row, n, bottom_up);
      if (!(last == row.result) && (!last || comparer_.outcome(t, last) != StageResult::Differs)) continue;
      auto graph_after = [&](size_t k) { return k == n ? last : pipeline_->replay_rewrites(row, k, bottom_up); };
      auto is_wrong = [&](size_t count) -> std::optional<bool> {
        throw_if_cancelled();
        UOp graph = graph_after(count);
        if (!graph) return std::nullopt;
        if (graph == row.input && is_right_before && first_row_ != &row) return false;
        const StageResult r = only_whole ? comparer_.outcome_of_partial_graph(t, graph) : comparer_.outcome(t, graph);
        return r == StageResult::Unknown ? std::nullopt : std::optional(r == StageResult::Differs);
      };
      const size_t first = first_row_ == &row ? first_rewrite_index_ : 0;
      const auto wrong = is_wrong(n) == true ? find_first_wrong(first, n, is_wrong) : std::nullopt;
      if (!wrong || is_wrong(*wrong - 1) != false) return nullptr;
      found_rewrite_ = {&row, *wrong, graph_after(*wrong - 1), graph_after(*wrong)};
      const Rewrite& whole = *own[*wrong - 1];
      verdict_proof_ = "in REF the graph is right before it, and wrong after it";
      const Rewrite* nested = nested_culprit(row, whole);
      if (!nested && comparer_.is_exact() && has_nested_rewrites(row, whole)) return nullptr;  // the culprit is unknown
      return nested ? nested : &whole;
    }
    return nullptr;
  }
  // Returns the first rewrite nested in `whole`, inner ones first, whose sides clearly differ, or else the first one
  // whose sides differ. With comparer_.is_exact(), is_inexact_rewrite() decides. Returns null if there is none.
  const Rewrite* nested_culprit(const StageData& row, const Rewrite& whole) {
    const Rewrite* first = &whole;
    while (first > row.rewrites.data() && first[-1].depth > whole.depth) first--;
    for (int one_in : {4, 32}) {
      for (const Rewrite* m = first; m < &whole; m++)
        if ((comparer_.is_exact() ? is_inexact_rewrite(*m) : is_suspect(*m, one_in)) && !is_substitution(*m)) return m;
    }
    return nullptr;
  }
  static bool has_nested_rewrites(const Pipeline::StageData& row, const Rewrite& m) {
    return &m > row.rewrites.data() && (&m)[-1].depth > m.depth;
  }
  bool is_substitution(const Rewrite& m) const { return m.source_location.starts_with("uop/ops.py:"); }

  // Returns a rewrite whose sides differ: one without which the graph is right or, if all rewrites with such sides are
  // by one rule, the first one whose sides clearly differ. Returns null if there is none.
  const Rewrite* find_by_sides(const Trial& t, const StageData& row) {
    std::vector<const Rewrite*> suspects;
    for (const Rewrite& m : row.rewrites)
      if (is_suspect(m, 32) && !is_substitution(m)) suspects.push_back(&m);
    for (const Rewrite* m : suspects) {
      if (!row.result) break;
      const UOp without = apply_rewrites(row.result, {{m->after, m->before}}, true);
      if (!without || without == row.result || comparer_.outcome(t, without) != StageResult::Same) continue;
      verdict_proof_ = "in REF the graph after the stage is wrong, and right without the rewrite";
      return m;
    }
    auto is_same_rule = [&](const Rewrite* m) { return m->source_location == suspects[0]->source_location; };
    if (suspects.empty() || !std::ranges::all_of(suspects, is_same_rule)) return nullptr;
    auto clear = std::ranges::find_if(suspects, [&](const Rewrite* m) { return is_suspect(*m, 4); });
    return clear == suspects.end() ? nullptr : *clear;
  }

  Verdict make_verdict(const Trial& t, const StageData& row, const Rewrite& m) {
    Verdict out{
        .kind = Kind::Rewrite, .stage = stage_name(row), .rule = m.source_location, .location = m.source_location};
    for (const Rewrite& other : row.rewrites) {
      out.rewrite_number += other.source_location == m.source_location;
      if (&other == &m) break;
    }
    const GoldenStage* stage = row.recorded_stage;
    if (stage && !stage->call_places.empty()) {
      const std::string call = out.stage_location = stage->call_places[0];
      if (m.depth == 0 && (is_substitution(m) || m.source_location == call)) {
        // the stage substitutes nodes: its function, which chooses the replacements, is the culprit
        out.rule = out.location = call, out.function_location = stage->function;
        if (m.source_location != call) out.listed_location = m.source_location;
        out.stage_location = stage->call_places[std::min<size_t>(1, stage->call_places.size() - 1)];
      }
    }
    out.tinygrad_location = out.location;
    out.before = side_text(m.before), out.after = side_text(m.after);
    if (auto found = side_results_.find(&m);
        found != side_results_.end() && found->second.kind == EquivalenceResult::Kind::Differ) {
      out.witness = found->second.witness;
      out.witness["before"] = found->second.before, out.witness["after"] = found->second.after;
    }
    out.is_confirmed = !verdict_proof_.empty();
    out.proof = verdict_proof_.empty() ? "its sides differ, and its stage is the first wrong one" : verdict_proof_;
    if (const KnownFault* fault = known_fault_of_rewrite(m.source_location, m.before, m.after)) {
      out.kind = Kind::Known, out.is_shown_by_given_inputs = t.has_given_inputs;
      out.known_fault_name = fault->name, out.known_fault_text = fault->description;
      out.issue_url = fault->issue_url, out.program_text = fault->program_text;
    }
    if (out.kind == Kind::Rewrite && plan_.should_confirm_verdict && is_right_without(m))
      out.is_confirmed = true, out.proof = "the kernel is right if tinygrad leaves this rewrite out";
    return out;
  }
  bool is_right_without(const Rewrite& m) {
    if (!pipeline_->has_ability(Ability::LeaveOut)) return false;
    auto without = pipeline_->pipeline_without_rewrite(m);
    if (!without || import_facts_of_input((*without)->input()).import_error) return false;
    InputGraph in = (*without)->input();
    BisectReport rest;
    auto right = catch_failures([&] { return bisect_recorded(session_, in, options_, rest).kind == Kind::Same; });
    report_.counts.num_runs += rest.counts.num_runs;
    return right && *right;
  }

  const Session& session_;
  InputGraph& input_graph_;
  const RunOptions& options_;
  BisectReport& report_;
  const RecordedBisectPlan plan_;
  FailingInputs* const failing_inputs_;
  const std::unique_ptr<Pipeline> pipeline_;
  const std::span<const StageData> rows_;
  StageComparer comparer_;
  RecordedBackend backend_;
  std::vector<KnownFaultRewrite> known_fault_rewrites_;
  size_t first_rewrite_index_ = 0;
  const StageData* first_row_ = nullptr;
  KnownFaultRewrite found_rewrite_;
  std::map<const Rewrite*, EquivalenceResult> side_results_;
  std::string verdict_proof_, verdict_note_;
};

}  // namespace

Verdict bisect_recorded(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                        const RecordedBisectPlan& plan, FailingInputs* failing) {
  return RecordedBisection(session, in, options, report, plan, failing).find_verdict();
}

}  // namespace tgc
