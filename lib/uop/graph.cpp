#include "lib/uop/graph.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "lib/support/limits.h"
#include "lib/uop/graph_reps.h"

namespace tgc {

namespace {

// Return the hash `h` combined with `v`. After add_to_hash(), the caller must mix the high bits of the final hash into
// its low bits.
uint64_t add_to_hash(uint64_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ull; }
uint64_t mix_hash(uint64_t h, uint64_t v) {
  h = add_to_hash(h, v);
  return h ^ h >> 29;
}

uint32_t hash_text(std::string_view text) {
  uint64_t h = text.size(), word = 0;
  for (; text.size() > sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    h = mix_hash(h, word);
  }
  word = 0;
  if (!text.empty()) std::memcpy(&word, text.data(), text.size());
  h = mix_hash(h, word);
  return uint32_t(h ^ h >> 32);
}

uint32_t hash_items(std::span<const Arg> items, uint32_t salt) {
  uint64_t h = mix_hash(salt, items.size());
  for (const Arg& a : items) h = mix_hash(h, a.hash());
  return uint32_t(h ^ h >> 32);
}

}  // namespace

Graph::Graph(const Settings& settings) : settings_(settings), node_arena_(this) {
  nodes_.reserve(256);
  node_keys_.reserve(256);
  resize_table(512);
}
Graph::~Graph() = default;

size_t Graph::next_extension_number() {
  static std::atomic<size_t> next = 0;
  return next++;
}

void Graph::reserve(size_t nodes) {
  nodes_.reserve(nodes);
  node_keys_.reserve(nodes);
  if (size_t slots = std::bit_ceil(2 * nodes); slots > table_size_) resize_table(slots);
}

// A table with fewer slots than this grows to four times its size. A larger table doubles, because unused slots take
// memory.
static constexpr size_t kLargeTable = size_t(1) << 16;

// Returns the slot of the node with this key for which same(node) is true, or the empty slot where such a node belongs.
// The table uses open addressing. The search first tries a few slots that the greatest source id selects, which are
// probably in the processor's cache, then continues at the slot that the hash selects.
template <class Same>
Graph::NodeSlot& Graph::node_slot_of(NodeKey key, Same same) {
  constexpr uint32_t kSpread = 8, kNear = 8;  // number of start slots per source id; number of slots tried from a start
  NodeSlot* const slots = node_table_.get();
  const size_t mask = table_size_ - 1;
  auto is_it = [&](const NodeSlot& slot) {
    return !slot.id_plus_one || (slot.hash == key.hash && same(nodes_[slot.id_plus_one - 1]));
  };
  if (key.newest_source)
    for (size_t begin = size_t(key.newest_source) * 2 + key.hash % kSpread, i = begin; i < begin + kNear; i++)
      if (is_it(slots[i & mask])) return slots[i & mask];
  size_t i = key.hash & mask;
  while (!is_it(slots[i])) i = (i + 1) & mask;
  return slots[i];
}

void Graph::resize_table(size_t slots) {
  node_table_ = std::make_unique_for_overwrite<NodeSlot[]>(slots);
  std::memset(node_table_.get(), 0, slots * sizeof(NodeSlot));
  table_size_ = slots;
  table_growth_threshold_ = size_t(std::min(int64_t(slots / 2), limit_value(Limit::Nodes)));
  for (uint32_t number = 1; number <= node_keys_.size(); number++) {
    NodeKey key = node_keys_[number - 1];
    node_slot_of(key, [](const Node*) { return false; }) = {key.hash, number};
  }
}

[[gnu::always_inline]] inline const Node* Graph::new_node(Op op, DType dtype, UOpSpan src, Arg arg, Arg tag,
                                                          uint32_t hash) {
  auto* n = static_cast<Node*>(node_arena_.allocate(sizeof(Node) + src.size_bytes(), alignof(Node)));
  auto* copy = reinterpret_cast<UOp*>(n + 1);
  switch (src.size()) {  // copies up to 3 sources faster than memcpy
    case 3: copy[2] = src[2]; [[fallthrough]];
    case 2: copy[1] = src[1]; [[fallthrough]];
    case 1: copy[0] = src[0]; [[fallthrough]];
    case 0: break;
    default: std::copy(src.begin(), src.end(), copy);
  }
  uint8_t kind = op == Op::CONST ? kind_of_const(arg) : uint8_t(op);
  return new (n) Node{.tag = tag, .hash = hash, .arg = arg, .dtype = dtype, .op = op, .kind = kind,
                      .id = uint32_t(nodes_.size()), .num_src = uint32_t(src.size())};
}

UOp Graph::node(Op op, DType dtype, UOpSpan src, Arg arg, Arg tag) {
  uint64_t h = add_to_hash(uint64_t(op), reinterpret_cast<uintptr_t>(dtype.info()));
  uint32_t newest = 0;
  for (UOp s : src) {
    h = add_to_hash(h, reinterpret_cast<uintptr_t>(s.node()));
    newest = std::max(newest, s.id() + 1);
  }
  if (!arg.is_none()) h = add_to_hash(h, arg.hash());
  if (!tag.is_none()) h = add_to_hash(h, uint64_t(tag.hash()) << 32);
  auto hash = uint32_t(h ^ h >> 32);

  NodeSlot& slot = node_slot_of({hash, newest}, [&](const Node* n) {
    return n->op == op && n->dtype == dtype && n->num_src == src.size() &&
           std::equal(src.begin(), src.end(), n->src()) && n->arg == arg && n->tag == tag;
  });
  if (slot.id_plus_one) return UOp(nodes_[slot.id_plus_one - 1]);
  const Node* made = new_node(op, dtype, src, arg, tag, hash);
  nodes_.push_back(made);
  node_keys_.push_back({hash, newest});
  ops_.add(op);
  slot = {hash, uint32_t(nodes_.size())};
  if (nodes_.size() > table_growth_threshold_) [[unlikely]] grow_node_table();
  return UOp(made);
}

void Graph::grow_node_table() {
  check_limit(Limit::Nodes, int64_t(nodes_.size()));
  resize_table(table_size_ * (table_size_ < kLargeTable ? 4 : 2));
}

Arg Graph::intern_text(Arg::Kind kind, std::string_view text) {
  uint32_t hash = hash_text(text);
  auto make = [&] {
    auto* rep =
        static_cast<InternedText*>(node_arena_.allocate(sizeof(InternedText) + text.size(), alignof(InternedText)));
    rep->size = uint32_t(text.size());
    rep->hash = hash;
    if (!text.empty()) std::memcpy(reinterpret_cast<char*>(rep + 1), text.data(), text.size());
    return rep;
  };
  Arg out;
  out.kind_ = kind;
  out.pointer_ =
      interned_texts_.find_or_add(hash, [&](const InternedText* rep) { return rep->as_view() == text; }, make);
  return out;
}

Arg Graph::str(std::string_view text) { return intern_text(Arg::Kind::Str, text); }
Arg Graph::raw_arg(std::string_view text) { return intern_text(Arg::Kind::Raw, text); }
Arg Graph::bytes(std::string_view data) { return intern_text(Arg::Kind::Bytes, data); }

const Graph::InternedItems* Graph::intern_items(std::span<const Arg> items, uint32_t salt) {
  uint32_t hash = hash_items(items, salt);
  auto make = [&] {
    auto* rep =
        static_cast<InternedItems*>(node_arena_.allocate(sizeof(InternedItems) + items.size_bytes(), alignof(Arg)));
    static_assert(sizeof(InternedItems) % alignof(Arg) == 0);
    rep->size = uint32_t(items.size());
    rep->hash = hash;
    std::copy(items.begin(), items.end(), reinterpret_cast<Arg*>(rep + 1));
    return rep;
  };
  return interned_items_.find_or_add(
      hash, [&](const InternedItems* rep) { return std::ranges::equal(rep->as_view(), items, Arg::is_identical); },
      make);
}

Arg Graph::tuple(std::span<const Arg> items) {
  Arg out;
  out.kind_ = Arg::Kind::Tuple;
  out.pointer_ = intern_items(items, 0);
  return out;
}

Arg Graph::ints(std::span<const int64_t> values) {
  std::vector<Arg> items(values.begin(), values.end());
  return tuple(items);
}

Arg Graph::record(RecordClass c, std::span<const Arg> fields) {
  Arg out;
  out.kind_ = Arg::Kind::Record;
  out.record_class_ = uint8_t(c);
  out.pointer_ = intern_items(fields, 1 + uint32_t(c));
  return out;
}

UOp Graph::constant(DType dtype, Const value) { return node(Op::CONST, dtype, {}, dtypes::as_const(value, dtype)); }

UOp Graph::constant(DType dtype, std::span<const Const> values) {
  if (values.empty()) throw Failure("can't create const from empty tuple");
  if (std::all_of(values.begin(), values.end(), [&](Const v) { return py_equal(v, values[0]); }))
    return constant(dtype, values[0]);
  if (int64_t(values.size()) != dtype.count())
    throw Failure(std::to_string(values.size()) + " values for a constant of " + std::string(dtype.repr()));
  std::vector<Arg> items;
  for (Const v : values) items.push_back(dtypes::as_const(v, dtype));
  return node(Op::VCONST, dtype, {}, tuple(items));
}

UOp Graph::constant(DType dtype, Const value, Arg device) {
  return node(Op::CONST, dtype, node(Op::DEVICE, dtypes::void_, {}, device), dtypes::as_const(value, dtype));
}

UOp Graph::invalid(int64_t count) { return node(Op::CONST, dtypes::index.vec(count), {}, Const::invalid()); }

UOp Graph::sink(UOpSpan src, Arg arg) { return node(Op::SINK, dtypes::void_, src, arg); }

UOp Graph::group(UOpSpan src) { return src.size() == 1 ? src[0] : node(Op::GROUP, dtypes::void_, src); }

UOp Graph::range(UOp end, std::span<const Arg> arg, DType dtype) {
  return node(Op::RANGE, dtype, end.cast(dtype), tuple(arg));
}

UOp Graph::range(Const end, int64_t axis, AxisType type) {
  return node(Op::RANGE, dtypes::index, constant(dtypes::index, end), tuple({axis, type}));
}

UOp Graph::special(UOp end, std::string_view name, DType dtype) {
  return node(Op::SPECIAL, dtype, end.cast(dtype), str(name));
}

UOp Graph::variable(std::string_view name, Const min, Const max, DType dtype) {
  return node(Op::DEFINE_VAR, dtype, {}, tuple({str(name), min, max}));
}

std::unique_ptr<StampArray> Graph::acquire_stamps() {
  std::unique_ptr<StampArray> out;
  if (stamp_pool_.empty()) {
    out = std::make_unique<StampArray>();
  } else {
    out = std::move(stamp_pool_.back());
    stamp_pool_.pop_back();
  }
  if (++out->current_stamp == 0) {
    std::fill(out->stamps.begin(), out->stamps.end(), 0);
    out->current_stamp = 1;
  }
  return out;
}

std::vector<UOp> toposort(UOp root) {
  struct Frame {
    const Node* node;
    const UOp* next_source;
  };
  constexpr size_t kUsual = 256;
  InlineStack<const Node*, kUsual> out;
  InlineStack<Frame, kUsual> stack;
  Graph& graph = root.graph();
  auto stamps = graph.acquire_stamps();
  if (root.id() >= stamps->stamps.size()) stamps->stamps.resize(graph.size() + graph.size() / 2 + 64, 0);
  uint32_t* stamp_of = stamps->stamps.data();  // has an element for every source: their ids are smaller than root's id
  // A node can be marked as visited before its sources are visited, because graphs have no cycles.
  const uint32_t begun = stamps->current_stamp;
  stamp_of[root.id()] = begun;
  stack.push_back({root.node(), root.node()->src()});
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    const UOp* s = next;
    const UOp* const end = node->src() + node->num_src;
    const Node* below = nullptr;
    for (; s != end && !below; s++) {
      const Node* n = s->node();
      if (stamp_of[n->id] == begun) continue;
      stamp_of[n->id] = begun;
      if (n->num_src == 0) out.push_back(n);
      else below = n;
    }
    if (below) {
      next = s;
      stack.push_back({below, below->src()});
    } else {
      out.push_back(node);
      stack.pop_back();
    }
  }
  graph.release_stamps(std::move(stamps));
  return std::vector<UOp>(out.begin(), out.end());
}

