// A Graph owns and interns the nodes and args of one job, and numbers the nodes by dense ids. All nodes are freed with
// the Graph. Graphs share no state, so several threads may use different graphs. Only one thread at a time may use a
// graph, because functions that only read it change its caches; but several threads may copy it at once (copy_into).
// This header also declares sets and maps of nodes, and functions that visit nodes.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/support/arena.h"
#include "lib/support/settings.h"
#include "lib/uop/release.h"
#include "lib/uop/uop.h"

namespace tgc {

// The storage of a UOpSet: one stamp per node id. A node is in the set if its stamp equals `current_stamp`, so a new
// `current_stamp` empties the set. The graph keeps unused arrays in a pool.
struct StampArray {
  std::vector<uint32_t> stamps;
  uint32_t current_stamp = 0;
};

// A hash table of interned values, with open addressing, at most half full. A slot contains the hash of a value and a
// pointer to the value (`Where`); Where{} marks an empty slot.
template <class Where>
class InternTable {
 public:
  explicit InternTable(size_t size) : intern_slots_(size) {}  // `size` must be a power of two

  // Returns the entry with this hash for which same(entry) is true. If there is no such entry, adds and returns make(),
  // which must not change this table.
  template <class Same, class Make>
  Where find_or_add(uint32_t hash, Same same, Make make) {
    const size_t mask = intern_slots_.size() - 1;
    size_t i = hash & mask;
    for (; intern_slots_[i].item != Where{}; i = (i + 1) & mask)
      if (intern_slots_[i].hash == hash && same(intern_slots_[i].item)) return intern_slots_[i].item;
    Where item = make();
    intern_slots_[i] = {hash, item};
    if (++num_items_ * 2 > intern_slots_.size()) [[unlikely]] grow();
    return item;
  }

 private:
  struct InternSlot {
    uint32_t hash = 0;
    Where item = {};
  };
  [[gnu::noinline]] void grow() {
    std::vector<InternSlot> bigger(intern_slots_.size() * 4);
    const size_t mask = bigger.size() - 1;
    for (const InternSlot& slot : intern_slots_) {
      if (slot.item == Where{}) continue;
      size_t i = slot.hash & mask;
      while (bigger[i].item != Where{}) i = (i + 1) & mask;
      bigger[i] = slot;
    }
    intern_slots_ = std::move(bigger);
  }

  std::vector<InternSlot> intern_slots_;
  size_t num_items_ = 0;
};

class Graph {
 public:
  explicit Graph(const Settings& settings = {});
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  const Settings& settings() const { return settings_; }

  // The tinygrad release that made this graph. Only a graph of 0.12 has shapes, devices, axes and bounds, and can be
  // rewritten by graph_rewrite() or checked by specifications.
  Release release() const { return release_; }
  void set_release(Release release) { release_ = release; }
  bool is_foreign() const { return release_ != Release::v0_12; }

  // Returns the node UOp(op, dtype, src, arg, tag); creates it if it does not exist. Throws Failure if the graph has
  // more nodes than Limit::Nodes allows.
  UOp node(Op op, DType dtype = dtypes::void_, UOpSpan src = {}, Arg arg = {}, Arg tag = {});

  // Reserves memory so that the graph can have `nodes` nodes.
  void reserve(size_t nodes);

  Arg str(std::string_view text);
  Arg raw_arg(std::string_view text);
  Arg bytes(std::string_view data);
  Arg tuple(std::span<const Arg> items);
  Arg tuple(std::initializer_list<Arg> items) { return tuple(std::span(items.begin(), items.size())); }
  Arg ints(std::span<const int64_t> values);
  Arg record(RecordClass c, std::span<const Arg> fields);
  Arg record(RecordClass c, std::initializer_list<Arg> fields) {
    return record(c, std::span(fields.begin(), fields.size()));
  }

