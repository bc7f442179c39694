// Chooses a kernel's inputs: the values of its variables, and how its random arrays are drawn.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/npz.h"
#include "lib/runtime/random.h"
#include "lib/uop/uop.h"

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
  VariableValues recorded = {};     // values that the recorded program bound
  std::optional<uint64_t> seed = {};  // a random value within the variable's bounds; unset: none
};

// Returns a value for each variable of the kernel that one of the sources has. Fails if an array with the name of
// a variable is no integer.
Result<ChosenVariables> choose_variables(const Executable& kernel, const VariableSources& from);
// Returns other choices to try: each variable at its smallest value, and each at its largest. Values that the user
// gave stay. Leaves out choices that equal `chosen`.
std::vector<ChosenVariables> variables_at_bounds(const Executable& kernel, const ChosenVariables& chosen);
VariableValues values_of(const ChosenVariables& chosen);
// Returns "pos=3, recorded; n=2, --var"; "" if there are no variables.
std::string text_of(const ChosenVariables& chosen);

// Chooses the distribution of a kernel's random inputs, for runs without --inputs.

// Returns Floats::Unit if the graph under `root` (a kernel at any stage, or a tensor graph) takes a square root or
// logarithm of a value that may be negative, else Floats::Normal. The NaNs would make devices differ, because renderers
// compare NaNs differently (C's `<` is false for a NaN, tinygrad's LLVM IR true), and a maximum depends on the order of
// its operands. The result depends on the graph alone, so a seed gives the same inputs on every device.
InputDistribution input_distribution(UOp root, uint64_t seed = 0);

// Returns the names of the arrays whose values decide an address, the size of a loop, a divisor or a shift in the
// kernel `root`. Only values as fill_random() draws them are safe there.
std::set<std::string> constrained_inputs(UOp root);

// The sets of random inputs. Usual: as fill_random() draws them. AllSizes: as fill_wide() does. BelowZero and
// AboveZero: small whole numbers of one sign, in bools all false or all true, so that a reduction that starts with a
// wrong number is wrong, for example a maximum that starts with 0.
enum class InputSet : uint8_t { Usual, AllSizes, BelowZero, AboveZero };

// Returns the set as reports name it: "of all sizes".
std::string_view name_of(InputSet set);

// Returns the sets other than Usual that the kernel `root` is worth: those of one sign only if it reduces with another
// op than ADD or has an accumulator, and takes no square roots or logarithms of them.
std::vector<InputSet> more_input_sets(UOp root, const InputDistribution& draw);

// Fills the arrays of the kernel `root` with the values of `set`, except constrained_inputs() and those in `given`.
// Arrays that the kernel only stores are filled too, so that an element that it should store, but does not, is wrong.
// Returns the names of the filled arrays.
std::set<std::string> redraw_inputs(UOp root, InputSet set, const InputDistribution& draw, const Arrays& given,
                                    Arrays& inputs);

}  // namespace tgc
