#include "lib/prove/right_sides.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"

namespace tgc {
namespace {

using pat::PatNode;

struct NotData {};  // thrown if the meaning of a part of a rule is unknown

// The meaning of a guard as a condition on values.
struct Meaning {
  std::optional<bool> known = {};  // the result of the guard, if dtypes, ops or a constant decide it
  UOp holds = {};                  // a bool that is true wherever the guard accepts; null means true
  bool is_exact = false;           // `holds` is also false wherever the guard rejects
};

bool is_literal(const PatNode* n) {
  return n->form_name.empty() && n->capture < 0 && n->ops == OpSet{Op::CONST} && n->has_arg;
}
bool is_node_form(std::string_view form_name) {
  return form_name.empty() || form_name == "-" || form_name == "cast" || form_name == "const_like" ||
         form_name == "alu" || form_name == "with_src" || form_name == "uop";
}

// A number of a right side: a known constant, or a node of dtype index or double.
struct Number {
  std::optional<Const> known = {};
  UOp node = {};
  bool is_float() const { return known ? known->is_float() : dtypes::is_float(node.dtype()); }
};

class Builder {
 public:
  Builder(const Rule& rule, UOp root, const UOp* captured, bool is_wide)
      : rule_(rule), root_(root), captured_nodes_(captured), graph_(root.graph()), is_wide_(is_wide) {}

  std::vector<RightSide> all() {
    std::vector<RightSide> out;
    UOp earlier;
    for (const RuleFolding& f : foldings_of(rule_)) {
      if (!f.right) throw NotData();
      UOp when = earlier, all_hold;
      bool never = false, is_exact = true;
      for (const PatNode* guard : f.guards) {
        Meaning m = meaning_of(guard);
        never |= m.known == false;
        is_exact &= m.known || m.is_exact;
        if (!m.known) all_hold = conjunction_of(all_hold, m.holds);
      }
      if (never) continue;
      assumed_ = {}, limit_.clear();
      UOp right = node(f.right);
      out.push_back({right, conjunction_of(conjunction_of(when, all_hold), assumed_), limit_});
      if (is_exact && !all_hold) return out;  // this folding always applies, so later ones never do
      if (is_exact) earlier = conjunction_of(earlier, all_hold.logical_not());
    }
    return out;
  }
  bool used_bounds() const { return used_bounds_; }

 private:
  UOp bound(const PatNode* n) const {
    if (n->capture < 0 || !captured_nodes_[n->capture]) throw NotData();
    return captured_nodes_[n->capture];
  }

  UOp node(const PatNode* n) {
    if (n->form_name.empty() && n->capture >= 0) return bound(n);
    if (n->form_name == "-" && n->children.size() == 1) return -node(n->children[0]);
    if (n->form_name == "-") {
      auto [a, b] = operands(n->children[0], n->children[1]);
      return a - b;
    }
    if (n->form_name == "cast") return node(n->children[0]).cast(dtype(n->children[1]));
    if (n->form_name == "const_like") return like(node(n->children[0]), n->children[1]);
    if (n->form_name == "with_src") return bound(n->children[0]).with_src({node(n->children[1]), node(n->children[2])});
    if (n->form_name == "uop") {
      std::vector<UOp> src;
      for (const PatNode* child : n->children.subspan(2)) src.push_back(node(child));
      const Op op_of_node = op(n->children[0]);
      const DType d = dtype(n->children[1]);
      if (op_of_node == Op::BITCAST && src[0].dtype().itemsize() != d.itemsize())
        throw Failure("a BITCAST changes the size");
      return graph_.node(op_of_node, d, src);
    }
    if (n->form_name == "alu") return alu(op(n->children[0]), n->children.subspan(1));
    if (!n->form_name.empty() || n->ops.size() != 1 || is_literal(n)) throw NotData();
    if (n->ops.first() == Op::CAST) {
      if (n->dtypes.empty() || n->children.size() != 1) throw NotData();
      for (int i = 0; i < kNumScalars; i++)
        if (DType d = dtypes::of(Scalar(i)); n->dtypes == DTypeSet{d.scalar_kind()})
          return node(n->children[0]).cast(d);
      throw NotData();
    }
    return alu(n->ops.first(), n->children);
  }

