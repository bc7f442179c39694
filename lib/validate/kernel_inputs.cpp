#include "lib/validate/kernel_inputs.h"

#include <algorithm>
#include <random>

#include "lib/execute/executable.h"
#include "lib/uop/graph.h"

namespace tgc {

namespace {

std::optional<int64_t> integer_from_array(const Arrays& arrays, const std::string& name) {
  const Array* a = find_array(arrays, name);
  if (!a) return std::nullopt;
  if (a->size() != 1 || !dtypes::is_int(a->dtype()))
    throw Failure(Diag{.message = "the variable '" + name + "' is " + a->describe() + " in the file of --inputs",
                       .expected = "one integer"});
  return int64_t(element_as_double(*a, 0));
}

}  // namespace

std::set<std::string> bound_variables(const Executable& kernel, const VariableValues& given) {
  std::set<std::string> out;
  for (const VariableSpec& v : kernel.variables())
    if (given.contains(v.name)) out.insert(v.name);
  return out;
}

Status check_variables(const Executable& kernel, const VariableValues& given) {
  std::set<std::string> bound = bound_variables(kernel, given);
  std::string known;
  for (const VariableSpec& v : kernel.variables()) known += (known.empty() ? "--var " : ", --var ") + v.name + "=N";
  for (auto& [name, value] : given)
    if (!bound.contains(name))
      return Diag{.message = "the kernel has no variable '" + name + "'",
                  .expected = known.empty() ? "no --var: the kernel has none" : known};
  return Unit{};
}

Status check_array_names(const Arrays& given, const std::set<std::string>& known, const std::string& file,
                         std::string_view what) {
  constexpr size_t kMostListed = 20;
  std::string names;
  size_t count = 0;
  for (const std::string& name : known)
    if (++count <= kMostListed) names += (names.empty() ? "" : ", ") + name;
  if (count > kMostListed) names += ", and " + std::to_string(count - kMostListed) + " more";
  for (const NamedArray& a : given)
    if (!known.contains(a.name))
      return Diag{.message = std::string(what) + " '" + a.name + "'",
                  .file = file,
                  .expected = names.empty() ? "no arrays" : names};
  return Unit{};
}

Result<ChosenVariables> choose_variables(const Executable& kernel, const VariableSources& from) {
  return catch_failures([&] {
    ChosenVariables out;
    std::mt19937_64 random(from.seed.value_or(0));
    for (const VariableSpec& v : kernel.variables()) {
      if (auto given = from.option_values.find(v.name); given != from.option_values.end()) {
        out[v.name] = {given->second, "--var"};
      } else if (auto value = from.file_arrays ? integer_from_array(*from.file_arrays, v.name) : std::nullopt) {
        out[v.name] = {*value, "--inputs"};
      } else if (auto bound = from.recorded_values.find(v.name); bound != from.recorded_values.end()) {
        out[v.name] = {bound->second, "recorded"};
      } else if (from.seed) {
        const uint64_t values = uint64_t(v.max) - uint64_t(v.min) + 1;
        out[v.name] = {int64_t(uint64_t(v.min) + (values ? random() % values : random())), "drawn"};
      }
    }
    return out;
  });
}

std::vector<ChosenVariables> variables_at_bounds(const Executable& kernel, const ChosenVariables& chosen) {
  std::vector<ChosenVariables> out;
  for (const bool largest : {false, true}) {
    ChosenVariables bound = chosen;
    for (const VariableSpec& v : kernel.variables()) {
      ChosenVariable& c = bound[v.name];
      const int64_t value = largest ? v.max : v.min;
      const bool is_given = c.value_source == "--var" || c.value_source == "--inputs";
      if (!is_given && c.value != value) c = {value, largest ? "the largest" : "the smallest"};
    }
    auto is_same = [](const ChosenVariables& a, const ChosenVariables& b) {
      return chosen_values_of(a) == chosen_values_of(b);
    };
    if (!is_same(bound, chosen) && (out.empty() || !is_same(bound, out[0]))) out.push_back(std::move(bound));
  }
  return out;
}

VariableValues chosen_values_of(const ChosenVariables& chosen) {
  VariableValues out;
  for (auto& [name, v] : chosen) out[name] = v.value;
  return out;
}

std::string chosen_values_text(const ChosenVariables& chosen) {
  std::string out;
  for (auto& [name, v] : chosen)
    out += (out.empty() ? "" : "; ") + name + "=" + std::to_string(v.value) + ", " + std::string(v.value_source);
  return out;
}

namespace {

constexpr OpSet kArrayOps = {Op::DEFINE_GLOBAL, Op::BUFFER, Op::PARAM};
// Ops whose result consists of elements of their first source and zeros, so that it has the signs of this source.
constexpr OpSet kSignOfFirstSource =
    ops::Movement | OpSet{Op::CONTIGUOUS, Op::COPY, Op::DETACH, Op::NOOP, Op::GEP, Op::INDEX};
// Ops whose result is not negative if none of their sources is negative.
constexpr OpSet kNonnegativeIfSourcesAre = {Op::ADD,  Op::MUL,       Op::FDIV,  Op::RECIPROCAL,
                                            Op::CAST, Op::VECTORIZE, Op::STACK, Op::MULACC};
// Ops that may store to arrays in a way that the graph does not show.
constexpr OpSet kHiddenStoreOps = {Op::CALL,          Op::FUNCTION,        Op::KERNEL,
                                   Op::CUSTOM_KERNEL, Op::CUSTOM_FUNCTION, Op::CUSTOM};

// Finds nodes whose values are never negative, if the arrays in `positive` contain no negative number. A NaN does not
// count as negative.
class SignAnalysis {
 public:
  SignAnalysis(std::span<const UOp> nodes, const UOpSet& positive)
      : nonnegative_arrays_(positive), nonnegative_nodes_(nodes[0].graph()) {
    for (UOp u : nodes)
      if (infer_nonnegative(u)) nonnegative_nodes_.insert(u);
  }
  bool is_nonnegative(UOp u) const { return nonnegative_nodes_.contains(u); }

