// The rules of LLVM IR, for the CPU and for AMD (tinygrad renderer/llvmir.py).
#include "lib/target/target.h"
#include "lib/uop/graph.h"
#include "passes/kernel/renderer_rules/renderer_rules_internal.h"
#include "passes/symbolic/transcendental.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kBFloat16{Scalar::BFloat16}, kDouble{Scalar::Float64};

// Casts half8 to half16 as {y0, 0, y1, 0, ...}: each value in the lower half of a 32-bit register. gather_halfs() is
// the inverse.
UOp spread_halfs(UOp x, UOp y) {
  if (x.dtype() != dtypes::float16.vec(16) || y.dtype() != dtypes::float16.vec(8)) return {};
  std::vector<UOp> src;
  UOp zero = x.graph().constant(dtypes::float16, 0.0);
  for (int i = 0; i < 16; i++) src.push_back(i % 2 == 0 ? y.gep(i / 2) : zero);
  return x.graph().node(Op::VECTORIZE, x.dtype(), src);
}

UOp gather_halfs(UOp x, UOp y) {
  if (x.dtype() != dtypes::float16.vec(8) || y.dtype() != dtypes::float16.vec(16)) return {};
  std::vector<UOp> src;
  for (int i = 0; i < 8; i++) src.push_back(y.gep(i * 2));
  return x.graph().node(Op::VECTORIZE, x.dtype(), src);
}

// ---- WMMA: the intrinsics take bfloat16 as uint16, eight fp8 as uint64 and, on RDNA3, an accumulator half8 as half16

UOp bitcast_operands(UOp wmma, DType dtype) {
  return wmma_with_operands(wmma, wmma.src(0).bitcast(dtype), wmma.src(1).bitcast(dtype));
}

UOp cdna_bf16(UOp x) {
  bool fits = x.dtype() == dtypes::float32.vec(4) && x.src(0).dtype() == dtypes::bfloat16.vec(4);
  return fits ? bitcast_operands(x, dtypes::uint16.vec(4)) : UOp();
}

UOp cdna_fp8(UOp x) {
  DType in = x.src(0).dtype();
  bool fits = x.dtype() == dtypes::float32.vec(4) && (in == dtypes::fp8e4m3.vec(8) || in == dtypes::fp8e5m2.vec(8));
  return fits ? bitcast_operands(x, dtypes::uint64) : UOp();
}

UOp rdna3_half(UOp x) {
  if (x.dtype() != dtypes::float16.vec(8)) return {};
  DType wide = dtypes::float16.vec(16);
  return x.graph().node(Op::WMMA, wide, {x.src(0), x.src(1), x.src(2).cast(wide)}, x.arg()).cast(x.dtype());
}

UOp rdna3_bf16(UOp x) {
  return x.src(0).dtype() == dtypes::bfloat16.vec(16) ? bitcast_operands(x, dtypes::uint16.vec(16)) : UOp();
}

UOp rdna4_bf16_to_bf16(UOp x) {
  if (x.dtype() != dtypes::bfloat16.vec(8) || x.src(0).dtype() != dtypes::bfloat16.vec(8)) return {};
  DType bits = dtypes::uint16.vec(8);
  UOp a = x.src(0).bitcast(bits), b = x.src(1).bitcast(bits), c = x.src(2).bitcast(bits);
  return x.graph().node(Op::WMMA, bits, {a, b, c}, x.arg()).bitcast(x.dtype());
}

UOp rdna4_bf16_to_float(UOp x) {
  bool fits = x.dtype() == dtypes::float32.vec(8) && x.src(0).dtype() == dtypes::bfloat16.vec(8);
  return fits ? bitcast_operands(x, dtypes::uint16.vec(8)) : UOp();
}

const RuleSet& amd_llvm_common() {
  static const RuleSet fp8("amd llvm fp8", non_native_float_rules(dtypes::fp8s));
  static const RuleSet own("amd llvm", {
      rule("spread-halfs", each(Op::CAST, y).as(x), with<spread_halfs>(x, y)),
      rule("gather-halfs", each(Op::CAST, y).as(x), with<gather_halfs>(x, y)),
      // the intrinsics of log2 and exp2 do not support double
      rule("double-log2", node(Op::LOG2, d).of(kDouble), with<xlog2>(d)),
      rule("double-exp2", node(Op::EXP2, d).of(kDouble), with<xexp2>(d)),
  });
  static const RuleSet set("amd llvm", {&llvm_rules(), &fp8, &own});
  return set;
}

}  // namespace

const RuleSet& llvm_rules() {
  static const RuleSet bf16("llvm bfloat16", non_native_float_rules(kBFloat16));
  static const RuleSet set("llvm", {&bf16, &pm_manual_bf16_cast()});
  return set;
}

const RuleSet& amd_llvm_rules(const Target& target) {
  static const RuleSet cdna_own("amd llvm cdna", {
      rule("wmma-cdna-bf16", node(Op::WMMA).as(x), with<cdna_bf16>(x)),
      rule("wmma-cdna-fp8", node(Op::WMMA).as(x), with<cdna_fp8>(x)),
  });
  static const RuleSet rdna3_own("amd llvm rdna3", {
      rule("wmma-rdna3-half", node(Op::WMMA).as(x), with<rdna3_half>(x)),
      rule("wmma-rdna3-bf16", node(Op::WMMA).as(x), with<rdna3_bf16>(x)),
  });
  static const RuleSet rdna4_own("amd llvm rdna4", {
      rule("wmma-rdna4-bf16-to-bf16", node(Op::WMMA).as(x), with<rdna4_bf16_to_bf16>(x)),
      rule("wmma-rdna4-bf16-to-float", node(Op::WMMA).as(x), with<rdna4_bf16_to_float>(x)),
  });
  static const RuleSet cdna("amd llvm cdna", {&amd_llvm_common(), &cdna_own});
  static const RuleSet rdna3("amd llvm rdna3", {&amd_llvm_common(), &rdna3_own});
  static const RuleSet rdna4("amd llvm rdna4", {&amd_llvm_common(), &rdna4_own});
  std::string_view arch = arch_without_features(target.arch);
  if (is_cdna(arch)) return cdna;
  if (arch == "gfx1100" || arch == "gfx1151") return rdna3;
  if (is_rdna4(arch)) return rdna4;
  return amd_llvm_common();
}

}  // namespace tgc
