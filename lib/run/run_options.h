// Options for running a kernel, a tensor graph or a model, and the choice of the device.
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

struct KernelStep;
class Watcher;

// The graph and its arrays. In file names, {} stands for the name of the input (fill_in_name in repro_command.h).
struct InputOptions {
  std::string name = "-";   // INPUT as the user wrote it; part of file names and of the command that repeats the run
  std::string kernel = {};  // --kernel: number, name or record id of a graph of INPUT; empty: all graphs
  std::string arrays_file = {};  // --inputs: a file of input arrays; empty: the arrays are random
  std::optional<uint64_t> seed = {};  // --seed of the random arrays; if unset: 0 without --inputs or for a recorded
                                      // schedule; else no array is random
  InputSet input_set = InputSet::Usual;   // the set of the random arrays; only bisect sets this
  VariableValues variables = {};      // --var: values of variables; for a model, of its symbolic sizes
  bool use_recorded = false;  // --recorded: run what the golden record has (candidate_of), not tgc's compilation
  bool is_only_kernel = false;     // the command runs one kernel, so a --var that the kernel lacks is an error
  bool is_one_of_several = false;  // the command has several INPUTs, so each report names its own
};

// Returns true if the file of --inputs is for one graph: the command runs one graph, or the file's name has {}, which
// stands for the graph's name. All arrays of such a file must be arrays of this graph.
bool has_own_arrays(const InputOptions& input);

// Where kernels run, and how.
struct DeviceOptions {
  std::string name = {};  // --device; if empty: see placement_for()
  // --timeout: seconds for the whole trial of one kernel: compiling, all runs, comparing and saving; 0: no limit;
  // unset: see timeout_for()
  std::optional<double> timeout_seconds = {};
  bool runs_in_process = false;  // --in-process: run kernels without a worker process
  bool use_sanitizer = false;    // --sanitize: kernels on the CPU run under AddressSanitizer
  int timed_runs = 0;            // --bench: number of timed runs after the first run

  // Returns the seconds that --timeout allows for a trial, for a DeadlineScope; 0: no limit.
  double trial_seconds() const { return timeout_seconds.value_or(0); }
  // Returns the time limit in seconds for one run of a kernel on the device `place`. Without --timeout, it is 600 for
  // emulated devices, 60 for other devices, and 0 for REF, which then stops after Limit::RefSeconds.
  double timeout_for(const Placement& place) const;
  // Returns the options for running a kernel on the device `place`.
  ExecuteOptions execute_options(const Placement& place) const;
  // Returns the options for running REF inside this process.
  ExecuteOptions ref_in_process() const;
};

// Files that a run writes.
struct OutputOptions {
  std::string save_path = {};        // --save: path of an npz file for the results
  std::string repro_path = {};       // --repro: path of a repro bundle, written instead of npz files if a run fails
  std::string failures_folder = {};  // --save-failures: folder for the arrays of failing runs as npz files; empty: none
  // paths that earlier runs of the command wrote and that this run must not overwrite
  TakenPaths* taken_paths = nullptr;
};

// Options for runs of many kernels, that is, of models and tensor graphs (see ScheduleOptions).
struct ModelOptions {
  // Compute a tensor graph directly in REF, without a schedule. If that is not possible, or for a model, make a kernel
  // for each operation.
  bool is_unscheduled = false;
  std::optional<int> perturbation = {};  // for `is_unscheduled`: which perturbation of rounding to apply
                                         // (perturb_rounding.h)
  std::function<void(const KernelStep&)> before_kernel = {}, on_kernel = {};
  Watcher* watcher = nullptr;  // observes the rewrites that turn the graph into a schedule
};

struct RunOptions {
  InputOptions input = {};
  DeviceOptions device = {};
  CompareOptions compare = {};
  OutputOptions output = {};
  ModelOptions model = {};
};

// Returns `error`. If it says that a time limit was exceeded, begins the message with `who` ("REF ") and suggests
// --timeout.
Diag with_time_option(Diag error, std::string_view who = "");

// Chooses where a graph runs: on `device`, else on the session's target, else on the target that the graph names, else
// on the default target. If the graph's target does not work here, the graph is still lowered for it, and REF runs the
// resulting linear list. A kernel of another release runs where its recorded source does, or in REF as it is.
Result<Placement> placement_for(const Session& session, const std::string& device, const InputGraph& in);
// Makes a live pipeline compile for the device of --device, unless that is REF or --target is set. If the pipeline's
// tinygrad is 0.12.0, sets options.input.use_recorded, so that the recorded linear list runs. Does nothing for tgc's
// own pipeline.
void compile_for_device(Session& session, RunOptions& options);
// Chooses where a model or the kernels of a tensor graph run: on `device` or the session's target, else on the CPU.
Result<Placement> placement_for_model(const Session& session, const std::string& device, const Settings& settings);

// Returns the target to lower kernels for: the target of `place`, or CPU:LLVM if `place` is REF without a target.
Target lowering_target(const Placement& place, const Settings& settings);

// Fails if the user set --emulate, but `place` is not an emulated device.
Status check_emulation(const Placement& place);

// A task of `tgc run` or `tgc bisect` for one input. Each task honours a different set of options, and the commands
// refuse an option that the task would ignore.
enum class RunTask : uint8_t {
  RunSchedule = 1,      // run a tensor graph that another tinygrad release scheduled
  BisectSchedule = 2,   // bisect such a tensor graph
  BisectRecorded = 4,   // bisect the recorded stages of a kernel of another release
};

// Fails if an option of `options` has no effect in `task`. The error names the option, the input and what to do
// instead.
Status check_honoured(RunTask task, const RunOptions& options, const InputGraph& in);

}  // namespace tgc