namespace {
struct CachedToposort {
  UOp root;
  std::vector<UOp> nodes;
};
}  // namespace

std::span<const UOp> cached_toposort(UOp root) {
  auto& last = root.graph().extension<CachedToposort>();
  if (!(last.root == root)) last = {root, toposort(root)};
  return last.nodes;
}

void cache_toposort(UOp root, std::vector<UOp> nodes) {
  root.graph().extension<CachedToposort>() = {root, std::move(nodes)};
}

std::vector<UOp> backward_slice(UOp root) {
  auto out = toposort(root);
  out.pop_back();
  return out;
}

bool op_in_backward_slice_with_self(UOp root, OpSet ops) {
  return root.graph().ops().intersects(ops) && is_found_below(
                                                   root, [](UOp) { return true; }, [&](UOp u) { return u.in(ops); });
}

bool in_backward_slice_with_self(UOp root, UOp needle) {
  auto may_be_above = [&](UOp u) { return u.id() >= needle.id(); };  // a node's id is greater than its sources' ids
  return is_found_below(root, may_be_above, [&](UOp u) { return u == needle; });
}

std::vector<UOp> prepend(UOp first, UOpSpan rest) {
  std::vector<UOp> out(1 + rest.size(), first);
  std::ranges::copy(rest, out.begin() + 1);
  return out;
}

