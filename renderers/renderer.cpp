#include "renderers/renderer.h"

#include "lib/uop/graph.h"
#include "renderers/cstyle/cstyle.h"
#include "renderers/llvmir/llvmir.h"
#include "renderers/ptx/ptx.h"
#include "renderers/wgsl/wgsl.h"

namespace tgc {
namespace {

std::string render_c(const Target& target, const Dialect& dialect, std::span<const UOp> list) {
  bool expand_ssa = !list.empty() && list.front().graph().settings().EXPAND_SSA;
  return CStyle(target, dialect, list, expand_ssa).render();
}

std::string render(const Target& target, std::span<const UOp> list) {
  switch (target.renderer) {
    case RendererKind::Clang: return render_c(target, clang_dialect(), list);
    case RendererKind::OpenCL: return render_c(target, opencl_dialect(), list);
    case RendererKind::Intel: return render_c(target, intel_dialect(), list);
    case RendererKind::Metal: return render_c(target, metal_dialect(), list);
    case RendererKind::CUDA: return render_c(target, cuda_dialect(), list);
    case RendererKind::HIP: return render_c(target, hip_dialect(target.arch), list);
    case RendererKind::WGSL: return render_c(target, wgsl_dialect(), list);
    case RendererKind::LLVM: return render_llvm_ir(target, list);
    case RendererKind::PTX: return render_ptx(target, list);
  }
  throw Failure("no renderer for " + target.name());
}

}  // namespace

Result<std::string> render_source(const Target& target, std::span<const UOp> list) {
  if (list.empty()) return Diag{"the linear list is empty"};
  return catch_failures([&] { return render(target, list); });
}

}  // namespace tgc