  UOp alu(Op op, std::span<const PatNode* const> x) {
    if (!ops::ALU.contains(op)) throw NotData();
    if (x.size() == 1) return node(x[0]).alu(op);
    if (op == Op::WHERE) {
      auto [yes, no] = operands(x[1], x[2]);
      return node(x[0]).where(yes, no);
    }
    if (x.size() == 3) return node(x[0]).alu(op, node(x[1]), node(x[2]));
    if (x.size() != 2) throw NotData();
    auto [a, b] = operands(x[0], x[1]);
    return a.alu(op, b);
  }

  static bool is_number(const PatNode* n) { return is_literal(n) || !is_node_form(n->form_name); }

  std::pair<UOp, UOp> operands(const PatNode* x, const PatNode* y) {
    if (is_number(x)) {
      UOp b = node(y);
      return {number_like(number(x), b), b};
    }
    UOp a = node(x);
    return {a, is_number(y) ? number_like(number(y), a) : node(y)};
  }

  UOp like(UOp u, const PatNode* value) {
    if (is_number(value)) return number_like(number(value), u);
    UOp v = node(value);
    return v.is_const() ? const_like_arg(u, v.arg()) : v.cast(u.dtype());
  }

  static UOp number_like(const Number& n, UOp u) { return n.known ? u.const_like(*n.known) : n.node.cast(u.dtype()); }

  Op op(const PatNode* n) {
    if (n->form_name == "op_of") return bound(n->children[0]).op();
    for (int i = 0; i < kNumOps; i++)
      if (name_of(Op(i)) == n->form_name) return Op(i);
    throw NotData();
  }

  DType dtype(const PatNode* n) {
    if (n->form_name == "dtype_of") return bound(n->children[0]).dtype();
    if (n->form_name == "element_dtype_of") return bound(n->children[0]).dtype().scalar();
    if (n->form_name == "select_dtype") return selected(bound(n->children[0]));
    if (n->form_name == "dtype_holding_all")
      return least_upper_dtype({selected(bound(n->children[0])), bound(n->children[1]).dtype(),
                                bound(n->children[2]).dtype()});
    if (n->form_name == "common_dtype")
      return least_upper_dtype({bound(n->children[0]).dtype(), bound(n->children[1]).dtype()});
    for (int i = 0; i < kNumScalars; i++)
      if (dtypes::of(Scalar(i)).repr() == n->form_name) return dtypes::of(Scalar(i));
    throw NotData();
  }

  // Returns the dtype that a rule selects by the bounds of `u`: int32 if they fit into it, else int64. Instances are
  // built for both.
  DType selected(UOp u) {
    used_bounds_ = true;
    DType d = is_wide_ ? dtypes::int64 : dtypes::int32;
    if (dtypes::is_int(u.dtype())) assumed_ = conjunction_of(assumed_, lies_in(u, d));
    return d;
  }

  Number number(const PatNode* n) {
    if (is_literal(n)) return {n->arg.to_const()};
    if (n->form_name.empty() && n->capture >= 0) return value(bound(n));
    if (n->form_name == "fold") return number(n->children[0]);
    if (n->form_name == "log2_exact") {
      int k = log2_exact(bound(n->children[0]));
      if (k < 0) throw NotData();
      return {Const(int64_t(k))};
    }
    if (n->form_name == "is_less_than_zero") return {{}, bound(n->children[0]).lt(0).cast(dtypes::index)};
    if (n->form_name == "vmin") return value(bound(n->children[0]));  // with the guard has_one_value, vmin is the value
    if (n->form_name == "-" && n->children.size() == 1) return negated(number(n->children[0]));
    if (n->form_name == "ceil" || n->form_name == "floor") {
      const PatNode* quotient = n->children[0];
      if (quotient->form_name != "true_div") throw NotData();
      Number a = number(quotient->children[0]), b = number(quotient->children[1]);
      for (const Number& x : {a, b}) assume_exact_as_double(x);
      return n->form_name == "floor" ? floor_div(a, b) : negated(floor_div(negated(a), b));
    }
    if (n->form_name == "floor_div") return floor_div(number(n->children[0]), number(n->children[1]));
    if (n->form_name == "floor_mod") {
      Number a = number(n->children[0]), b = number(n->children[1]);
      if (a.known && b.known) return {pat::number::floor_mod(*a.known, *b.known)};
      return computed(Op::SUB, a, computed(Op::MUL, b, floor_div(a, b)));
    }
    if (n->form_name == "-") return computed(Op::SUB, number(n->children[0]), number(n->children[1]));
    if (!n->form_name.empty() || n->ops.size() != 1) throw NotData();
    if (n->ops.first() == Op::LOG2 && n->children.size() == 1) {
      Number a = number(n->children[0]);
      if (a.known) return {pat::fold_unary(Op::LOG2, *a.known)};
      return {{}, a.node.cast(dtypes::float64).log2()};
    }
    if (n->children.size() != 2) throw NotData();
    return computed(n->ops.first(), number(n->children[0]), number(n->children[1]));
  }

