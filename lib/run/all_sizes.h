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

enum class Magnitudes : uint8_t {
  Usual,     // values as fill_random() draws them, for example because an address, a loop or a divisor depends on them
  // values as fill_random() draws them, because an operation on them rounds: where(a < b, x*y, 0) limits x and y, but
  // not a and b
  Rounded,
  Moderate,  // integers of at most three quarters of the bits, for example because sums of them are computed
  All,       // values that no kernel limits
};

// Lowers the Magnitudes of each array as far as the kernels need it. A limit of an array also holds for the arrays that
// its values are computed from, but Magnitudes::Rounded ends at comparisons.
void lower_array_magnitudes(std::span<const ScheduledKernel> kernels, std::vector<Magnitudes>& magnitudes);

// Returns the distinct finite constants of the kernels, except those of the dtypes bool and index.
std::vector<double> constants_of_kernels(std::span<const ScheduledKernel> kernels);

struct ProgramMagnitudes {
  std::vector<ScheduledKernel> kernels;
  std::vector<size_t> whole_arrays;  // for each array, the array that it is a part of, or itself
  std::vector<Magnitudes> array_magnitudes;    // indexed by the numbers in `whole_arrays`
};
// An array with a part of another dtype, or on several devices, has Magnitudes::Usual.
ProgramMagnitudes program_magnitudes_of(const TensorProgram& program);

// Fills `array` with values of these sizes, many of them near the `constants` or powers of two. Another `turn` gives
// other values. Returns false, and changes nothing, for Magnitudes::Usual and Magnitudes::Rounded, and for an array
// that is empty or of bools.
bool fill_all_magnitudes(Array& array, std::string_view name, Magnitudes magnitudes, std::span<const double> constants,
                         uint64_t turn);

}  // namespace tgc
