// What rewrites keep in memory: tables of results, stacks, and the pool of them that lies with a graph. For lib/rewrite alone.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/shortcut.h"
#include "lib/support/inline_stack.h"
#include "lib/uop/graph.h"

namespace tgc {

// A table by node id of which a rewrite touches parts: pages that nobody wrote to are one page of zeros, so that a small rewrite in a
// large graph costs little. A new T is all zeros.
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

// What a rewrite made of each node: `mark` is the epoch, and `result` valid; or the number of a run, which has the node on its stack. Slots are
// kept by the number of the rewrite that filled them, so that none needs clearing.
struct Results {
  uint32_t epoch = 0;
  uint32_t run = 0;  // the last number given, to an epoch or a run

  void start_anew() { epoch = ++run; }
};

// In the nodes themselves, of which there is one per graph: of the outermost rewrite.
struct NodeResults : Results {
  const RewriteSlot& of(UOp u) const { return u.node()->rewritten; }
  RewriteSlot& at(UOp u) { return u.node()->rewritten; }
  void fit(Graph&) {}
};

// In a table: of rewrites inside a rewrite, and of those whose results are kept.
struct TableResults : Results {
  const RewriteSlot& of(UOp u) const { return slots_[u.id()]; }
  RewriteSlot& at(UOp u) { return slots_.at(u.id()); }
  void fit(Graph& graph) { slots_.fit(graph); }

 private:
  Pages<RewriteSlot> slots_;
};

// The work space of one rewrite, pooled per graph: a rewrite inside a rewrite takes another.
struct Workspace {
  struct Frame {
    UOp n;
    UOp new_n;
    uint32_t stage;
  };
  struct Waiting {
    Frame frame;
    const RewriteSlot* waits_for;  // one that was written to, and so stays where it is
    uint32_t next;                 // where in `waiting` the one after it is
  };
  struct Hit {
    const Rule* rule;
    UOp node;
  };
  static constexpr size_t kRecent = 32;

  TableResults results;
  Pages<RewriteSlot> bottom_up;  // what bottom-up rules make of a node; the mark is that of the rewrite
  uint32_t num_rewrites = 0;     // in this work space
  struct Visit {
    UOp n;          // what is asked for
    UOp now;        // what it has become so far
    uint32_t next;  // the source to look at; beyond them all: `now` waits for what the rules made of it
    bool changed;   // a source became something else
  };

  InlineStack<Frame, 128> stack;
  // The bottom of the stack, frames that wait for others: a ring, in which the first is no frame but the place where a round ends. What comes
  // after `turn` is tried next, and what is postponed is put there, as tried already.
  std::vector<Waiting> waiting;
  uint32_t turn = 0;
  InlineStack<Visit, 128> visits;
  std::vector<UOp> sources;
  Hit recent[kRecent];  // the last rewrites, for the message when there is no end of them
  size_t num_hits = 0;  // of this rewrite; the last one is recent[(num_hits - 1) % kRecent]
};

// Throws the Failure of a rewrite in `stage` that does not end: why, the rules that alternate, and what they rewrote last;
// of a visit of `start`, those that came back to it.
[[noreturn]] void fail_endless(const Workspace& w, std::string_view stage, std::string_view why, UOp start);

// What the rewriter keeps with a graph.
struct RewriteState {
  std::vector<std::unique_ptr<Workspace>> pool;
  // Rules that do not look at a context make the same of a node in every rewrite: what they made is kept from their second rewrite on.
  struct Known {
    bool asked = false;
    std::unique_ptr<TableResults> results;
  };
  std::vector<Known> known;  // by number of the matcher
  NodeResults in_nodes;
  bool in_nodes_lent = false;
  RewriteObserver* observer = nullptr;
  ShortcutTrial* trial = nullptr;

  detail::ShortcutChoice choose(const Shortcut& what) const {
    Way usual = observer ? Way::Faithful : Way::Quick;
    return {trial ? trial->choose(what, usual) : usual, trial};
  }
};

// What a rewrite is called: its rule set's name where it has none of its own.
inline std::string_view name_of(const RewriteOptions& options, const RuleSet& rules) { return options.name.empty() ? rules.name() : options.name; }

// Tells whoever wants to hear of rewrites that one begins, and that it ends.
class Told {
 public:
  Told(const RewriteState& state, UOp sink, const RuleSet& rules, const RewriteOptions& options)
      : observer_(state.observer && !state.observer->counts_only ? state.observer : nullptr), name_(name_of(options, rules)) {
    if (observer_) observer_->begin(name_, sink, rules, options.bottom_up);
  }
  Told(const Told&) = delete;
  ~Told() {  // left by an exception: there is no result
    if (observer_) observer_->end(name_, UOp());
  }
  UOp done(UOp result) {
    if (observer_) observer_->end(name_, result);
    observer_ = nullptr;
    return result;
  }

 private:
  RewriteObserver* observer_;
  std::string_view name_;
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

// The results in the nodes, begun anew, for as long as this lives; nothing when another rewrite has them.
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

}  // namespace tgc
