#include "renderers/renderer.h"

#include <algorithm>

#include "lib/support/limits.h"
#include "lib/support/lines.h"
#include "lib/support/visible.h"
#include "lib/uop/graph.h"
#include "renderers/cstyle/cstyle.h"
#include "renderers/llvmir/llvmir.h"
#include "renderers/misprint.h"
#include "renderers/names.h"
#include "renderers/ptx/ptx.h"
#include "renderers/wgsl/wgsl.h"

namespace tgc {
namespace {

using Added = std::vector<std::string>;  // see TextRenderer::note_added

std::string render_c(const Target& target, const Dialect& dialect, std::span<const UOp> list, Added* added) {
  bool expand_ssa = !list.empty() && list.front().graph().settings().EXPAND_SSA;
  CStyle renderer(target, dialect, list, expand_ssa);
  renderer.note_added(added);
  return renderer.render();
}

std::string render(const Target& target, std::span<const UOp> list, Added* added = nullptr) {
  auto faulty = misprinted(target, list).value_or_throw();
  if (faulty) list = *faulty;
  check_names(list);
  switch (target.renderer) {
    case RendererKind::Clang: return render_c(target, clang_dialect(), list, added);
    case RendererKind::OpenCL: return render_c(target, opencl_dialect(), list, added);
    case RendererKind::Intel: return render_c(target, intel_dialect(), list, added);
    case RendererKind::Metal: return render_c(target, metal_dialect(), list, added);
    case RendererKind::CUDA: return render_c(target, cuda_dialect(), list, added);
    case RendererKind::HIP: return render_c(target, hip_dialect(target.arch), list, added);
    case RendererKind::WGSL: return render_c(target, wgsl_dialect(), list, added);
    case RendererKind::LLVM: return render_llvm_ir(target, list, added);
    case RendererKind::PTX: return render_ptx(target, list, added);
  }
  throw Failure("no renderer for " + target.name());
}

// Where `wanted` stands in `lines`, from line `from` on or, as some lines are moved out of the function, before it.
SourceLines find_lines(const std::vector<std::string_view>& lines, const std::vector<std::string_view>& wanted,
                       size_t from) {
  if (wanted.empty()) return {};
  auto found = std::search(lines.begin() + std::ptrdiff_t(from), lines.end(), wanted.begin(), wanted.end());
  if (found == lines.end()) found = std::search(lines.begin(), lines.end(), wanted.begin(), wanted.end());
  if (found == lines.end()) return {};
  return {size_t(found - lines.begin()) + 1, wanted.size()};
}

}  // namespace

Result<std::string> render_source(const Target& target, std::span<const UOp> list) {
  if (list.empty()) return Diag{"the linear list is empty"};
  return catch_failures([&] { return render(target, list); });
}

Status check_custom(std::span<const UOp> list) {
  if (custom_is_allowed()) return Unit{};
  auto custom = std::ranges::find_if(list, [](UOp u) { return u.in({Op::CUSTOM, Op::CUSTOMI}); });
  if (custom == list.end()) return Unit{};
  return Diag{.message = "Ops." + std::string(name_of(custom->op())) + " is code of the input, which would run here: " +
                         visible(custom->arg().repr()),
              .expected = "--allow-custom, if you trust it"};
}

Result<SourceMap> source_map(const Target& target, std::span<const UOp> list) {
  if (list.empty()) return Diag{"the linear list is empty"};
  return catch_failures([&] {
    Added added;
    std::string source = render(target, list, &added);
    std::vector<std::string_view> lines = lines_of(source);
    SourceMap out{{lines.begin(), lines.end()}, {}};
    size_t next = 0;  // nodes print in order
    for (std::string_view text : added) {
      if (text.starts_with('\n')) text.remove_prefix(1);
      out.of_node.push_back(find_lines(lines, lines_of(text), next));
      if (SourceLines at = out.of_node.back(); at.count && at.first > next) next = at.first + at.count - 1;
    }
    return out;
  });
}

}  // namespace tgc
