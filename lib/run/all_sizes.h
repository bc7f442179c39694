// Draws values from small to very large for the arrays of a schedule or tensor graph, which is run a second time with
// them. In contrast to fill_wide(), the results of unchanged programs stay exact: no float from these values reaches an
// operation that rounds its result, other than a cast, and few sums overflow.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "lib/import/tensor_graph.h"
#include "lib/runtime/array.h"
#include "lib/uop/uop.h"

namespace tgc {

// A kernel or a copy between arrays, and for each of its DEFINE_GLOBALs, by slot, the number of its array.
struct ScheduledKernel {
  UOp ast;
  std::vector<size_t> arrays;
};

// Which values an array may have.
enum class Sizes : uint8_t {
  Usual,     // values as fill_random() draws them, because an address, a loop, a divisor or a shift depends on them
  Rounded,   // values as fill_random() draws them, because an operation rounds them; operands of the comparisons that
             // such values depend on may have all sizes
  Moderate,  // integers of at most three quarters of the bits, because sums or products of them are computed
  All,       // any values of the dtype
};

// Lowers the sizes of the arrays as far as the kernels, which run in this order, need it. A limit of an array also
// holds for the arrays that its values are computed from.
void lower_sizes(std::span<const ScheduledKernel> kernels, std::vector<Sizes>& sizes);

// Returns the distinct constants of the kernels, with which a kernel may compare values of arrays.
std::vector<double> constants_of(std::span<const ScheduledKernel> kernels);

// The kernels of a tensor graph, and the sizes of its arrays.
struct ProgramSizes {
  std::vector<ScheduledKernel> kernels;
  std::vector<size_t> whole_arrays;  // for each array: the array that it is a part of, or itself
  std::vector<Sizes> array_sizes;
};
// Returns the sizes of the arrays of `program`. An array with a part of another dtype, or on several devices, gets
// Sizes::Usual.
ProgramSizes sizes_of(const TensorProgram& program);

// Fills `array` with values of these sizes: those next to the first few `constants`, to their sums and differences, and
// to powers of two. The values depend only on the arguments; another `turn` gives other values. Returns false, and
// changes nothing, for Sizes::Usual and Sizes::Rounded, and for an array that is empty or of bools.
bool fill_all_sizes(Array& array, std::string_view name, Sizes sizes, std::span<const double> constants, uint64_t turn);

}  // namespace tgc
