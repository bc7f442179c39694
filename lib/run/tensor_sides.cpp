#include "lib/run/tensor_sides.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/run/all_sizes.h"
#include "lib/run/tensor_reference.h"
#include "lib/runtime/compare.h"
#include "lib/runtime/random.h"
#include "lib/support/first_wrong.h"
#include "lib/runtime/ref/rounding.h"

namespace tgc {
namespace {

using Kind = EquivalenceResult::Kind;

ToleranceOptions tolerance_of(const TensorProgram& program, const Array& expected) {
  DType coarsest = dtypes::float64;
  bool sums = false;
  for (const TensorKernel& k : program.kernels) {
    sums |= has_summed_terms(k.ast);
    coarsest = coarsest_rounding(k.ast, coarsest);
  }
  return tolerance_between_devices(expected, coarsest, sums);
}

// Finds an element of `after` that is near no element of `before`.
std::optional<int64_t> find_foreign_element(const Array& before, const Array& after, double rtol) {
  std::vector<double> known;
  bool has_nan = false;
  for (int64_t i = 0; i < before.size(); i++) {
    const double x = element_as_double(before, i);
    if (std::isnan(x)) has_nan = true;
    else known.push_back(x);
  }
  std::ranges::sort(known);
  for (int64_t i = 0; i < after.size(); i++) {
    const double x = element_as_double(after, i);
    if (std::isnan(x)) {
      if (!has_nan) return i;
      continue;
    }
    auto near = [&](auto it) {
      return it != known.end() && (*it == x || std::abs(*it - x) <= rtol * std::abs(x));
    };
    auto at = std::ranges::lower_bound(known, x);
    if (!near(at) && !(at != known.begin() && near(at - 1))) return i;
  }
  return std::nullopt;
}

// Makes integers of 2, 4 or 8 bytes large and rarely equal, so that a wrong result is rarely one of the elements.
void make_integers_large(Array& array) {
  auto scale = [&](auto items) {
    using Item = std::remove_reference_t<decltype(items[0])>;
    for (size_t i = 0; i < items.size(); i++) items[i] = Item(1000 + 17 * int(i % 1500) + int(items[i] % 17));
  };
  if (dtypes::is_float(array.dtype()) || dtypes::is_bool(array.dtype())) return;
  if (array.dtype().itemsize() == 2) scale(array.as<int16_t>());
  if (array.dtype().itemsize() == 4) scale(array.as<int32_t>());
  if (array.dtype().itemsize() == 8) scale(array.as<int64_t>());
}

// A buffer has the array that `content` returns for it, if dtype and size fit; else random numbers. `of_all_sizes`: see
// all_sizes.h.
std::vector<Array> run_on_random_arrays(const TensorProgram& program, uint64_t seed, bool large_integers,
                                        const ContentOfBuffer& content = {}, bool of_all_sizes = false) {
  const ProgramMagnitudes magnitudes = of_all_sizes ? program_magnitudes_of(program) : ProgramMagnitudes();
  const std::vector<double> constants = constants_of_kernels(magnitudes.kernels);
  std::map<size_t, std::shared_ptr<Array>> contents;
  for (size_t i = 0; i < program.memories.size(); i++) {
    const TensorMemory& m = program.memories[i];
    if (!m.buffer) continue;
    auto array = std::make_shared<Array>(m.dtype, std::vector<int64_t>{m.num_elements});
    const std::string name = "data" + std::to_string(m.buffer.id());
    fill_random(*array, seed, name);
    if (large_integers) make_integers_large(*array);
    if (of_all_sizes)
      (void)fill_all_magnitudes(*array, name, magnitudes.array_magnitudes[magnitudes.whole_arrays[i]], constants, seed);
    const Array* known = content ? content(m.buffer) : nullptr;
    if (known && known->dtype() == m.dtype && known->size() == m.num_elements)
      std::memcpy(array->data(), known->data(), known->nbytes());
    contents[i] = std::move(array);
  }
  const ScheduleOptions options{.should_run_in_process = true};
  return std::move(run_tensor_program(program, contents, options).value_or_throw());
}

struct FaultyOutput {
  size_t output;  // number of an output whose kernel cannot run to its end
  std::string text;
};

std::optional<FaultyOutput> find_faulty_output(const TensorProgram& program, uint64_t seed, bool large_integers,
                                               const ContentOfBuffer& content = {}) {
  std::string text;
  auto is_faulty = [&](size_t count) {
    TensorProgram first = program;
    first.kernels.resize(count), first.outputs.clear();
    auto ran = catch_failures([&] { return run_on_random_arrays(first, seed, large_integers, content); });
    if (!ran && ran.diag().is_kernel_fault) text = ran.diag().message;
    return !ran && ran.diag().is_kernel_fault;
  };
  if (!is_faulty(program.kernels.size())) return std::nullopt;
  const size_t wrong = *find_first_wrong(0, program.kernels.size(), is_faulty);
  for (size_t i = 0; i < program.outputs.size(); i++)
    if (std::ranges::count(program.kernels[wrong - 1].memories, program.outputs[i].memory_index))
      return FaultyOutput{i, text};
  return std::nullopt;
}

EquivalenceResult run_and_compare_sides(const TensorSidesProgram& sides, uint64_t seed, const ContentOfBuffer& content,
                                        bool of_all_sizes) {
  auto values = run_on_random_arrays(sides.program, seed, !sides.have_same_shapes, content, of_all_sizes);
  const Array &before = values[0], &after = values[1];
  EquivalenceResult out{.kind = Kind::Same};
  const ToleranceOptions tolerance = tolerance_of(sides.program, before);
  std::optional<int64_t> differs;
  if (sides.have_same_shapes) {
    auto comparison = std::move(compare_arrays("value", after, before, tolerance).value_or_throw());
    out.is_exact = comparison.max_abs_error == 0;
    if (comparison.worst_difference) differs = comparison.worst_difference->flat_index;
    else if (comparison.first_difference) differs = comparison.first_difference->flat_index;
    if (!comparison.num_different) differs = std::nullopt;
    out.num_differing_points = int(std::min<int64_t>(comparison.num_different, 1 << 20));
  } else {
    differs = find_foreign_element(before, after, tolerance.dtype_tolerance(before.dtype()).rtol);
    out.num_differing_points = differs ? 1 : 0;
  }
  if (!differs) return out;
  out.kind = Kind::Differ, out.is_beyond_rounding = true;
  out.after = element_text(after, *differs);
  out.before = sides.have_same_shapes ? element_text(before, *differs) : "no element has this value";
  int64_t rest = *differs;
  const auto& dims = sides.program.outputs[1].shape;
  std::vector<int64_t> at(dims.size());
  for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) at[axis] = rest % dims[axis];
  for (size_t i = 0; i < dims.size(); i++)
    out.witness[i < sides.loops.size() ? "r" + sides.loops[i].arg()[0].repr() : "i" + std::to_string(i)] =
        std::to_string(at[i]);
  return out;
}

}  // namespace

