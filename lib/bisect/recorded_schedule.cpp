#include "lib/bisect/recorded_schedule.h"

#include <algorithm>

#include "lib/bisect/rewrite_sides.h"
#include "lib/compilation/pipeline.h"
#include "lib/run/recorded_schedule.h"
#include "lib/run/run_recorded_schedule.h"
#include "lib/run/tensor_sides.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

std::string first_difference(const ModelReport& run) {
  for (const auto* arrays : {&run.outputs, &run.stages->arrays})
    for (const Comparison& c : *arrays)
      if (!c.passed()) return c.text();
  return "";
}

// Returns the first rewrite of the node that is wrong after the stage `row` gave the graph loops; null if all values of
// the two graphs are the same, or if they cannot be compared, with the reason in `why`.
const Rewrite* wrong_loops(const Pipeline::Row& row, const TensorVariables& variables,
                                 BisectReport& report, RangedDifference& difference, std::string& why) {
  std::vector<UOp> stages;  // as the rewrites made them
  for (const Rewrite& m : row.rewrites)
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
    for (const Rewrite* m : row.own_rewrites())
      if (m->before == difference.culprit) return m;
  return nullptr;
}

// Returns whether the two sides differ in every one of a few runs with other arrays.
EquivalenceResult compare_twice(const Rewrite& m, const TensorVariables& variables) {
  EquivalenceResult first = compare_tensor_sides(m.before, m.after, variables, 1);
  if (first.kind != EquivalenceResult::Kind::Differ) return first;
  EquivalenceResult second = compare_tensor_sides(m.before, m.after, variables, 2);
  return second.kind == EquivalenceResult::Kind::Differ ? first : second;
}

bool has_loops(UOp root) {
  return root && std::ranges::any_of(toposort(root), [](UOp u) { return u.is(Op::END); });
}

// Says why the sides of a rewrite cannot be compared; empty if they can be imported.
std::string why_not(const Rewrite& m, const TensorVariables& variables) {
  auto sides = import_tensor_sides(m.before, m.after, variables);
  return sides ? "" : m.place + ": " + sides.diag().message;
}

void accuse(Verdict& v, const Pipeline::Row& row, const Rewrite& m, const EquivalenceResult& sides) {
  v.kind = Kind::Rewrite, v.stage = row.stage->name;
  v.rule = v.location = v.tinygrad_location = m.place;
  for (const Rewrite& other : row.rewrites) {
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
  RunOptions each = options;
  each.compare.each_stage = true;
  const ModelReport run = run_recorded_schedule(session, in, each);
  report.device = run.device, report.pipeline = "recorded";
  report.counts.runs = 1;
  Verdict& v = report.verdict;
  if (!run.error.empty() && !run.kernel_fault) throw Failure(run.error);
  if (run.result() != RunReport::Result::Failed) {
    v.kind = Kind::Same;
    v.detail = run.outputs.empty() ? "nothing of it can be computed" : "its stages compute what the tensor graph says";
    return;
  }
  if (run.kernel_fault || !run.stages) throw Failure(run.error);
  report.failure = first_difference(run);
  const auto pipeline = recorded_pipeline(in);
  const TensorParameters parameters =
      read_parameters(session, *in.record, in.graph->release()).value_or_throw();
  v.kind = Kind::Schedule;
  v.stage = run.stages->stage;
  // the wrong rewrite is after the last stage that is right
  std::string why;  // why a rewrite was not compared
  bool is_candidate = run.stages->before.empty();
  for (const Pipeline::Row& row : pipeline->rows().value_or_throw()) {
    if (is_candidate) {
      report.counts.rewrites += row.rewrites.size();
      RangedDifference loops;
      const bool makes_loops = has_loops(row.result) && !has_loops(row.input);
      if (makes_loops)
        if (const Rewrite* m = wrong_loops(row, parameters.variables, report, loops, why))
          return accuse(v, row, *m, loops.sides);
      UOpSet nodes(row.input.graph());
      if (makes_loops)
        for (UOp u : toposort(row.input)) nodes.insert(u);
      for (const Rewrite& m : row.rewrites) {
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
    if (row.stage->name == run.stages->stage) break;
    if (row.stage->name == run.stages->before) is_candidate = true;
  }
  v.detail = pipeline->can(Ability::Rewrites) ? "no recorded rewrite between the stages has sides that differ"
                                    : "the rewrites were not recorded (--rewrites)";
  if (!why.empty()) v.detail += "; not compared, for one: " + why;
}

}  // namespace tgc
