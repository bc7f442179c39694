// The stages and rewrites of one compilation, as the prover reads them: those of tgc's own pipeline, or those that
// another tinygrad release made and tinygrad_export.py --rewrites recorded.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/prove/prove_sides.h"
#include "lib/uop/uop.h"

namespace tgc {

// A stage of a compilation. Its nodes are those of the release that compiled.
struct HistoryStage {
  std::string_view name;
  UOp input, result;  // `result` is empty if the recording lacks the graph
  std::vector<size_t> tops = {};  // the stage's graph rewrites, in order: indices into RewriteHistory::tops()

  bool changes_graph() const { return !(result == input); }
};

class RewriteHistory {
 public:
  virtual ~RewriteHistory() = default;

  std::span<const Application> list() const { return list_; }  // all rewrites, in order; nested ones come first
  std::span<const TopRewrite> tops() const { return tops_; }
  std::span<const HistoryStage> stages() const { return stages_; }
  size_t stage_of(size_t rewrite) const { return stage_of_[rewrite]; }  // SIZE_MAX: before the stages
  const RewritePlace& place(size_t rewrite) const { return places_[rewrite]; }
  // Returns whether the rewrite `part` was made while the rule of the rewrite `whole` ran, or may have been.
  bool is_part_of(size_t part, size_t whole) const;

  // Returns whether the rewrite changes the graph of its stage. A function may rewrite a graph of its own, too.
  virtual bool is_used(size_t) { return true; }
  // The kernel's AST in tgc's IR; empty if it cannot be imported.
  virtual UOp ast() = 0;
  // Returns a graph in tgc's IR; empty if it cannot be imported.
  virtual UOp imported(UOp graph) = 0;
  // Returns the pairs of nodes of tgc's IR that must be equal if the sides are.
  virtual Result<SidePairs> import(const Sides& sides) = 0;
  // The graph of the nodes that import() returns.
  virtual Graph& graph() = 0;
  // Returns the two sides of each rewrite. Adds to `wrong` the rewrites whose sides differ for certain.
  virtual std::vector<Sides> sides(std::vector<size_t>& wrong) = 0;
  // Returns the graph after the first `count` rewrites of depth 0 of a stage; empty if they do not give a graph.
  virtual UOp replay(const HistoryStage& stage, size_t count) = 0;
  // Returns pairs of graphs: one that the rewrites of a stage make of its input, and the one that the compilation had
  // there. If the two are the same, the rewrites lead from the input of the stage to its result.
  virtual std::vector<std::pair<UOp, UOp>> links(const HistoryStage& stage) = 0;
  // Returns the linear list in tgc's IR; empty if there is none, or if it cannot be imported.
  virtual std::span<const UOp> linear() { return {}; }

 protected:
  std::vector<Application> list_;
  std::vector<TopRewrite> tops_;
  std::vector<HistoryStage> stages_;
  std::vector<size_t> stage_of_;
  std::vector<RewritePlace> places_;
};

// The history of a compilation of tgc. Compiles the kernel; throws Failure if a stage fails.
std::unique_ptr<RewriteHistory> native_history(Compilation compilation);
// The history of a kernel record of another release. Throws Failure if the record has no rewrites.
std::unique_ptr<RewriteHistory> recorded_history(const InputGraph& in);

// Repeats recorded rewrites on a graph, in one of the orders in which tinygrad visits nodes.
enum class RewriteOrder : uint8_t {
  SourcesFirst,  // graph_rewrite
  NodeFirst,     // graph_rewrite with bottom_up: a node before its sources
  NodeOnce,      // a substitution: the same, but what replaces a node is not visited
  Once,          // a walk: sources first, and what replaces a node is not visited
  Groups,        // several substitutions and graph_rewrites, one after the other
  GroupsOnce,    // the same, but what a substitution puts in place of a node is not visited
};
inline constexpr RewriteOrder kRewriteOrders[] = {RewriteOrder::SourcesFirst, RewriteOrder::NodeFirst,
                                                  RewriteOrder::Once,         RewriteOrder::NodeOnce,
                                                  RewriteOrder::Groups,       RewriteOrder::GroupsOnce};

struct ReplayedRewrite {
  UOp before, after;
  // for a substitution, the place of its call; adjacent rewrites of one group are applied together
  std::string_view group = {};
};

// Replaces `before` by `after` for each of the rewrites, in the graph under `root`. Returns an empty UOp if the
// rewrites form a cycle.
UOp replay_rewrites(UOp root, std::span<const ReplayedRewrite> rewrites, RewriteOrder order);

}  // namespace tgc
