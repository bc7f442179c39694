// Chooses the values of a kernel's variables.
#pragma once
#include <map>
#include <set>
#include <string>

#include "lib/compilation/input_graph.h"
#include "lib/execute/executable.h"
#include "lib/runtime/npz.h"

namespace tgc {

// Returns those names in `given` that are variables of the kernel.
std::set<std::string> bound_variables(const Executable& kernel, const VariableValues& given);

// Returns an error, which lists the kernel's variables, if `given` names a variable that the kernel does not have.
Status check_variables(const Executable& kernel, const VariableValues& given);

// The value of a variable, and where it is from.
struct ChosenVariable {
  int64_t value = 0;
  std::string_view from;  // "--var", "--inputs", "recorded" or "drawn"
};
using ChosenVariables = std::map<std::string, ChosenVariable>;

// Returns a value for each variable of the kernel of `in`: that of `options` (--var), else that of the array of one
// integer that has the variable's name in `arrays` (--inputs), else the one that the program bound, by the record of
// `in`, else a random value within the variable's bounds; without a `seed`, such a variable stays without a value.
// Throws Failure if an array with the name of a variable is no integer.
ChosenVariables choose_variables(const Executable& kernel, const InputGraph& in, const VariableValues& options,
                                 const Arrays& arrays, std::optional<uint64_t> seed);
// Returns `given` with random values, within their bounds, for the kernel's other variables.
VariableValues drawn_variables(const Executable& kernel, VariableValues given, uint64_t seed);
VariableValues values_of(const ChosenVariables& chosen);
// Returns "pos=3, recorded; n=2, --var"; "" if there are no variables.
std::string text_of(const ChosenVariables& chosen);

}  // namespace tgc
