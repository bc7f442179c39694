// Rules that several renderers share (tinygrad renderer/cstyle.py), and the choice of rules by target.
#include "passes/kernel/renderer_rules/renderer_rules_internal.h"
#include "passes/kernel/stages.h"

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kBool{Scalar::Bool}, kFloat{Scalar::Float32}, kBFloat16{Scalar::BFloat16};

UOp alu_as_float(UOp alu) {
  std::vector<UOp> src;
  for (UOp s : alu.src()) src.push_back(s.cast(dtypes::float32));
  return alu.graph().node(alu.op(), dtypes::float32, src, alu.arg()).cast(alu.dtype());
}

}  // namespace

const RuleSet& extra_pm() {
  static const RuleSet set("extra_pm", {
      rule("scalar-bools", node(ops::Elementwise | OpSet{Op::INDEX}).of(kBool).as(alu_node), with<no_vectorized_alu>(alu_node)),
      rule("scalar-cast-of-bool", node(Op::CAST, anything().of(kBool)).as(alu_node), with<no_vectorized_alu>(alu_node)),
      rule("scalar-where", node(Op::WHERE).as(alu_node), with<no_vectorized_alu>(alu_node)),
  });
  return set;
}

std::vector<Rule> non_native_float_rules(DTypeSet dts, bool casting) {
  std::vector<Rule> rules{
      rule("where-as-float", node(Op::WHERE, b, x.of(dts), y.of(dts)),
           with(b, x, y,
                [](UOp b, UOp x, UOp y) {
                  return b.graph()
                      .node(Op::WHERE, dtypes::float32, {b, x.cast(dtypes::float32), y.cast(dtypes::float32)})
                      .cast(x.dtype());
                })),
      rule("alu-as-float", node(ops::ALU).of(dts).as(x), with<alu_as_float>(x)),
      rule("compare-as-float", node(ops::ALU, x.of(dts), y.of(dts)).of(kBool).as(alu_node),
           with(alu_node, x, y,
                [](UOp alu, UOp x, UOp y) {
                  return alu.graph().node(alu.op(), dtypes::bool_, {x.cast(dtypes::float32), y.cast(dtypes::float32)},
                                          alu.arg());
                })),
  };
  if (!casting) return rules;
  rules.push_back(rule("cast-to-through-float", node(Op::CAST, x).of(dts).as(y), with(x, y, [](UOp x, UOp y) {
    return x.dtype() != dtypes::float32 ? x.cast(dtypes::float32).cast(y.dtype()) : UOp();
  })));
  rules.push_back(rule("cast-from-through-float", node(Op::CAST, y.of(dts)).as(x), with(x, y, [](UOp x, UOp y) {
    return x.dtype() != dtypes::float32 ? y.cast(dtypes::float32).cast(x.dtype()) : UOp();
  })));
  return rules;
}

UOp cast_float_to_bf16(UOp x) {
  if (x.dtype() != dtypes::float32)
    throw Failure("a cast to bfloat16 by bits takes float, not " + std::string(x.dtype().repr()));
  UOp bits = x.bitcast(dtypes::uint32);
  UOp rounded = bits + ((bits >> Const(16)) & Const(1)) + Const(0x7fff);
  // the value for zeros and NaNs, which are not rounded; a NaN gets a bit in its upper half, so that this half is a NaN
  UOp special = (bits & Const(0xffff)).ne(0).where(bits | Const(0x10000), bits);
  UOp out = (-bits & Const(0x7f800000)).ne(0).where(rounded, special);
  return (out >> Const(16)).cast(dtypes::uint16).bitcast(dtypes::bfloat16);
}

const RuleSet& pm_manual_bf16_cast() {
  static const RuleSet set("pm_manual_bf16_cast", {
      rule("bf16-to-float", cast(x.of(kBFloat16), kFloat), with(x, [](UOp x) {
             return (x.bitcast(dtypes::uint16).cast(dtypes::uint32) << Const(16)).bitcast(dtypes::float32);
           })),
      rule("float-to-bf16", cast(x.of(kFloat), kBFloat16), with<cast_float_to_bf16>(x)),
  });
  return set;
}

UOp wmma_with_operands(UOp wmma, UOp a, UOp b) {
  return wmma.graph().node(Op::WMMA, wmma.dtype(), {a, b, wmma.src(2)}, wmma.arg());
}

namespace {

// Calls `function` from the column `rules` of renderers.def, which may be a function with or without a Target.
template <class Function>
const RuleSet& call_rule_function(Function function, const Target& target) {
  if constexpr (std::is_invocable_v<Function, const Target&>) return function(target);
  else return function();
}

struct RendererRules {
  std::string_view device;
  RendererKind renderer;
  const RuleSet& (*rules)(const Target&);
};
constexpr RendererRules kRendererRules[] = {
#define TGC_TARGET(device, renderer, arch, ops, limits, rules, class_name) \
  {device, RendererKind::renderer, [](const Target& t) -> const RuleSet& { return call_rule_function(rules, t); }},
#include "lib/target/renderers.def"
};

}  // namespace

const RuleSet& extra_matcher(const Target& target) {
  for (const RendererRules& row : kRendererRules)
    if (row.renderer == target.renderer && row.device == target.device) return row.rules(target);
  TGC_CHECK(false, "no rules for the renderer of " + target.name());
  __builtin_unreachable();
}

}  // namespace tgc
