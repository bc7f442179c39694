// Prints a trace as text: rewrites with the source line of the rule, removed nodes ("-") and added nodes ("+").
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "lib/trace/trace_file.h"

namespace tgc {

// Selects the rewrites to print. An empty text and empty `ops` do not restrict the selection.
struct TraceFilter {
  std::string rule_pattern;  // the name, in which `*` matches any text, or a part of "file:line"
  OpSet ops;            // of the rewritten node
  int64_t node_number = -1;  // number #N of a node that the rewrite replaces, results in, or creates; -1: any
  bool includes_nested = false;  // rewrites inside rules

  bool is_match(const TraceRule& rule, UOp before) const;
  bool is_rule_match(const TraceRule& rule) const;
};

// Returns an error, which suggests the nearest names, if no rule of the catalog matches `filter.rule_pattern`.
Status check_rule_name(const TraceFilter& filter);

class TracePrinter : public TraceConsumer {
 public:
  using Write = std::function<void(std::string_view)>;
  struct PrintStyle {
    bool uses_color = false;
    size_t max_lines = 12;  // of a rewrite, prints at most so many removed nodes and so many added nodes
    bool is_quiet = false;  // one line per rewrite, without nodes
  };

  TracePrinter(TraceFilter filter, PrintStyle style, Write write)
      : trace_filter_(std::move(filter)), print_style_(style), write_text_(std::move(write)) {}

  void begin_kernel(std::string_view id, std::string_view target, UOp ast) override;
  void user_operation(std::string_view what) override;
  void begin_stage(std::string_view name, UOp input) override;
  void end_stage(UOp result) override;
  void begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) override;
  void on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;

  // Returns an error if the number of the filter's node is larger than those of all nodes in the trace.
  Status outcome() const;

 private:
  void print_change(UOp before, UOp after, const std::string& indent);

  TraceFilter trace_filter_;
  PrintStyle print_style_;
  Write write_text_;
  std::string stage_name_;
  // rewrites of the current stage
  size_t num_shown_ = 0, num_in_result_ = 0, num_discarded_ = 0;
  size_t num_visited_ = 0;    // nodes and sources that print_change() visited
  int64_t max_node_number_ = -1;
};

// Returns a line such as "#12 = MUL dtypes.index (#10, 4)", where #10 and #12 are numbers of nodes in the trace. For
// short arithmetic, the expression in infix notation follows.
std::string trace_line_text(UOp u, const TraceConsumer& numbers);

}  // namespace tgc
