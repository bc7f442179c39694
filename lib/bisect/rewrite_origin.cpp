#include "lib/bisect/rewrite_origin.h"

#include <set>

#include "lib/compilation/node_methods.h"
#include "lib/compilation/recorded_rewrites.h"

namespace tgc {
namespace {

// Follows the nodes of a graph through the rewrites of its stages. A node that a rule makes has the same Tensor methods
// (lib/compilation/node_methods.h) as the node that the rule replaces.
class OriginTracer : public TraceConsumer {
 public:
  using Methods = std::set<size_t>;

  explicit OriginTracer(Graph& graph) : methods_(graph) {}

  void set_methods(UOp u, Methods methods) { methods_[u] = std::move(methods); }
  const Methods* methods_of(UOp u) const { return methods_.find(u); }

  void begin_stage(std::string_view, UOp input) override {
    for (UOp u : toposort(input, [&](UOp s) { return !methods_.contains(s); }))
      if (!methods_.contains(u)) methods_[u] = {};
  }
  void on_rule_applied(int, const TraceRule& rule, UOp before, UOp after, TraceCost) override {
    if (!is_discarded(rule)) inherit_methods(before, after);
  }
  void on_node_rebuilt(int, UOp before, UOp after) override { inherit_methods(before, after); }

 private:
  void inherit_methods(UOp before, UOp after) {
    const Methods* known = methods_.find(before);
    if (!known || !after) return;
    const Methods methods = *known;
    for (UOp u : toposort(after, [&](UOp s) { return !methods_.contains(s); }))
      if (!methods_.contains(u)) methods_[u] = methods;
  }

  UOpMap<Methods> methods_;
};

}  // namespace

std::string methods_of_rewrite(Pipeline& pipeline, const InputGraph& in, const Rewrite& m) {
  if (!in.record || in.record->methods_json.empty() || in.record->ast_full) return "";
  auto found = catch_failures([&]() -> std::string {
    const NodeMethods methods(in, read_methods(in.record->methods_json));
    const auto rows = pipeline.rows().value_or_throw();
    Graph& graph = m.before.graph();
    OriginTracer tracer(graph);
    // both lists have the same nodes in the same order
    const std::vector<UOp> nodes = toposort(in.root), copies = toposort(copy_into(graph, in.root));
    for (size_t i = 0; i < nodes.size(); i++) {
      const auto made_by = methods.method_indices(nodes[i]);
      tracer.set_methods(copies[i], {made_by.begin(), made_by.end()});
    }
    RecordedTraceSender trace(graph, tracer);
    for (const Pipeline::StageData& row : rows) {
      if (row.list.empty() && row.result) trace.send_stage(row.stage->name, row.input, row.result, row.rewrites);
      if (row.stage == m.stage) break;
    }
    std::vector<GoldenMetadata> out;
    if (const auto* made_by = tracer.methods_of(m.before))
      for (size_t k : *made_by) out.push_back(methods[k]);
    return methods_text(out);
  });
  return found ? *found : "";
}

}  // namespace tgc