EquivalenceResult compare_tensor_sides(UOp before, UOp after, const TensorVariables& variables, uint64_t seed,
                                       const ContentOfBuffer& content, bool of_all_sizes) {
  auto sides = import_tensor_sides(before, after, variables);
  if (!sides) return {.kind = Kind::Open};
  auto out = catch_failures([&] { return run_and_compare_sides(*sides, seed, content, of_all_sizes); });
  if (out) return std::move(*out);
  EquivalenceResult open{.kind = Kind::Open};
  if (!out.diag().is_kernel_fault) return open;
  if (auto fault = find_faulty_output(sides->program, seed, !sides->have_same_shapes, content);
      fault && fault->output == 1)
    open.after = fault->text;
  return open;
}

Result<RangedDifference> compare_tensor_pairs(UOp before, UOp after, const std::vector<UOp>& stages,
                                              const TensorVariables& variables, uint64_t seed) {
  return catch_failures([&] {
    const TensorPairsProgram pairs = std::move(import_tensor_pairs(before, after, stages, variables).value_or_throw());
    RangedDifference out;
    auto ran = catch_failures([&] { return run_on_random_arrays(pairs.program, seed, false); });
    if (!ran) {
      auto fault = ran.diag().is_kernel_fault ? find_faulty_output(pairs.program, seed, false) : std::nullopt;
      if (!fault || fault->output % 2 == 0) throw Failure(ran.diag());
      out.culprit = pairs.culprits[fault->output / 2];
      out.value_comparison = {.kind = Kind::Open, .after = fault->text};
      return out;
    }
    const std::vector<Array>& values = *ran;
    for (size_t i = 0; i < pairs.culprits.size() && !out.culprit; i++) {
      const Array &expected = values[2 * i], &actual = values[2 * i + 1];
      out.num_compared++;
      auto c = std::move(
          compare_arrays("value", actual, expected, tolerance_of(pairs.program, expected)).value_or_throw());
      if (!c.num_different) continue;
      const int64_t at = c.worst_difference   ? c.worst_difference->flat_index
                         : c.first_difference ? c.first_difference->flat_index
                                              : 0;
      out.culprit = pairs.culprits[i];
      out.value_comparison = {
          .kind = Kind::Differ, .before = element_text(expected, at), .after = element_text(actual, at)};
      out.value_comparison.witness["element"] = std::to_string(at);
    }
    return out;
  });
}

}  // namespace tgc
