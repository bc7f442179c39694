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
  bool runs_in_process = false;      // run the kernel in this process, not in a worker
  // Time limit in seconds for a run in a worker or in REF; 0: no limit, but REF stops after Limit::RefSeconds. An
  // earlier current_deadline() also ends the run.
  double timeout_seconds = 0;
  int num_repeats = 0;              // number of timed runs, after untimed ones; the time limit may allow fewer
};

struct Execution {
  Arrays outputs;                   // the arrays that the kernel stores to, in the order of its parameters
  std::vector<double> run_seconds;  // duration of each timed run
  // the following members are set by REF only
  std::string notes;             // operations that ran and that may differ between devices: RefNotes::text()
  bool makes_nans = false;       // true if the kernel computed a square root or a logarithm of a negative number
  uint64_t num_evaluations = 0;  // number of evaluated UOps; 0 unless RefOptions::counts_evaluations
};

// Returns an array for each of `buffers`: the array of that name in `given`, if there is one; else random numbers from
// the distribution `draw` if the kernel reads the buffer, or zeros otherwise. Errors: an array is missing, and the
// buffer has no fixed size, or is read while `draw` is unset; an array has another dtype or size; memory does not
// suffice. Errors about an array quote `source`, the file that `given` is from.
Result<Arrays> input_arrays(const std::vector<BufferSpec>& buffers, const Arrays& given, const std::string& source,
                            std::optional<InputDistribution> draw);

// Starts the kernel on `device` in a worker; with `options.runs_in_process`, runs it here before returning. Call the
// returned function once to get the result, as execute() returns it; dropping it uncalled ends the worker. The
// arguments need not outlive the call.
std::function<Result<Execution>()> begin_execution(Executable& kernel, Device& device, const Arrays& inputs,
                                                   const VariableValues& variables, const ExecuteOptions& options);

// Opens `device`, runs the kernel on copies of `inputs` (one array for each buffer, in order) and returns the arrays
// that it stores.
Result<Execution> execute(Executable& kernel, Device& device, const Arrays& inputs, const VariableValues& variables,
                          const ExecuteOptions& options);

// ---- programs of the reference interpreter (REF)

// Runs the program as RefProgram::run does, but in a worker process (lib/contain), so that a crash only gives an error.
// Errors: those of RefProgram::run, and "killed by ..." if the worker dies. Arrays that the program stores to must be
// shared with the worker (Array::allocate_shared).
Status run_in_worker(const RefProgram& program, std::span<const RefBuffer> buffers,
                     const VariableValues& variables = {});
// Runs the program in a worker process or, with `in_process`, in this process, which takes less time.
Status run_ref(const RefProgram& program, std::span<const RefBuffer> buffers, const VariableValues& variables,
               bool in_process);

// Returns a copy of the array in memory that is shared with workers, so that a worker can write to it.
Array shared_copy(const Array& array);

}  // namespace tgc