std::vector<UOp> split_uop(UOp root, Op op) {
  if (!root.is(op)) return {root};
  std::vector<UOp> out;
  InlineStack<const Node*, 64> stack;
  stack.push_back(root.node());
  while (!stack.empty()) {
    UOp u(stack.back());
    stack.pop_back();
    if (u.is(op)) for (size_t i = u.num_src(); i-- > 0;) stack.push_back(u.src(i).node());
    else out.push_back(u);
  }
  return out;
}

namespace {

class GraphCopier {
 public:
  explicit GraphCopier(Graph& to) : target_graph_(to) {}

  UOp copy(UOp root) {
    std::vector<UOp> stack{root};
    while (!stack.empty()) {
      UOp u = stack.back();
      size_t waiting = stack.size();
      if (!copied_nodes_.contains(u)) {
        for (size_t i = u.num_src(); i-- > 0;)  // pushed in reverse, so that the first source is copied first
          if (!copied_nodes_.contains(u.src(i))) stack.push_back(u.src(i));
        if (stack.size() > waiting) continue;
        std::vector<UOp> src;
        for (UOp s : u.src()) src.push_back(copied_nodes_.at(s));
        copied_nodes_[u] = target_graph_.node(u.op(), u.dtype(), src, arg(u.arg()), arg(u.tag()));
      }
      stack.pop_back();
    }
    return copied_nodes_.at(root);
  }

 private:
  Arg arg(Arg a) {
    switch (a.kind()) {
      case Arg::Kind::Str: return target_graph_.str(a.text());
      case Arg::Kind::Bytes: return target_graph_.bytes(a.text());
      case Arg::Kind::Raw: return target_graph_.raw_arg(a.text());
      case Arg::Kind::UOp: return copy(a.uop());
      case Arg::Kind::Tuple:
      case Arg::Kind::Record: {
        std::vector<Arg> items;
        for (Arg item : a.items()) items.push_back(arg(item));
        return a.kind() == Arg::Kind::Tuple ? target_graph_.tuple(items)
                                            : target_graph_.record(a.record_class(), items);
      }
      default: return a;
    }
  }

  Graph& target_graph_;
  std::unordered_map<UOp, UOp> copied_nodes_;
};

}  // namespace

UOp copy_into(Graph& to, UOp root) {
  if (root.graph().is_foreign()) to.set_release(root.graph().release());
  return GraphCopier(to).copy(root);
}

}  // namespace tgc
