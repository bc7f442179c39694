// Finds the history of a node in the graph after a stage: the rewrites that lead from the kernel's AST to the node, and
// from the node to the last graph. Provenance consumes trace events and keeps the events of one kernel.
#pragma once
#include <string>
#include <vector>

#include "lib/trace/trace.h"

namespace tgc {

// One step in the history of a node: how `before` became `after`.
struct Step {
  enum class Kind : uint8_t {
    Rewrite,  // a rule replaced `before` by `after`
    Part,     // a rule replaced `before` by a graph that contains `after` below its root
    Rebuilt,  // `after` is `before` with rewritten sources
    Stage,    // code of the stage outside its rules created `after`; `rewrite`: the first rewrite whose input has it
    Gone,     // the node is no longer used; `rule`, if set, is the last rule that replaced a user of the node
  };
  Kind kind;
  std::string_view stage;
  TraceRule rule;
  UOp before, after;
  TraceRewrite rewrite = {};
};

class Provenance : public TraceConsumer {
 public:
  void kernel(std::string_view id, std::string_view target, UOp ast) override;
  void stage(std::string_view name, UOp input) override;
  void stage_end(UOp result) override;
  void begin(const TraceRewrite& rewrite, int depth, UOp input) override;
  void rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;
  void rebuilt(int depth, UOp before, UOp after) override;

  // Returns the result of a traced stage, or the AST for ""; the empty UOp if the stage was not traced.
  UOp result_of(std::string_view stage) const;
  // Returns the names of the traced stages, in order.
  std::vector<std::string_view> stages() const;

  // Returns the steps from the AST to `node`, a node of `stage`'s result, in order. Sets `from_ast` to whether the
  // steps begin with a node of the AST.
  std::vector<Step> back(UOp node, std::string_view stage, bool& from_ast) const;
  // Returns the steps from `node`, a node of `stage`'s result, to the last graph. Sets `last` to the node of the last
  // graph that replaced it, or to the empty UOp if the node was removed; the last step is then the removal.
  std::vector<Step> forward(UOp node, std::string_view stage, UOp& last) const;

 private:
  struct Event {
    UOp before, after;
    TraceRule rule;       // its name is empty if the node was rebuilt with new sources
    uint32_t made_from;   // the rule created the nodes [made_from, made_to)
    uint32_t made_to;
    uint32_t stage;
    int depth;
  };
  struct Begun {
    TraceRewrite rewrite;
    UOp input;
  };
  struct StageEvents {
    std::string_view name;
    UOp input, result;
    size_t first, last = 0;  // the stage's events are events_[first..last)
    std::vector<Begun> begun = {};
  };

  const StageEvents* find(std::string_view stage) const;
  bool is_in(UOp root, UOp node) const;
  TraceRewrite first_rewrite_of(const StageEvents& stage, UOp node) const;

  UOp ast_;
  std::vector<Event> events_;
  std::vector<StageEvents> stages_;
  std::vector<std::unique_ptr<std::string>> names_;
};

// Formats the history of a node as text: the AST node that it comes from, each rule with the node before and after the
// rule, and the node of the last graph.
std::string to_text(const Provenance& provenance, UOp node, std::string_view stage, bool color);

}  // namespace tgc
