// One run of one kernel: arrays in, arrays out, contained in a process of its own.
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
  bool in_process = false;      // no process of its own
  double timeout_seconds = 0;   // of that process, 0: none; then REF keeps Limit::RefSeconds
  int repeats = 0;              // timed runs after the first
};

struct Execution {
  Arrays outputs;               // what the kernel stores to, in the order of its parameters
  std::vector<double> seconds;  // of the timed runs
  std::string notes;            // what it did that C leaves undefined, of REF
  bool makes_nans = false;      // of REF: of square roots or logarithms of negative numbers
  uint64_t evaluations = 0;     // of UOps, of REF where it counts them (RefOptions)
};

// The arrays that `buffers` want: those of `given` by name, the others zeros when the kernel only writes them, drawn
// when `draw` says from what. Their dtypes and sizes are checked, and that this machine has room for them. `source` is
// where `given` comes from.
Result<Arrays> input_arrays(const std::vector<BufferSpec>& buffers, const Arrays& given, const std::string& source,
                            std::optional<InputDistribution> draw);

// Opens `device`, and runs the kernel there in a worker beside this process; in this one, if it shall be, before it
// returns. What is returned waits for it, and is called once: the same as execute() returns. Uncalled, its end ends the
// worker. The arguments need not live on.
std::function<Result<Execution>()> begin_execution(Executable& kernel, Device& device, const Arrays& inputs,
                                                   const VariableValues& variables, const ExecuteOptions& options);

// Opens `device`, runs the kernel on copies of `inputs` (one array for each buffer, in order) and takes back what it
// stored.
Result<Execution> execute(Executable& kernel, Device& device, const Arrays& inputs, const VariableValues& variables,
                          const ExecuteOptions& options);

}  // namespace tgc
