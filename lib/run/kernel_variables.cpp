#include "lib/run/kernel_variables.h"

#include <random>

namespace tgc {

std::set<std::string> bound_variables(const Executable& kernel, const VariableValues& given) {
  std::set<std::string> out;
  for (const VariableSpec& v : kernel.variables())
    if (given.contains(v.name)) out.insert(v.name);
  return out;
}

Status check_variables(const Executable& kernel, const VariableValues& given) {
  std::set<std::string> bound = bound_variables(kernel, given);
  std::string known;
  for (const VariableSpec& v : kernel.variables()) known += (known.empty() ? "--var " : ", --var ") + v.name + "=N";
  for (auto& [name, value] : given)
    if (!bound.contains(name))
      return Diag{.message = "the kernel has no variable '" + name + "'",
                  .expected = known.empty() ? "no --var: the kernel has none" : known};
  return Unit{};
}

VariableValues drawn_variables(const Executable& kernel, VariableValues given, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const VariableSpec& v : kernel.variables()) {
    if (given.contains(v.name)) continue;
    const uint64_t values = uint64_t(v.max) - uint64_t(v.min) + 1;  // number of values; 0: all 2**64
    given[v.name] = int64_t(uint64_t(v.min) + (values ? random() % values : random()));
  }
  return given;
}

}  // namespace tgc
