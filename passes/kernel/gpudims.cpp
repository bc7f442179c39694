#include "passes/kernel/stages.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {

using namespace pat;

namespace {

using LaunchDims = std::vector<Sint>;
using LaunchLimits = std::array<int64_t, 3>;

// Returns true if `size` is at most `limit`. Throws Failure if that depends on the values of variables, as bool(a <= b)
// does in tinygrad.
bool fits_limit(Sint size, int64_t limit) {
  bool yes = resolve_le(size, limit, true);
  if (yes != resolve_le(size, limit, false))
    throw Failure("cannot tell whether the symbolic launch dimension " + size.str() + " fits " + std::to_string(limit));
  return yes;
}

bool do_dims_fit(const LaunchDims& dims, const LaunchLimits& limits) {
  for (size_t i = 0; i < std::min(dims.size(), limits.size()); i++)
    if (!fits_limit(dims[i], limits[i])) return false;
  return true;
}

[[noreturn]] void throw_cannot_limit(const LaunchDims& dims, const LaunchLimits& limits) {
  throw Failure("cannot limit the launch dimensions " + str(Shape(dims)) + " to (" + std::to_string(limits[0]) + ", " +
                std::to_string(limits[1]) + ", " + std::to_string(limits[2]) + ")");
}

// Multiplies neighbouring dims until there are at most three and all fit: (a, b, c, d) -> (ab, c, d). Returns the
// original dims if this fails or if one of them is symbolic.
LaunchDims group_dims(const LaunchDims& original, const LaunchLimits& limits) {
  if (std::any_of(original.begin(), original.end(), [](Sint d) { return d.is_uop(); })) return original;
  LaunchDims dims = original;
  while (dims.size() > limits.size() || !do_dims_fit(dims, limits)) {
    size_t i = 0;
    while (i < limits.size() && !(i + 1 < dims.size() && dims[i].as_int() * dims[i + 1].as_int() <= Int(limits[i])))
      i++;
    if (i == limits.size()) return original;
    dims[i] = dims[i] * dims[i + 1];
    dims.erase(dims.begin() + long(i) + 1);
  }
  return dims;
}

// Returns the least divisor of `n` from 2 to the square root, rounded up; 1 if there is none. The search stops at
// 2**20.
Int smallest_divisor(Int n) {
  constexpr int64_t kMaxTried = 1 << 20;
  double root = std::ceil(std::sqrt(n.to_double()));
  auto last = Int(root < double(kMaxTried) ? int64_t(root) : kMaxTried);
  for (Int d = 2; d <= last; d += 1)
    if (floor_mod(n, d) == Int(0)) return d;
  return 1;
}

// Moves factors from each dim that does not fit to the next; the first dim follows the third. Throws Failure if it
// finds no factor to move, or for a symbolic dim that may be too large.
LaunchDims split_dims(const LaunchDims& original, const LaunchLimits& limits) {
  if (do_dims_fit(original, limits)) return original;
  LaunchDims dims = original;
  dims.resize(std::max<size_t>(3, dims.size()), 1);
  for (size_t i = 0; i < dims.size(); i++)
    while (!fits_limit(dims[i], limits[i])) {
      if (dims[i].is_uop()) throw Failure("cannot split the symbolic launch dimension " + dims[i].str());
      Int factor = smallest_divisor(dims[i].as_int());
      if (factor == Int(1)) throw_cannot_limit(original, limits);
      Sint& next = dims[(i + 1) % dims.size()];
      dims[i] = floor_div(dims[i].as_int(), factor);
      next = next * Sint(factor);
    }
  if (dims[2] == Sint(1)) dims.resize(2);
  return dims;
}

// For each dim of `to`, returns the dims [begin, end) of `from` whose product is that dim (helpers.py:get_contraction).
// Throws Failure if there are no such dims.
std::vector<std::pair<size_t, size_t>> get_contraction(const LaunchDims& from, const LaunchDims& to) {
  std::vector<Sint> products;
  for (Sint d : from) products.push_back(products.empty() ? d : products.back() * d);
  std::vector<size_t> split{0};
  Sint product = 1;
  for (Sint d : to) {
    product = product * d;
    auto it = std::find(products.begin(), products.end(), product);
    if (product == Sint(1)) {
      split.push_back(0);
    } else {
      if (it == products.end())
        throw Failure("the launch dimensions " + str(Shape(to)) + " do not group " + str(Shape(from)));
      split.push_back(size_t(it - products.begin()) + 1);
    }
  }
  split.back() = from.size();
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t i = 0; i + 1 < split.size(); i++) out.emplace_back(split[i], std::max(split[i], split[i + 1]));
  return out;
}