  // Returns the number of a captured constant, as an unbounded integer or a double.
  Number value(UOp u) {
    if (u.is(Op::CONST) && !u.is_invalid()) return {u.arg().to_const()};
    return {{}, u.cast(dtypes::is_float(u.dtype()) ? dtypes::float64 : dtypes::index)};
  }
  UOp as(const Number& n, DType d) {
    if (!n.known) return n.node.cast(d);
    return graph_.constant(d, *n.known);
  }
  Number computed(Op op, const Number& a, const Number& b) {
    if (a.known && b.known) return {pat::fold_binary(op, *a.known, *b.known)};
    if (!OpSet{Op::ADD, Op::SUB, Op::MUL, Op::IDIV, Op::MOD}.contains(op)) throw NotData();
    DType d = a.is_float() || b.is_float() ? dtypes::float64 : dtypes::index;
    return {{}, as(a, d).alu(op, as(b, d))};
  }
  Number negated(const Number& a) {
    if (a.known) return {py_neg(*a.known)};
    return {{}, a.node * Const(-1)};
  }
  Number floor_div(const Number& a, const Number& b) {
    if (a.known && b.known) return {pat::number::floor_div(*a.known, *b.known)};
    if (a.is_float() || b.is_float()) throw NotData();
    UOp x = as(a, dtypes::index), y = as(b, dtypes::index), q = x / y, r = x % y;
    return {{}, (r.ne(0) & r.lt(0).ne(y.lt(0))).where(q - Const(1), q)};
  }
  // Adds the assumption that `n` is within 2**53: then Python divides integers as floats without a wrong result.
  void assume_exact_as_double(const Number& n) {
    limit_ = "constants within 2**53";
    UOp x = as(n, dtypes::index);
    assumed_ = conjunction_of(assumed_, x.lt(Const(Int::pow2(53))) & x.gt(Const(-Int::pow2(53))));
  }

  UOp lies_in(UOp u, DType d) {
    UOp x = u.cast(dtypes::index);
    return x.ge(dtypes::min(d)) & x.le(dtypes::max(d));
  }

