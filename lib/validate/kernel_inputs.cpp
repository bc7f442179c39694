#include "lib/validate/kernel_inputs.h"

#include <algorithm>
#include <random>

#include "lib/execute/executable.h"
#include "lib/uop/graph.h"

namespace tgc {

namespace {

// Returns the integer that the array `name` holds; nullopt if there is no such array. Throws Failure
// if the array is not a single integer.
std::optional<int64_t> integer_in(const Arrays& arrays, const std::string& name) {
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

Result<ChosenVariables> choose_variables(const Executable& kernel, const VariableSources& from) {
  return catch_failures([&] {
    ChosenVariables out;
    std::mt19937_64 random(from.seed.value_or(0));
    for (const VariableSpec& v : kernel.variables()) {
      if (auto given = from.options.find(v.name); given != from.options.end()) {
        out[v.name] = {given->second, "--var"};
      } else if (auto value = from.arrays ? integer_in(*from.arrays, v.name) : std::nullopt) {
        out[v.name] = {*value, "--inputs"};
      } else if (auto bound = from.recorded.find(v.name); bound != from.recorded.end()) {
        out[v.name] = {bound->second, "recorded"};
      } else if (from.seed) {
        const uint64_t values = uint64_t(v.max) - uint64_t(v.min) + 1;  // number of values; 0: all 2**64
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
      const bool is_given = c.from == "--var" || c.from == "--inputs";
      if (!is_given && c.value != value) c = {value, largest ? "the largest" : "the smallest"};
    }
    auto is_same = [](const ChosenVariables& a, const ChosenVariables& b) { return values_of(a) == values_of(b); };
    if (!is_same(bound, chosen) && (out.empty() || !is_same(bound, out[0]))) out.push_back(std::move(bound));
  }
  return out;
}

VariableValues values_of(const ChosenVariables& chosen) {
  VariableValues out;
  for (auto& [name, v] : chosen) out[name] = v.value;
  return out;
}

std::string text_of(const ChosenVariables& chosen) {
  std::string out;
  for (auto& [name, v] : chosen)
    out += (out.empty() ? "" : "; ") + name + "=" + std::to_string(v.value) + ", " + std::string(v.from);
  return out;
}

namespace {

// Ops whose result consists of elements of their first source, so that it has the signs of this source.
constexpr OpSet kSame = ops::Movement | OpSet{Op::CONTIGUOUS, Op::COPY, Op::DETACH, Op::NOOP, Op::GEP};
// Ops whose result is not negative if none of their sources is negative.
constexpr OpSet kKeeps = {Op::ADD, Op::MUL, Op::FDIV, Op::RECIPROCAL, Op::CAST, Op::VECTORIZE, Op::MULACC};

// Finds the nodes whose values are never negative. A NaN that is computed from NaNs does not count as negative.
class Signs {
 public:
  explicit Signs(Graph& graph) : at_least_zero_(graph) {}
  bool at_least_zero(UOp u) const { return at_least_zero_.contains(u); }
  void note(UOp u) {
    if (is_at_least_zero(u)) at_least_zero_.insert(u);
  }

 private:
  bool is_at_least_zero(UOp u) const {
    auto known = [&](UOp s) { return at_least_zero(s); };
    if (!u.dtype().is_value()) return false;
    if (!dtypes::is_float(u.dtype()))
      return dtypes::is_unsigned(u.dtype()) || dtypes::is_bool(u.dtype()) || is_from_zero(u);
    if (u.is_const()) return u.arg().to_const().to_double() >= 0;
    if (u.in({Op::SQRT, Op::EXP2})) return true;
    if (u.is(Op::MUL) && u.src(0) == u.src(1)) return true;
    if (u.is(Op::MAX)) return std::ranges::any_of(u.src(), known);
    if (u.is(Op::WHERE)) return known(u.src(1)) && known(u.src(2));
    if (u.in(kKeeps)) return std::ranges::all_of(u.src(), known);
    return u.num_src() > 0 && (u.in(kSame) || u.in({Op::REDUCE, Op::REDUCE_AXIS})) && known(u.src(0));
  }
  static bool is_from_zero(UOp u) { return dtypes::is_int(u.dtype()) && u.vmin().as_int() >= Int(0); }

  UOpSet at_least_zero_;
};

// Fills the array with small whole numbers of the sign `sign` (1 or -1). Bools become true or false. For -1, unsigned
// integers become large.
void fill_with_sign(Array& array, std::string_view name, int sign) {
  if (dtypes::is_bool(array.dtype())) return void(std::ranges::fill(array.as<uint8_t>(), uint8_t(sign > 0)));
  std::vector<double> pool;
  for (int size = 2; size < 9; size++) pool.push_back(sign * size);
  fill_from_pool(array, name, pool, 0);
}

}  // namespace

InputDistribution input_distribution(UOp root, uint64_t seed) {
  Signs signs(root.graph());
  for (UOp u : toposort(root)) {
    if (u.in({Op::SQRT, Op::LOG2, Op::POW}) && !signs.at_least_zero(u.src(0))) return {seed, Floats::Unit};
    signs.note(u);
  }
  return {seed, Floats::Normal};
}

std::set<std::string> constrained_inputs(UOp root) {
  std::set<std::string> out;
  for (UOp u : toposort(root)) {
    size_t first = u.num_src();  // the first source that needs safe values
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

std::vector<InputSet> more_input_sets(UOp root, const InputDistribution& draw) {
  auto starts_anywhere = [](UOp u) {
    return u.is(Op::DEFINE_REG) || (u.is(Op::REDUCE) && u.arg().op() != Op::ADD) ||
           (u.is(Op::REDUCE_AXIS) && u.arg()[0].op() != Op::ADD);
  };
  if (draw.floats == Floats::Unit || std::ranges::none_of(toposort(root), starts_anywhere)) return {InputSet::AllSizes};
  return {InputSet::AllSizes, InputSet::BelowZero, InputSet::AboveZero};
}

std::set<std::string> redraw_inputs(UOp root, InputSet set, const InputDistribution& draw, const Arrays& given,
                                    Arrays& inputs) {
  const std::set<std::string> constrained = constrained_inputs(root);
  const std::vector<UOp> nodes = toposort(root);
  std::set<std::string> out;
  for (const BufferSpec& b : buffers_of(nodes)) {
    if (constrained.contains(b.name()) || find_array(given, b.name())) continue;
    auto at = std::ranges::find(inputs, b.name(), &NamedArray::name);
    if (at == inputs.end()) continue;
    if (set == InputSet::Usual) fill_random(at->array, draw.seed, at->name, draw.floats);
    else if (set == InputSet::AllSizes) fill_wide(at->array, draw.seed, at->name, draw.floats);
    else fill_with_sign(at->array, at->name, set == InputSet::BelowZero ? -1 : 1);
    out.insert(at->name);
  }
  return out;
}

}  // namespace tgc
