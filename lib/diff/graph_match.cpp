#include "lib/diff/graph_match.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "lib/diff/renames.h"

namespace tgc {
namespace {

constexpr OpSet kGathers{Op::SINK, Op::GROUP, Op::BARRIER, Op::AFTER, Op::END};
// Limits the work on very regular graphs: sources are paired only for a node's first candidate partners.
constexpr size_t kPartners = 4;

uint64_t mix_hash(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 29;
}

// Replaces axis numbers by their indices in `seen`: ((5, 4), (2, 8)) becomes ((0, 4), (1, 8)). Appends new
// axes to `seen`.
Arg renumber_axes(Graph& graph, Arg arg, std::vector<Arg>& seen) {
  if (!arg.is_tuple()) return arg;
  auto items = arg.items();
  if (items.size() == 2 && items[0].is_int() && items[1].is_int()) {
    auto known = std::find(seen.begin(), seen.end(), items[0]);
    int64_t number = known - seen.begin();
    if (known == seen.end()) seen.push_back(items[0]);
    return graph.tuple({Arg(number), items[1]});
  }
  std::vector<Arg> out;
  for (Arg item : items) out.push_back(renumber_axes(graph, item, seen));
  return graph.tuple(out);
}

std::vector<UOp> ordered_sources(UOp u, const NodeLabels& labels, const DiffSide& side) {
  std::vector<UOp> out(u.src().begin(), u.src().end());
  if (labels.ignores_source_order(u))
    std::stable_sort(out.begin(), out.end(), [&](UOp x, UOp y) {
      return side.structure_hashes[side.position_of(x)] < side.structure_hashes[side.position_of(y)];
    });
  return out;
}

std::optional<size_t> position_of_kernel_name(const Arg& arg) {
  if (arg.kind() != Arg::Kind::Record || RecordView(arg).name() != "KernelInfo") return std::nullopt;
  const RecordView record(arg);
  for (size_t i = 0; i < record.size(); i++)
    if (record.field(i) == "name" && record.values()[i].is_str()) return arg.items().size() - record.size() + i;
  return std::nullopt;
}

}  // namespace

Result<DiffOptions> DiffOptions::parse_ignore_list(std::string_view list) {
  DiffOptions o;
  while (!list.empty()) {
    size_t comma = std::min(list.find(','), list.size());
    std::string_view word = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (word == "names") o.compares_names = false;
    else if (word == "tags") o.compares_tags = false;
    else if (word == "metadata") o.compares_metadata = false;
    else if (word == "buffers") o.compares_buffers = false;
    else if (word == "order") o.compares_order = false;
    else if (!word.empty())
      return Diag{.message = "cannot ignore '" + std::string(word) + "'",
                  .expected = "names, tags, metadata, buffers or order"};
  }
  return o;
}

Arg NodeLabels::compared_arg(UOp u) const {
  const Arg& arg = u.arg();
  switch (u.op()) {
    case Op::RANGE:
      if (!arg.is_tuple() || arg.items().empty()) return arg;
      return graph_.tuple({Arg(int64_t(arg.items().size())), arg.items().back()});
    case Op::UNIQUE:
    case Op::LUNIQUE:
    case Op::DEFINE_LOCAL:
    case Op::DEFINE_REG: return {};
    case Op::BUFFER: {  // since 0.14, the first field of a buffer's ParamArg is its number; before, UNIQUE has it
      if (!arg.is(RecordClass::Open) || RecordView(arg).name() != "ParamArg") return arg;
      std::vector<Arg> items(arg.items().begin(), arg.items().end());
      if (items.size() > 2) items[2] = Arg();
      return graph_.record(RecordClass::Open, items);
    }
    case Op::DEFINE_GLOBAL: return options_.compares_buffers ? arg : Arg();
    case Op::DEFINE_VAR:
      return options_.compares_names || !arg.is_tuple() || arg.items().size() != 3 ? arg
                                                                            : graph_.tuple({Arg(), arg[1], arg[2]});
    case Op::UNROLL:
    case Op::CONTRACT:
    case Op::WMMA: {
      std::vector<Arg> seen;
      // In a WMMA, leave the first two items unchanged: item 1 has the dimensions of the tensor core, not axes.
      if (u.is(Op::WMMA) && arg.is_tuple() && arg.items().size() > 1) {
        std::vector<Arg> items(arg.items().begin(), arg.items().end());
        for (size_t i = 2; i < items.size(); i++) items[i] = renumber_axes(graph_, items[i], seen);
        return graph_.tuple(items);
      }
      return renumber_axes(graph_, arg, seen);
    }
    case Op::KERNEL: return arg.is(RecordClass::Kernel) ? (options_.compares_metadata ? arg[1] : Arg()) : arg;
    default: break;
  }
  const auto name_at = position_of_kernel_name(arg);
  if (!name_at) return arg;
  std::vector<Arg> items(arg.items().begin(), arg.items().end());
  Arg& name = items[*name_at];
  name = options_.compares_names ? Arg(graph_.str(remove_name_counters(name.text()))) : Arg();
  return graph_.record(arg.record_class(), items);
}

bool NodeLabels::ignores_source_order(UOp u) const {
  return !options_.compares_order && u.in(ops::Commutative | kGathers);
}

uint64_t NodeLabels::label_hash(UOp u) const {
  uint64_t h = mix_hash(uint64_t(u.op()), reinterpret_cast<uintptr_t>(u.dtype().info()));
  return mix_hash(mix_hash(h, compared_arg(u).hash()), compared_tag(u).hash());
}

// Sources are ordered, so the two roots determine which nodes correspond.

bool is_same_graph(UOp a, UOp b, const NodeLabels& labels) {
  Graph& graph = a.graph();
  UOpMap<UOp> to_b(graph), to_a(graph);
  std::vector<std::pair<UOp, UOp>> worklist{{a, b}};
  while (!worklist.empty()) {
    auto [x, y] = worklist.back();
    worklist.pop_back();
    const UOp *known_y = to_b.find(x), *known_x = to_a.find(y);
    if (known_y || known_x) {
      if (!known_y || !known_x || !(*known_y == y)) return false;
      continue;
    }
    if (!labels.are_equal(x, y) || x.num_src() != y.num_src()) return false;
    UOp inner_x = NodeLabels::inner_ast(x), inner_y = NodeLabels::inner_ast(y);
    if (bool(inner_x) != bool(inner_y) || (inner_x && !is_same_graph(inner_x, inner_y, labels))) return false;
    to_b[x] = y;
    to_a[y] = x;
    for (size_t i = x.num_src(); i-- > 0;) worklist.emplace_back(x.src(i), y.src(i));
  }
  return true;
}

DiffSide::DiffSide(UOp root, const NodeLabels& labels)
    : root(root), nodes(toposort(root)), node_positions(root.graph()) {
  structure_hashes.resize(nodes.size());
  users.resize(nodes.size());
  matched_positions.assign(nodes.size(), -1);
  is_value_.resize(nodes.size());
  std::vector<uint64_t> below;
  for (uint32_t i = 0; i < nodes.size(); i++) {
    UOp u = nodes[i];
    node_positions[u] = i;
    below.clear();
    bool value = u.in({Op::CONST, Op::VCONST, Op::DEVICE});
    for (UOp s : u.src()) {
      uint32_t k = position_of(s);
      below.push_back(structure_hashes[k]);
      value &= is_value(k);
      if (users[k].empty() || users[k].back() != i) users[k].push_back(i);
    }
    is_value_[i] = value;
    if (labels.ignores_source_order(u)) std::sort(below.begin(), below.end());
    uint64_t h = labels.label_hash(u);
    for (uint64_t s : below) h = mix_hash(h, s);
    if (UOp inner = NodeLabels::inner_ast(u)) h = mix_hash(h, DiffSide(inner, labels).structure_hashes.back());
    structure_hashes[i] = h;
  }
}

namespace {

class GraphMatcher {
 public:
  GraphMatcher(DiffSide& a, DiffSide& b, const NodeLabels& labels) : a_(a), b_(b), labels_(labels) {
    for (uint32_t i = 0; i < a.nodes.size(); i++) if (!a.is_value(i)) hash_counts_a_[a.structure_hashes[i]]++;
    for (uint32_t i = 0; i < b.nodes.size(); i++) if (!b.is_value(i)) hash_counts_b_[b.structure_hashes[i]]++;
  }

