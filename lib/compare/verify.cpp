#include "lib/compare/verify.h"

#include <algorithm>

#include "lib/spec/loops.h"
#include "lib/support/json_writer.h"
#include "lib/text/repr.h"
#include "lib/uop/release.h"
#include "lib/uop/wellformed.h"

namespace tgc {

Spec find_fitting_spec(bool is_list, bool is_tensor_graph, std::string_view stage) {
  if (is_list) return Spec::Program;
  return is_tensor_graph ? Spec::Tensor : spec_after_stage(stage);
}

std::optional<InvalidNode> first_invalid_node(std::span<const UOp> nodes, Spec spec, bool is_list) {
  auto violation = verify(nodes, spec);
  auto malformed = violation ? std::nullopt : first_malformed_node(nodes);
  if (!violation && !malformed && is_list) malformed = first_unordered_node(nodes);
  if (!violation && !malformed) violation = verify_loops(nodes);
  if (violation) return InvalidNode{violation->node, violation->node_position, violation->rule, violation->text()};
  if (!malformed) return std::nullopt;
  size_t node_position = size_t(std::find(nodes.begin(), nodes.end(), malformed->node) - nodes.begin());
  const std::string where = "node " + std::to_string(node_position) + ": ";
  return InvalidNode{malformed->node, node_position, nullptr, where + malformed->message};
}

namespace {

// Count the names in an arg or a dtype that the release does not have. Such names are no errors, because readers accept
// any name.
void count_unknown_names(StructureReport& out, Release release, Arg a) {
  if (a.kind() == Arg::Kind::Raw && a.text() != kNegativeZero && !has_name(release, a.text()))
    out.unknown_names[std::string(a.text())]++;
  if (a.is(RecordClass::Open) && release != Release::Other) {
    const RecordView record(a);
    if (!has_field(release, record.name(), "")) out.unknown_names[std::string(record.name())]++;
    else
      for (size_t i = 0; i < record.size(); i++)
        if (!has_field(release, record.name(), record.field(i)))
          out.unknown_names[std::string(record.name()) + "." + std::string(record.field(i))]++;
  }
  if (a.kind() == Arg::Kind::Tuple || a.kind() == Arg::Kind::Record)
    for (Arg item : a.kind() == Arg::Kind::Record ? RecordView(a).values() : a.items())
      count_unknown_names(out, release, item);
}
void count_unknown_names(StructureReport& out, Release release, DType d) {
  if (d.scalar_kind() == Scalar::Other && !has_name(release, d.scalar().repr()))
    out.unknown_names[std::string(d.scalar().repr())]++;
}

// Returns the number of sources of an arithmetic op; 0 for other ops, which may have any number.
size_t expected_num_sources(UOp u) {
  if (u.in(ops::Unary)) return 1;
  if (u.in(ops::Binary) || u.in({Op::CDIV, Op::CMOD, Op::FLOORDIV, Op::FLOORMOD})) return 2;
  return u.in(ops::Ternary) ? 3 : 0;
}

}  // namespace

StructureReport check_structure(std::span<const UOp> nodes, bool is_list) {
  StructureReport out{.num_nodes = nodes.size(), .node_errors = {}, .error_positions = {}, .unknown_names = {}};
  auto add = [&](size_t i, std::string text) {
    out.node_errors.push_back(std::move(text)), out.error_positions.push_back(i);
  };
  if (nodes.empty()) return out;
  Graph& graph = nodes[0].graph();
  for (size_t i = 0; i < nodes.size(); i++) {
    UOp u = nodes[i];
    const std::string where = "node " + std::to_string(i) + ": Ops." + std::string(printed_op_name(u));
    const bool is_unknown =
        graph.release() != Release::Other ? !has_op(graph.release(), printed_op_name(u)) : u.is(Op::OTHER);
    if (is_unknown) out.unknown_names["Ops." + std::string(printed_op_name(u))]++;
    count_unknown_names(out, graph.release(), u.dtype());
    count_unknown_names(out, graph.release(), printed_arg(u));
    if (expected_num_sources(u) && u.num_src() != expected_num_sources(u))
      add(i, where + " with " + std::to_string(u.num_src()) + " sources, needs " +
                 std::to_string(expected_num_sources(u)));
    if (u.is(Op::RANGE) && u.num_src() == 0) add(i, where + " without a size");
  }
  if (is_list)
    if (auto early = first_unordered_node(nodes)) {
      size_t i = size_t(std::find(nodes.begin(), nodes.end(), early->node) - nodes.begin());
      add(i, "node " + std::to_string(i) + ": " + early->message);
    }
  return out;
}

std::string StructureReport::text(const std::string& name) const {
  std::string out = name + ": " + std::to_string(num_nodes) + " nodes, " +
                    (ok() ? "a graph" : std::to_string(node_errors.size()) + " that cannot be") + "\n";
  for (const std::string& w : node_errors) out += "  " + w + "\n";
  for (auto& [what, count] : unknown_names)
    out += "  not known in its release: " + what + " (" + std::to_string(count) + ")\n";
  return out;
}

std::string StructureReport::json(const std::string& name) const {
  return json_object([&](JsonWriter& json) {
    json.member("name", name).member("nodes", num_nodes).member("ok", ok()).member("wrong", node_errors);
    json.member("not_known", unknown_names);
  }) + "\n";
}

}  // namespace tgc
