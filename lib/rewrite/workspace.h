// The data structures of rewrites: result tables and work stacks, kept in a pool per graph. Private to lib/rewrite.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "lib/rewrite/deferred_frames.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/rewrite/shortcut.h"
#include "lib/support/arena.h"
#include "lib/uop/graph.h"

namespace tgc {

// A sparse table indexed by node id. All pages that were never written are one shared page of zeros. A
// default-constructed T must be all zeros.
template <class T>
class PagedTable {
 public:
  const T& operator[](uint32_t id) const { return table_pages_[id >> kIndexBits][id & kIndexMask]; }
  T& writable_at(uint32_t id) {
    T*& page = table_pages_[id >> kIndexBits];
    if (page == zero_page()) [[unlikely]] page = add_page();
    return page[id & kIndexMask];
  }
  // Grows the table to cover all nodes of the graph. Call it whenever nodes may have been made.
  void fit_graph(Graph& graph) {
    if (graph.size() > table_pages_.size() << kIndexBits) [[unlikely]] add_pages_for(graph);
  }

 private:
  static constexpr size_t kIndexBits = 6, kIndexMask = (size_t(1) << kIndexBits) - 1;
  static T* zero_page() {
    static constexpr T kZeros[kIndexMask + 1]{};
    return const_cast<T*>(kZeros);  // the caller only reads from this page
  }
  [[gnu::noinline]] void add_pages_for(Graph& graph) {
    graph_arena_ = &graph.arena();
    table_pages_.resize((graph.size() >> kIndexBits) + 16, zero_page());
  }
  [[gnu::noinline]] T* add_page() {
    void* page = graph_arena_->allocate(sizeof(T) << kIndexBits, alignof(T));
    return static_cast<T*>(std::memset(page, 0, sizeof(T) << kIndexBits));
  }

  Arena* graph_arena_ = nullptr;  // the graph's arena; the table lives as long as the graph
  std::vector<T*> table_pages_;
};

// The rewriter's fields in a node; all code accesses them through this class.
struct RewriterDataAccess {
  static RewriteSlot& result_slot_of(UOp u) { return u.node()->rewriter_data.result_slot_; }
  static uint16_t& declined_set_number(UOp u) { return u.node()->rewriter_data.declined_set_number_; }
};

// A rewrite stores a RewriteSlot (result, slot_mark) per visited node. Slots are never cleared; `slot_mark` determines
// whether a slot is valid:
//
//   the epoch number   the slot has the node's result
//   the run number     the current run has queued or begun the node's visit, but the result is not known yet
//   another number     the slot is ignored
//
// Each run has a new run number. Runs with the same rules may share an epoch number, and so their results; otherwise,
// each rewrite takes a new epoch number.
struct RewriteResults {
  uint32_t epoch_number = 0;
  uint32_t last_epoch_number = 0;  // the last number used for an epoch or a run

  void begin_epoch() { epoch_number = ++last_epoch_number; }
};

// Result slots inside the nodes, the fastest storage. A node has one slot, so only one rewrite at a time uses them.
struct NodeResults : RewriteResults {
  const RewriteSlot& slot_of(UOp u) const { return RewriterDataAccess::result_slot_of(u); }
  RewriteSlot& writable_at(UOp u) { return RewriterDataAccess::result_slot_of(u); }
  void fit_graph(Graph&) {}
};

// Result slots in a table indexed by node id, for nested rewrites and for kept results.
struct TableResults : RewriteResults {
  const RewriteSlot& slot_of(UOp u) const { return result_slots_[u.id()]; }
  RewriteSlot& writable_at(UOp u) { return result_slots_.writable_at(u.id()); }
  void fit_graph(Graph& graph) { result_slots_.fit_graph(graph); }

 private:
  PagedTable<RewriteSlot> result_slots_;
};

// The stacks and tables of one rewrite. A nested rewrite uses another workspace.
struct RewriteWorkspace {
  struct RewriteHit {
    const Rule* rule;
    UOp node;
  };
  // An entry of the work stack that the depth-first order uses.
  struct NodeVisit {
    UOp node;
    UOp replacement;
    // index of the next source to visit; UINT32_MAX if the visit waits for the result of `replacement`
    uint32_t next_source;
    bool has_changed_source;     // true if the result of a source that was visited differs from the source
  };
  static constexpr size_t kMaxRecentHits = 32;

  TableResults results;          // the result slots, if another rewrite uses those in the nodes
  PagedTable<RewriteSlot> bottom_up_results;  // results of the bottom-up rules; valid if slot_mark == num_rewrites
  uint32_t num_rewrites = 0;

  InlineStack<RewriteFrame, 128> stack;
  DeferredFrames deferred_frames;
  InlineStack<NodeVisit, 128> node_visits;
  std::vector<UOp> rebuilt_sources;
  RewriteHit recent_hits[kMaxRecentHits];
  size_t num_hits = 0;  // number of rule applications; application i, from 0, is in recent_hits[i % kMaxRecentHits]