  void run() {
    propose_pair(uint32_t(a_.nodes.size() - 1), uint32_t(b_.nodes.size() - 1));
    while (!pair_queue_.empty()) {
      auto [x, y] = pair_queue_.front();
      pair_queue_.pop_front();
      pair_sources(x, y);
    }
    accept_candidates();
    match_moved_subgraphs();
    match_by_neighbours();
  }

 private:
  struct Candidate {
    uint32_t x, y;
    uint32_t votes = 0;  // how often this pair was proposed
    uint32_t order;
  };

  bool are_equal_subgraphs(uint32_t x, uint32_t y) const { return a_.structure_hashes[x] == b_.structure_hashes[y]; }
  bool have_equal_labels(uint32_t x, uint32_t y) const { return labels_.are_equal(a_.nodes[x], b_.nodes[y]); }

  void propose_pair(uint32_t x, uint32_t y) {
    if (a_.is_value(x) || b_.is_value(y)) return;
    auto [at, is_new] = candidate_indices_.try_emplace(uint64_t(x) << 32 | y, uint32_t(candidates_.size()));
    if (is_new) {
      candidates_.push_back({x, y, 0, uint32_t(candidates_.size())});
      if (num_queued_a_[x]++ < kPartners && num_queued_b_[y]++ < kPartners) pair_queue_.emplace_back(x, y);
    }
    candidates_[at->second].votes++;
  }

