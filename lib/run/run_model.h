// Runs a model or a tensor graph on a device and compares its outputs with a file's arrays, or each kernel with REF.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/execute/schedule_run.h"
#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

struct ModelReport {
  std::string model, device;      // "CPU:LLVM"
  std::string device_option;      // as --device takes it
  std::string recorded_on;        // the device of a tensor graph's buffers; empty for the CPU
  std::optional<uint64_t> seed;   // of random inputs
  std::string floats;             // their distribution, if it is not the usual one
  double load_seconds = 0;        // reading the file
  double build_seconds = 0;       // building the graph, or scheduling it
  double total_seconds = 0;       // scheduling, compiling and running
  ScheduleResult ran;
  int timed_runs = 0;
  std::vector<std::string> names;   // of ran.values: the model's outputs, or data0, ... by the schedule's buffers
  std::vector<Comparison> outputs;  // outputs compared with the expected file
  std::string reference;            // what was compared with: a file, or REF; empty: nothing
  size_t kernels_compared = 0;      // kernels that store what REF stores
  size_t kernels_sanitized = 0;     // kernels in which AddressSanitizer found nothing
  std::string not_kept;             // why the results of a failed run could not be saved
  std::string different;            // the first kernel that differs from REF, with the command that repeats it
  std::string error;                // what ended the run
  bool kernel_fault = false;        // the error is the kernel's own: see Diag::kernel_fault

  RunReport::Result result() const;
  int exit_code() const;
  std::string text() const;  // of a run without an error
  std::string json() const;  // one line
};

// Runs the ONNX model of that file. A reference of REF is compared kernel by kernel.
ModelReport run_model(const Session& session, const std::string& path, const RunOptions& options);

// Runs a tensor graph. A copy is scheduled: a graph that was scheduled before would be rewritten differently.
ModelReport run_tensor_graph(const Session& session, const InputGraph& in, const RunOptions& options);

}  // namespace tgc
