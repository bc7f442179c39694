#include "lib/inspect/structure.h"

#include <algorithm>

#include "lib/support/json_writer.h"
#include "lib/uop/wellformed.h"

namespace tgc {
namespace {

// Names that are kept because no release we know has them: in a dtype, and in an arg however deep.
void note_names(StructureReport& out, Arg a) {
  if (a.kind() == Arg::Kind::Raw) out.not_known[std::string(a.text())]++;
  if (a.kind() == Arg::Kind::Tuple || a.kind() == Arg::Kind::Record)
    for (Arg item : a.kind() == Arg::Kind::Record ? RecordView(a).values() : a.items()) note_names(out, item);
}

bool is_numeric(UOp u) { return u.in(ops::ALU) || u.in({Op::CDIV, Op::CMOD, Op::FLOORDIV, Op::FLOORMOD}); }

// How many operands an op of arithmetic takes; 0: any number.
size_t operands_of(UOp u) {
  if (u.in(ops::Unary)) return 1;
  if (u.in(ops::Binary) || u.in({Op::CDIV, Op::CMOD, Op::FLOORDIV, Op::FLOORMOD})) return 2;
  return u.in(ops::Ternary) ? 3 : 0;
}

}  // namespace

StructureReport check_structure(std::span<const UOp> nodes, bool is_list) {
  StructureReport out{.nodes = nodes.size(), .wrong = {}, .not_known = {}};
  if (nodes.empty()) return out;
  Graph& graph = nodes[0].graph();
  for (size_t i = 0; i < nodes.size(); i++) {
    UOp u = nodes[i];
    const std::string where = "node " + std::to_string(i) + ": Ops." + std::string(shown_op(u));
    if (u.is(Op::OTHER) || !has_op(graph.release(), u.op())) out.not_known["Ops." + std::string(shown_op(u))]++;
    if (u.dtype().scalar_kind() == Scalar::Other && graph.release() == Release::v0_12)
      out.not_known[std::string(u.dtype().repr())]++;
    note_names(out, shown_arg(u));
    if (is_numeric(u) && operands_of(u) && u.num_src() != operands_of(u))
      out.wrong.push_back(where + " with " + std::to_string(u.num_src()) + " sources, needs " +
                          std::to_string(operands_of(u)));
    if (u.is(Op::RANGE) && u.num_src() == 0) out.wrong.push_back(where + " without a size");
  }
  if (is_list)
    if (auto early = first_out_of_order(nodes)) {
      size_t i = size_t(std::find(nodes.begin(), nodes.end(), early->node) - nodes.begin());
      out.wrong.push_back("node " + std::to_string(i) + ": " + early->trouble);
    }
  return out;
}

std::string StructureReport::text(const std::string& name) const {
  std::string out = name + ": " + std::to_string(nodes) + " nodes, " +
                    (ok() ? "a graph" : std::to_string(wrong.size()) + " that cannot be") + "\n";
  for (const std::string& w : wrong) out += "  " + w + "\n";
  for (auto& [what, count] : not_known)
    out += "  not known in its release: " + what + " (" + std::to_string(count) + ")\n";
  return out;
}

std::string StructureReport::json(const std::string& name) const {
  std::string out;
  JsonWriter json(out);
  json.object([&] {
    json.member("name", name).member("nodes", nodes).member("ok", ok()).member("wrong", wrong);
    json.key("not_known").object([&] {
      for (auto& [what, count] : not_known) json.member(what, count);
    });
  });
  return out + "\n";
}

}  // namespace tgc
