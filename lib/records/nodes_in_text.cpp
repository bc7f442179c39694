#include "lib/records/nodes_in_text.h"

#include <algorithm>

#include "lib/text/pyrender_open_reader.h"
#include "lib/uop/release.h"

namespace tgc {
namespace {

// Returns the node that was made at each place: the last node with an id of the place. A place without new nodes states
// a node that existed before, which is unknown.
std::vector<NodeAt> nodes_of_places(const Graph& graph, const Places& places) {
  std::vector<NodeAt> out;
  for (size_t i = 0; i < places.size(); i++) {
    const size_t end = i + 1 < places.size() ? places[i + 1].first_id : graph.size();
    if (places[i].first_id < end && end <= graph.size()) out.push_back({places[i].at, graph.at(uint32_t(end - 1))});
  }
  return out;
}

Result<GraphFile> read_statements(Graph& graph, std::string_view text, std::string_view file, ReadReport& report,
                                  std::vector<NodeAt>& nodes) {
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
    out.root = reader->read();
    report.notes = reader->warnings();
    return out;
  });
}

}  // namespace

Result<GraphFile> read_graph_with_nodes(Graph& graph, InputKind kind, std::string_view text, std::string_view file,
                                        ReadReport& report, std::vector<NodeAt>& nodes) {
  report.take_malformed = true;
  if (kind == InputKind::Pyrender) return read_statements(graph, text, file, report, nodes);
  auto read = read_graph(graph, kind, text, file, &report);
  if (kind == InputKind::Uops && read && read->list.size() == report.places.size()) {
    std::ranges::sort(report.places, {}, &Place::at);  // a list of instructions may be read out of order
    for (size_t i = 0; i < read->list.size(); i++) nodes.push_back({report.places[i].at, read->list[i]});
  } else {
    nodes = nodes_of_places(graph, report.places);
    std::ranges::sort(nodes, {}, &NodeAt::at);  // a repr is read from the inside out
  }
  return read;
}

}  // namespace tgc
