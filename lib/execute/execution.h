// Runs one kernel on arrays, in a worker.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/contain/contain.h"
#include "lib/execute/executable.h"
#include "lib/runtime/array.h"
#include "lib/runtime/random.h"

namespace tgc {

struct ExecuteOptions {
  bool in_process = false;      // run in this process instead of a worker
  double timeout_seconds = 0;   // time limit of the worker; 0: none, but REF stops after Limit::RefSeconds
  int repeats = 0;              // timed runs after the first
};

struct Execution {
  Arrays outputs;               // the arrays that the kernel stores to, in the order of its parameters
  std::vector<double> seconds;  // of each timed run
  // in REF only:
  std::string notes;         // operations whose result C leaves undefined
  bool makes_nans = false;   // square roots or logarithms of negative numbers
  uint64_t evaluations = 0;  // evaluated UOps, if RefOptions ask for their number
};

// Returns an array for each of `buffers`: that of `given` by name; else zeros if the kernel only writes it, and random
// numbers of `draw` if it reads it. Errors: an array is missing or has another dtype or size, or memory does not
// suffice. `source` says where `given` comes from.
Result<Arrays> input_arrays(const std::vector<BufferSpec>& buffers, const Arrays& given, const std::string& source,
                            std::optional<InputDistribution> draw);

// Starts the kernel on `device` in a worker; with `options.in_process`, runs it here before returning. Call the
// returned function once to get the result, as execute() returns it; dropping it uncalled ends the worker. The
// arguments need not outlive the call.
std::function<Result<Execution>()> begin_execution(Executable& kernel, Device& device, const Arrays& inputs,
                                                   const VariableValues& variables, const ExecuteOptions& options);

// Opens `device`, runs the kernel on copies of `inputs` (one array for each buffer, in order) and returns the arrays
// that it stores.
Result<Execution> execute(Executable& kernel, Device& device, const Arrays& inputs, const VariableValues& variables,
                          const ExecuteOptions& options);

}  // namespace tgc
