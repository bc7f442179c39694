// Trials: what `tgc run` does, as a library. A kernel is lowered for where it shall run, given arrays, run in a process
// of its own and compared with what is expected of it: a file's arrays, or what another device makes of the same inputs
// (REF, unless asked otherwise).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/driver/session.h"
#include "lib/execute/execution.h"
#include "lib/execute/placement.h"
#include "lib/run/run_report.h"
#include "lib/runtime/compare.h"
#include "lib/support/file_name.h"

namespace tgc {

struct KernelStep;
class Watcher;

// What a user asks of a run: of one kernel, of a tensor graph or of a model. A {} in a file's name stands for the input
// without its extension.
struct RunOptions {
  // the INPUT and --kernel as they were given, for the names of files and for the command that repeats it
  std::string input = "-";
  std::string kernel = {};
  // where, as choose_placement takes it; empty: the session's target, else the graph's own, else CPU
  std::string device = {};
  std::string arrays = {};     // a file of inputs; empty: they are drawn
  std::string expect = {};     // a file of what should come out
  // without that: the device that makes it, or an INPUT whose graph REF runs on the same arrays; empty: REF on the
  // graph as it stands; "none": compare nothing
  std::string reference = {};
  std::string save = {};       // where to keep what comes out
  TakenPaths* taken = nullptr;  // the files of the trials before this one, which this one must not overwrite
  VariableValues variables = {};
  std::optional<uint64_t> seed = {};  // for inputs that no file gives; without a file 0
  ToleranceOptions tolerance = {};
  int bench = 0;  // timed runs
  std::optional<double> timeout_seconds = {};  // that a kernel may take, 0: any; not given: see timeout_for
  bool in_process = false;
  bool sanitize = false;    // of a kernel on the CPU: under AddressSanitizer
  bool each_stage = false;  // also run the graph after every stage in REF
  bool recorded = false;    // of a golden record: its own linear list and stages are run, not what tgc makes of its AST
  bool keeps = true;        // what fails leaves its arrays, as npz files in the working folder, without `repro`
  std::string repro = {};   // the file for a bundle of what fails; {} as in the others; empty: npz files and a command
  bool one_of_several = false;  // INPUTs: reports say which they are of
  bool unfused = false;     // of a model: every operation a kernel of its own
  std::function<void(const KernelStep&)> before_kernel = {}, on_kernel = {};  // of a model: see ScheduleOptions
  Watcher* watcher = nullptr;  // of a model: sees its graph become a schedule
  bool alone = false;       // the only kernel of the run: a variable that it does not have is an error

  // As ExecuteOptions take it. A minute by default, ten of an emulator; REF, which interprets, has Limit::RefSeconds.
  double timeout_for(const Placement& place) const;
  // For what REF runs beside that, in this process.
  ExecuteOptions in_ref() const;
};

// The error of a run; where its time was over, with the option that gives it more. `who` did not end, where that is not
// plain: "REF ".
Diag with_time_option(Diag error, std::string_view who = "");

// Where the graph runs: `device` or the session's target when one is given, else the target that it says itself. When
// that device does not work here, REF runs what it is lowered to.
Result<Placement> placement_for(const Session& session, const std::string& device, const InputGraph& in);

// Throws Failure when emulation was asked for and this place is not emulated.
void check_emulation(const Placement& place);

// The kernel run and compared. What goes wrong, be it an input that does not fit or a kernel that dies, is the report's
// error. A kernel that fails leaves its arrays in files, and the command that repeats it.
RunReport run_kernel(const Session& session, InputGraph& in, const RunOptions& spec);

// The values of --var, "n=3" each. An error names what is no NAME=INTEGER, or comes twice.
Result<VariableValues> parse_variables(const std::vector<std::string>& texts);

}  // namespace tgc