  // Pairs the sources of two paired nodes: equal ones at corresponding positions, then other equal ones, then the rest.
  void pair_sources(uint32_t x, uint32_t y) {
    std::vector<uint32_t> sx, sy;
    for (UOp s : ordered_sources(a_.nodes[x], labels_, a_)) sx.push_back(a_.position_of(s));
    for (UOp s : ordered_sources(b_.nodes[y], labels_, b_)) sy.push_back(b_.position_of(s));
    std::vector<uint8_t> used_x(sx.size()), used_y(sy.size());
    auto take = [&](size_t i, size_t j) {
      used_x[i] = used_y[j] = 1;
      propose_pair(sx[i], sy[j]);
    };
    size_t common = std::min(sx.size(), sy.size());
    if (sx.size() == sy.size()) {
      for (size_t i = 0; i < common; i++)
        if (are_equal_subgraphs(sx[i], sy[i])) take(i, i);
    } else {
      size_t front = 0;
      while (front < common && are_equal_subgraphs(sx[front], sy[front])) take(front, front), front++;
      for (size_t k = 1; front + k <= common && are_equal_subgraphs(sx[sx.size() - k], sy[sy.size() - k]); k++)
        take(sx.size() - k, sy.size() - k);
    }
    std::unordered_map<uint64_t, std::deque<size_t>> equal_sources;
    for (size_t j = 0; j < sy.size(); j++)
      if (!used_y[j]) equal_sources[b_.structure_hashes[sy[j]]].push_back(j);
    for (size_t i = 0; i < sx.size(); i++) {
      if (used_x[i]) continue;
      auto found = equal_sources.find(a_.structure_hashes[sx[i]]);
      if (found == equal_sources.end() || found->second.empty()) continue;
      take(i, found->second.front());
      found->second.pop_front();
    }
    pair_remaining(sx, sy, used_x, used_y);
  }

