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

struct UnknownMeaning {};  // thrown if the meaning of a part of a rule is unknown

// The meaning of a guard as a condition on values.
struct GuardMeaning {
  std::optional<bool> known_result = {};  // the result of the guard, if dtypes, ops or a constant decide it
  UOp condition = {};                  // a bool that is true wherever the guard accepts; null means true
  bool is_exact = false;           // `condition` is also false wherever the guard rejects
};

bool is_literal(const PatNode* n) {
  return n->listing_name.empty() && n->capture < 0 && n->ops == OpSet{Op::CONST} && n->has_arg;
}
bool is_node_form(std::string_view listing_name) {
  return listing_name.empty() || listing_name == "-" || listing_name == "cast" || listing_name == "const_like" ||
         listing_name == "alu" || listing_name == "with_src" || listing_name == "uop";
}

// A number of a right side: a known constant, or a node of dtype index or double.
struct RuleNumber {
  std::optional<Const> known_value = {};
  UOp node = {};
  bool is_float() const { return known_value ? known_value->is_float() : dtypes::is_float(node.dtype()); }
};

class RightSideBuilder {
 public:
  RightSideBuilder(const Rule& rule, UOp root, const UOp* captured, bool selects_int64)
      : rule_(rule), root_(root), captured_nodes_(captured), graph_(root.graph()), selects_int64_(selects_int64) {}

  std::vector<RightSide> build_all() {
    std::vector<RightSide> out;
    UOp earlier;
    for (const RuleFolding& f : foldings_of(rule_)) {
      if (!f.right) throw UnknownMeaning();
      UOp when = earlier, all_hold;
      bool never = false, is_exact = true;
      for (const PatNode* guard : f.guards) {
        GuardMeaning m = meaning_of(guard);
        never |= m.known_result == false;
        is_exact &= m.known_result || m.is_exact;
        if (!m.known_result) all_hold = conjunction_of(all_hold, m.condition);
      }
      if (never) continue;
      assumption_ = {}, assumption_text_.clear();
      UOp right = build_node(f.right);
      out.push_back({right, conjunction_of(conjunction_of(when, all_hold), assumption_), assumption_text_});
      if (is_exact && !all_hold) return out;  // this folding always applies, so later ones never do
      if (is_exact) earlier = conjunction_of(earlier, all_hold.logical_not());
    }
    return out;
  }
  bool has_used_bounds() const { return has_used_bounds_; }

 private:
  UOp captured_node(const PatNode* n) const {
    if (n->capture < 0 || !captured_nodes_[n->capture]) throw UnknownMeaning();
    return captured_nodes_[n->capture];
  }

  UOp build_node(const PatNode* n) {
    if (n->listing_name.empty() && n->capture >= 0) return captured_node(n);
    if (n->listing_name == "-" && n->children.size() == 1) return -build_node(n->children[0]);
    if (n->listing_name == "-") {
      auto [a, b] = build_operands(n->children[0], n->children[1]);
      return a - b;
    }
    if (n->listing_name == "cast") return build_node(n->children[0]).cast(parse_dtype(n->children[1]));
    if (n->listing_name == "const_like") return build_like(build_node(n->children[0]), n->children[1]);
    if (n->listing_name == "with_src")
      return captured_node(n->children[0]).with_src({build_node(n->children[1]), build_node(n->children[2])});
    if (n->listing_name == "uop") {
      std::vector<UOp> src;
      for (const PatNode* child : n->children.subspan(2)) src.push_back(build_node(child));
      const Op op_of_node = parse_op(n->children[0]);
      const DType d = parse_dtype(n->children[1]);
      if (op_of_node == Op::BITCAST && src[0].dtype().itemsize() != d.itemsize())
        throw Failure("a BITCAST changes the size");
      return graph_.node(op_of_node, d, src);
    }
    if (n->listing_name == "alu") return build_alu(parse_op(n->children[0]), n->children.subspan(1));
    if (!n->listing_name.empty() || n->ops.size() != 1 || is_literal(n)) throw UnknownMeaning();
    if (n->ops.first() == Op::CAST) {
      if (n->dtypes.empty() || n->children.size() != 1) throw UnknownMeaning();
      for (int i = 0; i < kNumScalars; i++)
        if (DType d = dtypes::of(Scalar(i)); n->dtypes == DTypeSet{d.scalar_kind()})
          return build_node(n->children[0]).cast(d);
      throw UnknownMeaning();
    }
    return build_alu(n->ops.first(), n->children);
  }

