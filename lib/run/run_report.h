// Reports of runs: text for people, JSON for programs.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/compare.h"

namespace tgc {

class JsonWriter;

struct TimedRuns {
  std::vector<double> seconds;  // the time of each run, in order
  Executable::Cost cost;
  std::string device;           // "CPU"
  std::string name;             // name of the kernel, with colors
  size_t arguments = 0;
  uint64_t bytes = 0;           // size of its buffers
  uint64_t evaluations = 0;     // how many UOps REF evaluates in one run; 0 for other devices

  double median() const { return quantile(0.5); }
  double quantile(double q) const;
  // Returns tinygrad's DEBUG=2 line, with the median of the times, and a second line on how much the times vary.
  std::string text(size_t number, bool color) const;
  void write(JsonWriter& json) const;
};

// The first stage after which the graph computes wrong results.
struct StageDifference {
  std::string stage;            // that stage's name; empty if the graph is right after every stage
  size_t stages_run = 0;
  std::vector<Comparison> arrays;  // for `stage`; without one, for the last stage with left-out elements
};

struct RunReport {
  enum class Result : uint8_t { Passed, Failed, NotCompared, Trouble };

  std::string input = {};            // the INPUT that the kernel is from, if the command has several
  std::string made_for = {};         // the Tensor ops and Python lines that the kernel was made for, if recorded
  std::string kernel = {};
  std::string device;                // "CPU:LLVM", "REF, lowered for CUDA:CUDA:sm_80"
  std::string reference;             // what the results were compared with; empty: nothing
  std::vector<Comparison> arrays;
  std::string notes;                 // undefined operations that the reference met; known reasons for a difference
  std::optional<StageDifference> stages;
  std::optional<TimedRuns> bench;
  std::vector<std::string> written;  // paths of the files that the run wrote
  std::string not_kept;              // why the arrays of a failed run could not be kept
  std::string again;                 // the command that repeats the failed run
  std::optional<uint64_t> seed;      // seed of the random inputs, if there are any
  std::string floats;                // distribution of random inputs, if it is not the usual one
  std::set<std::string> variables;   // variables of the kernel that were given
  std::string error;                 // the error that ended the run; other fields may then be missing
  bool kernel_fault = false;         // the error is the kernel's own: see Diag::kernel_fault

  Result result() const;
  bool passed() const { return result() == Result::Passed; }
  int exit_code() const;
  // Returns the text of a run that ended without an error. `number` counts the kernels of the command from 1.
  std::string text(size_t number, bool color) const;
  std::string json() const;                           // one line
};

// Writes the member "arrays":[...] of a report, with one object for each comparison.
void write_comparisons(JsonWriter& json, const std::vector<Comparison>& arrays);

std::string_view name_of(RunReport::Result result);  // "passed", "failed", "ran", "trouble"
int exit_code_of(RunReport::Result result);          // 0; 1 if it failed; 2 in trouble

// How many kernels of a run passed, failed, ...
struct RunCounts {
  size_t passed = 0, failed = 0, not_compared = 0, in_trouble = 0;

  void add(const RunReport& report);
  size_t all() const { return passed + failed + not_compared + in_trouble; }
  std::string text() const;  // "5 of 6 kernels passed, 1 failed": a line
};

}  // namespace tgc
