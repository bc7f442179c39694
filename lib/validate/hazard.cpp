#include "lib/validate/hazard.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/validate/reference_runner.h"

namespace tgc {
namespace {

constexpr int64_t kMostAccesses = 1 << 22;
constexpr int64_t kAddressBufferNumber = 1000000;

// The loops around an access, the last of which varies fastest.
struct LoopNest {
  std::vector<UOp> ranges;
  std::vector<int64_t> sizes;
  int64_t num_iterations = 1;

  bool add_loop(UOp range) {
    if (!range.is(Op::RANGE) || !range.src(0).is_const()) return false;
    const auto size = range.src(0).arg().as_int().to_int64();
    if (!size || *size < 1 || *size > kMostAccesses / num_iterations) return false;
    ranges.push_back(range), sizes.push_back(*size);
    num_iterations *= *size;
    return true;
  }
  std::map<std::string, int64_t> loop_values(int64_t iteration) const {
    std::map<std::string, int64_t> out;
    for (size_t i = ranges.size(); i-- > 0; iteration /= sizes[i])
      out["r" + ranges[i].arg()[0].repr()] = iteration % sizes[i];
    return out;
  }
};

bool is_global_scalar_index(UOp index) {
  return index.is(Op::INDEX) && index.num_src() == 2 && index.src(0).is(Op::DEFINE_GLOBAL) &&
         !index.src(0).dtype().is_image() && index.dtype().count() == 1;
}

// Returns a bool node that does not depend on loaded values: true in the iterations in which `value` certainly depends
// on `load`; false in other iterations, and where a condition on loaded values decides if `value` depends on `load`.
UOp dependence_condition(UOp load, UOp value) {
  constexpr OpSet kLoads{Op::INDEX, Op::LOAD, Op::REDUCE};
  Graph& graph = value.graph();
  const UOp yes = graph.constant(dtypes::bool_, true), no = graph.constant(dtypes::bool_, false);
  auto either = [&](UOp a, UOp b) { return a == yes || b == yes ? yes : a == no ? b : b == no ? a : a.alu(Op::OR, b); };
  auto chosen = [&](UOp condition, UOp a, UOp b) { return a == b ? a : condition.where(a, b); };
  auto gate_of = [](UOp u) {
    return u.is(Op::CAST) && dtypes::is_bool(u.src(0).dtype()) ? u.src(0) : UOp();
  };
  std::unordered_map<UOp, UOp> uses;
  UOpSet loading(graph);
  for (UOp u : toposort(value)) {
    if (u.in(kLoads) || std::ranges::any_of(u.src(), [&](UOp s) { return loading.contains(s); })) loading.insert(u);
    UOp out = u == load ? yes : no;
    for (size_t i = 0; i < u.num_src() && !(u == load); i++) {
      UOp part = uses.at(u.src(i));
      if (part == no) continue;
      const UOp gate = u.is(Op::MUL) ? gate_of(u.src(1 - i)) : u.is(Op::WHERE) && i > 0 ? u.src(0) : UOp();
      if (gate && loading.contains(gate)) part = u.is(Op::WHERE) && uses.at(u.src(3 - i)) == part ? part : no;
      else if (gate) part = chosen(gate, i == 2 ? no : part, i == 2 ? part : no);
      out = either(out, part);
    }
    uses[u] = out;
  }
  return uses.at(value);
}

// Computes in REF which element the INDEX `index` accesses in each iteration of the loops; -1 in iterations without an
// access, or where `condition` is false. Returns nullopt if the address depends on loads or reductions, or if REF
// fails.
std::optional<Array> accessed_addresses(UOp index, const LoopNest& loops, const VariableValues& variables,
                                        UOp condition = {}) {
  Graph& graph = index.graph();
  for (UOp u : toposort(index.src(1)))
    if (u.in({Op::INDEX, Op::LOAD, Op::REDUCE})) return std::nullopt;
  UOp number = graph.constant(dtypes::index, 0);
  for (size_t i = 0; i < loops.ranges.size(); i++)
    number = number * number.const_like(loops.sizes[i]) + loops.ranges[i];
  UOp out = graph.node(Op::DEFINE_GLOBAL, dtypes::int64.ptr(loops.num_iterations), {}, kAddressBufferNumber);
  const UOp none_accessed = graph.constant(dtypes::int64, -1);
  UOp address = index.src(1).get_valid().where(index.src(1).get_idx().cast(dtypes::int64), none_accessed);
  if (condition) address = condition.where(address, none_accessed);
  UOp store = graph.node(Op::INDEX, out.dtype(), {out, number}).store(address);
  const Arrays none;
  auto done =
      ReferenceRunner(none, variables, {}, InputDistribution()).run_reference(graph.sink({store.end(loops.ranges)}));
  if (!done || done->outputs.size() != 1) return std::nullopt;
  return std::move(done->outputs[0].array);
}

// Maps elements of different arguments of a kernel to common units of memory.
class ArgumentUnits {
 public:
  explicit ArgumentUnits(const std::vector<ArgumentPlace>& places) : places_(places) {}

