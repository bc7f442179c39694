#include "lib/prove/weak_values.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool is_float_value(UOp u) { return dtypes::is_float(u.dtype().base().scalar()); }

bool is_comparison(UOp u) {
  return u.in({Op::CMPLT, Op::CMPNE, Op::CMPEQ}) && (is_float_value(u.src(0)) || is_float_value(u.src(1)));
}

// Returns whether rounding may change the value of the op by more than its operand.
bool is_decision(UOp u) {
  if (u.num_src() == 0 || u.dtype().is_ptr()) return false;
  if (is_comparison(u)) return true;
  if (!is_float_value(u.src(0))) return false;
  if (u.in({Op::BITCAST, Op::TRUNC})) return true;
  return u.is(Op::CAST) && !can_lossless_cast(u.src(0).dtype().base().scalar(), u.dtype().base().scalar());
}

// Returns whether the sign of a zero among the operands may change the value of the op to another infinity.
bool is_inverse(UOp u) { return u.in({Op::RECIPROCAL, Op::FDIV, Op::POW}) && is_float_value(u); }

using Users = std::unordered_map<UOp, std::vector<UOp>>;

bool is_number(UOp u, double number) {
  while (u.is(Op::CAST) && u.num_src()) u = u.src(0);
  return u.is(Op::CONST) && (u.arg().is_float() || u.arg().is_int()) && u.arg().to_const().to_double() == number;
}

// Returns whether `u` and `v` are equal where `a` is equal to `b`.
bool are_equal_at(UOp u, UOp v, UOp a, UOp b) {
  auto is_zero = [&](UOp x) {
    if (is_number(x, 0)) return true;
    const bool zero = is_number(a, 0) || is_number(b, 0);
    if (!zero) return false;
    auto is_side = [&](UOp y) { return y == a || y == b; };
    return is_side(x) || (x.is(Op::MUL) && (is_side(x.src(0)) || is_side(x.src(1))));
  };
  auto is_side = [&](UOp x) { return x == a || x == b; };
  return u == v || (is_side(u) && is_side(v)) || (is_zero(u) && is_zero(v));
}

// Returns whether a comparison only chooses between values that are equal where its operands are.
bool is_continuous(UOp choice, UOp comparison, const Users& users) {
  auto of = users.find(choice);
  if (of == users.end()) return true;
  return std::ranges::all_of(of->second, [&](UOp user) {
    const bool is_condition = user.in({Op::CMPNE, Op::AND, Op::OR}) && dtypes::is_bool(choice.dtype());
    if (is_condition) return is_continuous(user, comparison, users);
    return user.is(Op::WHERE) && user.src(0) == choice && user.src(1) != choice && user.src(2) != choice &&
           are_equal_at(user.src(1), user.src(2), comparison.src(0), comparison.src(1));
  });
}

}  // namespace

bool has_decisions(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) { return is_decision(u) || is_inverse(u); });
}

std::optional<std::string> decision_on(UOp root, UOp weak, FloatSense sense) {
  std::unordered_set<UOp> depends{weak};
  Users users;
  const std::vector<UOp> all = toposort(root);
  for (UOp u : all)
    for (UOp s : u.src()) users[s].push_back(u);
  bool is_found = false;
  for (UOp u : all) {
    is_found |= u == weak;
    if (std::ranges::none_of(u.src(), [&](UOp s) { return depends.contains(s); })) continue;
    depends.insert(u);
    const bool is_bits = u.is(Op::BITCAST) && is_float_value(u.src(0));
    const bool is_of_zero = is_inverse(u) && depends.contains(u.src(u.is(Op::FDIV) ? 1 : 0));
    const bool is_wrong = sense > FloatSense::Finite ? is_decision(u) : is_bits || is_of_zero;
    const bool is_choice = u.in({Op::CMPLT, Op::CMPNE, Op::CMPEQ}) && is_continuous(u, u, users);
    if (is_wrong && !is_choice) return std::string(name_of(u.op()));
  }
  return is_found ? std::nullopt : std::optional<std::string>("a node that is not found");
}

}  // namespace tgc