UOp multiply(UOp a, Sint b) { return b.is_int() ? a * Const(b.as_int()) : a * b.uop(); }
UOp divide(UOp a, Sint b) { return b.is_int() ? a / Const(b.as_int()) : a / b.uop(); }
UOp modulo(UOp a, Sint b) { return b.is_int() ? a % Const(b.as_int()) : a % b.uop(); }

// Splits each SPECIAL that combines several of `dims` into indices of these dims. The first dim varies fastest.
std::vector<UOp> ungroup_dims(const std::vector<UOp>& raw, const LaunchDims& dims, const LaunchDims& limited) {
  std::vector<UOp> out;
  auto groups = get_contraction(dims, limited);
  for (size_t i = 0; i < raw.size(); i++) {
    UOp idx = raw[i];
    auto [begin, end] = groups[i];
    for (size_t c = begin; c + 1 < end; c++) {
      out.push_back(modulo(idx, dims[c]));
      idx = divide(idx, dims[c]);
    }
    out.push_back(idx);
  }
  return out;
}

std::vector<UOp> unsplit_dims(const std::vector<UOp>& raw, size_t num_dims, const LaunchDims& limited) {
  if (raw.size() == 2) return {multiply(raw[0], limited[1]) + raw[1]};
  if (num_dims == 1) return {multiply(multiply(raw[0], limited[1]) + raw[1], limited[2]) + raw[2]};
  return {multiply(raw[0], limited[1]) + raw[1], raw[2]};
}

// Combines the SPECIALs into one flat index and splits this index by `dims`.
std::vector<UOp> reshape_dims(const std::vector<UOp>& raw, const LaunchDims& dims, const LaunchDims& limited) {
  if (dims.size() == 2) {
    UOp flat = multiply(raw[0], limited[1]) + raw[1];
    return {divide(flat, dims[1]), modulo(flat, dims[1])};
  }
  UOp flat = multiply(raw[0], limited[1] * limited[2]) + multiply(raw[1], limited[2]) + raw[2];
  return {divide(flat, dims[2] * dims[1]), modulo(divide(flat, dims[2]), dims[1]), modulo(flat, dims[2])};
}

}  // namespace

std::vector<UOp> get_grouped_dims(Graph& graph, std::string_view prefix, std::vector<Sint> dims,
                                  const GridLimits& limits, bool reverse) {
  if (reverse) {
    std::reverse(dims.begin(), dims.end());
    auto out = get_grouped_dims(graph, prefix, dims, limits);
    std::reverse(out.begin(), out.end());
    return out;
  }
  LaunchDims limited = dims;
  if (limits) {
    limited = group_dims(dims, *limits);
    if (limited.size() > limits->size()) throw_cannot_limit(dims, *limits);
    if (is_same_shape(limited, dims)) limited = split_dims(dims, *limits);
  }
  std::vector<UOp> raw;
  for (size_t i = 0; i < limited.size(); i++)
    raw.push_back(graph.special(to_uop(limited[i], graph), std::string(prefix) + std::to_string(i)));
  if (limited.size() < dims.size()) return ungroup_dims(raw, dims, limited);
  if (limited.size() > dims.size()) return unsplit_dims(raw, dims.size(), limited);
  return is_same_shape(limited, dims) ? raw : reshape_dims(raw, dims, limited);
}

