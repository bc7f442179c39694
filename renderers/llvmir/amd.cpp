// The rows of LLVM IR that are specific to AMD GPUs (tinygrad renderer/llvmir.py, AMDLLVMRenderer, render_wmma_amd).
#include "renderers/llvmir/llvmir.h"

namespace tgc {
namespace {

constexpr DTypeSet kFloat32{Scalar::Float32};

// Returns true if `u` converts a dtype in `from` to a dtype in `to`; both may be vectors.
bool is_conversion(UOp u, DTypeSet from, DTypeSet to) {
  return from.contains(u.src(0).dtype()) && to.contains(u.dtype());
}

bool print_special(LlvmIrRenderer& r, UOp u) {
  std::string_view name = u.arg().text();
  if (name[0] != 'g' && name[0] != 'l') r.throw_cannot_render(u, "there is no index '" + std::string(name) + "'");
  r.output.append("  ").append(r.name_of_node()).append(" = tail call i32 @llvm.amdgcn.")
      .append(name[0] == 'g' ? "workgroup" : "workitem").append(".id.");
  r.output += char('x' + (name.back() - '0'));
  r.output += "(); ";
  return true;
}

bool print_to_fp8(LlvmIrRenderer& r, UOp u) {
  if (!is_conversion(u, kFloat32, dtypes::fp8s)) return false;
  r.output.append("  ").append(r.name_of_node()).append(" = call i8 @f32_to_fp8(");
  r.append_type(u.src(0).dtype());
  r.output.append("  ").append(r.text(u, 0)).append(", i1 ");
  r.output.append(u.dtype() == dtypes::fp8e5m2 ? "1" : "0").append(")");
  return true;
}

bool print_from_fp8(LlvmIrRenderer& r, UOp u) {
  if (!is_conversion(u, dtypes::fp8s, kFloat32)) return false;
  std::string x(r.text(u, 0));
  r.output.append("  ").append(x).append("_i32 = zext i8 ").append(x).append(" to i32\n  ").append(r.name_of_node())
      .append(" = call float @llvm.amdgcn.cvt.f32.");
  r.output.append(u.src(0).dtype() == dtypes::fp8e5m2 ? "bf8" : "fp8").append("(i32 ").append(x).append("_i32, i32 0)");
  return true;
}

std::string_view mfma_type(LlvmIrRenderer& r, UOp u, DType d, int64_t k, bool cdna) {
  bool wide = cdna && k == 32;
  switch (d.scalar_kind()) {
    case Scalar::Float16: return wide ? ".f16" : "f16";
    case Scalar::Float32: return "f32";
    case Scalar::UInt16: return cdna ? "bf16.1k" : "bf16";
    case Scalar::BFloat16: return wide ? ".bf16" : cdna ? "bf16.1k" : "bf16";
    case Scalar::FP8E4M3: return ".fp8.fp8";
    case Scalar::FP8E5M2: return ".bf8.bf8";
    default: r.throw_cannot_render(u, "there is no tensor core of " + std::string(d.repr()));
  }
}

void append_operands(LlvmIrRenderer& r, UOp u) {
  for (size_t i = 0; i < u.num_src(); i++) {
    if (i) r.output += ", ";
    r.append_type(u.src(i).dtype());
    r.output.append(" ").append(r.text(u, int(i)));
  }
}

template <bool kCdna>
bool print_wmma(LlvmIrRenderer& r, UOp u) {
  auto dim = [&](size_t i) { return u.arg()[1][i].small_int(); };
  int64_t n = dim(0), m = dim(1), k = dim(2);
  r.output.append("  ").append(r.name_of_node()).append(" = call ");
  r.append_type(u.dtype());
  DType accumulator = u.src(u.num_src() - 1).dtype().scalar();
  r.output.append(kCdna ? " @llvm.amdgcn.mfma." : " @llvm.amdgcn.wmma.").append(mfma_type(r, u, accumulator, k, kCdna));
  if (kCdna) {
    r.output.append(".").append(std::to_string(n)).append("x").append(std::to_string(m)).append("x")
        .append(std::to_string(k));
    r.output.append(mfma_type(r, u, u.arg()[2].dtype(), k, true)).append("(");
    append_operands(r, u);
    r.output += ", i32 0, i32 0, i32 0)";
  } else {
    r.output.append(".16x16x16.").append(mfma_type(r, u, u.src(0).dtype().scalar(), k, false)).append("(");
    append_operands(r, u);
    r.output += u.dtype().scalar() != dtypes::float32 ? ", i1 false)" : ")";
  }
  return true;
}

std::span<const LlvmTextRow> amd_rows() {
  static const LlvmTextRow rows[] = {
      {Op::SPECIAL, print_special},
      {Op::SQRT, "  $n = call $t @llvm.sqrt.$e($t0 $0)"},
      {Op::LOG2, "  $n = call $t @llvm.log2.$e($t0 $0)"},
      {Op::EXP2, "  $n = call $t @llvm.exp2.$e($t0 $0)"},
      {Op::BARRIER,
       "fence syncscope(\"workgroup\") release\ntail call void @llvm.amdgcn.s.barrier()\n"
       "fence syncscope(\"workgroup\") acquire\n"},
      {Op::CAST, print_to_fp8},
      {Op::CAST, print_from_fp8},
  };
  return rows;
}

template <bool kCdna>
std::span<const LlvmTextRow> wmma_rows() {
  static const LlvmTextRow rows[] = {{Op::WMMA, print_wmma<kCdna>}};
  return rows;
}

}  // namespace

const NodeTextTable<LlvmIrRenderer>& amd_llvm_table(bool cdna) {
  static const NodeTextTable<LlvmIrRenderer> for_rdna{amd_rows(), llvm_rows(), wmma_rows<false>()},
      for_cdna{amd_rows(), llvm_rows(), wmma_rows<true>()};
  return cdna ? for_cdna : for_rdna;
}

std::string_view amd_float_to_fp8_definition() {
  return R"(define i8 @f32_to_fp8(float %val, i1 %is_bf8) {
entry:
  %ival = bitcast float %val to i32
  %exp = and i32 %ival, 2139095040
  %is_special = icmp eq i32 %exp, 2139095040
br i1 %is_special, label %select_clip, label %clip
clip:
  br i1 %is_bf8, label %bf8_clip, label %fp8_clip
bf8_clip:
  %clamped_bf8 = call float @llvm.amdgcn.fmed3.f32(float %val, float 57344.0, float -57344.0)
  br label %select_clip
fp8_clip:
  %clamped_fp8 = call float @llvm.amdgcn.fmed3.f32(float %val, float 448.0, float -448.0))"
         "    \n"
         R"(  br label %select_clip
select_clip:
  %phi_val = phi float [%val, %entry], [%clamped_bf8, %bf8_clip], [%clamped_fp8, %fp8_clip]
  br i1 %is_bf8, label %do_bf8, label %do_fp8
do_bf8:
  %packed_bf8 = call i32 @llvm.amdgcn.cvt.pk.bf8.f32(float %phi_val, float %phi_val, i32 0, i1 false)
  br label %exit
do_fp8:
  %packed_fp8 = call i32 @llvm.amdgcn.cvt.pk.fp8.f32(float %phi_val, float %phi_val, i32 0, i1 false)
  br label %exit
exit:
  %packed = phi i32 [%packed_bf8, %do_bf8], [%packed_fp8, %do_fp8]
  %trunc = trunc i32 %packed to i8
  ret i8 %trunc
})";
}

}  // namespace tgc
