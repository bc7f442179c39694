#include "lib/prove/node_values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

namespace {

constexpr size_t kMostNodes = 60;

std::optional<Const> parse_point_value(const std::string& text, DType d) {
  if (text == "True" || text == "False") return Const(text == "True");
  if (dtypes::is_float(d)) {
    char* end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    return text.empty() || *end ? std::nullopt : std::optional(Const(v));
  }
  const auto v = Int::parse(text);
  if (!v) return std::nullopt;
  return dtypes::is_bool(d) ? Const(*v != 0) : truncate(Const(*v), d);
}

UOp loaded_buffer_of(UOp u) {
  const UOp index = u.is(Op::LOAD) && u.num_src() == 1 ? u.src(0) : u;
  const bool is_element = index.is(Op::INDEX) && index.src(0).is(Op::DEFINE_GLOBAL) && index.src(0).arg().is_int();
  return is_element ? index.src(0) : UOp();
}

// Computes the values of nodes for a counterexample.
class NodeEvaluator {
 public:
  explicit NodeEvaluator(const std::map<std::string, std::string>& point) : point_(point) {}

  std::optional<Const> value_of(UOp u) {
    if (auto it = known_values_.find(u); it != known_values_.end()) return it->second;
    auto made = catch_failures([&] { return compute_value(u); });
    return known_values_[u] = made ? *made : std::nullopt;
  }
  bool is_in_point(UOp u) const { return point_.contains(name_of(u)); }
  static std::string name_of(UOp u) {
    if (const UOp memory = loaded_buffer_of(u)) return "data" + std::to_string(memory.arg().small_int());
    return name_of_leaf(u);
  }

 private:
  std::optional<Const> compute_value(UOp u) {
    const DType d = u.dtype();
    if (d.count() != 1 || d == dtypes::void_) return std::nullopt;
    if (auto it = point_.find(name_of(u)); it != point_.end()) return parse_point_value(it->second, d.base());
    if (u.is_const()) return u.is_invalid() ? std::nullopt : std::optional(truncate(u.arg().to_const(), d));
    if (u.is(Op::WHERE)) {
      const auto c = value_of(u.src(0));
      return c ? value_of(u.src(c->truthy() ? 1 : 2)) : std::nullopt;
    }
    if (u.is(Op::LOAD) && u.num_src() > 1) return gated_load_value(u);
    if (!u.in(ops::ALU) && !u.is(Op::CAST)) return std::nullopt;
    std::vector<Arg> operands;
    for (UOp s : u.src()) {
      const auto v = value_of(s);
      if (!v) return std::nullopt;
      operands.push_back(Arg(*v));
    }
    if (u.is(Op::CAST)) {
      const Const v = operands[0].to_const();
      return truncate(v.is_float() && dtypes::is_int(d) ? Const(Int::trunc(v.as_float())) : v, d);
    }
    return exec_alu(u.graph(), u.op(), d, operands).to_const();
  }

  std::optional<Const> gated_load_value(UOp load) {
    const UOp index = load.src(0);
    const auto gate = index.is(Op::INDEX) && index.num_src() == 3 ? value_of(index.src(2)) : std::optional(Const(true));
    return gate ? value_of(gate->truthy() ? index : load.src(1)) : std::nullopt;
  }

  const std::map<std::string, std::string>& point_;
  std::unordered_map<UOp, std::optional<Const>> known_values_;
};

std::string const_text(const Const& v) { return v.is_float() ? Arg(v).repr() : v.to_int().str(); }

}  // namespace

std::string point_text(const std::map<std::string, std::string>& point) {
  std::string out;
  auto add = [&](const std::string& name, const std::string& value) {
    out += (out.empty() ? "" : ", ") + name + " = " + value;
  };
  for (auto& [name, value] : point)
    if (name != "before" && name != "after" && name != "stored") add(name, value);
  for (const char* name : {"before", "after", "stored"})
    if (auto it = point.find(name); it != point.end()) add(name, it->second);
  return out;
}

std::string condition_text(const std::string& condition, std::map<std::string, std::string> point) {
  std::string out = ": right only if " + condition;
  const auto before = point.extract("before"), after = point.extract("after");
  if (before.empty() || after.empty()) return out;
  return out + (point.empty() ? "; else" : "; for " + point_text(point)) + " it gives " + after.mapped() +
         " in place of " + before.mapped();
}

std::vector<std::string> node_values(UOp side, const std::map<std::string, std::string>& point,
                                     const std::string& result) {
  NodeEvaluator values(point);
  const auto whole = values.value_of(side);
  const auto expected = whole ? parse_point_value(result, side.dtype().base()) : std::nullopt;
  if (!expected || const_text(*whole) != const_text(*expected)) return {};
  std::vector<std::string> out;
  std::unordered_map<UOp, std::string> names;
  std::function<bool(UOp)> add = [&](UOp u) {
    if (names.contains(u)) return true;
    std::string operands;
    if (values.is_in_point(u)) operands = " " + values.name_of(u);
    else
      for (UOp s : u.src()) {
        if (!add(s)) return false;
        operands += (operands.empty() ? " " : ", ") + names[s];
      }
    const auto v = values.value_of(u);  // nullopt for a node without a known value, which a WHERE does not choose
    const std::string name = names[u] = "%" + std::to_string(out.size());
    out.push_back(name + " = " + std::string(tgc::name_of(u.op())) + " " + std::string(u.dtype().repr()) + operands +
                  (v ? " = " + const_text(*v) : ""));
    return out.size() <= kMostNodes;
  };
  return add(side) ? out : std::vector<std::string>();
}