  UOp constant(DType dtype, Const value);
  UOp constant(DType dtype, std::span<const Const> values);           // makes a VCONST; a CONST if all values are equal
  UOp constant(DType dtype, Const value, Arg device);                 // `device` is a Str or a Tuple of Strs
  UOp invalid(int64_t count = 1);
  UOp sink(UOpSpan src, Arg arg = {});
  UOp group(UOpSpan src);                                             // makes a GROUP, or returns the only source
  // Returns a RANGE. `arg` has the axis ids, then the AxisType.
  UOp range(UOp end, std::span<const Arg> arg, DType dtype = dtypes::index);
  UOp range(Const end, int64_t axis, AxisType type);
  UOp special(UOp end, std::string_view name, DType dtype = dtypes::index);
  UOp variable(std::string_view name, Const min, Const max, DType dtype = dtypes::index);
  UOp noop() { return node(Op::NOOP); }

  size_t size() const { return nodes_.size(); }
  OpSet ops() const { return ops_; }
  UOp at(uint32_t id) const { return UOp(nodes_[id]); }

  Arena& arena() { return node_arena_; }
  size_t arena_bytes() const { return node_arena_.total_bytes(); }

  std::unique_ptr<StampArray> acquire_stamps();
  void release_stamps(std::unique_ptr<StampArray> stamps) { stamp_pool_.push_back(std::move(stamps)); }
  // Returns the object of type T that is stored in the graph; makes the object on first use.
  template <class T>
  T& extension() {
    size_t i = kExtensionNumber<T>;
    if (i >= extensions_.size()) extensions_.resize(i + 16);
    if (!extensions_[i]) extensions_[i] = std::make_unique<ExtensionOf<T>>();
    return static_cast<ExtensionOf<T>*>(extensions_[i].get())->value;
  }

 private:
  struct GraphExtension {
    virtual ~GraphExtension() = default;
  };
  template <class T>
  struct ExtensionOf : GraphExtension {
    T value;
  };
  static size_t next_extension_number();
  template <class T>
  static inline const size_t kExtensionNumber = next_extension_number();
  struct InternedItems;
  struct InternedText;

  struct NodeSlot {
    uint32_t hash;
    uint32_t id_plus_one;  // the node's id + 1; 0 if the slot is empty
  };
  // The search key of a node in node_table_. Keys are stored apart from the nodes, so that growing the table reads no
  // nodes.
  struct NodeKey {
    uint32_t hash;
    uint32_t newest_source;  // the greatest id of a source, plus 1; 0 if the node has no sources
  };
  template <class Same>
  NodeSlot& node_slot_of(NodeKey key, Same same);
  void resize_table(size_t slots);
  void grow_node_table();
  const Node* new_node(Op op, DType dtype, UOpSpan src, Arg arg, Arg tag, uint32_t hash);
  const InternedItems* intern_items(std::span<const Arg> items, uint32_t salt);
  Arg intern_text(Arg::Kind kind, std::string_view text);
  friend class Arg;

  const Settings settings_;
  Release release_ = Release::v0_12;
  Arena node_arena_;
  std::vector<const Node*> nodes_;
  std::vector<NodeKey> node_keys_;
  OpSet ops_;
  std::unique_ptr<NodeSlot[]> node_table_;
  size_t table_size_ = 0;
  // with this many nodes, the next node makes the table grow or exceeds Limit::Nodes
  size_t table_growth_threshold_ = 0;
  InternTable<const InternedItems*> interned_items_{256};
  InternTable<const InternedText*> interned_texts_{256};
  std::vector<std::unique_ptr<StampArray>> stamp_pool_;
  std::vector<std::unique_ptr<GraphExtension>> extensions_;
};

class UOpSet {
 public:
  explicit UOpSet(Graph& graph) : graph_(graph), stamp_array_(graph.acquire_stamps()) {}
  UOpSet(const UOpSet&) = delete;
  UOpSet& operator=(const UOpSet&) = delete;
  ~UOpSet() { graph_.release_stamps(std::move(stamp_array_)); }

  // Adds `u`. Returns false if `u` was in the set already.
  bool insert(UOp u) {
    auto& stamps = stamp_array_->stamps;
    if (u.id() >= stamps.size()) stamps.resize(graph_.size() + graph_.size() / 2 + 64, 0);
    if (stamps[u.id()] == stamp_array_->current_stamp) return false;
    stamps[u.id()] = stamp_array_->current_stamp;
    return true;
  }
  bool contains(UOp u) const {
    return u.id() < stamp_array_->stamps.size() && stamp_array_->stamps[u.id()] == stamp_array_->current_stamp;
  }
  void erase(UOp u) {
    if (contains(u)) stamp_array_->stamps[u.id()] = 0;
  }

