#include "lib/bisect/recorded_schedule.h"

#include <algorithm>

#include "lib/bisect/rewrite_sides.h"
#include "lib/recordings/recorded_pipeline.h"
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

// Returns whether the two sides differ in every one of a few runs with other arrays.
EquivalenceResult compare_twice(const RecordedMatch& m, const TensorVariables& variables) {
  EquivalenceResult first = compare_tensor_sides(m.before, m.after, variables, 1);
  if (first.kind != EquivalenceResult::Kind::Differ) return first;
  EquivalenceResult second = compare_tensor_sides(m.before, m.after, variables, 2);
  return second.kind == EquivalenceResult::Kind::Differ ? first : second;
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
  const std::string producer = "tinygrad " + std::string(name_of(in.graph->release()));
  const RecordedPipeline pipeline = std::move(RecordedPipeline::read(in.record, producer, in.file).value_or_throw());
  const TensorParameters parameters =
      read_parameters(session, *in.record, in.graph->release()).value_or_throw();
  v.kind = Kind::Schedule;
  v.stage = run.stages->stage;
  // the wrong rewrite is after the last stage that is right
  bool is_candidate = run.stages->before.empty();
  for (const RecordedPipeline::Row& row : pipeline.rows()) {
    if (is_candidate) {
      std::map<std::string, uint64_t> applied;
      for (const RecordedMatch& m : row.matches) {
        applied[m.place]++, report.counts.rewrites++;
        const EquivalenceResult sides = compare_twice(m, parameters.variables);
        report.counts.compared += sides.kind == EquivalenceResult::Kind::Same ||
                                  sides.kind == EquivalenceResult::Kind::Differ;
        if (sides.kind != EquivalenceResult::Kind::Differ) continue;
        v.kind = Kind::Rewrite, v.stage = row.name, v.rewrite = applied[m.place];
        v.rule = v.location = v.tinygrad_location = m.place;
        v.before = tree_text(m.before, 3), v.after = tree_text(m.after, 3);
        v.witness = sides.point;
        v.witness["before"] = sides.before, v.witness["after"] = sides.after;
        v.proof = "a recorded rewrite cannot be left out";
        return;
      }
    }
    if (row.name == run.stages->stage && !row.name.empty()) break;
    if (row.name == run.stages->before) is_candidate = true;
  }
  v.detail = pipeline.has_matches() ? "no recorded rewrite between the stages has sides that differ"
                                    : "the rewrites were not recorded (--rewrites)";
}

}  // namespace tgc