namespace {

bool is_float_value(UOp u) { return dtypes::is_float(u.dtype().base().scalar()); }

bool is_comparison(UOp u) {
  return u.in({Op::CMPLT, Op::CMPNE, Op::CMPEQ}) && (is_float_value(u.src(0)) || is_float_value(u.src(1)));
}

// Returns true if a tiny change of an operand may change the value of `u` much.
bool is_discontinuous_op(UOp u) {
  if (u.num_src() == 0 || u.dtype().is_ptr()) return false;
  if (is_comparison(u)) return true;
  if (!is_float_value(u.src(0))) return false;
  if (u.in({Op::BITCAST, Op::TRUNC})) return true;
  return u.is(Op::CAST) && !can_lossless_cast(u.src(0).dtype().base().scalar(), u.dtype().base().scalar());
}

// Returns true for an op that may make an infinity of a zero operand, with the sign of the zero.
bool is_quotient_op(UOp u) { return u.in({Op::RECIPROCAL, Op::FDIV, Op::POW}) && is_float_value(u); }

using NodeUsers = std::unordered_map<UOp, std::vector<UOp>>;

bool equals_number(UOp u, double number) {
  while (u.is(Op::CAST) && u.num_src()) u = u.src(0);
  return u.is(Op::CONST) && (u.arg().is_float() || u.arg().is_int()) && u.arg().to_const().to_double() == number;
}

bool are_equal_if_sides_equal(UOp u, UOp v, UOp a, UOp b) {
  auto is_zero = [&](UOp x) {
    if (equals_number(x, 0)) return true;
    const bool zero = equals_number(a, 0) || equals_number(b, 0);
    if (!zero) return false;
    auto is_side = [&](UOp y) { return y == a || y == b; };
    return is_side(x) || (x.is(Op::MUL) && (is_side(x.src(0)) || is_side(x.src(1))));
  };
  auto is_side = [&](UOp x) { return x == a || x == b; };
  return u == v || (is_side(u) && is_side(v)) || (is_zero(u) && is_zero(v));
}

bool is_finite_constant_choice(UOp u) {
  if (u.is(Op::WHERE)) return is_finite_constant_choice(u.src(1)) && is_finite_constant_choice(u.src(2));
  while (u.is(Op::CAST) && u.num_src()) u = u.src(0);
  return u.is(Op::CONST) && (u.arg().is_float() || u.arg().is_int()) && std::isfinite(u.arg().to_const().to_double());
}

// Returns true if `where` is one of several finite numbers, and all its users multiply it by `x`, as in x * sign(x), or
// are such WHEREs. Then the products are zero where `x` is zero, whichever number the WHERE chooses.
bool is_only_multiplied_by(UOp where, UOp x, const NodeUsers& users) {
  auto of = users.find(where);
  return is_finite_constant_choice(where) && of != users.end() && std::ranges::all_of(of->second, [&](UOp user) {
    if (user.is(Op::WHERE)) return user.src(0) != where && is_only_multiplied_by(user, x, users);
    return user.is(Op::MUL) && user.src(user.src(0) == where) == x;
  });
}
bool is_factor_of_compared(UOp where, UOp comparison, const NodeUsers& users) {
  const UOp a = comparison.src(0), b = comparison.src(1);
  return (equals_number(b, 0) && is_only_multiplied_by(where, a, users)) ||
         (equals_number(a, 0) && is_only_multiplied_by(where, b, users));
}

// Returns true if `choice`, which is `comparison` or depends on it, is only used to choose between values that are
// equal, or factors of zero, where the operands of the comparison are equal.
bool is_continuous(UOp choice, UOp comparison, const NodeUsers& users) {
  auto of = users.find(choice);
  if (of == users.end()) return true;
  return std::ranges::all_of(of->second, [&](UOp user) {
    const bool is_condition = user.in({Op::CMPNE, Op::AND, Op::OR}) && dtypes::is_bool(choice.dtype());
    if (is_condition) return is_continuous(user, comparison, users);
    return user.is(Op::WHERE) && user.src(0) == choice && user.src(1) != choice && user.src(2) != choice &&
           (are_equal_if_sides_equal(user.src(1), user.src(2), comparison.src(0), comparison.src(1)) ||
            is_factor_of_compared(user, comparison, users));
  });
}

}  // namespace

bool has_discontinuous_op(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) { return is_discontinuous_op(u) || is_quotient_op(u); });
}

bool has_quotient(UOp root) { return std::ranges::any_of(toposort(root), is_quotient_op); }

std::optional<std::string> find_amplifying_op(UOp root, UOp weak, FloatSense sense, bool has_quotients) {
  const bool may_divide = has_quotients && sense == FloatSense::Finite;
  std::unordered_set<UOp> depends{weak};
  NodeUsers users;
  const std::vector<UOp> all = toposort(root);
  for (UOp u : all)
    for (UOp s : u.src()) users[s].push_back(u);
  bool is_found = false;
  for (UOp u : all) {
    is_found |= u == weak;
    if (std::ranges::none_of(u.src(), [&](UOp s) { return depends.contains(s); })) continue;
    depends.insert(u);
    const bool is_bits = u.is(Op::BITCAST) && is_float_value(u.src(0));
    const bool is_of_zero = !may_divide && is_quotient_op(u) && depends.contains(u.src(u.is(Op::FDIV) ? 1 : 0));
    const bool is_wrong = sense > FloatSense::Finite ? is_discontinuous_op(u) : is_bits || is_of_zero;
    const bool is_choice = u.in({Op::CMPLT, Op::CMPNE, Op::CMPEQ}) && is_continuous(u, u, users);
    if (is_wrong && !is_choice) return std::string(name_of(u.op()));
  }
  return is_found ? std::nullopt : std::optional<std::string>("a node that is not found");
}

}  // namespace tgc
