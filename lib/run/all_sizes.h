// Values of all sizes for the arrays of a schedule or tensor graph, for its second run. In contrast to fill_wide(), the
// results of unchanged programs stay exact: no float reaches an operation that rounds, and few sums overflow.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "lib/import/tensor_graph.h"
#include "lib/runtime/array.h"
#include "lib/uop/uop.h"

namespace tgc {

// A kernel, and the number of the array for each of its DEFINE_GLOBALs, by slot.
struct ScheduledKernel {
  UOp ast;
  std::vector<size_t> arrays;
};

// Which values an array may have.
enum class Sizes : uint8_t {
  Usual,     // as fill_random() draws them: they decide an address, a loop, a divisor or a shift
  Rounded,   // as fill_random() draws them, because they are rounded; what is compared to get them may have all sizes
  Moderate,  // integers of at most three quarters of the bits, because sums or products of them are computed
  All,
};

// Lowers the sizes of the arrays as far as the kernels, which run in this order, need it. Values that reach an array
// have its limits, too.
void lower_sizes(std::span<const ScheduledKernel> kernels, std::vector<Sizes>& sizes);

// Returns the constants of the kernels with which their values may be compared, without repetition.
std::vector<double> constants_of(std::span<const ScheduledKernel> kernels);

// The arrays of a tensor graph, and the constants of its kernels.
struct ProgramSizes {
  std::vector<ScheduledKernel> kernels;
  std::vector<size_t> whole;  // for each array: the array that it is a part of, or itself
  std::vector<Sizes> sizes;
};
// Returns the sizes of the arrays of `program`. Those with a part of another dtype, or on several devices, are usual.
ProgramSizes sizes_of(const TensorProgram& program);

// Fills `array` with values of these sizes: those next to `constants`, to their sums and differences, and to powers of
// two. The values depend only on the arguments; another `turn` gives others. Returns false, and changes nothing, if the
// array is to have usual values.
bool fill_all_sizes(Array& array, std::string_view name, Sizes sizes, std::span<const double> constants, uint64_t turn);

}  // namespace tgc
