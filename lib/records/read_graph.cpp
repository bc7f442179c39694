#include "lib/records/read_graph.h"

#include <algorithm>

#include "lib/records/repro.h"
#include "lib/records/svod_tree.h"
#include "lib/text/json_scan.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/text/pyrender_reader.h"
#include "lib/text/repr.h"
#include "lib/uop/release.h"
#include "lib/uop/wellformed.h"

namespace tgc {

namespace {

constexpr std::string_view kKinds[] = {
#define X(id, name) name,
    TGC_INPUT_KINDS(X)
#undef X
};

std::string_view skip_comments(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  size_t at = text.find_first_not_of(kBlanks);
  while (at != text.npos && text[at] == '#') at = text.find_first_not_of(kBlanks, text.find('\n', at));
  return at == text.npos ? std::string_view() : text.substr(at);
}

}  // namespace

std::string_view name_of(InputKind k) { return kKinds[int(k)]; }

InputKind detect_input_kind(std::string_view head) {
  // 8 is the protobuf tag of ir_version, the first field of an ONNX file
  if (!head.empty() && head[0] == '\x08' && head.find('\n') != 0) return InputKind::Onnx;
  head = skip_comments(head);
  if (head.starts_with('{') && is_start_of_repro(head)) return InputKind::Repro;
  if (head.starts_with('{'))
    return head.substr(0, head.find('\n')).find("\"tgc-golden\"") != head.npos ? InputKind::Golden : InputKind::Json;
  if (head.starts_with("UOp(")) return InputKind::Repr;
  if (is_start_of_svod_tree(head)) return InputKind::Repr;
  size_t digits = head.find_first_not_of("0123456789");
  if (digits != 0 && digits != head.npos && head.substr(digits, 5) == " Ops.") return InputKind::Uops;
  return InputKind::Pyrender;
}

GraphInfo read_graph_info(InputKind kind, std::string_view text) {
  if (kind != InputKind::Json) {
    auto header = read_header(text, {});
    return header ? header->value_or(GraphInfo()) : GraphInfo();
  }
  auto read = catch_failures([&] {
    GraphInfo out;
    JsonScanner in(text);
    in.read_object_while([&](std::string_view key) {
      if (key == "nodes") return false;
      if (!read_info_member(in, key, out)) in.skip_any();
      return true;
    });
    return out;
  });
  return read ? *read : GraphInfo();
}

namespace {

// True for the repr of a UOp as Svod, a port of tinygrad, prints it.
bool is_svod_tree(InputKind kind, std::string_view text) {
  return kind == InputKind::Repr && is_start_of_svod_tree(skip_comments(text));
}

// Returns the producer to assume for a text without a header; may be empty for 0.12.0.
std::string producer_of_text(InputKind kind, std::string_view text, const GraphReadReport& report) {
  if (!report.producer.empty()) return std::string(report.producer);
  if (is_svod_tree(kind, text)) return producer_name(Release::v0_14);
  const bool is_python = kind == InputKind::Pyrender || kind == InputKind::Repr || kind == InputKind::Uops;
  Release release = is_python ? release_in_text(text) : Release::v0_12;
  return release == Release::v0_12 ? "" : producer_name(release);
}

// True if the text begins like a Python program, which a user may pass in place of its recording.
bool is_python_program(std::string_view text) {
  text = skip_comments(text);
  return text.starts_with("import ") || text.starts_with("from ") || text.starts_with("\"\"\"");
}

std::string release_nodes_text(Release release) { return "nodes of " + producer_name(release); }

Result<GraphFile> read_by_kind(Graph& graph, InputKind kind, std::string_view text, std::string_view file,
                               GraphReadReport& report) {
  NodePlaces* places = &report.places;
  if (kind == InputKind::Pyrender && is_python_program(text))
    return Diag{.message = "is a Python program, not a graph or a recording",
                .file = std::string(file),
                .expected = "what `python -m tgc.export --rewrites -o PROGRAM.jsonl.gz -- PROGRAM` records of it"};
  auto header = read_header(text, file);
  if (!header) return header.diag();
  GraphInfo info = header->value_or(GraphInfo());
  if (!*header) info.producer = producer_of_text(kind, text, report);
  // with accepts_malformed_graphs, one Graph may get graphs of different releases, as for comparisons
  const Release release = release_of(kind == InputKind::Json ? read_graph_info(kind, text).producer : info.producer);
  if (graph.size() > 0 && graph.release() != release && !report.accepts_malformed_graphs)
    return Diag{.message = release_nodes_text(release), .file = std::string(file),
                .expected = release_nodes_text(graph.release()) + ", as in the graph so far"};
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
      report.notes = std::move(listing->warnings);
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
                             GraphReadReport* report) {
  GraphReadReport own;
  if (!report) report = &own;
  auto read = read_by_kind(graph, kind, text, file, *report);
  if (!read || report->accepts_malformed_graphs) return read;
  auto malformed = first_malformed_below(read->root);
  if (!malformed) malformed = first_malformed_node(read->list);
  if (!malformed) malformed = first_unordered_node(read->list);
  if (!malformed) return read;
  return diag_at(text, offset_of_node(report->places, malformed->node.id()), file, malformed->message, "");
}

namespace {

// Returns the last node made at each place. Leaves out places where no node was made: their nodes were made before, and
// are not known.
std::vector<NodePosition> nodes_of_places(const Graph& graph, const NodePlaces& places) {
  std::vector<NodePosition> out;
  for (size_t i = 0; i < places.size(); i++) {
    const size_t end = i + 1 < places.size() ? places[i + 1].first_id : graph.size();
    if (places[i].first_id < end && end <= graph.size()) out.push_back({places[i].offset, graph.at(uint32_t(end - 1))});
  }
  return out;
}

Result<GraphFile> read_statements(Graph& graph, std::string_view text, std::string_view file, GraphReadReport& report,
                                  std::vector<NodePosition>& nodes) {
  return catch_failures([&] {
    auto header = read_header(text, file).value_or_throw();
    GraphFile out{.info = header.value_or(GraphInfo())};
    if (!header) {
      out.info.producer = report.producer;
      if (const Release release = release_in_text(text); report.producer.empty() && release != Release::v0_12)
        out.info.producer = producer_name(release);
    }
    graph.set_release(release_of(out.info.producer));
    auto reader = graph.is_foreign() ? open_pyrender_reader(graph, text, file, &report.places)
                                     : std::make_unique<PyrenderReader>(graph, text, file, &report.places);
    reader->note_nodes(&nodes);
    out.root = reader->read_graph();
    report.notes = reader->warnings();
    return out;
  });
}

}  // namespace

Result<GraphFile> read_graph_with_nodes(Graph& graph, InputKind kind, std::string_view text, std::string_view file,
                                        GraphReadReport& report, std::vector<NodePosition>& nodes) {
  report.accepts_malformed_graphs = true;
  if (kind == InputKind::Pyrender) return read_statements(graph, text, file, report, nodes);
  auto read = read_graph(graph, kind, text, file, &report);
  if (kind == InputKind::Uops && read && read->list.size() == report.places.size()) {
    std::ranges::sort(report.places, {}, &NodePlace::offset);  // a list of instructions may be read out of order
    for (size_t i = 0; i < read->list.size(); i++) nodes.push_back({report.places[i].offset, read->list[i]});
  } else {
    nodes = nodes_of_places(graph, report.places);
    std::ranges::sort(nodes, {}, &NodePosition::offset);  // nodes of a repr are read from the inside out
  }
  return read;
}

}  // namespace tgc