  template <class ResultOf>
  UOp rebuild_node_with(UOp u, ResultOf result_of) {
    if (rebuilt_sources.size() < u.num_src()) rebuilt_sources.resize(u.num_src());
    for (size_t i = 0; i < u.num_src(); i++) rebuilt_sources[i] = result_of(u.src(i));
    return u.graph().node(u.op(), u.dtype(), std::span<const UOp>(rebuilt_sources.data(), u.num_src()), u.arg(),
                          u.tag());
  }
};

// Throws a Failure for a rewrite in `stage` that does not end. The message has the reason `why` and the last rule
// applications, limited to the visit of `start` if it is set.
[[noreturn]] void fail_endless_rewrite(const RewriteWorkspace& w, std::string_view stage, std::string_view why,
                                       UOp start);

struct RewriteState {
  std::vector<std::unique_ptr<RewriteWorkspace>> workspace_pool;
  // Results that later rewrites with the same rules reuse. The rules must not use a context, so that their result for a
  // node is always the same.
  struct SharedResults {
    bool was_requested = false;
    std::unique_ptr<TableResults> results;
  };
  std::vector<SharedResults> shared_results;
  NodeResults node_results;
  bool are_node_results_lent = false;
  RewriteObserver* observer = nullptr;
  RewriteOverride* rewrite_override = nullptr;
  ShortcutTrial* trial = nullptr;
  ContextRef observed_context;     // context of the innermost rewrite that is being reported to an observer
  bool is_uninstrumented = false;

  bool is_watched() const { return observer || rewrite_override; }
  size_t stack_limit(const Graph& graph) const {
    int64_t limit = graph.settings().REWRITE_STACK_LIMIT;
    return size_t(is_uninstrumented ? std::max(limit, Settings().REWRITE_STACK_LIMIT) : limit);
  }

  detail::ShortcutChoice choose_way(const Shortcut& what) const {
    ShortcutWay usual = is_watched() ? ShortcutWay::Faithful : ShortcutWay::Quick;
    return {trial ? trial->choose_way(what, usual) : usual, trial};
  }
};

inline std::string_view name_of(const RewriteOptions& options, const RuleSet& rules) {
  return options.name.empty() ? rules.name() : options.name;
}

// Reports the begin and end of a rewrite to the graph's observer, if the graph has one that receives events.
class RewriteReporter {
 public:
  RewriteReporter(RewriteState& state, UOp sink, const RuleSet& rules, const RewriteOptions& options)
      : state_(state),
        observer_(state.observer && !state.observer->is_counting_only ? state.observer : nullptr),
        name_(name_of(options, rules)) {
    if (!observer_) return;
    outer_context_ = std::exchange(state.observed_context, options.ctx);
    observer_->begin_rewrite(name_, sink, rules, options.bottom_up);
  }
  RewriteReporter(const RewriteReporter&) = delete;
  // without finish_rewrite(), an exception ended the rewrite: report an empty result
  ~RewriteReporter() { end_rewrite(UOp()); }
  UOp finish_rewrite(UOp result) {
    end_rewrite(result);
    return result;
  }

 private:
  void end_rewrite(UOp result) {
    if (!observer_) return;
    std::exchange(observer_, nullptr)->end_rewrite(name_, result);
    state_.observed_context = outer_context_;
  }

  RewriteState& state_;
  RewriteObserver* observer_;
  std::string_view name_;
  ContextRef outer_context_;
};

// Takes a workspace from the graph's pool (or makes one if the pool is empty), and puts it into the pool when this
// object is destroyed.
class PooledWorkspace {
 public:
  explicit PooledWorkspace(RewriteState& state) : state_(state) {
    if (state.workspace_pool.empty()) {
      workspace_ = std::make_unique_for_overwrite<RewriteWorkspace>();
    } else {
      workspace_ = std::move(state.workspace_pool.back());
      state.workspace_pool.pop_back();
    }
    workspace_->num_rewrites++;
    workspace_->num_hits = 0;
  }
  PooledWorkspace(const PooledWorkspace&) = delete;
  ~PooledWorkspace() {
    workspace_->stack.clear();
    workspace_->node_visits.clear();
    state_.workspace_pool.push_back(std::move(workspace_));
  }
  RewriteWorkspace& operator*() { return *workspace_; }
  RewriteWorkspace* operator->() { return workspace_.get(); }

 private:
  RewriteState& state_;
  std::unique_ptr<RewriteWorkspace> workspace_;
};

// Reserves the result slots in the nodes and begins a new epoch. Converts to false if another rewrite uses the slots.
class LentNodeSlots {
 public:
  explicit LentNodeSlots(RewriteState& state) : state_(state), has_slots_(!state.are_node_results_lent) {
    if (!has_slots_) return;
    state.are_node_results_lent = true;
    state.node_results.begin_epoch();
  }
  LentNodeSlots(const LentNodeSlots&) = delete;
  ~LentNodeSlots() {
    if (has_slots_) state_.are_node_results_lent = false;
  }
  explicit operator bool() const { return has_slots_; }
  NodeResults& operator*() { return state_.node_results; }

 private:
  RewriteState& state_;
  bool has_slots_;
};

// Returns use(results) in a new epoch. `results` are the slots in the nodes or, if those are in use, the workspace's.
template <class Use>
auto run_with_new_results(RewriteState& state, RewriteWorkspace& workspace, Use use) {
  if (LentNodeSlots nodes(state); nodes) return use(*nodes);
  workspace.results.begin_epoch();
  return use(workspace.results);
}

}  // namespace tgc