  UOp build_alu(Op op, std::span<const PatNode* const> x) {
    if (!ops::ALU.contains(op)) throw UnknownMeaning();
    if (x.size() == 1) return build_node(x[0]).alu(op);
    if (op == Op::WHERE) {
      auto [yes, no] = build_operands(x[1], x[2]);
      return build_node(x[0]).where(yes, no);
    }
    if (x.size() == 3) return build_node(x[0]).alu(op, build_node(x[1]), build_node(x[2]));
    if (x.size() != 2) throw UnknownMeaning();
    auto [a, b] = build_operands(x[0], x[1]);
    return a.alu(op, b);
  }

  static bool is_number_form(const PatNode* n) { return is_literal(n) || !is_node_form(n->listing_name); }

  std::pair<UOp, UOp> build_operands(const PatNode* x, const PatNode* y) {
    if (is_number_form(x)) {
      UOp b = build_node(y);
      return {build_number_like(build_number(x), b), b};
    }
    UOp a = build_node(x);
    return {a, is_number_form(y) ? build_number_like(build_number(y), a) : build_node(y)};
  }

  UOp build_like(UOp u, const PatNode* value) {
    if (is_number_form(value)) return build_number_like(build_number(value), u);
    UOp v = build_node(value);
    return v.is_const() ? const_like_arg(u, v.arg()) : v.cast(u.dtype());
  }

  static UOp build_number_like(const RuleNumber& n, UOp u) {
    return n.known_value ? u.const_like(*n.known_value) : n.node.cast(u.dtype());
  }

  Op parse_op(const PatNode* n) {
    if (n->listing_name == "op_of") return captured_node(n->children[0]).op();
    for (int i = 0; i < kNumOps; i++)
      if (name_of(Op(i)) == n->listing_name) return Op(i);
    throw UnknownMeaning();
  }

  DType parse_dtype(const PatNode* n) {
    if (n->listing_name == "dtype_of") return captured_node(n->children[0]).dtype();
    if (n->listing_name == "element_dtype_of") return captured_node(n->children[0]).dtype().scalar();
    if (n->listing_name == "select_dtype") return select_dtype(captured_node(n->children[0]));
    if (n->listing_name == "dtype_holding_all")
      return least_upper_dtype({select_dtype(captured_node(n->children[0])), captured_node(n->children[1]).dtype(),
                                captured_node(n->children[2]).dtype()});
    if (n->listing_name == "common_dtype")
      return least_upper_dtype({captured_node(n->children[0]).dtype(), captured_node(n->children[1]).dtype()});
    for (int i = 0; i < kNumScalars; i++)
      if (dtypes::of(Scalar(i)).repr() == n->listing_name) return dtypes::of(Scalar(i));
    throw UnknownMeaning();
  }

  // A rule selects a dtype by the bounds of `u`: int32 if they fit into it, else int64. Right sides are built for both
  // dtypes. Returns the one of this builder, and assumes that an integer `u` fits into it.
  DType select_dtype(UOp u) {
    has_used_bounds_ = true;
    DType d = selects_int64_ ? dtypes::int64 : dtypes::int32;
    if (dtypes::is_int(u.dtype())) assumption_ = conjunction_of(assumption_, is_in_dtype_range(u, d));
    return d;
  }

