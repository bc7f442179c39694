#include "lib/execute/contained_ref.h"

#include <cstring>

#include "lib/contain/contain.h"

namespace tgc {

Status run_in_worker(const RefProgram& program, std::span<const RefBuffer> buffers, const VariableValues& variables) {
  const uint64_t memory = available_memory();
  auto answer = contain(
      [&](Worker& worker) -> Result<std::string> {
        return catch_failures([&] {
          worker.confine({.rights = Rights::Compute, .memory = memory});
          program.run(buffers, variables).value_or_throw();
          return std::string();
        });
      },
      {});
  return answer ? Status(Unit{}) : Status(answer.diag());
}

Status run_ref(const RefProgram& program, std::span<const RefBuffer> buffers, const VariableValues& variables,
               bool in_process) {
  if (!in_process) return run_in_worker(program, buffers, variables);
  auto done = program.run(buffers, variables);
  return done ? Status(Unit{}) : Status(done.diag());
}

Array shared_copy(const Array& array) {
  Array out = Array::shared(array.dtype(), {array.shape().begin(), array.shape().end()});
  if (array.nbytes()) std::memcpy(out.data(), array.data(), array.nbytes());
  return out;
}

}  // namespace tgc
