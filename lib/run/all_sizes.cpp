#include "lib/run/all_sizes.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "lib/dtype/const.h"
#include "lib/runtime/random.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

// Ops whose float results are exact or, for CAST, correctly rounded.
constexpr OpSet kExactOps =
    ops::Movement | OpSet{Op::CAST,      Op::WHERE, Op::MAX,   Op::NEG,          Op::TRUNC,      Op::LOAD,
                          Op::INDEX,     Op::STORE, Op::CONST, Op::COPY,         Op::CONTIGUOUS, Op::GEP,
                          Op::VECTORIZE, Op::NOOP,  Op::AFTER, Op::DEFINE_GLOBAL};
// Ops whose integer results rarely need more bits than their operands.
constexpr OpSet kOpsWithoutGrowth = kExactOps | ops::Comparison | OpSet{Op::AND, Op::OR, Op::XOR, Op::MOD};

bool is_maximum(UOp u) { return u.is(Op::REDUCE) && u.arg().op() == Op::MAX; }

Magnitudes source_magnitudes(UOp u, size_t i) {
  if (u.in({Op::RANGE, Op::SPECIAL, Op::BITCAST, Op::WMMA})) return Magnitudes::Usual;
  if (i > 0 && u.in({Op::INDEX, Op::IDIV, Op::MOD, Op::SHL, Op::SHR, Op::POW})) return Magnitudes::Usual;
  if (i > 0 && is_maximum(u)) return Magnitudes::All;  // source `i` is a RANGE of a REDUCE
  if (!u.dtype().is_value() || u.dtype() == dtypes::void_ || is_maximum(u)) return Magnitudes::All;
  if (dtypes::is_float(u.dtype())) return u.in(kExactOps) ? Magnitudes::All : Magnitudes::Rounded;
  if (u.is(Op::CAST) && dtypes::is_float(u.src(0).dtype()) && !dtypes::is_bool(u.dtype())) return Magnitudes::Usual;
  return dtypes::is_bool(u.dtype()) || u.in(kOpsWithoutGrowth) ? Magnitudes::All : Magnitudes::Moderate;
}

// Returns whether it lowered the Magnitudes of an array.
bool lower_kernel_magnitudes(const ScheduledKernel& k, std::vector<Magnitudes>& magnitudes) {
  if (!k.ast.is(Op::SINK)) {
    if (k.array_numbers.size() < 2 || magnitudes[k.array_numbers[1]] <= magnitudes[k.array_numbers[0]]) return false;
    return magnitudes[k.array_numbers[1]] = magnitudes[k.array_numbers[0]], true;
  }
  const std::vector<UOp> nodes = toposort(k.ast);
  std::unordered_map<UOp, Magnitudes> at;
  auto lower = [&](UOp u, Magnitudes to) {
    auto [it, is_new] = at.emplace(u, to);
    if (!is_new) it->second = std::min(it->second, to);
  };
  auto array_of = [&](UOp u) -> Magnitudes* {
    const auto slot = size_t(u.arg().small_int());
    return slot < k.array_numbers.size() && k.array_numbers[slot] < magnitudes.size()
               ? &magnitudes[k.array_numbers[slot]]
               : nullptr;
  };
  bool changes = false;
  for (size_t n = nodes.size(); n-- > 0;) {
    const UOp u = nodes[n];
    lower(u, Magnitudes::All);
    const bool cuts = u.in(ops::Comparison) && at.at(u) == Magnitudes::Rounded;
    const Magnitudes own = cuts ? Magnitudes::All : at.at(u);
    if (u.is(Op::DEFINE_GLOBAL)) {
      Magnitudes* array = array_of(u);
      if (array && own < *array) *array = own, changes = true;
    }
    Magnitudes stored = own;
    if (u.is(Op::STORE))
      for (UOp to : toposort(u.src(0)))
        if (const Magnitudes* array = to.is(Op::DEFINE_GLOBAL) ? array_of(to) : nullptr)
          stored = std::min(stored, *array);
    for (size_t i = 0; i < u.num_src(); i++) lower(u.src(i), std::min(stored, source_magnitudes(u, i)));
  }
  return changes;
}

void add_neighbors(double c, std::vector<double>& out) {
  for (double near : {c - 1, c, c + 1}) out.push_back(near);
}

