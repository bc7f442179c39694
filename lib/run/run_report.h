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
  std::vector<double> run_seconds;
  Executable::Cost kernel_cost;
  std::string device;
  std::string name;             // with terminal colors
  size_t num_arguments = 0;
  uint64_t buffer_bytes = 0;
  uint64_t num_evaluations = 0;  // number of UOps that REF evaluates in one run; 0 if not counted

  double median_time() const { return quantile(0.5); }
  double quantile(double q) const { return tgc::quantile(run_seconds, q); }
  // Returns tinygrad's DEBUG=2 line for the median time, a line on the spread of the times and, if they were counted,
  // one with the UOp evaluations a second.
  std::string text(size_t number, bool color) const;
  void write(JsonWriter& json) const;
};

struct StageDifference {
  std::string stage;
  // last stage of a recorded schedule after which the results are right
  std::string last_right_stage = {};
  size_t num_stages_run = 0;
  // stages whose graph could not be compared, each with the reason
  std::vector<std::string> refused_stages;
  // comparisons after `stage`; if `stage` is empty, after a stage for which elements were left out
  // (Comparison::num_left_out)
  std::vector<Comparison> comparisons;

  std::string text() const;
  void write(JsonWriter& json) const;
};

struct RunReport {
  enum class Result : uint8_t { Passed, Failed, NotCompared, Trouble };

  std::string input = {};
  std::string user_operation = {};   // Tensor methods and Python lines that the kernel implements, if recorded
  std::string kernel = {};
  // what ran in place of the input, such as "the recorded linear list"
  std::string run_description = {};
  std::string device;                // such as "CPU:LLVM" or "REF, lowered for CUDA:CUDA:sm_80"
  std::string reference;
  std::vector<Comparison> comparisons;
  std::vector<std::string> left_out_runs;  // texts on runs and steps for which no time was left
  std::string notes;                       // undefined operations that ran, and known reasons for a difference
  std::optional<StageDifference> stage_difference;
  std::optional<TimedRuns> timed_runs;
  std::vector<std::string> written_files;
  std::string not_saved_reason;              // why the arrays of a failed run could not be saved
  std::string repeat_command;
  std::optional<uint64_t> seed;      // unset if no input is random
  InputSet input_set = InputSet::Usual;  // the set with which the run failed
  std::string input_set_note;  // name of `input_set`, or "also ..." with the other sets with which the run passed
  std::string float_distribution;                // empty for the default distribution
  std::set<std::string> variables;   // names of --var that are variables of the kernel
  ChosenVariables variable_values;
  std::vector<ChosenVariables> other_tried_values;
  std::string error;                 // error, or race between threads; fields above may then be unset
  bool is_kernel_fault = false;

  Result result() const;
  bool is_passed() const { return result() == Result::Passed; }
  int exit_code() const;
  // `number` is the number of the kernel in the command, from 1. The text does not contain `error`.
  std::string text(size_t number, bool color) const;
  std::string json() const;
};

void write_comparisons(JsonWriter& json, const std::vector<Comparison>& arrays);

std::string_view name_of(RunReport::Result result);  // returns "passed", "failed", "ran" or "trouble"
int exit_code_of(RunReport::Result result);          // returns 1 for Failed, 2 for Trouble, else 0

struct RunCounts {
  size_t num_passed = 0, num_failed = 0, num_not_compared = 0, num_in_trouble = 0;

  void add_result(RunReport::Result result);
  size_t num_total() const { return num_passed + num_failed + num_not_compared + num_in_trouble; }
  std::string text(std::string_view what = "kernel") const;  // returns text such as "5 of 6 kernels passed, 1 failed"
};

// ---- the line that tinygrad prints for each kernel that it runs (DEBUG=2)

struct KernelTime {
  double seconds = 0, total_seconds = 0;
};

struct KernelReportLine {
  std::string name;          // with terminal colors
  std::string device;
  size_t kernel_number = 0;  // from 1
  size_t num_arguments = 0;
  double used_bytes = 0;
  Executable::Cost kernel_cost = {};
  std::optional<KernelTime> kernel_time = {};

  // Returns text such as "*** CPU        1 E_4_4       arg  3 mem   0.00 GB tm ..."; without `kernel_time`, the part
  // before "tm".
  std::string text(bool color) const;
};

// Returns `text` in tinygrad's color `color`; unchanged unless `wanted`.
std::string paint_text(std::string text, std::string_view color, bool wanted);
// Returns text such as "3.76us": a number of `width` columns and a unit (helpers.py:time_to_str).
std::string time_text(double seconds, int width = 9);

}  // namespace tgc