 private:
  bool infer_nonnegative(UOp u) const {
    auto known = [&](UOp s) { return is_nonnegative(s); };
    auto is_known_or_no_float = [&](UOp s) { return known(s) || !dtypes::is_float(s.dtype()); };
    if (u.in(kArrayOps)) return nonnegative_arrays_.contains(u);
    if (u.is(Op::LOAD)) return known(u.src(0)) && std::ranges::all_of(u.src().subspan(1), is_known_or_no_float);
    if (u.num_src() > 0 && u.in({Op::INDEX, Op::AFTER}) && !u.dtype().is_value()) return known(u.src(0));
    if (!u.dtype().is_value()) return false;
    if (!dtypes::is_float(u.dtype()))
      return dtypes::is_unsigned(u.dtype()) || dtypes::is_bool(u.dtype()) || is_nonnegative_integer(u);
    if (u.is_const()) return u.arg().to_const().to_double() >= 0;
    if (u.in({Op::SQRT, Op::EXP2})) return true;
    if (u.is(Op::MUL) && u.src(0) == u.src(1)) return true;
    if (u.is(Op::MAX)) return std::ranges::any_of(u.src(), known);
    if (u.is(Op::ASSIGN)) return known(u.src(1));
    if (u.is(Op::WHERE)) return known(u.src(1)) && known(u.src(2));
    if (u.in(kNonnegativeIfSourcesAre)) return std::ranges::all_of(u.src(), known);
    return u.num_src() > 0 && (u.in(kSignOfFirstSource) || u.in({Op::REDUCE, Op::REDUCE_AXIS, Op::AFTER})) &&
           known(u.src(0));
  }
  static bool is_nonnegative_integer(UOp u) { return dtypes::is_int(u.dtype()) && u.vmin().as_int() >= Int(0); }