namespace {

constexpr bool is_global_axis(AxisType t) { return t == AxisType::GLOBAL || t == AxisType::THREAD; }
constexpr bool is_local_axis(AxisType t) {
  return t == AxisType::WARP || t == AxisType::LOCAL || t == AxisType::GROUP_REDUCE;
}

// A range of the launch grid, identified by its ids (its arg without the axis type).
struct GridAxis {
  std::vector<Int> ids;
  UOp range;
};

std::vector<Int> axis_ids_of(UOp range) {
  std::vector<Int> out;
  for (Arg id : range.arg().items().first(range.arg().items().size() - 1)) out.push_back(id.as_int());
  return out;
}
AxisType axis_type_of(UOp range) { return range.arg().items().back().axis_type(); }

struct LaunchGrid {
  std::vector<GridAxis> global_axes, local_axes;  // both sorted by the ids of the axis

  explicit LaunchGrid(const std::vector<UOp>& nodes) {
    std::map<std::vector<Int>, UOp> last;
    for (UOp u : nodes)
      if (u.is(Op::RANGE)) last[axis_ids_of(u)] = u;
    for (auto& [ids, range] : last) {
      if (is_global_axis(axis_type_of(range))) global_axes.push_back({ids, range});
      else if (is_local_axis(axis_type_of(range))) local_axes.push_back({ids, range});
    }
  }
};

LaunchDims axis_sizes(const std::vector<GridAxis>& axes) {
  LaunchDims out;
  for (auto& a : axes) out.push_back(Sint(a.range.src(0).ssimplify()));
  return out;
}

// Gates a store to a global buffer: of each local axis on which the store's address does not depend, only the first
// thread executes the store. Adds the replacement of the store's INDEX to `out`.
void mask_store(UOp store, const std::vector<GridAxis>& local, Substitution& out) {
  if (buf_target(store).dtype().addrspace() != AddrSpace::GLOBAL) return;
  UOp idx = store.src(0), mask;
  for (auto& axis : local) {
    if (is_inside_range(idx, axis.range)) continue;
    UOp first = axis.range.eq(0);
    mask = mask ? mask & first : first;
  }
  if (!mask) return;
  if (idx.num_src() != 2) throw Failure("the index of a store has a validity already");
  UOp at = idx.src(1);
  out.emplace_back(idx, idx.with_src({idx.src(0), mask.broadcast(at.dtype().count()).where(at, Const::invalid())}));
}

UOp grid_to_specials(const Target& target, UOp sink) {
  if (sink.arg().is_none()) return {};
  auto nodes = toposort(sink);
  if (std::any_of(nodes.begin(), nodes.end(), [](UOp u) { return u.is(Op::SPECIAL); })) return {};
  LaunchGrid grid(nodes);
  if (grid.global_axes.empty() && grid.local_axes.empty()) return {};

  Graph& g = sink.graph();
  bool dont_use_locals = sink.arg().is(RecordClass::KernelInfo) && sink.arg()[2].as_bool();
  if (dont_use_locals && !grid.local_axes.empty()) throw Failure("the kernel has local axes and may not use them");
  auto idxs =
      get_grouped_dims(g, dont_use_locals ? "idx" : "gidx", axis_sizes(grid.global_axes), target.global_max, true);
  if (!dont_use_locals) {
    auto local_axes = get_grouped_dims(g, "lidx", axis_sizes(grid.local_axes), target.local_max);
    idxs.insert(idxs.end(), local_axes.begin(), local_axes.end());
  }

  std::map<std::vector<Int>, UOp> special;  // index expression by axis ids
  size_t i = 0;
  for (auto* axes : {&grid.global_axes, &grid.local_axes})
    for (auto& a : *axes) special.emplace(a.ids, idxs[i++]);
  Substitution replaced;
  for (UOp u : nodes) {
    if (u.is(Op::STORE)) mask_store(u, grid.local_axes, replaced);
    if (!u.is(Op::RANGE)) continue;
    auto it = special.find(axis_ids_of(u));
    if (it == special.end() || (u.arg()[1].kind() == Arg::Kind::AxisType && u.arg()[1].axis_type() == AxisType::REDUCE))
      continue;
    replaced.emplace_back(u, it->second);
  }
  return substitute(sink, replaced);
}

}  // namespace

const RuleSet& pm_add_gpudims() {
  static const RuleSet set("pm_add_gpudims", {
      rule("grid-to-specials", node(Op::SINK).as(s), with<grid_to_specials>(s)),
  });
  return set;
}

}  // namespace tgc
