// Chooses the distribution of a kernel's random inputs, for runs without --inputs.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/random.h"
#include "lib/uop/uop.h"

namespace tgc {

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
