// RunCandidate: what a run executes of an input, and where: tgc's own compilation of the kernel, its golden record
// (--recorded), or what another tinygrad release compiled, as it was recorded.
//
//   auto candidate = candidate_of(session, in);
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

// Returns the kernel of `in` for lowering, with the session's opts.
KernelGraph kernel_graph(const Session& session, const InputGraph& in);

class RunCandidate {
 public:
  virtual ~RunCandidate() = default;

  // Fails if there is nothing to run, for example because tinygrad did not finish the kernel.
  virtual Status check_input() const;
  // Chooses where the kernel runs: see placement_for().
  virtual Result<Placement> choose_place(const std::string& device) const;
  // Returns the error of the stage or renderer that refuses the graph, without compiling a source; nullopt if none
  // refuses the graph. Throws Failure if the time limit is over, or if the graph cannot be copied to be compiled.
  virtual std::optional<Diag> refusal(Placement& place) = 0;
  // Makes the kernel ready to run at `place`.
  virtual Result<Executable> prepare_executable(Placement& place, const LowerOptions& options) = 0;
  // Runs what prepare_executable() returned. `inputs` and the results have the dtypes of the buffers of the input
  // graph.
  virtual Result<Execution> run_executable(Executable& kernel, Placement& place, const Arrays& inputs,
                                           const VariableValues& variables, const DeviceOptions& device,
                                           const ExecuteOptions& options) const;
  // Returns why a run in which nothing was compared is an error; "" if the report of the run says why. Returns nullopt
  // if such a run is no error.
  virtual std::optional<std::string> not_compared_reason() const { return std::nullopt; }

  // Returns the name that reports give to what runs, such as "the recorded linear list"; "" if reports name nothing.
  // Set by prepare_executable().
  const std::string& what_ran() const { return what_ran_; }
  // recorded_list() returns the linear list that --recorded runs, else an empty one; runs_recorded_source() returns
  // whether the recorded source runs in its place. Set by prepare_executable().
  std::span<const UOp> recorded_list() const { return recorded_list_; }
  bool runs_recorded_source() const { return runs_source_; }

 protected:
  RunCandidate(const Session& session, const InputGraph& in) : session_(session), input_(in) {}

  const Session& session_;
  const InputGraph& input_;
  std::string what_ran_;
  std::vector<UOp> recorded_list_;
  bool runs_source_ = false;
};

// Returns the candidate of `in`. If `in` is a kernel of another release and --native is not set, it runs what that
// release compiled, or `in` itself in REF. Otherwise, with `recorded`, it runs the golden record's linear list or, on
// the record's target, its source; without `recorded`, tgc's own compilation. `session` and `in` must outlive it.
std::unique_ptr<RunCandidate> candidate_of(const Session& session, const InputGraph& in, bool recorded = false);

}  // namespace tgc