  // Pairs sources that are not used yet, at nearby positions: first those with equal labels, then others, except
  // constants and devices.
  void pair_remaining(const std::vector<uint32_t>& sx, const std::vector<uint32_t>& sy, std::vector<uint8_t>& used_x,
                      std::vector<uint8_t>& used_y) {
    constexpr size_t kWindow = 64;
    for (bool same_label : {true, false})
      for (size_t i = 0; i < sx.size(); i++) {
        if (used_x[i]) continue;
        size_t j = i;
        if (j >= sy.size() || used_y[j] || sx.size() != sy.size()) j = i > kWindow ? i - kWindow : 0;
        size_t end = std::min(sy.size(), i + kWindow);
        for (; j < end; j++)
          if (!used_y[j] && (same_label ? have_equal_labels(sx[i], sy[j]) : true)) break;
        if (j >= end) continue;
        if (!same_label && (a_.is_value(sx[i]) || b_.is_value(sy[j]))) continue;
        used_x[i] = used_y[j] = 1;
        propose_most_similar_pair(sx[i], sy[j]);
      }
  }

  double similarity(uint32_t x, uint32_t y) const {
    UOp u = a_.nodes[x], v = b_.nodes[y];
    double sum = (u.op() == v.op() ? 0.5 : 0) + (have_equal_labels(x, y) ? 0.5 : 0);
    size_t n = std::min(u.num_src(), v.num_src()), alikes = 0;
    for (size_t i = 0; i < n; i++) alikes += are_equal_subgraphs(a_.position_of(u.src(i)), b_.position_of(v.src(i)));
    return sum + (n ? 2.0 * double(alikes) / double(std::max(u.num_src(), v.num_src())) : 0);
  }

  // Proposes at most one pair: `x` and `y`, or one of them and a source of the other if these are more similar, as
  // after an insertion.
  void propose_most_similar_pair(uint32_t x, uint32_t y) {
    bool same_label = have_equal_labels(x, y);
    double best = similarity(x, y);
    uint32_t best_x = x, best_y = y;
    auto consider = [&](uint32_t p, uint32_t q) {
      if (a_.is_value(p) || b_.is_value(q)) return;
      double l = are_equal_subgraphs(p, q) ? 9 : !same_label && have_equal_labels(p, q) ? similarity(p, q) - 0.1 : 0;
      if (l > best) best = l, best_x = p, best_y = q;
    };
    for (UOp s : b_.nodes[y].src()) consider(x, b_.position_of(s));
    for (UOp s : a_.nodes[x].src()) consider(a_.position_of(s), y);
    if (best < 1 && hash_counts_b_.contains(a_.structure_hashes[x]) && hash_counts_a_.contains(b_.structure_hashes[y]))
      return;
    propose_pair(best_x, best_y);
  }

  bool is_unmatched(uint32_t x, uint32_t y) const { return a_.matched_positions[x] < 0 && b_.matched_positions[y] < 0; }
  void accept_pair(uint32_t x, uint32_t y) {
    a_.matched_positions[x] = int32_t(y);
    b_.matched_positions[y] = int32_t(x);
  }

  bool may_correspond(uint32_t x, uint32_t y) const {
    UOp u = a_.nodes[x], v = b_.nodes[y];
    if (u.op() == v.op()) return true;
    if (u.dtype() != v.dtype() && !(u.dtype().count() == v.dtype().count() && u.num_src() == v.num_src())) return false;
    size_t shared = 0;
    for (UOp s : u.src())
      for (UOp t : v.src())
        if (are_equal_subgraphs(a_.position_of(s), b_.position_of(t)) ||
            a_.matched_positions[a_.position_of(s)] == int32_t(b_.position_of(t))) {
          shared++;
          break;
        }
    return shared * 2 >= std::max(u.num_src(), v.num_src()) && shared > 0;
  }

  void accept_candidates() {
    auto rank = [&](const Candidate& c) {
      if (are_equal_subgraphs(c.x, c.y)) return 0;
      return have_equal_labels(c.x, c.y) ? 1 : a_.nodes[c.x].op() == b_.nodes[c.y].op() ? 2 : 3;
    };
    std::vector<int> ranks;
    for (const Candidate& c : candidates_) ranks.push_back(rank(c));
    std::vector<uint32_t> order(candidates_.size());
    for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t i, uint32_t j) {
      if (ranks[i] != ranks[j]) return ranks[i] < ranks[j];
      if (candidates_[i].votes != candidates_[j].votes) return candidates_[i].votes > candidates_[j].votes;
      return i < j;
    });
    for (uint32_t i : order) {
      const Candidate& c = candidates_[i];
      if (ranks[i] == 3 && !may_correspond(c.x, c.y)) continue;
      if (is_unmatched(c.x, c.y)) accept_pair(c.x, c.y);
    }
  }