 private:
  Graph& graph_;
  std::unique_ptr<StampArray> stamp_array_;
};

// A map from nodes of one graph to T, stored as an array indexed by node id.
template <class T>
class UOpMap {
 public:
  explicit UOpMap(Graph& graph) : known_nodes_(graph) {}
  T& operator[](UOp u) {
    if (u.id() >= node_values_.size()) node_values_.resize(u.id() + u.id() / 2 + 64);
    if (known_nodes_.insert(u)) node_values_[u.id()] = T();
    return node_values_[u.id()];
  }
  const T* find(UOp u) const { return known_nodes_.contains(u) ? &node_values_[u.id()] : nullptr; }
  T* find(UOp u) { return known_nodes_.contains(u) ? &node_values_[u.id()] : nullptr; }
  bool contains(UOp u) const { return known_nodes_.contains(u); }
  void erase(UOp u) { known_nodes_.erase(u); }

 private:
  UOpSet known_nodes_;
  std::vector<T> node_values_;
};

// Returns `root` and its transitive sources, sources first, in tinygrad's order (ops.py:toposort). The version with
// `gate` omits the nodes for which gate(node) is false, and the nodes that are reached only through omitted nodes.
std::vector<UOp> toposort(UOp root);
template <class Gate>
std::vector<UOp> toposort(UOp root, Gate&& gate) {
  std::vector<UOp> node_order;
  struct Frame {
    UOp node;
    uint32_t next_source;
  };
  std::vector<Frame> stack;
  UOpSet done(root.graph());
  auto enter = [&](UOp u) {
    if (!done.contains(u) && gate(u)) stack.push_back({u, 0});
  };
  enter(root);
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < node.num_src()) {
      enter(node.src(next++));
      continue;
    }
    if (done.insert(node)) node_order.push_back(node);
    stack.pop_back();
  }
  return node_order;
}

// Returns toposort(root), which the graph caches. The span is valid until the graph caches another list.
std::span<const UOp> cached_toposort(UOp root);
// Stores `nodes`, which must equal toposort(root), in the cache of cached_toposort.
void cache_toposort(UOp root, std::vector<UOp> nodes);

// Returns toposort(root) without `root` (ops.py:backward_slice).
std::vector<UOp> backward_slice(UOp root);
// Returns true if found(u) is true for a visited node u. Visits `root` and its transitive sources, but not sources for
// which follow(source) is false. Visits each node at most once, in unspecified order, until a node is found.
template <class Follow, class Found>
bool is_found_below(UOp root, Follow&& follow, Found&& found) {
  if (found(root)) return true;
  InlineStack<const Node*, 256> stack;
  stack.push_back(root.node());
  UOpSet seen(root.graph());
  while (!stack.empty()) {
    UOp u(stack.back());
    stack.pop_back();
    for (UOp s : u.src())
      if (follow(s) && seen.insert(s)) {
        if (found(s)) return true;
        stack.push_back(s.node());
      }
  }
  return false;
}
// Returns true if `root` or a transitive source has one of `ops`.
bool op_in_backward_slice_with_self(UOp root, OpSet ops);
// Returns true if `needle` is `root` or a transitive source.
bool in_backward_slice_with_self(UOp root, UOp needle);

// Returns a vector of `first` followed by the nodes of `rest`.
std::vector<UOp> prepend(UOp first, UOpSpan rest);

// Returns the operands of a nested chain of `op`, left to right: a, b, c for (a+b)+c (ops.py:split_uop).
std::vector<UOp> split_uop(UOp root, Op op);

// Copies `root`, its transitive sources and the graphs inside their args to the Graph `to`. Returns the copy of `root`.
// `to` takes over the release of root's graph if that release is not 0.12.
UOp copy_into(Graph& to, UOp root);

}  // namespace tgc
