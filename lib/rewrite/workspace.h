// What rewrites keep in memory: tables of results, stacks, and the pool of them that lies with a graph. For lib/rewrite
// alone.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "lib/rewrite/deferred_frames.h"
#include "lib/rewrite/intervention.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/shortcut.h"
#include "lib/support/inline_stack.h"
#include "lib/uop/graph.h"

namespace tgc {

// A table by node id of which a rewrite touches parts: pages that nobody wrote to are one page of zeros, so that a
// small rewrite in a large graph costs little. A new T is all zeros.
template <class T>
class Pages {
 public:
  const T& operator[](uint32_t id) const { return pages_[id >> kBits][id & kMask]; }
  T& at(uint32_t id) {
    T*& page = pages_[id >> kBits];
    if (page == zeros()) [[unlikely]] page = add();
    return page[id & kMask];
  }
  // Room for all nodes of the graph: wanted whenever there may be new ones.
  void fit(Graph& graph) {
    if (graph.size() > pages_.size() << kBits) [[unlikely]] add_for(graph);
  }

 private:
  static constexpr size_t kBits = 6, kMask = (size_t(1) << kBits) - 1;
  static T* zeros() {
    static constexpr T kZeros[kMask + 1]{};
    return const_cast<T*>(kZeros);  // read alone
  }
  [[gnu::noinline]] void add_for(Graph& graph) {
    arena_ = &graph.arena();
    pages_.resize((graph.size() >> kBits) + 16, zeros());
  }
  [[gnu::noinline]] T* add() {
    void* page = arena_->allocate(sizeof(T) << kBits, alignof(T));
    return static_cast<T*>(std::memset(page, 0, sizeof(T) << kBits));
  }

  Arena* arena_ = nullptr;  // of the graph, which the table lives with
  std::vector<T*> pages_;
};

// The one door to the notes that the rewriter keeps in nodes.
struct NodeNotes {
  static RewriteSlot& result(UOp u) { return u.node()->note.slot_; }
  // the number of the rules known not to apply to it (tried.h)
  static uint16_t& tried(UOp u) { return u.node()->note.tried_; }
};

// ---- what became of each node

// A rewrite keeps a RewriteSlot for each node it comes to. Nothing is ever cleared: a slot's `mark` tells to whom it
// belongs. Each rewrite takes a fresh number, its epoch, and a slot whose mark is that epoch holds the node's result. A
// slot whose mark is the number of the current run belongs to a node that was begun and has no result yet. Any other
// mark is left over from before, and means nothing. A table may serve several runs with the same rules one after the
// other (results that are kept, graph_rewrite_map): they share the epoch, and so each other's results, but each run has
// a number of its own.
struct Results {
  uint32_t epoch = 0;
  uint32_t run = 0;  // the last number that was given to an epoch or a run

  void start_anew() { epoch = ++run; }
};

// The slots in the nodes themselves: the quickest place, of which there is one a graph. The outermost rewrite has it.
struct NodeResults : Results {
  const RewriteSlot& of(UOp u) const { return NodeNotes::result(u); }
  RewriteSlot& at(UOp u) { return NodeNotes::result(u); }
  void fit(Graph&) {}
};

// Slots in a table by node id: for rewrites inside a rewrite, and for results that are kept.
struct TableResults : Results {
  const RewriteSlot& of(UOp u) const { return slots_[u.id()]; }
  RewriteSlot& at(UOp u) { return slots_.at(u.id()); }
  void fit(Graph& graph) { slots_.fit(graph); }

 private:
  Pages<RewriteSlot> slots_;
};

// ---- work spaces

// The stacks and tables of one rewrite. They are pooled with the graph; a rewrite inside a rewrite takes another.
struct Workspace {
  struct Hit {
    const Rule* rule;
    UOp node;
  };
  // Depth first: a node on the way down.
  struct Visit {
    UOp n;          // what is asked for
    UOp now;        // what it has become so far
    uint32_t next;  // the source to look at; UINT32_MAX: `now` waits for what the rules made of it
    bool changed;   // a source became something else
  };
  static constexpr size_t kRecent = 32;

  TableResults results;          // where the slots of the nodes are taken
  Pages<RewriteSlot> bottom_up;  // what bottom-up rules make of a node; its mark is num_rewrites
  uint32_t num_rewrites = 0;     // done in this work space

  InlineStack<RewriteFrame, 128> stack;  // in tinygrad's order
  DeferredFrames waiting;
  InlineStack<Visit, 128> visits;
  std::vector<UOp> sources;
  Hit recent[kRecent];  // the last rewrites, for the message when there is no end of them
  size_t num_hits = 0;  // of this rewrite; the last one is recent[(num_hits - 1) % kRecent]

