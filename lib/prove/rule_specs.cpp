#include "lib/prove/rule_specs.h"

#include <algorithm>

namespace tgc {

using namespace pat;

namespace {

constexpr DType f32 = dtypes::float32, u32 = dtypes::uint32;
constexpr DTypeSet kBool{Scalar::Bool}, kHalf{Scalar::Float16}, kBFloat16{Scalar::BFloat16}, kDouble{Scalar::Float64},
    kFloat{Scalar::Float32};

// A guard for the specifications below, with the name and the meaning of a guard in passes/symbolic.
bool always_positive(UOp u) { return py_less(0, u.vmin()); }

// Adds the specifications op(x, ...) -> narrow(op(float(x), ...)).
void add_ops_as_float(std::vector<Rule>& to, std::string_view name, DTypeSet narrow) {
  to.push_back(rule(name, node(ops::Unary, a).of(narrow).as(x), cast(alu(op_of(x), cast(a, f32)), dtype_of(x))));
  to.push_back(rule(name, node(ops::Binary, a, b).of(narrow).as(x),
                    cast(alu(op_of(x), cast(a, f32), cast(b, f32)), dtype_of(x))));
  to.push_back(rule(name, node(Op::MULACC, a, b, d).of(narrow).as(x),
                    cast(alu(Op::MULACC, cast(a, f32), cast(b, f32), cast(d, f32)), dtype_of(x))));
}

std::vector<Rule> make_specifications() {
  auto through_float = [](auto e, auto to) { return cast(cast(e, f32), to); };
  std::vector<Rule> out{
      rule("double-to-half", cast(x.of(kDouble), kHalf), through_float(x, dtypes::float16)),
      rule("double-to-bf16", cast(x.of(kDouble), kBFloat16), through_float(x, dtypes::bfloat16)),
      rule("bf16-to-half", cast(x.of(kBFloat16), kHalf), through_float(x, dtypes::float16)),
      rule("fp8-to-fp8", each(Op::CAST, x.of(dtypes::fp8s)).of(dtypes::fp8s).as(y), through_float(x, dtype_of(y))),
      rule("bf16-to-float", cast(x.of(kBFloat16), kFloat),
           uop(Op::BITCAST, f32, cast(uop(Op::BITCAST, dtypes::uint16, x), u32) << 16)),
      rule("ne-bool", x.of(kBool) != y, x ^ y),
      rule("eq-bool", alu(Op::CMPEQ, x.of(kBool), y), (x ^ y) ^ true),
      rule("lt-bool", x.of(kBool) < y, (x ^ true) & y),
      rule("bool-as-int", node({Op::CMPLT, Op::XOR}, a.of(kBool), b).as(alu_node),
           cast(alu(op_of(alu_node), cast(a, dtypes::int32), cast(b, dtypes::int32)), dtypes::bool_)),
      rule("shl-by-uint", (x << y).as(s), uop(Op::SHL, dtype_of(x), x, cast(y, u32))),
      rule("shr-by-uint", (x >> y).as(s), uop(Op::SHR, dtype_of(x), x, cast(y, u32))),
      rule("shl-of-uint", a << b,
           uop(Op::BITCAST, dtype_of(a), uop(Op::SHL, u32, uop(Op::BITCAST, u32, a), cast(b, u32)))),
      rule("lt-lift-add", or_casted(x + y) < n, x < (cast(n, dtype_of(y)) - y)),
      rule("lt-lift-add-of-load", (x.of(dtypes::index) + y) < n, x < (cast(n, dtype_of(y)) - y)),
      rule("ne-lift-add", or_casted(x + y) != n, x != (cast(n, dtype_of(y)) - y)),
      rule("lt-lift-mul", (x * y) < n, x < ((n + y) - 1) / y, when<always_positive>(y)),
  };
  for (DTypeSet narrow : {kBFloat16, dtypes::fp8s, kBFloat16 | dtypes::fp8s}) {
    out.push_back(rule("where-as-float", node(Op::WHERE, b, x.of(narrow), y.of(narrow)),
                       cast(where(b, cast(x, f32), cast(y, f32)), dtype_of(x))));
    out.push_back(rule("compare-as-float", node(ops::Comparison, x.of(narrow), y.of(narrow)).of(kBool).as(alu_node),
                       alu(op_of(alu_node), cast(x, f32), cast(y, f32))));
    out.push_back(rule("cast-to-through-float", node(Op::CAST, x).of(narrow).as(y), through_float(x, dtype_of(y))));
    out.push_back(rule("cast-from-through-float", node(Op::CAST, y.of(narrow)).as(x), through_float(y, dtype_of(x))));
    add_ops_as_float(out, "alu-as-float", narrow);
  }
  add_ops_as_float(out, "half-as-float", kHalf);
  add_ops_as_float(out, "bf16-function-as-float", kBFloat16);
  return out;
}

bool contains_all(DTypeSet a, DTypeSet b) { return b.empty() ? a.empty() : a.empty() || !(b - a).bits(); }

}  // namespace

std::vector<const Rule*> specifications_of(const Rule& rule) {
  static const RuleSet set("specifications", make_specifications());
  std::vector<const Rule*> out;
  for (const Rule* spec : set.rules()) {
    if (spec->name != rule.name || !contains_all(spec->left->dtypes, rule.left->dtypes)) continue;
    // several rules have one name, so compare the dtypes of the sources
    auto covers = [](const PatNode* s, const PatNode* r) { return contains_all(s->dtypes, r->dtypes); };
    bool all = true;
    for (size_t i = 0; i < std::min(spec->left->children.size(), rule.left->children.size()); i++)
      all &= covers(spec->left->children[i], rule.left->children[i]);
    auto has_same_root = [&](const Rule* known) { return known->left->ops == spec->left->ops; };
    if (all && std::ranges::none_of(out, has_same_root)) out.push_back(spec);
  }
  return out;
}

}  // namespace tgc
