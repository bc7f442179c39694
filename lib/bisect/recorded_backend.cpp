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

bool RecordedBackend::prepare() {
  if (is_prepared_) return bool(source_);
  is_prepared_ = true;
  if (!has_recorded_source(in_)) return false;
  auto place = placement_for(session_, options_.device.name, in_);
  if (!place || !place->target || place->is_ref) {
    reason_ = place ? "it runs on " + in_.info.target + ", which is not here" : place.diag().message;
    return false;
  }
  place_ = std::move(*place);
  bool is_invalid = false;
  auto made = recorded_executable(in_, *place_, 0, &is_invalid);
  if (made) {
    source_ = std::move(*made);
    return true;
  }
  reason_ = made.diag().message;
  if (is_invalid) invalid_ = Verdict{.kind = Kind::Renderer, .detail = made.diag().text(), .stage = "source"};
  return false;
}

StageResult RecordedBackend::run(const RecordedTrial& t) {
  report_.counts.runs++;
  auto inputs = input_arrays(source_->buffers(), t.inputs, "", std::nullopt);
  if (!inputs) return StageResult::Unknown;
  const ExecuteOptions options = options_.device.execute_options(*place_);
  auto done = execute(*source_, *place_->device, *inputs, t.variables, options);
  if (!done) {
    report_.failure = reason_ = done.diag().message;
    const bool is_fault = done.diag().kernel_fault || report_.failure.starts_with("killed by ");
    return is_fault ? StageResult::Differs : StageResult::Unknown;
  }
  return comparer_.compare(t, Result<Arrays>(copy_of(done->outputs)));
}

StageResult RecordedBackend::outcome(const RecordedTrial& t) {
  if (!prepare()) return StageResult::Unknown;
  const StageResult out = run(t);
  has_compared_ = has_compared_ || out != StageResult::Unknown;
  return out;
}

std::optional<Verdict> RecordedBackend::check() {
  prepare();
  if (invalid_) return invalid_;
  if (!source_) return std::nullopt;
  const bool only_first = has_floats(in_.root);  // on floats of all magnitudes, right devices may differ
  report_.device = place_->label;
  for (const RecordedTrial& t : comparer_.trials()) {
    if (only_first && &t != &comparer_.trials().front()) break;
    if (outcome(t) == StageResult::Differs) return culprit_of(t);
  }
  return std::nullopt;
}

Verdict RecordedBackend::culprit_of(const RecordedTrial& t) {
  failing_ = &t;
  Verdict out{.kind = Kind::Renderer,
              .detail = comparer_.compared_rows().empty()
                            ? "the recorded source computes something else than the AST; no recorded stage can be run "
                              "in REF"
                            : "each recorded stage and the list are right in REF, but the recorded source is wrong",
              .stage = "source"};
  if (place_->target->device == "CPU") {
    check_compiler(t, out);
  } else if (run(t) != StageResult::Differs) {
    out.kind = Kind::Device, out.detail = "the device computes something else each time";
  }
  return out;
}

void RecordedBackend::check_compiler(const RecordedTrial& t, Verdict& out) {
  out.detail += " with every compiler";
  auto job = job_for(source_->source());
  for (bool by_other : {false, true}) {
    if (!job) break;
    job->passes = by_other ? -1 : 0, job->by_other = by_other;
    auto code = compile_uncached(*job, Artifact::Binary);
    if (!code) continue;
    source_->set_code(std::move(*code));
    if (run(t) != StageResult::Same) continue;
    out.kind = Kind::Compiler, out.confirmed = true;
    out.detail = by_other ? "the source is right if the other compiler compiles it"
                          : "the source is right without the compiler's optional passes";
    return;
  }
}

}  // namespace tgc
