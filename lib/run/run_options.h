// The options of a run of one kernel, a tensor graph or a model, and the choice of its device.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/driver/session.h"
#include "lib/execute/execution.h"
#include "lib/execute/placement.h"
#include "lib/support/file_name.h"
#include "lib/validate/compare_outputs.h"

namespace tgc {

struct KernelStep;
class Watcher;

// The graph and its arrays. A {} in the name of a file stands for the input without its extension.
struct InputOptions {
  std::string name = "-";   // INPUT as the user gave it, for names of files and for the command that repeats the run
  std::string kernel = {};  // --kernel
  std::string arrays = {};  // --inputs: a file of arrays; empty: they are random
  std::optional<uint64_t> seed = {};  // for arrays that no file gives; default 0 if there is no file
  VariableValues variables = {};      // --var: values of variables; for a model, its symbolic sizes
  bool recorded = false;  // --recorded: run a golden record's own linear list and stages, not tgc's
  bool is_only_kernel = false;     // the run has one kernel: error for a --var that it lacks
  bool is_one_of_several = false;  // the command has several INPUTs, so each report names its own
};

// Where and how kernels run.
struct DeviceOptions {
  std::string name = {};  // empty: the target of the session, else of the graph, else CPU
  std::optional<double> timeout_seconds = {};  // --timeout: limit for one kernel; 0: no limit
  bool in_process = false;  // --in-process: without a worker process
  bool sanitize = false;    // --sanitize: kernels on the CPU run under AddressSanitizer
  int timed_runs = 0;       // --bench: number of timed runs after the first run

  // Returns the time limit in seconds for a kernel on that device, as ExecuteOptions takes it. If there is no
  // --timeout, it is 600 on emulated devices, Limit::RefSeconds in REF, and 60 on other devices.
  double timeout_for(const Placement& place) const;
  // Returns the options for one run on that device.
  ExecuteOptions execute_options(const Placement& place) const;
  // Returns the options for a run of REF inside this process.
  ExecuteOptions ref_in_process() const;
};

// Files that a run writes.
struct OutputOptions {
  std::string save = {};        // --save: an npz file of the results
  std::string repro = {};       // a bundle of the failure, in place of npz files and a command
  bool keep_failures = true;    // write npz files of failed runs (to the working folder)
  TakenPaths* taken = nullptr;  // files that earlier runs wrote, and that this run must not overwrite
};

// Options for models and tensor graphs, that is, for runs of many kernels; see ScheduleOptions.
struct ModelOptions {
  bool unfused = false;  // each operation becomes a kernel of its own
  std::function<void(const KernelStep&)> before_kernel = {}, on_kernel = {};
  Watcher* watcher = nullptr;  // observes the rewrites of the graph into a schedule
};

struct RunOptions {
  InputOptions input = {};
  DeviceOptions device = {};
  CompareOptions compare = {};
  OutputOptions output = {};
  ModelOptions model = {};
};

// Returns `error`. If it is an exceeded time limit, puts `who` ("REF ") before the message and suggests --timeout.
Diag with_time_option(Diag error, std::string_view who = "");

// Chooses where a graph runs: on `device`, else on the session's target, else on the target that the graph names. If
// the graph names a device that does not work on this machine, REF runs the list that is lowered for that target.
Result<Placement> placement_for(const Session& session, const std::string& device, const InputGraph& in);
// Chooses where an ONNX model runs: on `device` or the session's target, else on the CPU.
Result<Placement> placement_for_model(const Session& session, const std::string& device, const Settings& settings);

// Returns the target that kernels are lowered for: that of `place`, or CPU:LLVM if `place` is REF without a target.
Target lowering_target(const Placement& place, const Settings& settings);

// Throws Failure if --emulate was set, but `place` is not an emulated device.
void check_emulation(const Placement& place);

// Parses the values of --var, "n=3" each. Errors: a text that is no NAME=INTEGER, or a name given twice.
Result<VariableValues> parse_variables(const std::vector<std::string>& texts);

}  // namespace tgc
