// Prints a trace as text: each rewrite with its rule, the rule's source line, and the nodes that the rewrite removed
// ("-") and added ("+").
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "lib/trace/trace.h"

namespace tgc {

// Selects the rewrites to print. An empty field selects all rewrites.
struct TraceFilter {
  std::string rule;     // the rule's name, or a part of its "file:line"; `*` matches any text
  OpSet ops;            // the ops of the rewritten node
  int64_t node = -1;    // #N: selects rewrites that replaced this node, resulted in it, or created it
  bool nested = false;  // include rewrites inside rules
  std::string stage;    // the stage to select, set by the caller

  bool wants(const TraceRule& rule, UOp before) const;
  bool names(const TraceRule& rule) const;  // returns whether the filter's `rule` matches the argument
};

// Checks that `filter.rule` matches a rule of the catalog. The error suggests the nearest names.
Status check_names_a_rule(const TraceFilter& filter);

class TracePrinter : public TraceConsumer {
 public:
  using Write = std::function<void(std::string_view)>;
  struct Style {
    bool color = false;
    size_t max_lines = 12;  // maximum number of removed nodes, and of added nodes, to print per rewrite
    bool quiet = false;     // print one line per rewrite, without nodes
  };

  TracePrinter(TraceFilter filter, Style style, Write write)
      : filter_(std::move(filter)), style_(style), write_(std::move(write)) {}

  void kernel(std::string_view id, std::string_view target, UOp ast) override;
  void made_for(std::string_view what) override;
  void stage(std::string_view name, UOp input) override;
  void stage_end(UOp result) override;
  void begin(const TraceRewrite& rewrite, int depth, UOp input) override;
  void rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;

  // Returns an error if none of the traced kernels and stages has a node with the number of the filter.
  Status outcome() const;

 private:
  void change(UOp before, UOp after, const std::string& indent);

  TraceFilter filter_;
  Style style_;
  Write write_;
  std::string stage_;
  size_t shown_ = 0, all_ = 0;  // numbers of printed rewrites and of all rewrites in the current stage
  size_t looked_at_ = 0;        // nodes and sources visited to find the removed and added nodes
  int64_t last_node_ = -1;      // the highest node number
};

// Returns "#12 = MUL dtypes.index (#10, 4)", followed by index arithmetic in infix notation.
std::string trace_line(UOp u, const TraceConsumer& numbers);

}  // namespace tgc
