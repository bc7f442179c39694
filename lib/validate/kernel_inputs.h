// Chooses and checks the inputs of a kernel: the values of its variables, and its arrays.
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

// Returns an error, which begins with `what`, if the name of an array in `given`, the arrays of the file `file`, is not
// in `known`.
Status check_array_names(const Arrays& given, const std::set<std::string>& known, const std::string& file,
                         std::string_view what);

struct ChosenVariable {
  int64_t value = 0;
  std::string_view value_source;  // "--var", "--inputs", "recorded", "drawn", "the smallest" or "the largest"
};
using ChosenVariables = std::map<std::string, ChosenVariable>;

// The sources from which values of variables are taken; the first one that has the variable is used.
struct VariableSources {
  VariableValues option_values = {};
  // the arrays of --inputs, in which an array of one integer gives the variable of its name; may be null
  const Arrays* file_arrays = nullptr;
  VariableValues recorded_values = {};  // values that the recorded program gave the variables
  std::optional<uint64_t> seed = {};
};

// Returns a value for each variable of the kernel that one of the sources has. Fails if an array that gives a
// variable is not a single integer.
Result<ChosenVariables> choose_variables(const Executable& kernel, const VariableSources& from);
// Returns up to two other choices to try: all variables at their smallest values, and all at their largest, except for
// values from --var and --inputs.
std::vector<ChosenVariables> variables_at_bounds(const Executable& kernel, const ChosenVariables& chosen);
VariableValues chosen_values_of(const ChosenVariables& chosen);
// Returns the values with their sources as text, such as "n=2, --var; pos=3, recorded"; "" if there are no variables.
std::string chosen_values_text(const ChosenVariables& chosen);

// Returns the arrays of floats of the graph under `root` whose negative numbers may make the operand of a square root,
// logarithm or power negative. Their random inputs must be FloatKind::Unit, because devices may differ for NaNs. The
// result depends only on the graph, so that all devices have the same inputs.
std::vector<UOp> arrays_without_negatives(UOp root);
// Returns the distribution of the random inputs for the kernel `root` at any stage: FloatKind::Unit for the arrays in
// arrays_without_negatives() or, if one of them is no kernel argument, for all arrays; else FloatKind::Normal.
InputDistribution make_input_distribution(UOp root, uint64_t seed = 0);
// Returns a note for reports on the distribution of the random floats and its reason; "" if all are FloatKind::Normal.
std::string float_inputs_note(const InputDistribution& draw);

// Returns the names of the arrays of the kernel `root` that must be filled by fill_random(), because other values may
// be invalid where they are used, such as in an address.
std::set<std::string> constrained_inputs(UOp root);

// The kinds of random inputs. Usual: the values of fill_random(). AllSizes: those of fill_wide_range(). BelowZero and
// AboveZero: small whole numbers of one sign, which show if a reduction starts with a wrong number. In BelowZero,
// arrays of FloatKind::Unit are positive, and unsigned integers are large.
enum class InputSet : uint8_t { Usual, AllSizes, BelowZero, AboveZero };

// Returns the name of a set in reports, such as "of all sizes"; "" for Usual.
std::string_view name_of(InputSet set);

// Returns the sets other than Usual with which the kernel `root` should be tested.
std::vector<InputSet> further_input_sets(UOp root, const InputDistribution& draw);

// Fills the arrays in `inputs` that the kernel `root` uses with the values of `set`, except constrained_inputs() and
// those in `given`. Returns the names of the filled arrays.
std::set<std::string> redraw_inputs(UOp root, InputSet set, const InputDistribution& draw, const Arrays& given,
                                    Arrays& inputs);

}  // namespace tgc
