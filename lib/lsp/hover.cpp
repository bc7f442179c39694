// The text that an editor shows for a node under the mouse.
#include <algorithm>

#include "lib/lsp/analysis.h"
#include "lib/lsp/markdown.h"
#include "lib/support/visible.h"
#include "lib/text/open_args.h"
#include "lib/uop/facts.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

constexpr size_t kLongest = 400;  // bytes of one fact; a longer one is cut

std::string cut(std::string text) {
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return visible(text);
}

// Returns a fact as code in Markdown.
std::string code(const std::string& text) {
  std::string out = cut(text);
  std::ranges::replace(out, '\n', ' ');
  return code_span(out);
}

std::string fact(std::string_view name, const std::string& value) {
  return "- " + std::string(name) + ": " + value + "\n";
}

// Returns the facts that tinygrad derives from a node. A fact that cannot be computed is left out.
std::string facts(const Analysis& a, UOp u) {
  std::string out;
  auto add = [&](auto&& make) {
    if (auto text = catch_failures(make)) out += *text;
  };
  add([&]() -> std::string {
    auto shape = shape_or_none(u);
    return shape ? fact("shape", code(str(*shape))) : "";
  });
  add([&]() -> std::string {
    if (!dtypes::is_int(u.dtype()) && !dtypes::is_bool(u.dtype())) return "";
    return fact("values", code(Arg(u.vmin()).str()) + " to " + code(Arg(u.vmax()).str()));
  });
  add([&] {
    std::string list;
    for (UOp range : ranges_of(u)) {
      const Definition* d = a.definition_of(range);
      list += (list.empty() ? "" : ", ") + code((d ? d->name : "r" + range_str(range)) + ": " + range.arg().repr() +
                                                " of " + (range.num_src() ? render(range.src(0)) : "?"));
    }
    return list.empty() ? "" : fact("ranges", list);
  });
  add([&] {
    Arg device = device_of(u);
    return device.is_none() ? "" : fact("device", code(device.str()));
  });
  return out;
}

}  // namespace

std::string hover_text(const Analysis& a, UOp u, const std::string& origin) {
  std::string out = "**Ops." + plain_markdown(shown_op(u)) + "** " + code(std::string(u.dtype().repr()));
  if (auto at = std::ranges::find(a.order, u); at != a.order.end())
    out += ", node " + std::to_string(at - a.order.begin()) + " of " + std::to_string(a.order.size());
  out += "\n\n";
  if (Arg arg = shown_arg(u); !arg.is_none())
    out += fact("arg", code(own_arg_text(u)));
  if (!u.tag().is_none()) out += fact("tag", code(u.tag().repr()));
  if (a.is_valid) out += facts(a, u);
  if (!origin.empty()) out += fact("made by", origin);
  if (a.repro && a.repro->blamed.contains("rule"))
    out += fact("this bundle blames", code(a.repro->blamed.at("rule")));
  return out;
}

}  // namespace tgc
