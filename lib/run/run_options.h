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
  std::string name = "-";   // INPUT as given, for names of files and for the command that repeats the run
  std::string kernel = {};  // --kernel
  std::string arrays = {};  // --inputs: a file of arrays; empty: they are random
  std::optional<uint64_t> seed = {};  // --seed, for arrays that no file gives; without a file its default is 0
  VariableValues variables = {};      // --var: of a model, its symbolic sizes
  bool recorded = false;  // --recorded: run a golden record's own linear list and stages, not tgc's
  bool is_only_kernel = false;     // of the run: a value for a variable that the kernel lacks is an error
  bool is_one_of_several = false;  // INPUTs: reports name theirs
};

// Where and how kernels run.
struct DeviceOptions {
  std::string name = {};  // --device; empty: the session's target, else the graph's own, else CPU
  std::optional<double> timeout_seconds = {};  // --timeout, of one kernel; 0: none
  bool in_process = false;  // --in-process: without a worker
  bool sanitize = false;    // --sanitize: kernels on the CPU run under AddressSanitizer
  int timed_runs = 0;       // --bench

  // Returns the time limit at that place in seconds, as ExecuteOptions takes it. Defaults: a minute, ten on emulated
  // devices, Limit::RefSeconds in REF.
  double timeout_for(const Placement& place) const;
  // Options for one run at that place.
  ExecuteOptions execute_options(const Placement& place) const;
  // Options for a run of REF inside this process.
  ExecuteOptions ref_in_process() const;
};

// Files that a run writes.
struct OutputOptions {
  std::string save = {};        // --save: an npz file of the results
  std::string repro = {};       // --repro: a bundle of the failure; empty: npz files and a command that repeats it
  bool keep_failures = true;    // write those npz files (to the working folder)
  TakenPaths* taken = nullptr;  // files of earlier runs, which this run must not overwrite
};

// For runs of many kernels: see ScheduleOptions.
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

// Returns `error`; if a time limit was exceeded, `who` ("REF ") is put in front and the expected part names --timeout.
Diag with_time_option(Diag error, std::string_view who = "");

// Chooses where a graph runs: on `device` or the session's target if one is given, else on the target that the graph
// names. If that device does not work on this machine, REF runs the list that is lowered for it.
Result<Placement> placement_for(const Session& session, const std::string& device, const InputGraph& in);
// The same for an ONNX model, which names no target.
Result<Placement> placement_for_model(const Session& session, const std::string& device, const Settings& settings);

// Returns the target that kernels at that place are lowered for; CPU:LLVM where REF runs graphs as they stand.
Target lowering_target(const Placement& place, const Settings& settings);

// Throws Failure if --emulate was given and this place is not emulated.
void check_emulation(const Placement& place);

// Parses the values of --var, "n=3" each. Errors: a text that is no NAME=INTEGER, or a name given twice.
Result<VariableValues> parse_variables(const std::vector<std::string>& texts);

}  // namespace tgc
