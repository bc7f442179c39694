// Draws small to very large values for the arrays of a schedule or tensor graph. Unlike with fill_wide_range(),
// arrays keep their usual values if, for example, an operation other than a cast rounds them.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "lib/import/tensor_graph.h"
#include "lib/runtime/array.h"
#include "lib/uop/uop.h"

namespace tgc {

// A kernel or a copy between arrays. `array_numbers` has, by slot of a DEFINE_GLOBAL, the number of its array.
struct ScheduledKernel {
  UOp ast;
  std::vector<size_t> array_numbers;
};

enum class Sizes : uint8_t {
  Usual,     // values as fill_random() draws them, for example because an address, a loop or a divisor depends on them
  Rounded,   // the same, because an operation rounds them; x and y in where(a < b, x*y, 0), but not a and b
  Moderate,  // integers of at most three quarters of the bits, for example because sums of them are computed
  All,       // values that no kernel limits
};

// Lowers the Sizes of each array as far as the kernels need it. A limit of an array also holds for the arrays that its
// values are computed from, but Sizes::Rounded ends at comparisons.
void lower_array_sizes(std::span<const ScheduledKernel> kernels, std::vector<Sizes>& sizes);

// Returns the distinct finite constants of the kernels, except those of the dtypes bool and index.
std::vector<double> constants_of_kernels(std::span<const ScheduledKernel> kernels);

struct ProgramSizes {
  std::vector<ScheduledKernel> kernels;
  std::vector<size_t> whole_arrays;  // for each array, the array that it is a part of, or itself
  std::vector<Sizes> array_sizes;    // indexed by the numbers in `whole_arrays`
};
// An array with a part of another dtype, or on several devices, has Sizes::Usual.
ProgramSizes program_sizes_of(const TensorProgram& program);

// Fills `array` with values of these sizes, many of them near the `constants` or powers of two. Another `turn` gives
// other values. Returns false, and changes nothing, for Sizes::Usual and Sizes::Rounded, and for an array that is empty
// or of bools.
bool fill_all_sizes(Array& array, std::string_view name, Sizes sizes, std::span<const double> constants, uint64_t turn);

}  // namespace tgc
