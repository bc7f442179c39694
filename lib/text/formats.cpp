#include "lib/text/formats.h"

#include <algorithm>

#include "lib/support/pytext.h"
#include "lib/text/json_scan.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/text/pyrender_open_reader.h"
#include "lib/text/repr.h"
#include "lib/text/repro.h"
#include "lib/text/svod_tree.h"
#include "lib/uop/wellformed.h"

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
constexpr std::string_view kKinds[] = {
#define X(id, name) name,
    TGC_INPUT_KINDS(X)
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

// Returns the text, below a header if a header is needed: if the graph has a stage, if the text has comments for lost
// facts, or if the graph's release is not 0.12.0 and the text does not show the release.
std::string below_header(const CompleteText& text, const GraphInfo& info, const Graph& graph) {
  auto is_unlike = [&] { return graph.is_foreign() && release_in_text(text.text) != graph.release(); };
  return (text.lost || !info.stage.empty() || is_unlike() ? text_header(info) : std::string()) + text.text;
}

std::string listing(std::span<const UOp> list, const GraphInfo& info) {
  const Graph& graph = list[0].graph();
  if (graph.is_foreign()) return below_header({.text = print_uops(list)}, {.producer = info.producer}, graph);
  return info.stage.empty() ? print_uops(list) : below_header(print_uops_complete(list), info, graph);
}

std::string producer_name(Release release) {
  return release == Release::Other ? "unknown" : "tinygrad " + std::string(name_of(release));
}

// Returns `info` with `producer` set to the graph's release; `producer` is empty for 0.12.0.
GraphInfo with_producer(GraphInfo info, const Graph& graph) {
  if (!graph.is_foreign()) info.producer.clear();
  else if (release_of(info.producer) != graph.release())
    info.producer = producer_name(graph.release());
  return info;
}

// Returns one line per node, such as "ADD dtypes.float None".
std::string nodes_text(std::span<const UOp> nodes) {
  std::string out;
  for (UOp u : nodes) {
    out.append(shown_op(u)).append(" ").append(u.dtype().repr()) += ' ';
    shown_arg(u).append_repr(out);
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
    std::string label = std::string(shown_op(u)) + "\n" + std::string(u.dtype().repr());
    if (Arg a = shown_arg(u); !a.is_none()) label += "\n" + a.repr();
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

std::string_view name_of(Format f) { return kNames[int(f)]; }
std::string_view extension_of(Format f) { return kExtensions[int(f)]; }
std::span<const std::string_view> format_names() { return kNames; }
std::string_view name_of(InputKind k) { return kKinds[int(k)]; }

std::optional<Format> parse_format(std::string_view name) {
  auto it = std::find(std::begin(kNames), std::end(kNames), name);
  return it == std::end(kNames) ? std::nullopt : std::optional(Format(it - std::begin(kNames)));
}

Result<std::string> write_graph(Format format, UOp root, const GraphInfo& given) {
  return catch_failures([&]() -> std::string {
    const GraphInfo info = with_producer(given, root.graph());
    switch (format) {
      case Format::Pyrender:
        return below_header(pyrender_complete(root).value_or_throw(), info, root.graph()) + "\n";
      case Format::Repr: return below_header(repr_complete(root), info, root.graph()) + "\n";
      case Format::Uops: return listing(toposort(root), {.producer = info.producer});
      case Format::Nodes: return nodes_text(toposort(root));
      case Format::Json: return graph_to_json(root, info);
      case Format::Dot: return dot_text(root, info);
    }
    return {};
  });
}

Result<std::string> write_list(Format format, std::span<const UOp> list, const GraphInfo& given) {
  return catch_failures([&]() -> std::string {
    if (list.empty()) return {};
    const GraphInfo info = with_producer(given, list[0].graph());
    switch (format) {
      case Format::Uops: return listing(list, info);
      case Format::Nodes: return nodes_text(list);
      case Format::Json: return list_to_json(list, info);
      default: return write_graph(format, list.back(), info).value_or_throw();
    }
  });
}

// Returns `text` from its first line that is neither blank nor a comment.
static std::string_view below_comments(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  size_t at = text.find_first_not_of(kBlanks);
  while (at != text.npos && text[at] == '#') at = text.find_first_not_of(kBlanks, text.find('\n', at));
  return at == text.npos ? std::string_view() : text.substr(at);
}

InputKind detect_kind(std::string_view head) {
  // the first byte of an ONNX file is 8, the protobuf tag of its first field, ir_version
  if (!head.empty() && head[0] == '\x08' && head.find('\n') != 0) return InputKind::Onnx;
  head = below_comments(head);
  if (head.starts_with('{') && looks_like_repro(head)) return InputKind::Repro;
  if (head.starts_with('{'))
    return head.substr(0, head.find('\n')).find("\"tgc-golden\"") != head.npos ? InputKind::Golden : InputKind::Json;
  if (head.starts_with("UOp(")) return InputKind::Repr;
  if (begins_svod_tree(head)) return InputKind::Repr;
  size_t digits = head.find_first_not_of("0123456789");
  if (digits != 0 && digits != head.npos && head.substr(digits, 5) == " Ops.") return InputKind::Uops;
  return InputKind::Pyrender;
}

GraphInfo info_before(InputKind kind, std::string_view text) {
  if (kind != InputKind::Json) {
    auto header = read_header(text, {});
    return header ? header->value_or(GraphInfo()) : GraphInfo();
  }
  auto read = catch_failures([&] {
    GraphInfo out;
    JsonScanner in(text);
    in.object_while([&](std::string_view key) {
      if (key == "nodes") return false;
      if (!read_info_member(in, key, out)) in.skip();
      return true;
    });
    return out;
  });
  return read ? *read : GraphInfo();
}

namespace {

// Returns true for the repr of a UOp as Svod prints it.
bool is_svod_tree(InputKind kind, std::string_view text) {
  return kind == InputKind::Repr && begins_svod_tree(below_comments(text));
}

// Returns the producer to use for a text without a header; empty for 0.12.0.
std::string producer_of_text(InputKind kind, std::string_view text, const ReadReport& report) {
  if (!report.producer.empty()) return std::string(report.producer);
  if (is_svod_tree(kind, text)) return producer_name(Release::v0_14);
  const bool is_python = kind == InputKind::Pyrender || kind == InputKind::Repr || kind == InputKind::Uops;
  Release release = is_python ? release_in_text(text) : Release::v0_12;
  return release == Release::v0_12 ? "" : producer_name(release);
}

std::string nodes_of(Release release) { return "nodes of " + producer_name(release); }

Result<GraphFile> read_any(Graph& graph, InputKind kind, std::string_view text, std::string_view file,
                           ReadReport& report) {
  Places* places = &report.places;
  auto header = read_header(text, file);
  if (!header) return header.diag();
  GraphInfo info = header->value_or(GraphInfo());
  if (!*header) info.producer = producer_of_text(kind, text, report);
  // take_malformed is set by comparisons, which read two graphs, perhaps of different releases, into one Graph
  const Release release = release_of(kind == InputKind::Json ? info_before(kind, text).producer : info.producer);
  if (graph.size() > 0 && graph.release() != release && !report.take_malformed)
    return Diag{.message = nodes_of(release), .file = std::string(file),
                .expected = nodes_of(graph.release()) + ", as in the graph so far"};
  graph.set_release(release);
  auto of_root = [&](Result<UOp> root) -> Result<GraphFile> {
    if (!root) return root.diag();
    return GraphFile{.info = info, .root = *root, .list = {}};
  };
  switch (kind) {
    case InputKind::Pyrender:
      return of_root(read_pyrender(graph, text, file, places, &report.notes));
    case InputKind::Repr:
      return of_root(is_svod_tree(kind, text) ? read_svod_tree(graph, text, file, places)
                                              : read_repr(graph, text, file, places));
    case InputKind::Json: return graph_from_json(graph, text, file, places);
    case InputKind::Repro: {
      auto repro = std::make_shared<Repro>();
      auto read = repro_from_json(graph, text, file, places, *repro);
      report.repro = std::move(repro);
      return read;
    }
    case InputKind::Uops: {
      auto listing = read_uops(graph, text, file, places);
      if (!listing) return listing.diag();
      report.notes = std::move(listing->notes);
      UOp root = listing->list.back();
      return GraphFile{.info = info, .root = root, .list = std::move(listing->list)};
    }
    default:
      return Diag{
          .message = "is " + std::string(name_of(kind)), .file = std::string(file), .expected = "the text of a graph"};
  }
}

}  // namespace

Result<GraphFile> read_graph(Graph& graph, InputKind kind, std::string_view text, std::string_view file,
                             ReadReport* report) {
  ReadReport own;
  if (!report) report = &own;
  auto read = read_any(graph, kind, text, file, *report);
  if (!read || report->take_malformed) return read;
  auto malformed = first_malformed_below(read->root);
  if (!malformed) malformed = first_malformed(read->list);
  if (!malformed) malformed = first_out_of_order(read->list);
  if (!malformed) return read;
  return diag_at(text, place_of(report->places, malformed->node.id()), file, malformed->trouble, "");
}

}  // namespace tgc