  RuleNumber build_number(const PatNode* n) {
    if (is_literal(n)) return {n->arg.to_const()};
    if (n->listing_name.empty() && n->capture >= 0) return captured_number(captured_node(n));
    if (n->listing_name == "fold") return build_number(n->children[0]);
    if (n->listing_name == "log2_exact") {
      int k = log2_exact(captured_node(n->children[0]));
      if (k < 0) throw UnknownMeaning();
      return {Const(int64_t(k))};
    }
    if (n->listing_name == "is_less_than_zero") return {{}, captured_node(n->children[0]).lt(0).cast(dtypes::index)};
    if (n->listing_name == "vmin")
      return captured_number(captured_node(n->children[0]));  // with the guard has_one_value, vmin is the value
    if (n->listing_name == "-" && n->children.size() == 1) return negate_number(build_number(n->children[0]));
    if (n->listing_name == "ceil" || n->listing_name == "floor") {
      const PatNode* quotient = n->children[0];
      if (quotient->listing_name != "true_div") throw UnknownMeaning();
      RuleNumber a = build_number(quotient->children[0]), b = build_number(quotient->children[1]);
      for (const RuleNumber& x : {a, b}) assume_exact_as_double(x);
      return n->listing_name == "floor" ? floor_div(a, b) : negate_number(floor_div(negate_number(a), b));
    }
    if (n->listing_name == "floor_div") return floor_div(build_number(n->children[0]), build_number(n->children[1]));
    if (n->listing_name == "floor_mod") {
      RuleNumber a = build_number(n->children[0]), b = build_number(n->children[1]);
      if (a.known_value && b.known_value) return {pat::number::floor_mod(*a.known_value, *b.known_value)};
      return compute_binary(Op::SUB, a, compute_binary(Op::MUL, b, floor_div(a, b)));
    }
    if (n->listing_name == "-")
      return compute_binary(Op::SUB, build_number(n->children[0]), build_number(n->children[1]));
    if (!n->listing_name.empty() || n->ops.size() != 1) throw UnknownMeaning();
    if (n->ops.first() == Op::LOG2 && n->children.size() == 1) {
      RuleNumber a = build_number(n->children[0]);
      if (a.known_value) return {pat::fold_unary(Op::LOG2, *a.known_value)};
      return {{}, a.node.cast(dtypes::float64).log2()};
    }
    if (n->children.size() != 2) throw UnknownMeaning();
    return compute_binary(n->ops.first(), build_number(n->children[0]), build_number(n->children[1]));
  }

  // Returns the number of a captured constant, as an unbounded integer or a double.
  RuleNumber captured_number(UOp u) {
    if (u.is(Op::CONST) && !u.is_invalid()) return {u.arg().to_const()};
    return {{}, u.cast(dtypes::is_float(u.dtype()) ? dtypes::float64 : dtypes::index)};
  }
  UOp to_node(const RuleNumber& n, DType d) {
    if (!n.known_value) return n.node.cast(d);
    return graph_.constant(d, *n.known_value);
  }
  RuleNumber compute_binary(Op op, const RuleNumber& a, const RuleNumber& b) {
    if (a.known_value && b.known_value) return {pat::fold_binary(op, *a.known_value, *b.known_value)};
    if (!OpSet{Op::ADD, Op::SUB, Op::MUL, Op::IDIV, Op::MOD}.contains(op)) throw UnknownMeaning();
    DType d = a.is_float() || b.is_float() ? dtypes::float64 : dtypes::index;
    return {{}, to_node(a, d).alu(op, to_node(b, d))};
  }
  RuleNumber negate_number(const RuleNumber& a) {
    if (a.known_value) return {py_neg(*a.known_value)};
    return {{}, a.node * Const(-1)};
  }
  RuleNumber floor_div(const RuleNumber& a, const RuleNumber& b) {
    if (a.known_value && b.known_value) return {pat::number::floor_div(*a.known_value, *b.known_value)};
    if (a.is_float() || b.is_float()) throw UnknownMeaning();
    UOp x = to_node(a, dtypes::index), y = to_node(b, dtypes::index), q = x / y, r = x % y;
    return {{}, (r.ne(0) & r.lt(0).ne(y.lt(0))).where(q - Const(1), q)};
  }
  // Adds the assumption that `n` is within 2**53: then Python divides integers as floats without a wrong result.
  void assume_exact_as_double(const RuleNumber& n) {
    assumption_text_ = "constants within 2**53";
    UOp x = to_node(n, dtypes::index);
    assumption_ = conjunction_of(assumption_, x.lt(Const(Int::pow2(53))) & x.gt(Const(-Int::pow2(53))));
  }

