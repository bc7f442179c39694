#include "lib/bisect/recorded_schedule.h"

#include <algorithm>

#include "lib/bisect/rewrite_sides.h"
#include "lib/recordings/recorded_pipeline.h"
#include "lib/run/recorded_schedule.h"
#include "lib/run/run_recorded_schedule.h"
#include "lib/run/tensor_sides.h"
#include "lib/support/clocks.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

constexpr double kSearchSeconds = 2;  // of the search for a rewrite, without --timeout

std::string first_difference(const ModelReport& run) {
  for (const auto* arrays : {&run.outputs, &run.stages->arrays})
    for (const Comparison& c : *arrays)
      if (!c.passed()) return c.text();
  return "";
}

// Returns the first rewrite of the node that is wrong after the stage `row` gave the graph loops; null if all values of
// the two graphs are the same, or if they cannot be compared, with the reason in `why`.
const RecordedMatch* wrong_loops(const RecordedPipeline::Row& row, const TensorVariables& variables,
                                 BisectReport& report, RangedDifference& difference, std::string& why) {
  std::vector<UOp> stages;  // as the rewrites made them
  for (const RecordedMatch& m : row.matches)
    for (UOp u : m.after.src())
      for (UOp s : {u, u.num_src() ? u.src(0) : u})
        if (s.is(Op::STAGE)) stages.push_back(s);
  auto compared = compare_tensor_pairs(row.input, row.result, stages, variables, 1);
  if (!compared) {
    why = compared.diag().message;
    return nullptr;
  }
  difference = std::move(*compared);
  report.counts.compared += difference.compared;
  if (difference.culprit)
    for (const RecordedMatch* m : row.own_matches())
      if (m->before == difference.culprit) return m;
  return nullptr;
}

// Returns whether the two sides differ in every one of a few runs with other arrays.
EquivalenceResult compare_twice(const RecordedMatch& m, const TensorVariables& variables) {
  EquivalenceResult first = compare_tensor_sides(m.before, m.after, variables, 1);
  if (first.kind != EquivalenceResult::Kind::Differ) return first;
  EquivalenceResult second = compare_tensor_sides(m.before, m.after, variables, 2);
  return second.kind == EquivalenceResult::Kind::Differ ? first : second;
}

bool has_loops(UOp root) {
  return root && std::ranges::any_of(toposort(root), [](UOp u) { return u.is(Op::END); });
}

// Says why the sides of a rewrite cannot be compared; empty if they can be imported.
std::string why_not(const RecordedMatch& m, const TensorVariables& variables) {
  auto sides = import_tensor_sides(m.before, m.after, variables);
  return sides ? "" : m.place + ": " + sides.diag().message;
}

void accuse_order(Verdict& v, const OrderFault& f, const ModelReport& run, BisectReport& report) {
  v.kind = Kind::Order;
  v.kernels = {f.first, f.second}, v.buffer = f.buffer, v.edge = f.edge, v.function = f.function;
  v.detail = f.text + ", but the schedule has the other order";
  for (const Comparison& c : run.outputs)
    if (report.failure.empty() && !c.passed()) report.failure = c.text();
}

// Names the rules that undo each other, if tinygrad stopped after very many rewrites.
void refuse(const GoldenRecord& record, const InputGraph& in, Verdict& v) {
  constexpr size_t kMany = 50;
  v.kind = Kind::Refused;
  v.detail = *record.error;
  v.stage = record.stages.empty() ? "" : record.stages.back().name;
  const std::string producer = "tinygrad " + std::string(name_of(in.graph->release()));
  Graph graph(in.graph->settings());
  auto matches = read_rewrites(graph, record.rewrites, producer, in.file);
  if (!matches || matches->empty() || v.detail.find("infinite loop") == std::string::npos) return;
  std::map<std::string, std::pair<size_t, const RecordedMatch*>> uses;  // by place, in the stage that did not end
  for (const RecordedMatch& m : *matches)
    if (m.stage == matches->back().stage) uses[m.place].first++, uses[m.place].second = &m;
  for (auto& [place, use] : uses)
    if (use.first >= kMany)
      v.cycle.push_back({place, "", place, tree_text(use.second->before, 3), tree_text(use.second->after, 3)});
}

std::string why_not_compared(const ModelReport& run) {
  std::string out;
  for (const std::string& note : run.notes) out += (out.empty() ? ": " : "; ") + note;
  if (run.stages && !run.stages->refused.empty()) out += (out.empty() ? ": " : "; ") + run.stages->refused[0];
  return out;
}