  const UOpSet& nonnegative_arrays_;
  UOpSet nonnegative_nodes_;
};

void add_float_arrays(std::span<const UOp> nodes, UOpSet& out) {
  for (UOp u : nodes)
    if (u.in(kArrayOps) && dtypes::is_float(u.dtype().base())) out.insert(u);
}

// Returns `roots` and the nodes below them, without the nodes for which `stops` is true and those only below these.
template <class Stop>
std::vector<UOp> nodes_reachable_from(std::vector<UOp> roots, Stop stops) {
  std::vector<UOp> out;
  if (roots.empty()) return out;
  UOpSet seen(roots[0].graph());
  while (!roots.empty()) {
    const UOp u = roots.back();
    roots.pop_back();
    if (stops(u) || !seen.insert(u)) continue;
    out.push_back(u);
    roots.insert(roots.end(), u.src().begin(), u.src().end());
  }
  return out;
}

// For `sign` = -1, bools become false, and unsigned integers large, because the negative numbers wrap around.
void fill_with_sign(Array& array, std::string_view name, int sign) {
  if (dtypes::is_bool(array.dtype())) return void(std::ranges::fill(array.as<uint8_t>(), uint8_t(sign > 0)));
  std::vector<double> pool;
  for (int size = 2; size < 9; size++) pool.push_back(sign * size);
  fill_from_pool(array, name, pool, 0);
}

}  // namespace

std::vector<UOp> arrays_without_negatives(UOp root) {
  const std::vector<UOp> nodes = toposort(root);
  std::vector<UOp> out;
  UOpSet positive(root.graph());
  auto negative_operands = [&](const SignAnalysis& signs) {
    std::vector<UOp> operands;
    for (UOp u : nodes)
      if (u.in({Op::SQRT, Op::LOG2, Op::POW}) && !signs.is_nonnegative(u.src(0))) operands.push_back(u.src(0));
    return operands;
  };
  const SignAnalysis first(nodes, positive);
  const std::vector<UOp> operands = negative_operands(first);
  if (operands.empty()) return out;
  add_float_arrays(nodes_reachable_from(operands, [&](UOp u) { return first.is_nonnegative(u); }), positive);
  const SignAnalysis second(nodes, positive);
  auto stores_negative = [&](UOp u) {
    if (!u.in({Op::STORE, Op::ASSIGN})) return false;
    UOp memory = u.src(0);
    while (!memory.in(kArrayOps) && memory.num_src() > 0) memory = memory.src(0);
    return positive.contains(memory) && !second.is_nonnegative(u.src(1));
  };
  auto is_memory_of_kernel = [](UOp u) { return u.in({Op::DEFINE_LOCAL, Op::DEFINE_REG}); };
  const std::vector<UOp> below = nodes_reachable_from(negative_operands(second), [](UOp) { return false; });
  const bool is_hidden =
      std::ranges::any_of(nodes, [&](UOp u) { return u.in(kHiddenStoreOps) || stores_negative(u); }) ||
      std::ranges::any_of(below, is_memory_of_kernel);
  add_float_arrays(is_hidden ? nodes : below, positive);
  for (UOp u : nodes)
    if (positive.contains(u)) out.push_back(u);
  return out;
}

InputDistribution make_input_distribution(UOp root, uint64_t seed) {
  InputDistribution out{.seed = seed};
  for (UOp u : arrays_without_negatives(root)) {
    if (!u.is(Op::DEFINE_GLOBAL)) return {.seed = seed, .floats = FloatKind::Unit};
    out.unit_inputs.insert("data" + std::to_string(u.arg().small_int()));
  }
  return out;
}

std::string float_inputs_note(const InputDistribution& draw) {
  return draw.has_unit_arrays() ? draw.text() + ": others make NaNs" : "";
}

std::set<std::string> constrained_inputs(UOp root) {
  std::set<std::string> out;
  for (UOp u : toposort(root)) {
    size_t first = u.num_src();  // index of the first source whose values are constrained
    if (u.in({Op::RANGE, Op::SPECIAL})) first = 0;
    if (u.in({Op::INDEX, Op::IDIV, Op::MOD, Op::SHL, Op::SHR, Op::POW})) first = 1;
    for (UOp s : u.src().subspan(std::min(first, u.num_src())))
      for (UOp below : toposort(s))
        if (below.is(Op::DEFINE_GLOBAL)) out.insert("data" + std::to_string(below.arg().small_int()));
  }
  return out;
}

std::string_view name_of(InputSet set) {
  switch (set) {
    case InputSet::AllSizes: return "of all sizes";
    case InputSet::BelowZero: return "below zero";
    case InputSet::AboveZero: return "above zero";
    default: return "";
  }
}

std::vector<InputSet> further_input_sets(UOp root, const InputDistribution& draw) {
  auto starts_anywhere = [](UOp u) {
    return u.is(Op::DEFINE_REG) || (u.is(Op::REDUCE) && u.arg().op() != Op::ADD) ||
           (u.is(Op::REDUCE_AXIS) && u.arg()[0].op() != Op::ADD);
  };
  if (draw.floats == FloatKind::Unit || std::ranges::none_of(toposort(root), starts_anywhere))
    return {InputSet::AllSizes};
  return {InputSet::AllSizes, InputSet::BelowZero, InputSet::AboveZero};
}

std::set<std::string> redraw_inputs(UOp root, InputSet set, const InputDistribution& draw, const Arrays& given,
                                    Arrays& inputs) {
  const std::set<std::string> constrained = constrained_inputs(root);
  const std::vector<UOp> nodes = toposort(root);
  std::set<std::string> out;
  for (const BufferSpec& b : buffers_of_nodes(nodes)) {
    if (constrained.contains(b.name()) || find_array(given, b.name())) continue;
    auto at = std::ranges::find(inputs, b.name(), &NamedArray::name);
    if (at == inputs.end()) continue;
    const FloatKind floats = draw.float_kind_of(at->name);
    if (set == InputSet::Usual) fill_random(at->array, draw.seed, at->name, floats);
    else if (set == InputSet::AllSizes) fill_wide_range(at->array, draw.seed, at->name, floats);
    else fill_with_sign(at->array, at->name, set == InputSet::BelowZero && floats == FloatKind::Normal ? -1 : 1);
    out.insert(at->name);
  }
  return out;
}

}  // namespace tgc
