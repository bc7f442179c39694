// The values of --var, and whether a kernel has such variables.
#pragma once
#include <set>
#include <string>

#include "lib/execute/executable.h"

namespace tgc {

// Which of the variables that values are given for the kernel has.
std::set<std::string> bound_variables(const Executable& kernel, const VariableValues& given);

// An error when a value is given for a variable that the kernel does not have; it names those that it has.
Status check_variables(const Executable& kernel, const VariableValues& given);

}  // namespace tgc