// Adds numbers of both signs at, next to and between powers of two, up to 2**most.
void add_numbers_near_powers(int most, std::vector<double>& out) {
  for (int e : {1, 3, 5, 6, 7, 8, 9, 11, 14, 15, 16, 17, 20, 23, 24, 25, 30, 31, 32, 33, 34, 40, 47, 48, 52, 60}) {
    if (e > most) break;
    const double power = std::ldexp(1.0, e);
    for (double x : {power - 1, power, power + 1, power + std::trunc(power / 3), power * 1.5 + 1}) {
      if (x > std::ldexp(1.0, most)) continue;
      out.push_back(x), out.push_back(-x);
    }
  }
}

int max_exponent(DType dtype, Magnitudes magnitudes) {
  if (dtypes::is_float(dtype)) return dtype.itemsize() == 1 ? 6 : dtype.itemsize() == 2 ? 15 : 60;
  const int bits = int(dtype.itemsize()) * 8;
  return magnitudes == Magnitudes::Moderate ? bits * 3 / 4 : std::min(bits - 1, 53);
}

}  // namespace

void lower_array_magnitudes(std::span<const ScheduledKernel> kernels, std::vector<Magnitudes>& magnitudes) {
  for (bool changes = true; changes;) {
    changes = false;
    for (size_t k = kernels.size(); k-- > 0;) changes |= lower_kernel_magnitudes(kernels[k], magnitudes);
  }
}

ProgramMagnitudes program_magnitudes_of(const TensorProgram& program) {
  ProgramMagnitudes out;
  out.array_magnitudes.resize(program.memories.size(), Magnitudes::All);
  for (size_t i = 0; i < program.memories.size(); i++) {
    size_t whole = i;
    while (program.memories[whole].view_of) whole = *program.memories[whole].view_of;
    out.whole_arrays.push_back(whole);
    if (program.memories[i].num_devices > 1 || program.memories[i].dtype != program.memories[whole].dtype)
      out.array_magnitudes[whole] = Magnitudes::Usual;
  }
  for (const TensorKernel& k : program.kernels) {
    out.kernels.push_back({k.ast, {}});
    for (size_t m : k.memories) out.kernels.back().array_numbers.push_back(out.whole_arrays[m]);
  }
  lower_array_magnitudes(out.kernels, out.array_magnitudes);
  return out;
}

std::vector<double> constants_of_kernels(std::span<const ScheduledKernel> kernels) {
  std::vector<double> out;
  for (const ScheduledKernel& k : kernels)
    for (UOp u : toposort(k.ast)) {
      if (!u.is_const() || dtypes::is_bool(u.dtype()) || u.dtype() == dtypes::index) continue;
      const double c = u.arg().to_const().to_double();
      if (std::isfinite(c) && !std::ranges::count(out, c)) out.push_back(c);
    }
  return out;
}

bool fill_all_magnitudes(Array& array, std::string_view name, Magnitudes magnitudes, std::span<const double> constants,
                         uint64_t turn) {
  const DType dtype = array.dtype();
  if (magnitudes <= Magnitudes::Rounded || dtypes::is_bool(dtype) || !array.size()) return false;
  constexpr size_t kMaxPairedConstants = 6;
  std::vector<double> pool{0, 1, -1, 2, 3, -5, 10, -33, 49};
  const int most = max_exponent(dtype, magnitudes);
  add_numbers_near_powers(most, pool);
  for (double c : constants) add_neighbors(c, pool);
  for (size_t i = 0; i < std::min(kMaxPairedConstants, constants.size()); i++)
    for (size_t k = 0; k < i; k++)
      add_neighbors(constants[i] + constants[k], pool), add_neighbors(constants[i] - constants[k], pool),
          add_neighbors(constants[k] - constants[i], pool);
  const bool is_float = dtypes::is_float(dtype), is_unsigned = dtypes::is_unsigned(dtype);
  std::erase_if(pool, [&](double x) {
    return std::fabs(x) > std::ldexp(1.0, most) || (is_unsigned && x < 0) || (!is_float && x != std::trunc(x));
  });
  fill_from_pool(array, name, pool, turn);
  return true;
}

}  // namespace tgc
