// Prints a trace as text: for each rewrite, its rule with the rule's source line, and the nodes that it removed ("-")
// and added ("+").
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "lib/trace/trace_file.h"

namespace tgc {

// Selects the rewrites to print. An empty field does not restrict the selection.
struct TraceFilter {
  std::string rule;     // name of the rule, or part of its "file:line"; `*` matches any text
  OpSet ops;            // ops of the rewritten node
  int64_t node = -1;    // #N: the rewrite replaced this node, resulted in it, or created it; -1: any node
  bool nested = false;  // include rewrites inside rules
  std::string stage;    // name of the stage, which the caller applies

  bool wants(const TraceRule& rule, UOp before) const;
  bool names(const TraceRule& rule) const;  // returns whether `rule` matches the argument
};

// Fails if no rule of the catalog matches `filter.rule`. The error suggests the nearest names.
Status check_names_a_rule(const TraceFilter& filter);

class TracePrinter : public TraceConsumer {
 public:
  using Write = std::function<void(std::string_view)>;
  struct Style {
    bool color = false;
    size_t max_lines = 12;  // largest number of removed nodes, and of added nodes, to print for one rewrite
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

  // Fails if no traced kernel and stage has a node with the number of the filter.
  Status outcome() const;

 private:
  void change(UOp before, UOp after, const std::string& indent);

  TraceFilter filter_;
  Style style_;
  Write write_;
  std::string stage_;
  // number of printed rewrites, and of all rewrites, in the current stage: those that count, and discarded ones
  size_t shown_ = 0, all_ = 0, discarded_ = 0;
  size_t looked_at_ = 0;        // number of nodes and sources visited to find changed nodes
  int64_t last_node_ = -1;      // largest node number
};

// Returns "#12 = MUL dtypes.index (#10, 4)"; for index arithmetic, followed by the value in infix notation.
std::string trace_line(UOp u, const TraceConsumer& numbers);

}  // namespace tgc
