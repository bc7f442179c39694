#include "renderers/renderer.h"

#include <algorithm>

#include "lib/support/limits.h"
#include "lib/support/lines.h"
#include "lib/support/visible.h"
#include "lib/uop/graph.h"
#include "renderers/misprint.h"
#include "renderers/names.h"

namespace tgc {

using AddedLines = std::vector<std::string>;  // for each node, the text that the node added to the body
using RenderFunction = std::string(const Target& target, std::span<const UOp> list, AddedLines* added);
#define TGC_RENDERER(id, name, printer) RenderFunction printer;
#include "lib/target/renderers.def"

namespace {

std::string render(const Target& target, std::span<const UOp> list, AddedLines* added = nullptr) {
  auto faulty = list_with_faults(target, list).value_or_throw();
  if (faulty) list = *faulty;
  check_names(list);
  static constexpr RenderFunction* kPrinters[] = {
#define TGC_RENDERER(id, name, printer) printer,
#include "lib/target/renderers.def"
  };
  return kPrinters[size_t(target.renderer)](target, list, added);
}

// Returns the position of the lines `wanted` in `lines`; an empty SourceLineRange if they do not occur. Searches from
// index `from` to the end and then from the start.
SourceLineRange find_lines(const std::vector<std::string_view>& lines, const std::vector<std::string_view>& wanted,
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

Status check_custom_nodes(std::span<const UOp> list) {
  if (are_custom_ops_allowed()) return Unit{};
  auto custom = std::ranges::find_if(list, [](UOp u) { return u.in({Op::CUSTOM, Op::CUSTOMI}); });
  if (custom == list.end()) return Unit{};
  return Diag{.message = "Ops." + std::string(name_of(custom->op())) +
                         " contains code of the input, which would be run: " + visible_text(custom->arg().repr()),
              .expected = "--allow-custom, if you trust it"};
}

Result<SourceMap> make_source_map(const Target& target, std::span<const UOp> list) {
  if (list.empty()) return Diag{"the linear list is empty"};
  return catch_failures([&] {
    AddedLines added;
    std::string source = render(target, list, &added);
    std::vector<std::string_view> lines = lines_of(source);
    SourceMap out{{lines.begin(), lines.end()}, {}};
    size_t next = 0;  // index of the line at which the next search begins, because nodes print in the order of the list
    for (std::string_view text : added) {
      if (text.starts_with('\n')) text.remove_prefix(1);
      out.lines_of_node.push_back(find_lines(lines, lines_of(text), next));
      if (SourceLineRange at = out.lines_of_node.back(); at.num_lines && at.first_line > next)
        next = at.first_line + at.num_lines - 1;
    }
    return out;
  });
}

}  // namespace tgc