  Meaning meaning_of(const PatNode* guard) {
    const std::string_view name = guard->form_name;
    if (name == "not") {
      Meaning m = meaning_of(guard->children[0]);
      if (m.known) return {!*m.known};
      if (!m.is_exact || !m.holds) return {};
      return {{}, m.holds.logical_not(), true};
    }
    std::vector<UOp> x;
    for (const PatNode* child : guard->children) x.push_back(bound(child));
    auto number_of = [&](size_t i) { return as(value(x[i]), dtypes::index); };
    auto implied = [](UOp holds) { return Meaning{{}, holds, false}; };
    auto exactly = [](UOp holds) { return Meaning{{}, holds, true}; };
    auto not_negative = [](UOp u) { return u.lt(0).logical_not(); };
    auto not_positive = [](UOp u) { return u.gt(0).logical_not(); };
    // guards that dtypes, ops or a constant may decide
    if (name == "same_dtype") return {x[0].dtype() == x[1].dtype()};
    if (name == "dtype_holds") return {can_lossless_cast(x[1].dtype(), x[0].dtype())};
    if (name == "is_invalid") return {x[0].is_invalid()};
    if (name == "is_power_of_two" && x[0].is_const()) return {log2_exact(x[0]) >= 0};
    if (name == "is_power_of_two_above_one" && x[0].is_const()) return {log2_exact(x[0]) > 0};
    if (name == "not_finite" && !dtypes::is_float(x[0].dtype())) return {false};
    if (name == "not_finite") return implied(x[0].alu(Op::SUB, x[0]).ne(0));
    // guards that do not restrict values
    if (name == "differ" || name == "a_pair_is_const" || name == "out_of_order" || name == "sign_is_known" ||
        name == "has_one_value")
      return {};
    // guards on bounds: the condition is what the bounds imply for the value
    if (name == "never_negative") return implied(not_negative(x[0]));
    if (name == "never_positive") return implied(not_positive(x[0]));
    if (name == "always_positive") return implied(x[0].gt(0));
    if (name == "always_negative") return implied(x[0].lt(0));
    if (name == "never_less") return implied(x[0].lt(x[1]).logical_not());
    if (name == "same_sign")
      return implied((not_negative(x[0]) & not_negative(x[1])) | (not_positive(x[0]) & not_positive(x[1])));
    if (name == "fits_int32") return dtypes::is_int(x[0].dtype()) ? implied(lies_in(x[0], dtypes::int32)) : Meaning{};
    if (name == "dtype_holds_values") return implied(lies_in(x[1], x[0].dtype()));
    // guards on constants
    if (name == "truthy") return exactly(dtypes::is_bool(x[0].dtype()) ? x[0] : x[0].ne(0));
    if (name == "is_positive") return exactly(number_of(0).gt(0));
    if (name == "is_not_positive") return exactly(not_positive(number_of(0)));
    if (name == "are_positive") return exactly(number_of(0).gt(0) & number_of(1).gt(0));
    if (name == "below_minus_one") return exactly(number_of(0).lt(-1));
    if (name == "products_match") return exactly((number_of(0) * number_of(1)).eq(number_of(2)));
    if (name == "one_value_between") return exactly((number_of(0) + Const(1)).eq(number_of(1) - Const(1)));
    if (name == "not_reduced") {
      Number c = value(x[0]), d = value(x[1]);
      return exactly(as(computed(Op::SUB, c, computed(Op::MUL, d, floor_div(c, d))), dtypes::index).ne(number_of(0)));
    }
    throw NotData();
  }

