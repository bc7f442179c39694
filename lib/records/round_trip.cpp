#include "lib/records/round_trip.h"

#include <algorithm>

#include "lib/records/read_graph.h"
#include "lib/uop/release.h"

namespace tgc {
namespace {

class GraphComparer {
 public:
  GraphComparer(UOp a, UOp b)
      : nodes_a_(toposort(a)), nodes_b_(toposort(b)), number_a_(a.graph()), number_b_(b.graph()) {
    for (size_t i = 0; i < nodes_a_.size(); i++) number_a_[nodes_a_[i]] = i;
    for (size_t i = 0; i < nodes_b_.size(); i++) number_b_[nodes_b_[i]] = i;
  }

  std::optional<GraphDifference> run() {
    for (size_t i = 0; i < std::min(nodes_a_.size(), nodes_b_.size()); i++) {
      UOp u = nodes_a_[i];
      if (std::string difference = node_difference(u, nodes_b_[i]); !difference.empty())
        return GraphDifference{
            u, "node " + std::to_string(i) + " (" + std::string(printed_op_name(u)) + "): " + difference};
    }
    if (nodes_a_.size() == nodes_b_.size()) return std::nullopt;
    return GraphDifference{{}, std::to_string(nodes_a_.size()) + " nodes and " + std::to_string(nodes_b_.size())};
  }

 private:
  std::string node_difference(UOp u, UOp v) {
    auto unlike = [](std::string_view what, std::string_view x, std::string_view y) {
      return std::string(what) + " " + std::string(x) + " and " + std::string(y);
    };
    if (u.op() != v.op()) return unlike("op", name_of(u.op()), name_of(v.op()));
    if (u.dtype() != v.dtype()) return unlike("dtype", u.dtype().repr(), v.dtype().repr());
    if (!is_same_arg(u.arg(), v.arg())) return unlike("arg", u.arg().repr(), v.arg().repr());
    if (!is_same_arg(u.tag(), v.tag())) return unlike("tag", u.tag().repr(), v.tag().repr());
    if (u.num_src() != v.num_src())
      return unlike("number of sources", std::to_string(u.num_src()), std::to_string(v.num_src()));
    for (size_t k = 0; k < u.num_src(); k++)
      if (size_t x = *number_a_.find(u.src(k)), y = *number_b_.find(v.src(k)); x != y)
        return unlike("source " + std::to_string(k), "%" + std::to_string(x), "%" + std::to_string(y));
    return {};
  }

  bool is_same_arg(Arg x, Arg y) {
    if (x.kind() != y.kind()) return false;
    switch (x.kind()) {
      case Arg::Kind::Str:
      case Arg::Kind::Bytes:
      case Arg::Kind::Raw: return x.text() == y.text();
      case Arg::Kind::BigInt: return x.as_int() == y.as_int();
      case Arg::Kind::UOp: return graph_difference(x.uop(), y.uop()).empty();
      case Arg::Kind::Record:
        if (x.record_class() != y.record_class()) return false;
        [[fallthrough]];
      case Arg::Kind::Tuple:
        return std::ranges::equal(x.items(), y.items(), [&](Arg s, Arg t) { return is_same_arg(s, t); });
      default: return Arg::is_identical(x, y);
    }
  }

  std::vector<UOp> nodes_a_, nodes_b_;
  UOpMap<size_t> number_a_, number_b_;
};

InputKind kind_of(GraphFormat format) {
  return format == GraphFormat::Json   ? InputKind::Json
         : format == GraphFormat::Repr ? InputKind::Repr
                                       : InputKind::Pyrender;
}

}  // namespace

std::optional<GraphDifference> first_difference(UOp a, UOp b) { return GraphComparer(a, b).run(); }

std::string graph_difference(UOp a, UOp b) {
  auto difference = first_difference(a, b);
  return difference ? std::move(difference->text) : std::string();
}

Result<UOp> round_trip_graph(GraphFormat format, UOp root, const GraphInfo& info, Graph& into) {
  auto text = write_graph(format, root, info);
  if (!text) return text.diag();
  std::string file = info.name + " (" + info.stage + ", as " + std::string(name_of(format)) + ")";
  InputKind kind = kind_of(format);
  if (detect_input_kind(*text) != kind)
    return Diag{.message = "detected as " + std::string(name_of(detect_input_kind(*text))),
                .file = file,
                .expected = std::string(name_of(kind))};
  GraphReadReport report{.accepts_malformed_graphs = true};
  auto read = read_graph(into, kind, *text, file, &report);
  if (!read) return read.diag();
  if (std::string difference = graph_difference(root, read->root); !difference.empty())
    return Diag{.message = "read back as another graph: " + difference, .file = file};
  if (read->info != info && read->info != GraphInfo())
    return Diag{.message = "read back with another header", .file = file};
  return read->root;
}

}  // namespace tgc