  // Matches equal subgraphs that moved within the graph, users before their sources.
  void match_moved_subgraphs() {
    std::unordered_map<uint64_t, std::vector<uint32_t>> left;
    for (uint32_t y = 0; y < b_.nodes.size(); y++)
      if (b_.matched_positions[y] < 0 && !b_.is_value(y)) left[b_.structure_hashes[y]].push_back(y);
    for (uint32_t x = uint32_t(a_.nodes.size()); x-- > 0;) {
      if (a_.matched_positions[x] >= 0 || a_.is_value(x)) continue;
      auto found = left.find(a_.structure_hashes[x]);
      if (found == left.end()) continue;
      while (!found->second.empty() && b_.matched_positions[found->second.back()] >= 0) found->second.pop_back();
      if (found->second.empty()) continue;
      match_subgraph(x, found->second.back());
    }
  }

  void match_subgraph(uint32_t x, uint32_t y) {
    std::vector<std::pair<uint32_t, uint32_t>> worklist{{x, y}};
    while (!worklist.empty()) {
      auto [u, v] = worklist.back();
      worklist.pop_back();
      if (!is_unmatched(u, v) || !are_equal_subgraphs(u, v) || a_.is_value(u)) continue;
      accept_pair(u, v);
      auto su = ordered_sources(a_.nodes[u], labels_, a_), sv = ordered_sources(b_.nodes[v], labels_, b_);
      for (size_t i = 0; i < su.size() && i < sv.size(); i++)
        worklist.emplace_back(a_.position_of(su[i]), b_.position_of(sv[i]));
    }
  }

  // Matches unmatched nodes with nodes of the same op that share matched sources or users.
  void match_by_neighbours() {
    for (uint32_t x = 0; x < a_.nodes.size(); x++) {
      if (a_.matched_positions[x] >= 0 || a_.is_value(x)) continue;
      std::unordered_map<uint32_t, int> score;
      auto consider = [&](uint32_t y) {
        if (b_.matched_positions[y] < 0 && !b_.is_value(y) && b_.nodes[y].op() == a_.nodes[x].op()) score[y]++;
      };
      for (UOp s : a_.nodes[x].src())
        if (int32_t k = a_.matched_positions[a_.position_of(s)]; k >= 0 && b_.users[size_t(k)].size() < 64)
          for (uint32_t y : b_.users[size_t(k)]) consider(y);
      for (uint32_t user : a_.users[x])
        if (int32_t k = a_.matched_positions[user]; k >= 0 && b_.nodes[size_t(k)].num_src() < 64)
          for (UOp s : b_.nodes[size_t(k)].src()) consider(b_.position_of(s));
      int best = 0;
      uint32_t best_y = 0;
      for (auto [y, n] : score) {
        int weight = 2 * n + have_equal_labels(x, y);
        if (weight > best || (weight == best && y < best_y)) best = weight, best_y = y;
      }
      if (best) accept_pair(x, best_y);
    }
  }

  DiffSide& a_;
  DiffSide& b_;
  const NodeLabels& labels_;
  std::unordered_map<uint64_t, uint32_t> hash_counts_a_, hash_counts_b_;
  std::unordered_map<uint64_t, uint32_t>
      candidate_indices_;  // maps x << 32 | y to the index of this pair in candidates_
  std::unordered_map<uint32_t, uint32_t> num_queued_a_, num_queued_b_;
  std::vector<Candidate> candidates_;
  std::deque<std::pair<uint32_t, uint32_t>> pair_queue_;
};

}  // namespace

void match_graphs(DiffSide& a, DiffSide& b, const NodeLabels& labels) { GraphMatcher(a, b, labels).run(); }

}  // namespace tgc