  UOp is_in_dtype_range(UOp u, DType d) {
    UOp x = u.cast(dtypes::index);
    return x.ge(dtypes::min(d)) & x.le(dtypes::max(d));
  }

  GuardMeaning meaning_of(const PatNode* guard) {
    const std::string_view name = guard->listing_name;
    if (name == "not") {
      GuardMeaning m = meaning_of(guard->children[0]);
      if (m.known_result) return {!*m.known_result};
      if (!m.is_exact || !m.condition) return {};
      return {{}, m.condition.logical_not(), true};
    }
    std::vector<UOp> x;
    for (const PatNode* child : guard->children) x.push_back(captured_node(child));
    auto number_of = [&](size_t i) { return to_node(captured_number(x[i]), dtypes::index); };
    auto implied = [](UOp holds) { return GuardMeaning{{}, holds, false}; };
    auto exactly = [](UOp holds) { return GuardMeaning{{}, holds, true}; };
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
    if (name == "fits_int32")
      return dtypes::is_int(x[0].dtype()) ? implied(is_in_dtype_range(x[0], dtypes::int32)) : GuardMeaning{};
    if (name == "dtype_holds_values") return implied(is_in_dtype_range(x[1], x[0].dtype()));
    // guards on constants
    if (name == "truthy") return exactly(dtypes::is_bool(x[0].dtype()) ? x[0] : x[0].ne(0));
    if (name == "is_positive") return exactly(number_of(0).gt(0));
    if (name == "is_not_positive") return exactly(not_positive(number_of(0)));
    if (name == "are_positive") return exactly(number_of(0).gt(0) & number_of(1).gt(0));
    if (name == "below_minus_one") return exactly(number_of(0).lt(-1));
    if (name == "products_match") return exactly((number_of(0) * number_of(1)).eq(number_of(2)));
    if (name == "one_value_between") return exactly((number_of(0) + Const(1)).eq(number_of(1) - Const(1)));
    if (name == "not_reduced") {
      RuleNumber c = captured_number(x[0]), d = captured_number(x[1]);
      return exactly(to_node(compute_binary(Op::SUB, c, compute_binary(Op::MUL, d, floor_div(c, d))), dtypes::index)
                         .ne(number_of(0)));
    }
    throw UnknownMeaning();
  }

  const Rule& rule_;
  const UOp root_;
  const UOp* captured_nodes_;
  Graph& graph_;
  const bool selects_int64_;
  bool has_used_bounds_ = false;
  UOp assumption_;
  std::string assumption_text_;
};

}  // namespace

std::optional<std::vector<RightSide>> right_sides_of(const Rule& rule, UOp root, const UOp* captured) {
  if (right_side_kind(rule) != RightSideKind::Algebra) return std::nullopt;
  try {
    RightSideBuilder narrow(rule, root, captured, false);
    std::vector<RightSide> out = narrow.build_all();
    if (narrow.has_used_bounds()) {
      auto more = RightSideBuilder(rule, root, captured, true).build_all();
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  } catch (const UnknownMeaning&) {
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
    while (g->listing_name == "not") g = g->children[0];
    return std::ranges::find(names, g->listing_name) != names.end();
  };
  return std::ranges::any_of(foldings_of(rule),
                             [&](const RuleFolding& f) { return std::ranges::any_of(f.guards, is_one); });
}
}  // namespace

bool has_bounds_guard(const Rule& rule) { return has_guard(rule, kGuardsOnBounds); }
bool are_shapes_needed(const Rule& rule) { return has_bounds_guard(rule) || has_guard(rule, kGuardsOnForm); }

namespace {

// Returns the conjunction of own(n) for all scalar nodes n of `u` that are evaluated: of a WHERE, only those of the
// chosen value.
UOp conjunction_over_nodes(UOp u, const std::function<UOp(UOp)>& own) {
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
  return conjunction_over_nodes(u, [](UOp n) {
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
  return conjunction_over_nodes(u, [&](UOp n) {
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
