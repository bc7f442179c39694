// Runs a model or tensor graph on a device. Compares its outputs with the arrays of a file, or each kernel with REF.
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
  std::string recorded_on;        // the device of the graph's buffers; empty for the CPU
  std::optional<uint64_t> seed;   // seed of the random inputs, if there are any
  std::string floats;             // distribution of random inputs, if it is not the usual one
  double load_seconds = 0;        // time of reading the file
  double build_seconds = 0;       // time of building the graph, or of scheduling it
  double total_seconds = 0;       // time of scheduling, compiling and running
  ScheduleResult ran;
  int timed_runs = 0;
  std::vector<std::string> names;   // names of ran.values: the model's outputs, or data0, ... for schedule buffers
  std::vector<Comparison> outputs;  // outputs compared with the expected file
  std::string reference;            // what the results were compared with: a file, or REF; empty: nothing
  size_t kernels_compared = 0;      // kernels that store what REF stores
  size_t kernels_sanitized = 0;     // kernels in which AddressSanitizer found nothing
  std::string not_kept;             // why the results of a failed run could not be saved
  std::string different;            // the first kernel that differs from REF, with the command that repeats it
  std::string error;                // the error that ended the run; empty if none did
  bool kernel_fault = false;        // the error is the kernel's own: see Diag::kernel_fault

  RunReport::Result result() const;
  int exit_code() const;
  std::string text() const;  // the report of a run without an error
  std::string json() const;  // the report as one line of JSON
};

// Runs the ONNX model of that file. If the reference is REF, the results of each kernel are compared.
ModelReport run_model(const Session& session, const std::string& path, const RunOptions& options);

// Runs a copy of a tensor graph, because scheduling a graph caches facts in it that change later rewrites.
ModelReport run_tensor_graph(const Session& session, const InputGraph& in, const RunOptions& options);

}  // namespace tgc
