// What `tgc run` says about a kernel: a text for people, a JSON object for programs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/compare.h"

namespace tgc {

struct BenchReport {
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
};

// The first stage whose graph computes something else than the first graph does.
struct StageDifference {
  std::string stage;            // empty: none
  size_t stages_run = 0;
  std::vector<Comparison> arrays;
};

struct RunReport {
  std::string kernel;
  std::string device;                // "CPU:LLVM", "REF, lowered for CUDA:CUDA:sm_80"
  std::string reference;             // what it was compared with; empty: nothing
  std::vector<Comparison> arrays;
  std::string notes;                 // what the reference met that C leaves undefined
  std::optional<StageDifference> stages;
  std::optional<BenchReport> bench;
  std::vector<std::string> written;  // files
  std::string again;                 // the command that repeats a failure
  std::optional<uint64_t> seed;      // that inputs were drawn from
  std::string floats;                // how, when not as usual
  std::string error;                 // that ended it; everything else may be missing then

  bool passed() const;
  int exit_code() const { return !error.empty() ? 2 : passed() ? 0 : 1; }
  std::string text(size_t number, bool color) const;  // of one without an error
  std::string json() const;                            // one line
};

}  // namespace tgc
