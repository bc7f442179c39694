// Runs one kernel on arrays, or one program of the reference interpreter (REF), in a worker or in this process.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lib/contain/contain.h"
#include "lib/execute/executable.h"
#include "lib/runtime/array.h"
#include "lib/runtime/random.h"
#include "lib/runtime/ref/ref.h"

namespace tgc {

struct ExecuteOptions {
  bool should_run_in_process = false;
  // Time limit; 0: none, but REF stops after Limit::RefSeconds. An earlier current_deadline() also ends the run.
  // Neither stops a compiled kernel in this process.
  double timeout_seconds = 0;
  int num_repeats = 0;              // number of timed runs; the time limit may allow fewer
};

struct ExecutionResult {
  Arrays outputs;                   // the arrays that the kernel stores, in the order of its parameters
  std::vector<double> run_seconds;  // times of the timed runs
  // the following members are set by REF only
  std::string notes;
  bool makes_nans = false;       // true if the kernel computed a square root or a logarithm of a negative number
  uint64_t num_evaluations = 0;  // 0 unless RefOptions::should_count_evaluations
};

// Returns an array for each of `buffers`: that of `given` with its name or, if there is none, random numbers from
// `draw` if the kernel reads the buffer, else zeros. Fails, for example, if an array of `given` does not fit, or if a
// needed `draw` is unset. Errors about single arrays quote `source`, the file of `given`.
Result<Arrays> make_input_arrays(const std::vector<BufferSpec>& buffers, const Arrays& given, const std::string& source,
                                 std::optional<InputDistribution> draw);

// Starts the kernel on `device` in a worker; with `options.should_run_in_process`, runs it before returning. Call the
// returned function once to get the result; dropping it uncalled ends the worker. The arguments need not outlive the
// call of begin_execution().
std::function<Result<ExecutionResult>()> begin_execution(Executable& kernel, Device& device, const Arrays& inputs,
                                                   const VariableValues& variables, const ExecuteOptions& options);

// Opens `device`, runs the kernel on copies of `inputs` (one array for each buffer, in order) and returns the arrays
// that it stores.
Result<ExecutionResult> execute_kernel(Executable& kernel, Device& device, const Arrays& inputs,
                                       const VariableValues& variables, const ExecuteOptions& options);

// Runs the program in a worker process, so that a crash only gives an error. Arrays that the program stores to must be
// shared with the worker (Array::allocate_shared).
Status run_in_worker(const RefProgram& program, std::span<const RefBuffer> buffers,
                     const VariableValues& variables = {});
// Runs the program in a worker process or, which takes less time, in this process.
Status run_ref_program(const RefProgram& program, std::span<const RefBuffer> buffers, const VariableValues& variables,
                       bool in_process);

// Returns a copy in memory that is shared with workers.
Array copy_to_shared_memory(const Array& array);

}  // namespace tgc
