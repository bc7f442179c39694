#include "lib/run/kernel_variables.h"

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

}  // namespace tgc
