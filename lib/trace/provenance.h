// Finds the history of a node in the graph after a stage: the rewrites from the kernel's AST to the node, and from the
// node to the last graph. Stores the trace events of one kernel.
#pragma once
#include <string>
#include <vector>

#include "lib/trace/trace_file.h"

namespace tgc {

// A step in the history of a node: how `before` became `after`.
struct TraceStep {
  enum class Kind : uint8_t {
    Rewrite,  // a rule replaced `before` by `after`
    Part,     // a rule replaced a graph that has `before` by a graph that has `after`
    Rebuilt,  // `after` is `before` with new sources
    // code of the stage outside its rules made `after`; `rewrite`, if set, is the first rewrite whose input has `after`
    Stage,
    Gone,     // the node is no longer used; `rule`, if set, is the last rule that removed it from a graph
    Unknown,  // the events do not show how the stage made its result, or what the node became
  };
  Kind kind;
  std::string_view stage;
  TraceRule rule;
  UOp before, after;
  TraceRewrite rewrite = {};
};

class NodeProvenance : public TraceConsumer {
 public:
  void begin_kernel(std::string_view id, std::string_view target, UOp ast) override;
  void begin_stage(std::string_view name, UOp input) override;
  void end_stage(UOp result) override;
  void begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) override;
  void on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;
  void on_node_rebuilt(int depth, UOp before, UOp after) override;

  const std::string& kernel_target() const { return kernel_target_; }
  // Returns the result of a stage; the AST if `stage` is empty; the empty UOp if the stage was not traced or failed.
  UOp stage_result_of(std::string_view stage) const;
  std::vector<std::string_view> stage_names() const;

  // Returns the steps from the AST to `node`, which is in the result of `stage`; sets `is_from_ast` to
  // whether they begin at a node of the AST.
  std::vector<TraceStep> steps_from_ast(UOp node, std::string_view stage, bool& is_from_ast) const;
  // Returns the steps from `node`, which is in the result of `stage`, to the last graph. Sets `last` to what `node`
  // became there, or to the empty UOp; the last step then has the kind Gone or Unknown.
  std::vector<TraceStep> steps_to_end(UOp node, std::string_view stage, UOp& last) const;

  // Returns the origins and successors of all nodes as one line of JSON. `origins` of a stage: pairs of a node that the
  // stage made, and the node of the stage's input from which it comes. `became`: pairs of a node of the input that is
  // replaced or removed, and what it became. -1 stands for no node.
  std::string to_json() const;

 private:
  static constexpr size_t kNoEventIndex = SIZE_MAX;
  // How a node was made from `before`: by the event `event` or, if `kind` is Stage, by the stage's code outside its
  // rules.
  struct NodeMaker {
    TraceStep::Kind kind;
    size_t event = kNoEventIndex;
    UOp before = {};
  };
  class NodeHistory;
  struct TraceEvent {
    UOp before, after;
    TraceRule rule;         // its name is empty if the node was only rebuilt
    uint32_t first_new_id;  // the rule created the nodes first_new_id to end_of_new_ids - 1
    uint32_t end_of_new_ids;
    uint32_t stage;
    int depth;
  };
  struct RewriteInput {
    TraceRewrite rewrite;
    UOp input;
  };
  struct StageEvents {
    std::string_view name;
    UOp input, result;
    size_t first_event, end_event = 0;  // trace_events_[first_event] to trace_events_[end_event - 1]
    std::vector<RewriteInput> rewrite_inputs = {};
  };

  const StageEvents* find_stage(std::string_view stage) const;
  static bool is_below(UOp root, UOp node);
  bool follow_dtype_change(const StageEvents& stage, const NodeHistory& history, UOp& node,
                           std::vector<TraceStep>& steps) const;
  TraceStep make_step(const NodeMaker& maker, const StageEvents& stage, UOp after) const;
  static TraceStep make_step(const TraceEvent& event, const StageEvents& stage);
  TraceRewrite first_rewrite_of(const StageEvents& stage, UOp node) const;

  std::string kernel_id_, kernel_target_;
  UOp ast_;
  std::vector<TraceEvent> trace_events_;
  std::vector<StageEvents> stage_events_;
  std::vector<std::unique_ptr<std::string>> stage_names_;
};

// Returns the history of `node`, which is in the result of `stage`, as text.
std::string provenance_text(const NodeProvenance& provenance, UOp node, std::string_view stage, bool color);

}  // namespace tgc
