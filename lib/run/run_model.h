// Trials of more than one kernel: a model or a tensor graph, run on a device and compared with a file's arrays, or
// kernel by kernel with REF.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/execute/schedule_run.h"
#include "lib/run/run_kernel.h"

namespace tgc {

struct ModelReport {
  std::string model, device;      // "CPU:LLVM"
  std::string device_option;      // as --device takes it
  std::string recorded_on;        // the device that a tensor graph's buffers are on; empty: the CPU
  std::optional<uint64_t> seed;   // that inputs were drawn from
  std::string floats;             // how, when not as usual
  double load_seconds = 0;        // of the file
  double build_seconds = 0;       // of the graph, or its schedule
  double total_seconds = 0;       // of scheduling, compiling and running
  ScheduleResult ran;
  int timed_runs = 0;
  std::vector<std::string> names;   // of ran.values: the model's outputs, or data0, ... by the schedule's buffers
  std::vector<Comparison> outputs;  // those that were compared with the expected file
  std::string reference;            // what it was compared with: a file, or REF; empty: nothing
  size_t kernels_compared = 0;      // with REF, that are the same
  size_t kernels_sanitized = 0;     // that were run under AddressSanitizer, which found nothing
  std::string not_kept;             // of a failure: why what came out is not in the file
  std::string different;            // the first kernel that is not, with the command that repeats it
  std::string error;                // that ended it
  bool kernel_fault = false;        // the error is the kernel's own: see Diag::kernel_fault

  RunReport::Result result() const;
  int exit_code() const;
  std::string text() const;  // of one without an error
  std::string json() const;  // one line
};

// The ONNX model of that file. `spec.input.variables` are its symbolic sizes; `spec.compare.reference` may be REF, which is compared
// kernel by kernel.
ModelReport run_model(const Session& session, const std::string& path, const RunOptions& spec);

// The same with a tensor graph, of which a copy is scheduled: a graph that was once would be rewritten otherwise.
ModelReport run_tensor_graph(const Session& session, const InputGraph& in, const RunOptions& spec);

}  // namespace tgc