  bool are_in_same_memory(UOp x, UOp y) const {
    return x == y || (argument_place(x) && argument_place(y) &&
                      argument_place(x)->memory_number == argument_place(y)->memory_number);
  }
  // Returns the size of a unit in bytes. It divides the element sizes and the offsets of both buffers.
  int64_t unit_bytes(UOp x, UOp y) const {
    int64_t out = std::gcd(int64_t(x.dtype().base().itemsize()), int64_t(y.dtype().base().itemsize()));
    for (UOp u : {x, y})
      if (auto* p = argument_place(u)) out = std::gcd(out, p->offset_bytes);
    return std::max<int64_t>(out, 1);
  }
  // Returns the number of the first unit of an element in its memory, and the number of units in the element.
  std::pair<int64_t, int64_t> unit_range(UOp buffer, int64_t element, int64_t unit_bytes) const {
    const int64_t size = buffer.dtype().base().itemsize(),
                  offset = argument_place(buffer) ? argument_place(buffer)->offset_bytes : 0;
    return {(offset + element * size) / unit_bytes, size / unit_bytes};
  }

 private:
  const ArgumentPlace* argument_place(UOp buffer) const {
    const auto slot = buffer.arg().is_int() ? buffer.arg().as_int().to_int64() : std::nullopt;
    return slot && *slot >= 0 && size_t(*slot) < places_.size() ? &places_[size_t(*slot)] : nullptr;
  }

