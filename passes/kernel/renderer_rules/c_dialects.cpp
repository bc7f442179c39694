// The rules of the C dialects: Clang, OpenCL, Metal, CUDA and HIP (tinygrad renderer/cstyle.py).
#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"
#include "passes/kernel/renderer_rules/renderer_rules_internal.h"
#include "passes/kernel/stages.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kHalf{Scalar::Float16}, kBFloat16{Scalar::BFloat16}, kDouble{Scalar::Float64};

UOp half_through_float(UOp x) { return x.cast(dtypes::float32).cast(dtypes::float16); }
UOp bf16_through_float(UOp x) { return x.cast(dtypes::float32).cast(dtypes::bfloat16); }

UOp op_as_float(UOp x) {
  std::vector<UOp> src;
  for (UOp s : x.src()) src.push_back(s.cast(dtypes::float32));
  return x.graph().node(x.op(), dtypes::float32, src, x.arg()).cast(dtypes::bfloat16);
}

// Packs A and B of a CDNA tensor core, of eight fp8 values each, into one uint64 each.
UOp pack_fp8_operands(UOp x) {
  DType in = x.src(0).dtype();
  if (x.dtype() != dtypes::float32.vec(4) || (in != dtypes::fp8e4m3.vec(8) && in != dtypes::fp8e5m2.vec(8))) return {};
  return wmma_with_operands(x, x.src(0).bitcast(dtypes::uint64), x.src(1).bitcast(dtypes::uint64));
}

}  // namespace

const RuleSet& clang_rules() {
  static const RuleSet own("clang", {
      // half(double) -> half(float(double)), because LLVM would call a library function for the direct cast. The next
      // two rules have the same reason.
      rule("double-to-half", cast(x.of(kDouble), kHalf), with<half_through_float>(x)),
      rule("double-to-bf16", cast(x.of(kDouble), kBFloat16), with<bf16_through_float>(x)),
      rule("bf16-to-half", cast(x.of(kBFloat16), kHalf), with<half_through_float>(x)),
      // sqrt or trunc of a vector -> a vector of the scalar results, because the builtins take scalars
      rule("scalar-sqrt-trunc", node({Op::SQRT, Op::TRUNC}).as(alu_node), with<no_vectorized_alu>(alu_node)),
  });
  static const RuleSet bf16("clang bfloat16", non_native_float_rules(kBFloat16));
  static const RuleSet set("clang", {&own, &bf16, &pm_manual_bf16_cast(), &extra_pm()});
  return set;
}

const RuleSet& opencl_rules() {
  static const RuleSet bf16("opencl bfloat16", non_native_float_rules(kBFloat16));
  static const RuleSet set("opencl", {&bf16, &pm_manual_bf16_cast(), &extra_pm()});
  return set;
}

const RuleSet& metal_rules() {
  static const RuleSet own("metal", {
      rule("bf16-function-as-float", node({Op::SQRT, Op::EXP2, Op::LOG2, Op::SIN}).of(kBFloat16).as(x), with<op_as_float>(x)),
  });
  static const RuleSet set("metal", {&own, &extra_pm()});
  return set;
}

const RuleSet& cuda_rules() {
  static const RuleSet fp8("cuda fp8", non_native_float_rules(dtypes::fp8s, false));
  static const RuleSet own("cuda", {
      rule("fp8-to-fp8", each(Op::CAST, x.of(dtypes::fp8s)).of(dtypes::fp8s).as(y), with(x, y, [](UOp x, UOp y) {
             return x.dtype() != y.dtype() ? x.cast(dtypes::float32).cast(y.dtype()) : UOp();
           })),
  });
  static const RuleSet set("cuda", {&fp8, &own, &extra_pm()});
  return set;
}

const RuleSet& hip_rules() {
  static const RuleSet narrow("hip narrow floats", non_native_float_rules(kBFloat16 | dtypes::fp8s));
  static const RuleSet own("hip", {
      rule("wmma-packs-fp8", node(Op::WMMA).as(x), with<pack_fp8_operands>(x)),
      // a bfloat16 constant -> a float constant, converted to bfloat16 by integer ops on its bits
      rule("bf16-const", c.of(kBFloat16), with(c, [](UOp c) { return cast_float_to_bf16(const_from_arg(c.graph(), dtypes::float32, c.arg())); })),
  });
  static const RuleSet set("hip", {&narrow, &own, &pm_manual_bf16_cast(), &extra_pm()});
  return set;
}

}  // namespace tgc
