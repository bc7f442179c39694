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
  std::vector<double> run_seconds;  // the time of each timed run, in the order of the runs
  Executable::Cost kernel_cost;
  std::string device;           // name of the device, for example "CPU"
  std::string name;             // name of the kernel, with terminal colors
  size_t num_arguments = 0;
  uint64_t buffer_bytes = 0;     // total size of the kernel's buffers
  uint64_t num_evaluations = 0;  // number of UOps that REF evaluates in one run; 0 if they were not counted

  double median() const { return quantile(0.5); }
  double quantile(double q) const { return tgc::quantile(run_seconds, q); }
  // Returns tinygrad's DEBUG=2 line for the median time, a line on the spread of the times and, for REF, a line with
  // the UOp evaluations a second.
  std::string text(size_t number, bool color) const;
  void write(JsonWriter& json) const;
};

// The first stage after which the graph of a kernel or of a recorded schedule computes wrong results.
struct StageDifference {
  std::string stage;            // name of the stage; empty if none was found
  // for a recorded schedule: the last earlier stage after which the results are right; empty: there is none
  std::string last_right_stage = {};
  size_t num_stages_run = 0;
  // recorded stages whose graph cannot be imported or run, each with the reason
  std::vector<std::string> refused_stages;
  // comparisons after `stage`; if `stage` is empty: after a stage for which elements were left out
  // (Comparison::num_left_out)
  std::vector<Comparison> comparisons;

  std::string text() const;  // indented lines
  void write(JsonWriter& json) const;
};

struct RunReport {
  enum class Result : uint8_t { Passed, Failed, NotCompared, Trouble };

  std::string input = {};            // INPUT of the kernel; empty if the command has only one INPUT
  std::string made_for = {};         // the Tensor methods and Python lines that the kernel implements, if recorded
  std::string kernel = {};
  // what ran in place of the input itself, such as "the recorded linear list"; empty: the input
  std::string what_ran = {};
  std::string device;                // for example "CPU:LLVM" or "REF, lowered for CUDA:CUDA:sm_80"
  std::string reference;             // what the results were compared with; empty: nothing
  std::vector<Comparison> comparisons;
  std::vector<std::string> runs_left_out;  // runs that were left out for lack of time
  std::string notes;                       // undefined operations that ran, and known reasons for a difference
  std::optional<StageDifference> stage_difference;
  std::optional<TimedRuns> timed_runs;
  std::vector<std::string> written_files;  // paths of the files that the run wrote
  std::string not_kept_reason;              // why the arrays of a failed run could not be saved; else empty
  std::string repeat_command;        // the command that repeats a failed run
  std::optional<uint64_t> seed;      // seed of the random inputs, if there are any
  InputSet input_set = InputSet::Usual;  // the set of random inputs with which the run failed
  std::string input_sizes;  // the name of `input_set`, or "also ..." with the other sets with which the run passed
  std::string float_distribution;                // distribution of the random floats; empty: the default one
  std::set<std::string> variables;   // names of --var that are variables of the kernel
  ChosenVariables variable_values;            // the values of the kernel's variables
  std::vector<ChosenVariables> also_tried;  // more values with which the kernel passed
  std::string error;                 // the error that ended the run; fields above may then be unset
  bool is_kernel_fault = false;         // true if `error` is the fault of the kernel: see Diag::kernel_fault

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
  size_t num_passed = 0, num_failed = 0, num_not_compared = 0, num_in_trouble = 0;

  void add_result(RunReport::Result result);
  size_t num_all() const { return num_passed + num_failed + num_not_compared + num_in_trouble; }
  std::string text(std::string_view what = "kernel") const;  // a line such as "5 of 6 kernels passed, 1 failed"
};

// ---- the line that tinygrad prints for each kernel that it runs (DEBUG=2)

// The time of one kernel, and the total time of all kernels so far.
struct KernelTime {
  double seconds = 0, total_seconds = 0;
};

struct KernelLine {
  std::string name;          // name of the kernel, with terminal colors
  std::string device;        // name of the device, for example "CPU"
  size_t kernel_number = 0;  // number of the kernel in this process, from 1
  size_t num_arguments = 0;
  double used_bytes = 0;          // bytes of memory in use
  Executable::Cost kernel_cost = {};
  std::optional<KernelTime> kernel_time = {};

  // Returns the line "*** CPU        1 E_4_4       arg  3 mem   0.00 GB tm ..."; without `kernel_time`, the part before
  // "tm".
  std::string text(bool color) const;
};

// Returns `text` in the color that tinygrad calls `color`, with terminal codes; `text` itself if `wanted` is false.
std::string paint_text(std::string text, std::string_view color, bool wanted);
// Formats a time as a number of `width` columns and a unit, for example "3.76us" (helpers.py:time_to_str).
std::string time_text(double seconds, int width = 9);

}  // namespace tgc
