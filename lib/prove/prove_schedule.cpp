#include "lib/prove/prove_schedule.h"

#include "lib/run/run.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

std::string failure_text(const ModelReport& run) {
  if (!run.error.empty()) return run.error;
  if (!run.order_report.order_faults.empty()) return run.order_report.order_faults[0].detail();
  if (!run.hazard_text.empty()) return run.hazard_text;
  const std::string of_arrays = run.first_difference();
  return of_arrays.empty() ? run.first_different_kernel : of_arrays;
}

// Adds the result of a run in REF to the proof, and returns it as text.
std::string apply_run_result(const ModelReport& run, KernelProof& proof) {
  const size_t stages = run.stage_difference ? run.stage_difference->num_stages_run : 0;
  proof.num_checked_stages = stages;
  if (run.result() == RunReport::Result::Failed) {
    const std::string stage = run.stage_difference ? run.stage_difference->stage : "";
    proof.stage_findings.push_back(
        {.kind = Kind::Refuted, .reason = "REF shows a wrong value", .application_index = SIZE_MAX});
    const auto rows = proof.rewrite_history ? proof.rewrite_history->stages() : std::span<const HistoryStage>();
    for (const HistoryStage& s : rows)
      if (s.name == stage) proof.stage_findings.back().place.stage = s.name;
    proof.stage_findings.back().counterexample["stored"] = failure_text(run);
    return "the schedule computes something else than the tensor graph; `tgc bisect` looks for the rewrite";
  }
  const bool is_whole =
      run.stage_difference && (run.stage_difference->refused_stages.empty() || run.schedule_result.num_kernels);
  if (run.result() != RunReport::Result::Passed || !is_whole)
    return "REF does not run all its stages" + (run.notes.empty() ? "" : ": " + run.notes[0]);
  for (auto* list : {&proof.rewrites, &proof.stage_findings})
    for (RewriteProof& r : *list)
      if (r.kind == Kind::Unknown) r.kind = Kind::Sampled;
  return count_text(stages, "stage") +
         (run.schedule_result.num_kernels ? " and " + count_text(run.schedule_result.num_kernels, "kernel") : "") +
         " compute what the tensor graph says, at sample inputs in REF";
}

}  // namespace

std::unique_ptr<KernelProof> prove_schedule(const Session& session, const InputGraph& in, ProofCache& cache,
                                            const KernelProofOptions& options) {
  auto out = prove_recording(in, cache, options);
  if (!options.should_check_stages || out->error || out->verdict == Kind::Refuted || out->verdict == Kind::Proven)
    return out;
  const RunOptions run{.device = {.name = "REF", .timeout_seconds = options.timeout_seconds},
                       .compare = {.should_run_each_stage = true}};
  const auto report = catch_failures([&] { return run_recorded_schedule(session, in, run); });
  out->schedule_check_text = report ? apply_run_result(*report, *out) : "REF does not run it: " + report.diag().message;
  out->set_verdict();
  return out;
}

}  // namespace tgc
