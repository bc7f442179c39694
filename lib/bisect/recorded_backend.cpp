#include "lib/bisect/recorded_backend.h"

#include <algorithm>

#include "lib/compile/compile.h"
#include "lib/run/recorded_source.h"
#include "lib/run/run.h"
#include "lib/runtime/compile_source.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

bool has_floats(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) { return dtypes::is_float(u.dtype().base()); });
}

}  // namespace

bool RecordedBackend::prepare_source() {
  if (is_source_prepared_) return bool(source_executable_);
  is_source_prepared_ = true;
  if (!has_recorded_source(input_graph_)) return false;
  auto place = placement_for(session_, options_.device.name, input_graph_);
  if (!place || !place->target || place->is_ref) {
    not_run_reason_ = place ? "it runs on " + input_graph_.info.target + ", which is not here" : place.diag().message;
    return false;
  }
  placement_ = std::move(*place);
  bool is_invalid = false;
  auto made = make_recorded_executable(input_graph_, *placement_, 0, &is_invalid);
  if (made) {
    source_executable_ = std::move(*made);
    return true;
  }
  not_run_reason_ = made.diag().message;
  if (is_invalid) invalid_verdict_ = Verdict{.kind = Kind::Renderer, .detail = made.diag().text(), .stage = "source"};
  return false;
}

StageResult RecordedBackend::run_source(const RecordedTrial& t) {
  report_.counts.num_runs++;
  auto inputs = make_input_arrays(source_executable_->buffers(), t.inputs, "", std::nullopt);
  if (!inputs) return StageResult::Unknown;
  const ExecuteOptions options = options_.device.make_execute_options(*placement_);
  auto done = execute_kernel(*source_executable_, *placement_->device, *inputs, t.variables, options);
  if (!done) {
    report_.failure_text = not_run_reason_ = done.diag().message;
    const bool is_fault = done.diag().is_kernel_fault || report_.failure_text.starts_with("killed by ");
    return is_fault ? StageResult::Differs : StageResult::Unknown;
  }
  return comparer_.compare_results(t, Result<Arrays>(copy_arrays(done->outputs)));
}

StageResult RecordedBackend::source_outcome(const RecordedTrial& t) {
  if (!prepare_source()) return StageResult::Unknown;
  const StageResult out = run_source(t);
  has_compared_trial_ = has_compared_trial_ || out != StageResult::Unknown;
  return out;
}

std::optional<Verdict> RecordedBackend::check_source() {
  prepare_source();
  if (invalid_verdict_) return invalid_verdict_;
  if (!source_executable_) return std::nullopt;
  // with floats of all magnitudes, which other trials have, a right device may differ from REF
  const bool only_first = has_floats(input_graph_.root);
  report_.device = placement_->label;
  for (const RecordedTrial& t : comparer_.trials()) {
    if (only_first && &t != &comparer_.trials().front()) break;
    if (source_outcome(t) == StageResult::Differs) return verdict_of_trial(t);
  }
  return std::nullopt;
}

Verdict RecordedBackend::verdict_of_trial(const RecordedTrial& t) {
  failing_trial_ = &t;
  Verdict out{.kind = Kind::Renderer,
              .detail = comparer_.compared_rows().empty()
                            ? "the recorded source computes something else than the AST; no recorded stage can be run "
                              "in REF"
                            : "each recorded stage and the list are right in REF, but the recorded source is wrong",
              .stage = "source"};
  if (placement_->target->device == "CPU") {
    check_compiler(t, out);
  } else if (run_source(t) != StageResult::Differs) {
    out.kind = Kind::Device, out.detail = "the device computes something else each time";
  }
  return out;
}

void RecordedBackend::check_compiler(const RecordedTrial& t, Verdict& out) {
  out.detail += " with every compiler";
  auto job = compile_job_for(source_executable_->source());
  for (bool by_other : {false, true}) {
    if (!job) break;
    job->max_passes = by_other ? -1 : 0, job->uses_other_compiler = by_other;
    auto code = compile_without_cache(*job, Artifact::Binary);
    if (!code) continue;
    source_executable_->set_code(std::move(*code));
    if (run_source(t) != StageResult::Same) continue;
    out.kind = Kind::Compiler, out.is_confirmed = true;
    out.detail = by_other ? "the source is right if the other compiler compiles it"
                          : "the source is right without the compiler's optional passes";
    return;
  }
}

}  // namespace tgc
