// RunCandidate: what a run executes of an input, and where: for example tgc's own compilation of the kernel, its golden
// record (--recorded), or what another tinygrad release compiled, as it was recorded.
//
//   auto candidate = make_candidate(session, in);
//   candidate->check_input().value_or_throw();                            // fails if there is nothing to run
//   Placement place = candidate->choose_place("CPU").value_or_throw();
//   if (auto refused = candidate->refusal(place)) ...                     // a stage or the renderer refuses the graph
//   Executable kernel = candidate->prepare_executable(place, {}).value_or_throw();
//   auto done = candidate->run_executable(kernel, place, inputs, variables, device, options);
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lib/execute/lower.h"
#include "lib/run/run_options.h"

namespace tgc {

// Returns the kernel of `in`, with the session's opts.
KernelGraph make_kernel_graph(const Session& session, const InputGraph& in);

class RunCandidate {
 public:
  virtual ~RunCandidate() = default;

  // Fails if there is nothing to run, for example because tinygrad did not finish the kernel.
  virtual Status check_input() const;
  // Chooses where the kernel runs: see placement_for().
  virtual Result<Placement> choose_place(const std::string& device) const;
  // Returns the error of the stage or renderer that refuses the graph; nullopt if none is found. Does not render linear
  // lists, and compiles no source. Throws Failure, for example, if no time is left.
  virtual std::optional<Diag> refusal(Placement& place) = 0;
  virtual Result<Executable> prepare_executable(Placement& place, const LowerOptions& options) = 0;
  // `inputs` and the results have the dtypes of the input graph's buffers.
  virtual Result<ExecutionResult> run_executable(Executable& kernel, Placement& place, const Arrays& inputs,
                                                 const VariableValues& variables, const DeviceOptions& device,
                                                 const ExecuteOptions& options) const;
  // Returns why a run in which nothing was compared is an error; "" if the caller has to find out; nullopt if it is no
  // error.
  virtual std::optional<std::string> not_compared_reason() const { return std::nullopt; }

  // Names what runs, such as "the recorded linear list"; "" if reports name nothing. Set by prepare_executable().
  const std::string& run_description() const { return run_description_; }
  // Set by prepare_executable(): the linear list that --recorded runs, or an empty list; whether the recorded source
  // runs in its place.
  std::span<const UOp> recorded_list() const { return recorded_list_; }
  bool is_recorded_source_run() const { return is_source_run_; }

 protected:
  RunCandidate(const Session& session, const InputGraph& in) : session_(session), input_(in) {}

  const Session& session_;
  const InputGraph& input_;
  std::string run_description_;
  std::vector<UOp> recorded_list_;
  bool is_source_run_ = false;
};

// Returns what runs for `in`: for a kernel of another release without --native, what that release compiled, or `in`
// itself in REF; with `recorded`, the golden record's list or, on the record's target, its source; else tgc's own
// compilation. `session` and `in` must outlive the candidate.
std::unique_ptr<RunCandidate> make_candidate(const Session& session, const InputGraph& in, bool recorded = false);

}  // namespace tgc
