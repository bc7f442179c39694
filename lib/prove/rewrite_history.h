// RewriteHistory: the stages and rewrites of one compilation, which tgc made or a record of tinygrad has.
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

// A stage of a compilation. Its nodes are not imported: they have the ops of the release that compiled.
struct HistoryStage {
  std::string_view name;
  UOp input, result;                        // `result` is empty if the recording does not have the graph
  std::vector<size_t> graph_rewrites = {};  // indices into RewriteHistory::graph_rewrites(), in order

  bool is_graph_changed() const { return !(result == input); }
};

class RewriteHistory {
 public:
  virtual ~RewriteHistory() = default;

  // all rewrites, in order; a nested one precedes the one that contains it
  std::span<const Rewrite> applications() const { return rule_applications_; }
  std::span<const TopLevelRewrite> graph_rewrites() const { return graph_rewrites_; }
  std::span<const HistoryStage> stages() const { return history_stages_; }
  size_t stage_index_of(size_t rewrite) const { return stage_indices_[rewrite]; }  // SIZE_MAX if before the first stage
  const RewritePlace& place(size_t rewrite) const { return rewrite_places_[rewrite]; }
  // Returns true if the rewrite `part` may be nested in the rewrite `whole`.
  bool is_part_of(size_t part, size_t whole) const;

  // Returns false if the rewrite is known to change another graph than that of its stage.
  virtual bool is_rewrite_used(size_t) { return true; }
  // Returns the kernel's AST in tgc's IR; the empty UOp if it cannot be imported.
  virtual UOp ast() = 0;
  // Returns a graph in tgc's IR; the empty UOp if it cannot be imported.
  virtual UOp imported_graph(UOp graph) = 0;
  // Returns pairs of nodes of tgc's IR. The sides are equal if the nodes of each pair are.
  virtual Result<SidePairs> import_sides(const RewriteSides& sides) = 0;
  virtual Graph& graph() = 0;
  // Returns the two sides of each rewrite. May add to `wrong` indices of rewrites whose sides differ for certain.
  virtual std::vector<RewriteSides> all_rewrite_sides(std::vector<size_t>& wrong) = 0;
  // Repeats the first `count` rewrites of depth 0 of a stage, and returns the graph; the empty UOp if this is not
  // possible.
  virtual UOp replay_stage(const HistoryStage& stage, size_t count) = 0;
  // Repeats the rewrites of a stage. Returns pairs of a node that they give (empty if they cannot be repeated), and the
  // node that the compilation had in its place. If the nodes of each pair are equal, the rewrites lead from the stage's
  // input to its result.
  virtual std::vector<std::pair<UOp, UOp>> find_corresponding_nodes(const HistoryStage& stage) = 0;
  // Returns the recorded linear list in tgc's IR; an empty list if none is recorded, or if it cannot be imported.
  virtual std::span<const UOp> linear_list() { return {}; }

 protected:
  std::vector<Rewrite> rule_applications_;
  std::vector<TopLevelRewrite> graph_rewrites_;
  std::vector<HistoryStage> history_stages_;
  std::vector<size_t> stage_indices_;
  std::vector<RewritePlace> rewrite_places_;
};

// Compiles the kernel by tgc's own stages, and returns the history. Throws Failure if a stage fails.
std::unique_ptr<RewriteHistory> make_native_history(Compilation compilation);
// Returns the history of the compilation in a record. Throws Failure if it cannot be read or has no rewrites.
std::unique_ptr<RewriteHistory> make_recorded_history(const InputGraph& in);

// The orders in which tinygrad visits nodes.
enum class RewriteOrder : uint8_t {
  SourcesFirst,  // graph_rewrite: the sources of a node first
  NodeFirst,     // graph_rewrite with bottom_up: a node before its sources
  NodeOnce,      // substitute(walk=True): as NodeFirst, but the replacement of a node is not visited
  Once,          // graph_rewrite(walk=True): as SourcesFirst, but the replacement of a node is not visited
  Groups,        // several substitutions and graph rewrites, one after the other
  GroupsOnce,    // as Groups, but the replacement of a node by a substitution is not visited
};
inline constexpr RewriteOrder kRewriteOrders[] = {RewriteOrder::SourcesFirst, RewriteOrder::NodeFirst,
                                                  RewriteOrder::Once,         RewriteOrder::NodeOnce,
                                                  RewriteOrder::Groups,       RewriteOrder::GroupsOnce};

struct ReplayedRewrite {
  UOp before, after;
  // For a substitution: the place of its call. Adjacent rewrites of one group are applied together.
  std::string_view group = {};
};

// Repeats the rewrites on the graph under `root`, in the given order of visits. Returns the empty UOp if they cannot be
// repeated, for example because they form a cycle. Since 0.14.0, tinygrad computes the dtype of a node again if a
// source gets another dtype. So a node that differs from the left side of a rewrite only in a weak dtype is replaced by
// this left side. Adds both nodes to `retyped` (may be null), because no rewrite says that they are equal.
UOp replay_rewrites(UOp root, std::span<const ReplayedRewrite> rewrites, RewriteOrder order,
                    std::vector<RewriteSides>* retyped = nullptr);

}  // namespace tgc
