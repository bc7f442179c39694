// Checks the values of --var against the variables of a kernel.
#pragma once
#include <set>
#include <string>

#include "lib/execute/executable.h"

namespace tgc {

// Returns the names in `given` that are variables of the kernel.
std::set<std::string> bound_variables(const Executable& kernel, const VariableValues& given);

// Returns an error if `given` names a variable that the kernel does not have; it lists the variables that it has.
Status check_variables(const Executable& kernel, const VariableValues& given);

}  // namespace tgc
