#include <cstring>

#include "lib/bisect/strategies.h"
#include "lib/contain/contain.h"
#include "lib/runtime/array.h"

namespace tgc {
namespace {

// The stage and the last rewrite of the worker that compiles, in memory that the worker shares with this process.
struct CompilationProgress {
  char stage[64], rule[128], location[192];
  uint64_t rewrite_number,
      number_in_stage;  // number of the rewrite in the compilation, and among those of its rule in the stage
};

template <size_t N>
void copy_text(char (&to)[N], std::string_view text) {
  size_t n = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), n);
  to[n] = 0;
}

// Records the progress of a compilation in `progress`. Suppresses the rewrite with the number `left_out`; 0 suppresses
// none.
class ProgressWatcher : public RuleApplicationObserver {
 public:
  ProgressWatcher(CompilationProgress& progress, uint64_t left_out)
      : progress_(progress), suppressed_number_(left_out) {}
  void begin_stage(const StageRow& row, UOp input) override {
    RuleApplicationObserver::begin_stage(row, input);
    numbers_in_stage_.clear();
    copy_text(progress_.stage, row.name), copy_text(progress_.rule, ""), progress_.number_in_stage = 0;
  }

 protected:
  UOp decide_result(const RuleHit& hit, UOp, UOp after) override {
    if (rewrite_number() == suppressed_number_) return {};
    copy_text(progress_.rule, hit.rule->name);
    copy_text(progress_.location, location_of_rule(*hit.rule));
    progress_.rewrite_number = rewrite_number(), progress_.number_in_stage = ++numbers_in_stage_[hit.rule->name];
    return after;
  }

 private:
  CompilationProgress& progress_;
  uint64_t suppressed_number_;
  std::map<std::string_view, uint64_t> numbers_in_stage_;
};

// Returns an error if the worker crashed or timed out.
std::optional<Diag> compile_in_worker(const BisectExecutor& executor, CompilationProgress& progress, uint64_t left_out,
                                      double seconds) {
  WorkerExit worker_exit;
  auto answer = run_in_sandbox(
      [&](Worker&) -> Result<std::string> {
        ProgressWatcher stage_observer(progress, left_out);
        Compilation c = executor.begin_compilation();
        c.set_stage_observer(&stage_observer);
        (void)c.list();
        c.set_stage_observer(nullptr);
        return std::string();
      },
      {.timeout_seconds = seconds}, &worker_exit);
  if (worker_exit.signal == 0 && !worker_exit.has_timed_out) return std::nullopt;
  return answer.diag();
}

}  // namespace

std::optional<Verdict> find_kernel_fault(const FailureRepro& repro, BisectExecutor&) {
  if (repro.kernel_fault.empty()) return std::nullopt;
  return Verdict{Verdict::Kind::Crash, "the input kernel itself fails in REF: " + repro.kernel_fault};
}

std::optional<Verdict> find_compiler_crash(const FailureRepro& repro, BisectExecutor& executor) {
  const double seconds = repro.execute_options().timeout_seconds;
  Array shared = Array::allocate_shared(dtypes::uint8, {int64_t(sizeof(CompilationProgress))});
  auto& progress = *new (shared.data()) CompilationProgress{};
  auto died = compile_in_worker(executor, progress, 0, seconds);
  if (!died) return std::nullopt;
  Verdict out{.kind = Verdict::Kind::Crash,
              .detail = died->text(),
              .stage = progress.stage,
              .rule = progress.rule,
              .location = progress.rule[0] ? progress.location : "",
              .rewrite_number = progress.number_in_stage};
  if (progress.rewrite_number)
    out.is_confirmed = !compile_in_worker(executor, progress, uint64_t(progress.rewrite_number), seconds);
  return out;
}

}  // namespace tgc