void accuse(Verdict& v, const RecordedPipeline::Row& row, const RecordedMatch& m, const EquivalenceResult& sides) {
  v.kind = Kind::Rewrite, v.stage = row.name;
  v.rule = v.location = v.tinygrad_location = m.place;
  for (const RecordedMatch& other : row.matches) {
    v.rewrite += other.place == m.place;
    if (&other == &m) break;
  }
  v.before = tree_text(m.before, 3), v.after = tree_text(m.after, 3);
  v.witness = sides.point;
  v.witness["before"] = sides.before, v.witness["after"] = sides.after;
  v.proof = "a recorded rewrite cannot be left out";
}

}  // namespace

void bisect_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                              BisectReport& report) {
  const auto begin = Clock::now();
  Verdict& v = report.verdict;
  report.device = "REF", report.pipeline = "recorded";
  if (in.record && in.record->error && in.record->kernels.empty()) return refuse(*in.record, in, v);
  const ModelReport run = run_recorded_schedule(session, in, options, true);
  report.device = run.device;
  report.counts.runs = 1;
  report.notes = run.notes;
  for (auto& [name, source] : run.variables) report.variables.insert(name);
  if (!run.order.faults.empty()) return accuse_order(v, run.order.faults[0], run, report);
  if (!run.error.empty() && !run.kernel_fault) throw Failure(run.error);
  if (run.result() == RunReport::Result::NotCompared) throw Failure("nothing was compared" + why_not_compared(run));
  if (run.result() != RunReport::Result::Failed) {
    v.kind = run.order.stale_reads.empty() ? Kind::Same : Kind::Known;
    v.detail = run.stores_nothing ? "the graph stores nothing, and its schedule has no kernels"
               : run.ran.kernels  ? "its kernels compute what the tensor graph says"
                                  : "its stages compute what the tensor graph says";
    if (v.kind == Kind::Known) v.detail = "tinygrad does not keep the old content of a buffer for a late read";
    return;
  }
  if (run.kernel_fault || !run.stages) throw Failure(run.error);
  report.failure = first_difference(run);
  const std::string producer = "tinygrad " + std::string(name_of(in.graph->release()));
  const RecordedPipeline pipeline = std::move(RecordedPipeline::read(in.record, producer, in.file).value_or_throw());
  const TensorParameters parameters =
      read_parameters(session, *in.record, in.graph->release(),
                      {options.input.variables.begin(), options.input.variables.end()})
          .value_or_throw();
  if (!run.hazard.empty()) {
    v.kind = Kind::Hazard, v.detail = run.hazard, v.function = "fix_store_hazard (schedule/rangeify.py)";
    return;
  }
  if (run.stages->stage.empty()) {
    v.kind = Kind::Unresolved;
    v.detail = "each stage that can be compared is right, but the kernels compute something else";
    if (!run.stages->refused.empty()) v.detail += "; not compared, for one: " + run.stages->refused[0];
    return;
  }
  v.kind = Kind::Schedule;
  v.stage = run.stages->stage;
  const double limit = options.device.timeout_seconds.value_or(kSearchSeconds);
  // the wrong rewrite is after the last stage that is right
  std::string why;  // why a rewrite was not compared
  bool is_candidate = run.stages->before.empty();
  for (const RecordedPipeline::Row& row : pipeline.rows()) {
    if (is_candidate) {
      report.counts.rewrites += row.matches.size();
      RangedDifference loops;
      const bool makes_loops = has_loops(row.result) && !has_loops(row.input);
      if (makes_loops)
        if (const RecordedMatch* m = wrong_loops(row, parameters.variables, report, loops, why))
          return accuse(v, row, *m, loops.sides);
      UOpSet nodes(pipeline.graph());
      if (makes_loops)
        for (UOp u : toposort(row.input)) nodes.insert(u);
      for (const RecordedMatch& m : row.matches) {
        if (seconds_since(begin) > limit) {
          v.detail = formatted("the rewrites were not all compared within %g s: --timeout=S allows more", limit);
          return;
        }
        // While loops are made, a node of the graph gets its index from the nodes that use it, which differ from the
        // rewrite's sides. The rewrites of the indices themselves can be compared.
        if (makes_loops && (m.before.in(ops::Movement) || (loops.compared && nodes.contains(m.before)))) continue;
        const EquivalenceResult sides = compare_twice(m, parameters.variables);
        report.counts.compared += sides.kind == EquivalenceResult::Kind::Same ||
                                  sides.kind == EquivalenceResult::Kind::Differ;
        if (sides.kind == EquivalenceResult::Kind::Differ) return accuse(v, row, m, sides);
        if (sides.kind == EquivalenceResult::Kind::Open && why.empty()) why = why_not(m, parameters.variables);
      }
    }
    if (row.name == run.stages->stage && !row.name.empty()) break;
    if (row.name == run.stages->before) is_candidate = true;
  }
  v.detail = pipeline.has_matches() ? "no recorded rewrite between the stages has sides that differ"
                                    : "the rewrites were not recorded (--rewrites)";
  if (!why.empty()) v.detail += "; not compared, for one: " + why;
}

}  // namespace tgc
