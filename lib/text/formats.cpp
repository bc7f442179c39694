#include "lib/text/formats.h"

#include <algorithm>

#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/text/repr.h"
#include "lib/uop/release.h"

namespace tgc {
namespace {

constexpr std::string_view kNames[] = {
#define X(id, name, ...) name,
    TGC_FORMATS(X)
#undef X
};
constexpr std::string_view kExtensions[] = {
#define X(id, name, extension, ...) extension,
    TGC_FORMATS(X)
#undef X
};

void append_dot_string(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else out += c;
  }
  out += '"';
}

// Adds a header if `text` needs one, if `info` names a stage, or if the graph's release is not 0.12.0 and
// release_in_text would guess another release.
std::string add_header_if_needed(const CompleteText& text, const GraphInfo& info, const Graph& graph) {
  auto is_unlike = [&] { return graph.is_foreign() && release_in_text(text.text) != graph.release(); };
  return (text.is_header_needed || !info.stage.empty() || is_unlike() ? text_header(info) : std::string()) + text.text;
}

std::string listing_text(std::span<const UOp> list, const GraphInfo& info) {
  const Graph& graph = list[0].graph();
  if (graph.is_foreign()) return add_header_if_needed({.text = print_uops(list)}, {.producer = info.producer}, graph);
  return info.stage.empty() ? print_uops(list) : add_header_if_needed(print_uops_complete(list), info, graph);
}

// Returns `info` with a producer of the graph's release; for 0.12.0, the producer is empty.
GraphInfo with_producer(GraphInfo info, const Graph& graph) {
  if (!graph.is_foreign()) info.producer.clear();
  else if (release_of(info.producer) != graph.release())
    info.producer = producer_name(graph.release());
  return info;
}

std::string nodes_text(std::span<const UOp> nodes) {
  std::string out;
  for (UOp u : nodes) {
    out.append(printed_op_name(u)).append(" ").append(u.dtype().repr()) += ' ';
    printed_arg(u).append_repr(out);
    if (!u.tag().is_none()) out += " tag=", u.tag().append_repr(out);
    out += '\n';
  }
  return out;
}

std::string dot_text(UOp root, const GraphInfo& info) {
  std::string out = "digraph ";
  append_dot_string(out, info.name.empty() ? "graph" : info.name);
  out += " {\n  node [shape=box, fontname=monospace];\n";
  UOpMap<size_t> number(root.graph());
  size_t next = 0;
  for (UOp u : toposort(root)) {
    number[u] = next++;
    std::string label = std::string(printed_op_name(u)) + "\n" + std::string(u.dtype().repr());
    if (Arg a = printed_arg(u); !a.is_none()) label += "\n" + a.repr();
    if (!u.tag().is_none()) label += "\ntag=" + u.tag().repr();
    out += "  n" + std::to_string(number[u]) + " [label=";
    append_dot_string(out, label);
    out += "];\n";
    for (size_t i = 0; i < u.num_src(); i++) {
      out += "  n" + std::to_string(*number.find(u.src(i))) + " -> n" + std::to_string(number[u]);
      if (u.num_src() > 1) out += " [label=" + std::to_string(i) + "]";
      out += ";\n";
    }
  }
  return out + "}\n";
}

}  // namespace

std::string_view name_of(GraphFormat f) { return kNames[int(f)]; }
std::string_view file_extension_of(GraphFormat f) { return kExtensions[int(f)]; }
std::span<const std::string_view> format_names() { return kNames; }

std::optional<GraphFormat> parse_format(std::string_view name) {
  auto it = std::find(std::begin(kNames), std::end(kNames), name);
  return it == std::end(kNames) ? std::nullopt : std::optional(GraphFormat(it - std::begin(kNames)));
}

Result<std::string> write_graph(GraphFormat format, UOp root, const GraphInfo& given) {
  return catch_failures([&]() -> std::string {
    const GraphInfo info = with_producer(given, root.graph());
    switch (format) {
      case GraphFormat::Pyrender:
        return add_header_if_needed(pyrender_complete(root).value_or_throw(), info, root.graph()) + "\n";
      case GraphFormat::Repr: return add_header_if_needed(repr_complete(root), info, root.graph()) + "\n";
      case GraphFormat::Uops: return listing_text(toposort(root), {.producer = info.producer});
      case GraphFormat::Nodes: return nodes_text(toposort(root));
      case GraphFormat::Json: return graph_to_json(root, info);
      case GraphFormat::Dot: return dot_text(root, info);
    }
    return {};
  });
}

Result<std::string> write_list(GraphFormat format, std::span<const UOp> list, const GraphInfo& given) {
  return catch_failures([&]() -> std::string {
    if (list.empty()) return {};
    const GraphInfo info = with_producer(given, list[0].graph());
    switch (format) {
      case GraphFormat::Uops: return listing_text(list, info);
      case GraphFormat::Nodes: return nodes_text(list);
      case GraphFormat::Json: return list_to_json(list, info);
      default: return write_graph(format, list.back(), info).value_or_throw();
    }
  });
}

}  // namespace tgc
