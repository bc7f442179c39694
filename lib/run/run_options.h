#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/driver/session.h"
#include "lib/execute/execution.h"
#include "lib/execute/placement.h"
#include "lib/support/write_file.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/kernel_inputs.h"

namespace tgc {

struct ScheduledKernelRun;
class StageObserver;

// Most runs replace the first {} of a file's name: see fill_in_name() (repro_command.h).
struct InputOptions {
  std::string name = "-";   // INPUT as the user wrote it
  std::string kernel = {};  // --kernel: number, name or record id of a graph of INPUT; empty: all graphs
  std::string arrays_file = {};  // --inputs; empty: random arrays, or those of a bundle
  std::optional<uint64_t> seed = {};  // --seed; if unset: 0, or no array is random, as in most runs with --inputs
  InputSet input_set = InputSet::Usual;
  VariableValues variables = {};      // --var
  bool should_run_recorded = false;  // --recorded: run what the golden record has (make_candidate)
  bool is_only_kernel = false;     // the command runs one graph: a --var that it lacks is an error
  bool is_one_of_several = false;
};

// Returns true if all arrays of the file of --inputs must be arrays of the graph: if there is a file, and the command
// runs one graph, or the file's name has {}.
bool has_own_arrays(const InputOptions& input);

struct DeviceOptions {
  std::string name = {};  // --device; if empty: see placement_for()
  // --timeout: seconds for the whole trial of one kernel; 0: no limit; unset: see timeout_seconds_for()
  std::optional<double> timeout_seconds = {};
  bool should_run_in_process = false;  // --in-process: run kernels without a worker process
  bool should_use_sanitizer = false;  // --sanitize: kernels on the CPU run under AddressSanitizer
  int timed_runs = 0;            // --bench: timed runs after the first run

  // Returns the time limit of a trial in seconds; 0: no limit.
  double trial_seconds() const { return timeout_seconds.value_or(0); }
  // Returns the time limit in seconds for one run of a kernel. Without --timeout, it is 0 for REF, which
  // Limit::RefSeconds limits.
  double timeout_seconds_for(const Placement& place) const;
  ExecuteOptions make_execute_options(const Placement& place) const;
  ExecuteOptions ref_options_in_process() const;
};

struct OutputOptions {
  std::string save_path = {};        // --save: npz file for the results
  std::string repro_path = {};       // --repro: repro bundle, written instead of npz files if a run fails
  std::string failures_folder = {};  // --save-failures: folder for the arrays of failing runs; empty: none
  // paths of earlier runs, which this run must not overwrite
  UsedPaths* used_paths = nullptr;
};

struct ModelOptions {
  // Compute a tensor graph in REF without a schedule; if that is not possible, or for a model, make a kernel for each
  // operation.
  bool is_unscheduled = false;
  std::optional<int> perturbation = {};  // for `is_unscheduled`: how to perturb rounding (perturb_rounding.h)
  std::function<void(const ScheduledKernelRun&)> before_kernel = {}, on_kernel = {};
  StageObserver* stage_observer = nullptr;  // observes the rewrites that turn the graph into a schedule
};

struct RunOptions {
  InputOptions input = {};
  DeviceOptions device = {};
  CompareOptions compare = {};
  OutputOptions output = {};
  ModelOptions model = {};
};

// If a time limit was exceeded, begins the message with `subject` ("REF ") and suggests --timeout.
Diag error_with_time_option(Diag error, std::string_view subject = "");

// Chooses where a graph runs: on `device`, else on the session's target, the graph's own, or the default target. If
// the graph's target cannot be used here, REF runs the linear list that is lowered for it. Without --native, a kernel
// of another release runs where its recorded source does, or in REF.
Result<Placement> placement_for(const Session& session, const std::string& device, const InputGraph& in);
// Makes a live pipeline compile for the device of --device, unless that is REF or --target is set. If the live pipeline
// is that of tinygrad 0.12, also sets options.input.should_run_recorded.
void compile_for_device(Session& session, RunOptions& options);
// Chooses where a model or the kernels of a tensor graph run: on `device`, else on the session's default target.
Result<Placement> placement_for_model(const Session& session, const std::string& device, const Settings& settings);

// Returns the target of `place`, or CPU:LLVM if `place` is REF without a target.
Target lowering_target(const Placement& place, const Settings& settings);

// Fails if the user set --emulate, but `place` is not an emulated device.
Status check_emulation(const Placement& place);

// A task for one input. The commands refuse an option that the task would ignore.
enum class RunTask : uint8_t {
  RunSchedule = 1,      // run a tensor graph that another tinygrad release scheduled
  BisectSchedule = 2,   // bisect such a tensor graph
  BisectRecorded = 4,   // bisect the recorded stages of a kernel of another release
};

// Fails if an option of `options` has no effect in `task`. The error says what to do instead.
Status check_options_honoured(RunTask task, const RunOptions& options, const InputGraph& in);

}  // namespace tgc