  // The node with other sources: result_of(source) for each, and not all are what they were.
  template <class ResultOf>
  UOp rebuilt(UOp u, ResultOf result_of) {
    if (sources.size() < u.num_src()) sources.resize(u.num_src());
    for (size_t i = 0; i < u.num_src(); i++) sources[i] = result_of(u.src(i));
    return u.graph().node(u.op(), u.dtype(), std::span<const UOp>(sources.data(), u.num_src()), u.arg(), u.tag());
  }
};

// Throws the Failure of a rewrite in `stage` that does not end. It says why, which rules alternate, and what they
// rewrote last. With a `start`, the node that was come to again while it was being visited, only the rewrites since
// then count.
[[noreturn]] void fail_endless(const Workspace& w, std::string_view stage, std::string_view why, UOp start);

// What the rewriter keeps with a graph.
struct RewriteState {
  std::vector<std::unique_ptr<Workspace>> pool;
  // Rules that look at no context make the same of a node in every rewrite. What they made is kept from their second
  // rewrite on: most sets are used once, and a table for each would cost more than it saves.
  struct Known {
    bool asked = false;
    std::unique_ptr<TableResults> results;
  };
  std::vector<Known> known;  // by number of the matcher
  NodeResults in_nodes;
  bool in_nodes_lent = false;
  RewriteObserver* observer = nullptr;
  Intervention* intervention = nullptr;
  ShortcutTrial* trial = nullptr;
  ContextRef observed;  // of the innermost rewrite that the observer was told of
  bool is_own = false;  // the rewrites are of somebody who looks on (UninstrumentedScope)

  bool is_watched() const { return observer || intervention; }
  // How many nodes may wait.
  size_t limit(const Graph& graph) const {
    int64_t limit = graph.settings().REWRITE_STACK_LIMIT;
    return size_t(is_own ? std::max(limit, Settings().REWRITE_STACK_LIMIT) : limit);
  }

  detail::ShortcutChoice choose(const Shortcut& what) const {
    Way usual = is_watched() ? Way::Faithful : Way::Quick;
    return {trial ? trial->choose(what, usual) : usual, trial};
  }
};

// What a rewrite is called: its rule set's name where it has none of its own.
inline std::string_view name_of(const RewriteOptions& options, const RuleSet& rules) {
  return options.name.empty() ? rules.name() : options.name;
}

// Tells whoever wants to hear of rewrites that one begins, and that it ends.
class Told {
 public:
  Told(RewriteState& state, UOp sink, const RuleSet& rules, const RewriteOptions& options)
      : state_(state),
        observer_(state.observer && !state.observer->counts_only ? state.observer : nullptr),
        name_(name_of(options, rules)) {
    if (!observer_) return;
    around_ = std::exchange(state.observed, options.ctx);
    observer_->begin(name_, sink, rules, options.bottom_up);
  }
  Told(const Told&) = delete;
  ~Told() { end(UOp()); }  // left by an exception: there is no result
  UOp done(UOp result) {
    end(result);
    return result;
  }

 private:
  void end(UOp result) {
    if (!observer_) return;
    std::exchange(observer_, nullptr)->end(name_, result);
    state_.observed = around_;
  }

  RewriteState& state_;
  RewriteObserver* observer_;
  std::string_view name_;
  ContextRef around_;
};

// A work space from the pool, for as long as this lives.
class LentWorkspace {
 public:
  explicit LentWorkspace(RewriteState& state) : state_(state) {
    if (state.pool.empty()) {
      w_ = std::make_unique_for_overwrite<Workspace>();
    } else {
      w_ = std::move(state.pool.back());
      state.pool.pop_back();
    }
    w_->num_rewrites++;
    w_->num_hits = 0;
  }
  LentWorkspace(const LentWorkspace&) = delete;
  ~LentWorkspace() {
    w_->stack.clear();
    w_->visits.clear();
    state_.pool.push_back(std::move(w_));
  }
  Workspace& operator*() { return *w_; }
  Workspace* operator->() { return w_.get(); }

 private:
  RewriteState& state_;
  std::unique_ptr<Workspace> w_;
};

// The slots in the nodes, begun anew, for as long as this lives; nothing when another rewrite has them.
class LentNodes {
 public:
  explicit LentNodes(RewriteState& state) : state_(state), mine_(!state.in_nodes_lent) {
    if (!mine_) return;
    state.in_nodes_lent = true;
    state.in_nodes.start_anew();
  }
  LentNodes(const LentNodes&) = delete;
  ~LentNodes() {
    if (mine_) state_.in_nodes_lent = false;
  }
  explicit operator bool() const { return mine_; }
  NodeResults& operator*() { return state_.in_nodes; }

 private:
  RewriteState& state_;
  bool mine_;
};

// What use(results) returns, with slots that begin anew: those of the nodes where they are free, else the work space's.
template <class Use>
auto with_new_results(RewriteState& state, Workspace& workspace, Use use) {
  if (LentNodes nodes(state); nodes) return use(*nodes);
  workspace.results.start_anew();
  return use(workspace.results);
}

}  // namespace tgc
