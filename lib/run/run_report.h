// What a trial found: a text for people, a JSON object for programs.
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
  std::vector<double> seconds;  // of each run, in order
  Executable::Cost cost;
  std::string device;           // "CPU"
  std::string name;             // the kernel's, with colours
  size_t arguments = 0;
  uint64_t bytes = 0;           // of its buffers
  uint64_t evaluations = 0;     // of UOps in one run, of REF

  double median() const { return quantile(0.5); }
  double quantile(double q) const;
  // tinygrad's line at DEBUG=2, with the median as the time of this kernel, and a line on how much the times vary.
  std::string text(size_t number, bool color) const;
  void write(JsonWriter& json) const;
};

// The first stage whose graph computes something else than the first graph does.
struct StageDifference {
  std::string stage;            // empty: none
  size_t stages_run = 0;
  std::vector<Comparison> arrays;  // there; where there is none: of the last stage that left elements out
};

struct RunReport {
  enum class Result : uint8_t { Passed, Failed, NotCompared, Trouble };

  std::string input = {};            // the INPUT it is of, where there are several
  std::string made_for = {};         // the Tensor ops and lines of Python behind it, where the record says so
  std::string kernel = {};
  std::string device;                // "CPU:LLVM", "REF, lowered for CUDA:CUDA:sm_80"
  std::string reference;             // what it was compared with; empty: nothing
  std::vector<Comparison> arrays;
  std::string notes;                 // what the reference met that C leaves undefined; known causes of what differs
  std::optional<StageDifference> stages;
  std::optional<TimedRuns> bench;
  std::vector<std::string> written;  // files
  std::string not_kept;              // of a failure: why its arrays are not in files
  std::string again;                 // the command that repeats a failure
  std::optional<uint64_t> seed;      // that inputs were drawn from
  std::string floats;                // how, when not as usual
  std::set<std::string> variables;   // those of the kernel that got a value
  std::string error;                 // that ended it; everything else may be missing then
  bool kernel_fault = false;         // the error is the kernel's own: see Diag::kernel_fault

  Result result() const;
  bool passed() const { return result() == Result::Passed; }
  int exit_code() const;
  // Of one without an error; `number` counts the kernels of the run from 1.
  std::string text(size_t number, bool color) const;
  std::string json() const;                           // one line
};

// "arrays":[...] of a report, one object each.
void write_comparisons(JsonWriter& json, const std::vector<Comparison>& arrays);

std::string_view name_of(RunReport::Result result);  // "passed", "failed", "ran", "trouble"
int exit_code_of(RunReport::Result result);          // as the command line's: 0, 1 when it failed, 2 in trouble

// What the kernels of a run came to.
struct TrialCounts {
  size_t passed = 0, failed = 0, not_compared = 0, in_trouble = 0;

  void add(const RunReport& report);
  size_t all() const { return passed + failed + not_compared + in_trouble; }
  std::string text() const;  // "5 of 6 kernels passed, 1 failed": a line
};

}  // namespace tgc
