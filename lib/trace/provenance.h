// Where a node of a stage comes from, and what becomes of it: the rewrites that lead from the kernel's AST to it, and
// from it to the last graph. A consumer of trace events that keeps one kernel's.
#pragma once
#include <string>
#include <vector>

#include "lib/trace/trace.h"

namespace tgc {

// One step on the way of a node.
struct Step {
  enum class Kind : uint8_t {
    Rewrite,  // a rule made `after` of `before`
    Part,     // a rule that rewrote `before` made `after` on the way: it is a part of what came
    Rebuilt,  // `after` is `before` with the sources that its sources became
    Stage,    // code of the stage, no rule, made it; `rewrite` is the rewrite inside that was given it, if any
    Gone,     // nothing uses it any more; the rule, if any, is the last one that made something else of what did
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

  // The result of a stage that was traced; "" is the AST. The empty UOp when it was not.
  UOp result_of(std::string_view stage) const;
  // The names of the stages traced, in order.
  std::vector<std::string_view> stages() const;

  // The steps from the AST to `node` of `stage`'s result, the AST's end first. The first step's `before` is the AST's
  // node when the trace reaches it; `from_ast` says so.
  std::vector<Step> back(UOp node, std::string_view stage, bool& from_ast) const;
  // The steps from `node` of that result onward. `last` is what it is in the last graph, the empty UOp when it is gone;
  // then the last step is the rewrite that took it away.
  std::vector<Step> forward(UOp node, std::string_view stage, UOp& last) const;

 private:
  struct Event {
    UOp before, after;
    TraceRule rule;       // without a name: the sources changed
    uint32_t made_from;   // nodes made by the rule have numbers in [made_from, made_to)
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
    size_t first, last = 0;  // into events_
    std::vector<Begun> begun = {};
  };

  const StageEvents* find(std::string_view stage) const;
  bool is_in(UOp root, UOp node) const;
  TraceRewrite first_given(const StageEvents& stage, UOp node) const;

  UOp ast_;
  std::vector<Event> events_;
  std::vector<StageEvents> stages_;
  std::vector<std::unique_ptr<std::string>> names_;
};

// The story as text: the AST's nodes, each rule with the node before and after, then what becomes of it.
std::string to_text(const Provenance& provenance, UOp node, std::string_view stage, bool color);

}  // namespace tgc
