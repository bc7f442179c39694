// What rewrites keep in memory: tables of results, stacks, and the pool of them that lies with a graph. For lib/rewrite alone.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/support/inline_stack.h"
#include "lib/uop/graph.h"

namespace tgc {

// A table by node id of which a rewrite touches parts: pages that nobody wrote to are one page of zeros, so that a small rewrite in a
// large graph costs little.
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
  void fit(const Graph& graph) {
    if (graph.size() > pages_.size() << kBits) [[unlikely]] pages_.resize((graph.size() >> kBits) + 16, zeros());
  }

 private:
  static constexpr size_t kBits = 8, kMask = (size_t(1) << kBits) - 1;
  static T* zeros() {
    static constexpr T kZeros[kMask + 1]{};
    return const_cast<T*>(kZeros);  // read alone
  }
  [[gnu::noinline]] T* add() {
    own_.push_back(std::make_unique<T[]>(kMask + 1));
    return own_.back().get();
  }

  std::vector<T*> pages_;
  std::vector<std::unique_ptr<T[]>> own_;
};

// What a rewrite made of each node. Slots are kept by the number of the rewrite that filled them, so that none needs clearing.
struct Results {
  struct Slot {
    uint32_t mark = 0;    // the table's epoch: `result` is valid; the number of a run: it has the node on its stack
    uint32_t result = 0;  // id of a node
  };
  Pages<Slot> slots;
  uint32_t epoch = 0;
  uint32_t run = 0;  // the last number given, to an epoch or a run

  void start_anew() { epoch = ++run; }
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
    const Results::Slot* waits_for;  // one that was written to, and so stays where it is
    uint32_t next;                   // where in `waiting` the one after it is
  };
  struct Hit {
    const Rule* rule;
    UOp node;
  };
  static constexpr size_t kRecent = 32;
  struct BottomUp {
    uint32_t run = 0;
    const Node* result = nullptr;
  };

  Results results;
  Pages<BottomUp> bottom_up;
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
};

// What the rewriter keeps with a graph.
struct RewriteState {
  std::vector<std::unique_ptr<Workspace>> pool;
  // Rules that do not look at a context make the same of a node in every rewrite: what they made is kept from their second rewrite on.
  std::unordered_map<const Matcher*, std::unique_ptr<Results>> known;
  RewriteObserver* observer = nullptr;
};

}  // namespace tgc
