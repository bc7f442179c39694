// Chooses the values of a kernel's variables.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
  std::string_view from;  // "--var", "--inputs", "recorded", "drawn", "the smallest" or "the largest"
};
using ChosenVariables = std::map<std::string, ChosenVariable>;

// Where values of variables may come from, the first one first.
struct VariableSources {
  VariableValues options = {};      // --var
  const Arrays* arrays = nullptr;   // --inputs: an array of one integer with the variable's name; null: no file
  VariableValues recorded = {};     // those that the recorded program bound
  std::optional<uint64_t> seed = {};  // a random value within the variable's bounds; unset: none
};

// Returns a value for each variable of the kernel that one of the sources has. Throws Failure if an array with the
// name of a variable is no integer.
ChosenVariables choose_variables(const Executable& kernel, const VariableSources& from);
// Returns other choices to try: each variable at its smallest value, and each at its largest. Values that the user
// gave stay. Leaves out choices that equal `chosen`.
std::vector<ChosenVariables> variables_at_bounds(const Executable& kernel, const ChosenVariables& chosen);
VariableValues values_of(const ChosenVariables& chosen);
// Returns "pos=3, recorded; n=2, --var"; "" if there are no variables.
std::string text_of(const ChosenVariables& chosen);

}  // namespace tgc
