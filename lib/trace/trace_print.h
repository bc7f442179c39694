// A trace for people: each rewrite with its rule, where the rule is written, and the nodes that went and came, "-" and
// "+".
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "lib/trace/trace.h"

namespace tgc {

// Which rewrites are wanted; what is empty wants all.
struct TraceFilter {
  std::string rule;        // its name, or a part of its "file:line"; `*` stands for anything
  OpSet ops;               // of the node before
  int64_t node = -1;       // the number (#N) of the node before, after, or made on the way
  bool nested = false;     // rewrites inside rules too
  std::string stage;       // set by the caller that selects stages

  bool wants(const TraceRule& rule, UOp before) const;
  bool names(const TraceRule& rule) const;  // whether `rule` means that one
};

// Fails if `filter.rule` matches no rule of the catalog; the error suggests the nearest names.
Status check_names_a_rule(const TraceFilter& filter);

class TracePrinter : public TraceConsumer {
 public:
  using Write = std::function<void(std::string_view)>;
  struct Style {
    bool color = false;
    size_t max_lines = 12;  // of nodes that went, and of those that came
    bool quiet = false;     // a line per rewrite, no nodes
  };

  TracePrinter(TraceFilter filter, Style style, Write write)
      : filter_(std::move(filter)), style_(style), write_(std::move(write)) {}

  void kernel(std::string_view id, std::string_view target, UOp ast) override;
  void made_for(std::string_view what) override;
  void stage(std::string_view name, UOp input) override;
  void stage_end(UOp result) override;
  void begin(const TraceRewrite& rewrite, int depth, UOp input) override;
  void rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;

  // An error where the filter's node is in no kernel that was traced, in the stages that were.
  Status outcome() const;

 private:
  void change(UOp before, UOp after, const std::string& indent);

  TraceFilter filter_;
  Style style_;
  Write write_;
  std::string stage_;
  size_t shown_ = 0, all_ = 0;  // of this stage
  size_t looked_at_ = 0;        // nodes and sources, to find what came and went
  int64_t last_node_ = -1;      // the highest number
};

// "#12 = MUL dtypes.index (#10, 4)", and index arithmetic as infix text behind it.
std::string trace_line(UOp u, const TraceConsumer& numbers);

}  // namespace tgc