  const Rule& rule_;
  const UOp root_;
  const UOp* captured_nodes_;
  Graph& graph_;
  const bool is_wide_;
  bool used_bounds_ = false;
  UOp assumed_;
  std::string limit_;
};

}  // namespace

std::optional<std::vector<RightSide>> right_sides_of(const Rule& rule, UOp root, const UOp* captured) {
  if (right_side_kind(rule) != RightKind::Algebra) return std::nullopt;
  try {
    Builder narrow(rule, root, captured, false);
    std::vector<RightSide> out = narrow.all();
    if (narrow.used_bounds()) {
      auto more = Builder(rule, root, captured, true).all();
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  } catch (const NotData&) {
    return std::nullopt;
  }
}

namespace {
constexpr std::string_view kGuardsOnBounds[] = {"never_negative",  "never_positive",     "always_positive",
                                                "always_negative", "never_less",         "same_sign",
                                                "fits_int32",      "dtype_holds_values", "sign_is_known",
                                                "has_one_value"};
constexpr std::string_view kGuardsOnForm[] = {"a_pair_is_const", "out_of_order", "differ", "not_finite"};

bool has_guard(const Rule& rule, std::span<const std::string_view> names) {
  auto is_one = [&](const PatNode* g) {
    while (g->form_name == "not") g = g->children[0];
    return std::ranges::find(names, g->form_name) != names.end();
  };
  return std::ranges::any_of(foldings_of(rule),
                             [&](const RuleFolding& f) { return std::ranges::any_of(f.guards, is_one); });
}
}  // namespace

bool has_bounds_guard(const Rule& rule) { return has_guard(rule, kGuardsOnBounds); }
bool are_shapes_needed(const Rule& rule) { return has_bounds_guard(rule) || has_guard(rule, kGuardsOnForm); }

namespace {

// Returns the conjunction of own(n) for all nodes n of `u` that are evaluated: of a WHERE, only those of the chosen
// value.
UOp for_all(UOp u, const std::function<UOp(UOp)>& own) {
  Graph& graph = u.graph();
  const UOp always = graph.constant(dtypes::bool_, true);
  std::unordered_map<uint32_t, UOp> known;
  for (UOp n : toposort(u)) {
    UOp out;
    auto of = [&](size_t i) { return known.at(n.src(i).id()); };
    if (n.is(Op::WHERE)) {
      UOp yes = of(1), no = of(2);
      out = of(0);
      if (!(yes == always && no == always))
        out = out == always ? n.src(0).where(yes, no) : out & n.src(0).where(yes, no);
    } else {
      out = always;
      for (size_t i = 0; i < n.num_src(); i++)
        if (!(of(i) == always)) out = out == always ? of(i) : out & of(i);
    }
    if (UOp test = own(n); test && n.dtype().count() == 1) out = out == always ? test : out & test;
    known[n.id()] = out;
  }
  return known.at(u.id());
}

}  // namespace

UOp defined_condition(UOp u) {
  return for_all(u, [](UOp n) {
    const DType d = n.dtype();
    if (n.in({Op::IDIV, Op::MOD}) && dtypes::is_int(d)) return n.src(1).is_const() && n.src(1).arg().to_const().truthy()
                                                            ? UOp()
                                                            : n.src(1).ne(0);
    if (n.in({Op::SHL, Op::SHR}) && dtypes::is_int(d)) {
      UOp by = n.src(1).cast(dtypes::index);
      return by.ge(0) & by.lt(Const(int64_t(d.is(Scalar::Index) ? 64 : d.bitsize())));
    }
    if (n.is(Op::CAST) && dtypes::is_int(d) && dtypes::is_float(n.src(0).dtype()) && !d.is(Scalar::Index)) {
      UOp x = n.src(0).cast(dtypes::float64).trunc();
      const int bits = d.bitsize() - !dtypes::is_unsigned(d);
      return x.ge(Const(dtypes::is_unsigned(d) ? 0.0 : -std::ldexp(1, bits))) & x.lt(Const(std::ldexp(1, bits)));
    }
    return UOp();
  });
}

UOp no_overflow_condition(UOp u, bool is_exact, bool has_casts) {
  return for_all(u, [&](UOp n) {
    const DType d = n.dtype();
    auto never = [&] { return n.graph().constant(dtypes::bool_, false); };
    if (dtypes::is_bool(d) && n.in({Op::ADD, Op::MUL})) return never();
    if (!dtypes::is_int(d) || d.is(Scalar::Index)) return UOp();
    if (n.is(Op::CONST) && !n.is_invalid()) {
      const Int v = n.arg().to_const().to_int();  // a constant of an unsigned dtype may be a mask such as -2
      const Int least = dtypes::is_unsigned(d) ? -Int::pow2(uint32_t(d.bitsize() - 1)) : dtypes::min(d).to_int();
      return v < least || v > dtypes::max(d).to_int() ? never() : UOp();
    }
    if (is_exact && has_casts && n.is(Op::CAST) && dtypes::is_int(n.src(0).dtype())) {
      UOp exact = n.src(0).cast(dtypes::index);
      return exact.ge(dtypes::min(d)) & exact.le(dtypes::max(d));
    }
    if (is_exact && n.is(Op::IDIV) && !dtypes::is_unsigned(d)) {  // only the least integer divided by -1 overflows
      const UOp is_safe = n.src(0).ne(dtypes::min(d)), divisor = n.src(1);
      if (!divisor.is_const()) return is_safe | divisor.ne(-1);
      return !divisor.is_invalid() && divisor.arg().to_const().to_int() == -1 ? is_safe : UOp();
    }
    if (!n.in({Op::ADD, Op::SUB, Op::MUL, Op::NEG, Op::SHL})) return UOp();
    if (!is_exact) {
      if (n.is(Op::SHL)) return n.alu(Op::SHR, n.src(1)).eq(n.src(0));
      if (n.is(Op::MUL) && n.src(1).is_const() && n.src(1).arg().to_const().truthy())
        return (n / n.src(1)).eq(n.src(0));
      return UOp();
    }
    std::vector<UOp> wide;
    for (UOp s : n.src()) wide.push_back(s.cast(dtypes::index));
    UOp exact = n.graph().node(n.op(), dtypes::index, wide);
    return exact.ge(dtypes::min(d)) & exact.le(dtypes::max(d));
  });
}

}  // namespace tgc
