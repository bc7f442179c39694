// Reports of kernel runs, as text for people and as JSON for programs.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/compare.h"
#include "lib/support/quantile.h"
#include "lib/validate/kernel_inputs.h"

namespace tgc {

class JsonWriter;

struct TimedRuns {
  std::vector<double> seconds;  // the time of each timed run, in the order of the runs
  Executable::Cost cost;
  std::string device;           // name of the device, for example "CPU"
  std::string name;             // name of the kernel, with terminal colors
  size_t arguments = 0;
  uint64_t bytes = 0;           // total size of the kernel's buffers
  uint64_t evaluations = 0;     // number of UOps that REF evaluates in one run; 0 on other devices

  double median() const { return quantile(0.5); }
  double quantile(double q) const { return tgc::quantile(seconds, q); }
  // Returns tinygrad's DEBUG=2 line for the median time, a line on the spread of the times and, for REF, a line with
  // the UOp evaluations a second.
  std::string text(size_t number, bool color) const;
  void write(JsonWriter& json) const;
};

// The first stage after which the kernel's graph computes wrong results.
struct StageDifference {
  std::string stage;            // name of the stage; empty if the results are right after every stage
  std::string before = {};      // the last earlier stage after which the results are right; empty: none was run
  size_t stages_run = 0;
  std::vector<std::string> refused;  // recorded stages whose graph cannot be imported or run, each with the reason
  std::vector<Comparison> arrays;  // comparisons after `stage`; if `stage` is empty: after the last stage for which
                                   // elements were left out (Comparison::left_out)

  std::string text() const;  // indented lines
  void write(JsonWriter& json) const;
};

struct RunReport {
  enum class Result : uint8_t { Passed, Failed, NotCompared, Trouble };

  std::string input = {};            // INPUT of the kernel; empty if the command has only one INPUT
  std::string made_for = {};         // the Tensor methods and Python lines that the kernel implements, if recorded
  std::string kernel = {};
  std::string ran = {};              // what ran in place of the input itself: "the recorded source", "the AST alone,
                                     // ..."; empty: the input
  std::string device;                // for example "CPU:LLVM" or "REF, lowered for CUDA:CUDA:sm_80"
  std::string reference;             // what the results were compared with; empty: nothing
  std::vector<Comparison> arrays;
  std::vector<std::string> out_of_time;  // runs that were left out for lack of time
  std::string notes;                 // undefined operations that ran, and known reasons for a difference
  std::optional<StageDifference> stages;
  std::optional<TimedRuns> bench;
  std::vector<std::string> written;  // paths of the files that the run wrote
  std::string not_kept;              // why the arrays of a failed run could not be saved; else empty
  std::string repeat_command;        // the command that repeats a failed run
  std::optional<uint64_t> seed;      // seed of the random inputs, if there are any
  InputSet drawn = InputSet::Usual;  // the set of random inputs with which the run failed
  std::string sizes;                 // the name of `drawn`, or "also ..." with the other sets with which the run passed
  std::string floats;                // distribution of the random floats; empty: the default one
  std::set<std::string> variables;   // names of --var that are variables of the kernel
  ChosenVariables values;            // the values of the kernel's variables
  std::vector<ChosenVariables> also_tried;  // more values with which the kernel passed
  std::string error;                 // the error that ended the run; fields above may then be unset
  bool kernel_fault = false;         // true if `error` is the fault of the kernel: see Diag::kernel_fault

  Result result() const;
  bool passed() const { return result() == Result::Passed; }
  int exit_code() const;
  // Returns the report of a run without an error. `number` is the number of the kernel in the command, from 1.
  std::string text(size_t number, bool color) const;
  std::string json() const;                           // the report as one line of JSON
};

// Writes the member "arrays":[...] of a report, which has one object for each comparison.
void write_comparisons(JsonWriter& json, const std::vector<Comparison>& arrays);

std::string_view name_of(RunReport::Result result);  // returns "passed", "failed", "ran" or "trouble"
int exit_code_of(RunReport::Result result);          // returns 1 for Failed, 2 for Trouble, else 0

// The number of kernels of a command for each result.
struct RunCounts {
  size_t passed = 0, failed = 0, not_compared = 0, in_trouble = 0;

  void add(RunReport::Result result);
  size_t all() const { return passed + failed + not_compared + in_trouble; }
  std::string text(std::string_view what = "kernel") const;  // a line such as "5 of 6 kernels passed, 1 failed"
};

// ---- the line that tinygrad prints for each kernel that it runs (DEBUG=2)

// The time of one kernel, and the total time of all kernels so far.
struct KernelTime {
  double seconds = 0, seconds_in_all = 0;
};

struct KernelLine {
  std::string name;          // name of the kernel, with terminal colors
  std::string device;        // name of the device, for example "CPU"
  size_t number = 0;         // number of the kernel in this process, from 1
  size_t arguments = 0;
  double bytes = 0;          // bytes of memory in use
  Executable::Cost cost = {};
  std::optional<KernelTime> time = {};

  // Returns the line "*** CPU        1 E_4_4       arg  3 mem   0.00 GB tm ..."; without `time`, the part before "tm".
  std::string text(bool color) const;
};

// Returns `text` in the color that tinygrad calls `color`, with terminal codes; `text` itself if `wanted` is false.
std::string painted(std::string text, std::string_view color, bool wanted);
// Formats a time as `width` columns, for example "3.76us" (helpers.py:time_to_str).
std::string time_text(double seconds, int width = 9);

}  // namespace tgc
