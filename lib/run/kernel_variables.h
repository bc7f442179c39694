// Checks the values of --var against the variables of a kernel, and draws values for other variables.
#pragma once
#include <set>
#include <string>

#include "lib/execute/executable.h"

namespace tgc {

// Returns those names in `given` that are variables of the kernel.
std::set<std::string> bound_variables(const Executable& kernel, const VariableValues& given);

// Returns an error, which lists the kernel's variables, if `given` names a variable that the kernel does not have.
Status check_variables(const Executable& kernel, const VariableValues& given);

// Returns `given` with random values, within their bounds, for the kernel's other variables.
VariableValues drawn_variables(const Executable& kernel, VariableValues given, uint64_t seed);

}  // namespace tgc