  const std::vector<ArgumentPlace>& places_;
};

// Returns the INDEXes in `value` that load scalars of the memory of `buffer`.
std::vector<UOp> loads_from_buffer(UOp value, UOp buffer, const ArgumentUnits& argument_units) {
  std::vector<UOp> out;
  for (UOp u : toposort(value))
    if (is_global_scalar_index(u) && argument_units.are_in_same_memory(u.src(0), buffer)) out.push_back(u);
  return out;
}

std::optional<Hazard> find_store_hazard(UOp store, const LoopNest& loops, const VariableValues& variables,
                                        const ArgumentUnits& argument_units, bool only_shared) {
  const UOp buffer = store.src(0).src(0);
  std::vector<UOp> loads = loads_from_buffer(store.src(1), buffer, argument_units);
  std::erase_if(loads, [&](UOp load) {
    const bool is_same_element = load == store.src(0);
    return is_same_element || (only_shared && load.src(0) == buffer);
  });
  if (loads.empty()) return std::nullopt;
  const std::optional<Array> stored = accessed_addresses(store.src(0), loops, variables);
  if (!stored) return std::nullopt;
  std::optional<Hazard> out;
  for (UOp load : loads) {
    LoopNest all = loops;
    bool is_known = true;
    const UOp condition = dependence_condition(load, store.src(1));
    for (UOp u : {load.src(1), condition})
      for (UOp r : ranges_of(u))
        if (!std::ranges::count(all.ranges, r)) is_known = is_known && all.add_loop(r);
    const std::optional<Array> loaded = is_known ? accessed_addresses(load, all, variables, condition) : std::nullopt;
    if (!loaded) continue;
    const int64_t unit_bytes = argument_units.unit_bytes(buffer, load.src(0));
    std::vector<std::pair<int64_t, int64_t>> by_unit;
    for (int64_t i = 0; i < loops.num_iterations; i++)
      if (int64_t a = stored->as<int64_t>()[size_t(i)]; a >= 0) {
        const auto [first, count] = argument_units.unit_range(buffer, a, unit_bytes);
        for (int64_t u = first; u < first + count; u++) by_unit.emplace_back(u, i);
      }
    std::ranges::sort(by_unit);
    const int64_t inner = all.num_iterations / loops.num_iterations;
    for (int64_t i = 0; i < all.num_iterations; i++) {
      const int64_t a = loaded->as<int64_t>()[size_t(i)];
      if (a < 0) continue;
      const auto [first, count] = argument_units.unit_range(load.src(0), a, unit_bytes);
      auto it = std::ranges::lower_bound(by_unit, std::pair(first, int64_t(0)));
      for (; it != by_unit.end() && it->first < first + count; ++it) {
        const bool is_store_first = it->second < i / inner;
        if (it->second == i / inner || (out && !is_store_first)) continue;
        // if the storing iteration copies the element to itself, it changes nothing
        if (store.src(1) == load && loaded->as<int64_t>()[size_t(it->second * inner)] == a) continue;
        out = Hazard{"data" + load.src(0).arg().repr(), a, loops.loop_values(it->second), all.loop_values(i),
                     loops.num_iterations, is_store_first};
        if (is_store_first) return out;
      }
    }
  }
  return out;
}

std::string iteration_text(const std::map<std::string, int64_t>& values) {
  std::string out;
  for (auto& [name, value] : values) out += (out.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return out;
}

}  // namespace

std::string Hazard::text() const {
  return "iteration " + iteration_text(load_iteration) + " loads " + buffer + "[" + std::to_string(element) +
         "], which iteration " + iteration_text(store_iteration) + " stores: the result depends on their order";
}

std::optional<Hazard> find_hazard(UOp ast, const VariableValues& variables,
                                  const std::vector<ArgumentPlace>& places, bool only_shared) {
  std::optional<Hazard> out;
  Graph graph(ast.graph().settings());
  for (UOp end : toposort(copy_into(graph, ast))) {
    UOp store = end.is(Op::END) ? end.src(0) : UOp();
    if (!store || !store.is(Op::STORE) || !is_global_scalar_index(store.src(0))) continue;
    LoopNest loops;
    if (!std::ranges::all_of(end.src().subspan(1), [&](UOp r) { return loops.add_loop(r); })) continue;
    auto hazard = find_store_hazard(store, loops, variables, ArgumentUnits(places), only_shared);
    if (hazard && (!out || hazard->is_store_first)) out = std::move(hazard);
    if (out && out->is_store_first) return out;
  }
  return out;
}

std::optional<std::vector<int64_t>> accessed_elements(UOp ast, int64_t slot, bool stores,
                                                      const VariableValues& variables) {
  Graph graph(ast.graph().settings());
  const std::vector<UOp> nodes = toposort(copy_into(graph, ast));
  std::set<uint32_t> targets;
  for (UOp u : nodes)
    if (u.is(Op::STORE)) targets.insert(u.src(0).id());
  std::vector<int64_t> out;
  for (UOp u : nodes) {
    if (!u.is(Op::INDEX) || targets.contains(u.id()) != stores) continue;
    if (!is_global_scalar_index(u)) return std::nullopt;
    if (u.src(0).arg().as_int() != Int(slot)) continue;
    LoopNest loops;
    for (UOp r : ranges_of(u.src(1)))
      if (!loops.add_loop(r)) return std::nullopt;
    const std::optional<Array> found = accessed_addresses(u, loops, variables);
    if (!found) return std::nullopt;
    for (int64_t a : found->as<int64_t>())
      if (a >= 0) out.push_back(a);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace tgc
