#include "lib/diff/graph_diff.h"

#include <algorithm>

#include "lib/uop/render.h"

namespace tgc {
namespace {

constexpr size_t kMaxExpression = 160;

std::string op_name(UOp u) { return std::string(name_of(u.op())); }

// Returns the arg of a constant or device; else %N, N being the node's position.
std::string source_text(const DiffSide& side, UOp s) {
  if (side.is_value(side.position_of(s))) return s.is(Op::DEVICE) ? s.arg().repr() : s.arg().str();
  return "%" + std::to_string(side.position_of(s));
}

std::string source_text_with_op(const DiffSide& side, UOp s) {
  std::string text = source_text(side, s);
  return side.is_value(side.position_of(s)) ? text : text + " " + op_name(s);
}

std::pair<std::string, std::string> distinct_texts(std::string before, UOp s, std::string after, UOp t) {
  if (before != after) return {before, after};
  if (s.dtype() == t.dtype()) return {before, "another " + after};
  return {before + " " + std::string(s.dtype().repr()), after + " " + std::string(t.dtype().repr())};
}

std::string list_text(const DiffSide& side, std::span<const UOp> list) {
  std::string out = "(";
  for (size_t i = 0; i < list.size(); i++) out += (i ? ", " : "") + source_text(side, list[i]);
  return out + ")";
}

constexpr OpSet kIndexMath = ops::ALU | OpSet{Op::CAST, Op::CONST, Op::RANGE, Op::SPECIAL, Op::DEFINE_VAR};

// Returns the nearest INDEX whose index or validity is computed from node `i`; the empty UOp if none is near.
UOp nearest_index_user(const DiffSide& side, uint32_t i) {
  std::vector<uint32_t> level{i};
  for (size_t steps = 0; steps < 24 && !level.empty(); steps++) {
    std::vector<uint32_t> next;
    for (uint32_t k : level)
      for (uint32_t user : side.users[k]) {
        UOp u = side.nodes[user];
        if (u.is(Op::INDEX) && u.src(0) != side.nodes[k]) return u;
        if (u.in(kIndexMath) && next.size() < 256) next.push_back(user);
      }
    level = std::move(next);
  }
  return {};
}

std::string index_text(const DiffSide& side, UOp index) {
  std::string out = source_text(side, index.src(0)) + "[";
  for (size_t i = 1; i < index.num_src(); i++) {
    std::string part = index.src(i).in(kIndexMath) ? render(index.src(i), false) : source_text(side, index.src(i));
    out += (i > 1 ? ", valid: " : "") + std::string(strip_parens(part));
  }
  return out + "]";
}

class GraphDiffer {
 public:
  GraphDiffer(DiffSide& a, DiffSide& b, const NodeLabels& labels, GraphDiff& out)
      : a_(a), b_(b), labels_(labels), out_(out) {}

  void run() {
    for (uint32_t y = 0; y < b_.nodes.size(); y++) {
      if (b_.is_value(y)) continue;
      if (b_.matched_positions[y] >= 0) compare_nodes(uint32_t(b_.matched_positions[y]), y);
      else if (is_separate_change(b_, y)) add_grouped_change(b_, y, NodeChange::Kind::Added);
    }
    for (uint32_t x = 0; x < a_.nodes.size(); x++)
      if (!a_.is_value(x) && a_.matched_positions[x] < 0 && is_separate_change(a_, x))
        add_grouped_change(a_, x, NodeChange::Kind::Removed);
    compare_root_values();
  }

 private:
  bool corresponds(UOp s, UOp t) const {
    uint32_t x = a_.position_of(s), y = b_.position_of(t);
    if (a_.is_value(x) || b_.is_value(y))
      return a_.is_value(x) && b_.is_value(y) && a_.structure_hashes[x] == b_.structure_hashes[y];
    return a_.matched_positions[x] == int32_t(y);
  }
  bool is_added(UOp t) const { return !b_.is_value(b_.position_of(t)) && b_.matched_positions[b_.position_of(t)] < 0; }
  bool is_removed(UOp s) const {
    return !a_.is_value(a_.position_of(s)) && a_.matched_positions[a_.position_of(s)] < 0;
  }

  void compare_nodes(uint32_t x, uint32_t y) {
    UOp u = a_.nodes[x], v = b_.nodes[y];
    NodeChange c{.kind = NodeChange::Kind::Changed, .position_a = int32_t(x), .position_b = int32_t(y)};
    auto add = [&](std::string what, std::string before, std::string after) {
      if (before == after) after = "another " + after;
      c.differences.push_back({std::move(what), std::move(before), std::move(after)});
    };
    if (u.op() != v.op()) add("op", op_name(u), op_name(v));
    if (u.dtype() != v.dtype()) add("dtype", std::string(u.dtype().repr()), std::string(v.dtype().repr()));
    if (!(labels_.compared_arg(u) == labels_.compared_arg(v))) compare_args(u, v, add);
    if (!(labels_.compared_tag(u) == labels_.compared_tag(v))) add("tag", u.tag().repr(), v.tag().repr());
    compare_sources(u, v, add);
    compare_kernel_asts(u, v, add);
    if (c.differences.empty()) return;
    c.before = node_as_line(a_, x);
    c.after = node_as_line(b_, y);
    c.usage_text = describe_usage(x, y);
    out_.changes.push_back(std::move(c));
  }

  template <class Add>
  void compare_args(UOp u, UOp v, Add add) {
    if (u.is(Op::RANGE) && v.is(Op::RANGE) && u.arg().is_tuple() && v.arg().is_tuple() && !u.arg().items().empty() &&
        !v.arg().items().empty()) {
      Arg s = u.arg().items().back(), t = v.arg().items().back();
      if (!(s == t)) return add("axis type", s.repr(), t.repr());
    }
    if (u.arg().is(RecordClass::KernelInfo) && v.arg().is(RecordClass::KernelInfo)) {
      auto fields = fields_of(RecordClass::KernelInfo);
      const Arg compared_u = labels_.compared_arg(u), compared_v = labels_.compared_arg(v);
      for (size_t i = 0; i < fields.size(); i++)
        if (!(compared_u[i] == compared_v[i]))
          add("arg " + std::string(fields[i]), u.arg()[i].repr(), v.arg()[i].repr());
      return;
    }
    add(u.in({Op::REDUCE, Op::REDUCE_AXIS}) ? "reduce op" : "arg", u.arg().repr(), v.arg().repr());
  }

  static std::string role_of_source(UOp u, size_t i) {
    if (u.is(Op::RANGE) && i == 0) return "size";
    if (u.is(Op::INDEX))
      return i == 0 ? "buffer" : i == 1 ? "index" : i == 2 ? "validity" : "source " + std::to_string(i);
    if (u.is(Op::STORE) && i == 1) return "value";
    if (u.is(Op::SPECIAL) && i == 0) return "size";
    return "source " + std::to_string(i);
  }

  template <class Add>
  void compare_sources(UOp u, UOp v, Add add) {
    auto su = u.src(), sv = v.src();
    if (labels_.ignores_source_order(u)) return compare_unordered_sources(u, v, add);
    if (su.size() == sv.size()) {
      std::vector<size_t> wrong;
      for (size_t i = 0; i < su.size(); i++)
        if (!corresponds(su[i], sv[i])) wrong.push_back(i);
      if (wrong.size() > 1 && is_reordered(su, sv, wrong))
        return add("order of sources", list_text(a_, su), list_text(b_, sv));
      for (size_t i : wrong)
        if (!is_added(sv[i]) && !is_removed(su[i])) {
          auto [before, after] =
              distinct_texts(source_text_with_op(a_, su[i]), su[i], source_text_with_op(b_, sv[i]), sv[i]);
          add(role_of_source(v, i), before, after);
        }
      return;
    }
    size_t front = 0, back = 0, common = std::min(su.size(), sv.size());
    while (front < common && corresponds(su[front], sv[front])) front++;
    while (front + back < common && corresponds(su[su.size() - 1 - back], sv[sv.size() - 1 - back])) back++;
    auto old_part = su.subspan(front, su.size() - front - back), new_part = sv.subspan(front, sv.size() - front - back);
    bool is_reported = std::all_of(old_part.begin(), old_part.end(), [&](UOp s) { return is_removed(s); }) &&
                std::all_of(new_part.begin(), new_part.end(), [&](UOp t) { return is_added(t); });
    if (is_reported) return;
    bool ranges = u.op() == v.op() && range_start(u.op()) >= 0 && int(front) >= range_start(u.op());
    bool validity = u.is(Op::INDEX) && v.is(Op::INDEX) && front >= 2;
    add(ranges ? "ranges" : validity ? "validity" : "sources", list_text(a_, old_part), list_text(b_, new_part));
  }

  bool is_reordered(std::span<const UOp> su, std::span<const UOp> sv, const std::vector<size_t>& wrong) const {
    std::vector<size_t> left = wrong;
    for (size_t i : wrong) {
      auto found = std::find_if(left.begin(), left.end(), [&](size_t j) { return corresponds(su[i], sv[j]); });
      if (found == left.end()) return false;
      left.erase(found);
    }
    return true;
  }

  template <class Add>
  void compare_unordered_sources(UOp u, UOp v, Add add) {
    std::vector<UOp> removed, added(v.src().begin(), v.src().end());
    for (UOp s : u.src()) {
      auto found = std::find_if(added.begin(), added.end(), [&](UOp t) { return corresponds(s, t); });
      if (found == added.end()) removed.push_back(s);
      else added.erase(found);
    }
    std::erase_if(removed, [&](UOp s) { return is_removed(s); });
    std::erase_if(added, [&](UOp t) { return is_added(t); });
    if (!removed.empty() || !added.empty()) add("sources", list_text(a_, removed), list_text(b_, added));
  }

  template <class Add>
  void compare_kernel_asts(UOp u, UOp v, Add add) {
    UOp s = NodeLabels::inner_ast(u), t = NodeLabels::inner_ast(v);
    if (!s || !t || is_same_graph(s, t, labels_)) return;
    GraphDiff inner = diff_graphs(s, t, labels_.options());
    for (const NodeChange& c : inner.changes) {
      if (c.kind == NodeChange::Kind::Changed)
        for (const PropertyDifference& d : c.differences) add("kernel: " + d.property_name, c.before, c.after);
      else add(c.kind == NodeChange::Kind::Added ? "kernel: added" : "kernel: removed", c.before, c.after);
    }
  }

  // Returns true if an added or removed node is reported as a change of its own.
  static bool is_separate_change(const DiffSide& side, uint32_t i) {
    return side.users[i].empty() || std::any_of(side.users[i].begin(), side.users[i].end(),
                                                [&](uint32_t u) { return side.matched_positions[u] >= 0; });
  }

  void add_grouped_change(const DiffSide& side, uint32_t top, NodeChange::Kind kind) {
    bool added = kind == NodeChange::Kind::Added;
    NodeChange c{.kind = kind};
    (added ? c.position_b : c.position_a) = int32_t(top);
    (added ? c.after : c.before) = node_as_line(side, top);
    auto& covered = added ? grouped_nodes_b_ : grouped_nodes_a_;
    covered.resize(side.nodes.size());
    std::vector<uint32_t> worklist{top};
    covered[top] = 1;
    while (!worklist.empty()) {
      uint32_t i = worklist.back();
      worklist.pop_back();
      if (i != top) c.grouped_lines.push_back(node_as_line(side, i));
      for (UOp s : side.nodes[i].src()) {
        uint32_t k = side.position_of(s);
        if (side.matched_positions[k] >= 0 || side.is_value(k) || covered[k] || is_separate_change(side, k)) continue;
        covered[k] = 1;
        worklist.push_back(k);
      }
    }
    for (uint32_t user : side.users[top]) {
      if (side.matched_positions[user] < 0) continue;
      if (!c.usage_text.empty()) {
        c.usage_text += ", ...";
        break;
      }
      c.usage_text = "used by " + source_text_with_op(side, side.nodes[user]);
      append_counterpart(side, top, user, added, c.usage_text);
    }
    out_.changes.push_back(std::move(c));
  }

  void append_counterpart(const DiffSide& side, uint32_t top, uint32_t user, bool added, std::string& text) const {
    const DiffSide& other = added ? a_ : b_;
    UOp here = side.nodes[user], there = other.nodes[size_t(side.matched_positions[user])];
    if (here.num_src() != there.num_src()) return;
    for (size_t i = 0; i < here.num_src(); i++)
      if (side.position_of(here.src(i)) == top)
        text += (added ? ", in place of " : ", where now stands ") + source_text_with_op(other, there.src(i));
  }

  // Returns the index expressions around a changed node in both graphs, if they differ and are short; else text that
  // names a user of the node, if there is one.
  std::string describe_usage(uint32_t x, uint32_t y) const {
    UOp u = a_.nodes[x].is(Op::INDEX) ? a_.nodes[x] : a_.nodes[x].in(kIndexMath) ? nearest_index_user(a_, x) : UOp();
    UOp v = b_.nodes[y].is(Op::INDEX) ? b_.nodes[y] : b_.nodes[y].in(kIndexMath) ? nearest_index_user(b_, y) : UOp();
    if (u && v) {
      std::string before = index_text(a_, u), after = index_text(b_, v);
      if (before != after && before.size() <= kMaxExpression && after.size() <= kMaxExpression)
        return before + "  ->  " + after;
    }
    const auto& users = b_.users[y];
    if (users.empty()) return {};
    return "used by " + source_text_with_op(b_, b_.nodes[users[0]]) +
           (users.size() > 1 ? " and " + std::to_string(users.size() - 1) + " more" : "");
  }

  // Compares the roots if one is a constant or device: match_graphs() does not match these.
  void compare_root_values() {
    uint32_t x = uint32_t(a_.nodes.size() - 1), y = uint32_t(b_.nodes.size() - 1);
    if (!a_.is_value(x) && !b_.is_value(y)) return;
    if (a_.is_value(x) && b_.is_value(y) && a_.structure_hashes[x] == b_.structure_hashes[y]) return;
    if (a_.is_value(x) && !b_.is_value(y) && b_.matched_positions[y] < 0) {
      out_.changes.push_back(
          {.kind = NodeChange::Kind::Removed, .position_a = int32_t(x), .before = node_as_line(a_, x)});
      return;
    }
    auto [before, after] =
        distinct_texts(source_text_with_op(a_, a_.root), a_.root, source_text_with_op(b_, b_.root), b_.root);
    out_.changes.push_back({.kind = NodeChange::Kind::Changed,
                            .position_a = int32_t(x),
                            .position_b = int32_t(y),
                            .before = node_as_line(a_, x),
                            .after = node_as_line(b_, y),
                            .differences = {{"value", before, after}}});
  }

  DiffSide& a_;
  DiffSide& b_;
  const NodeLabels& labels_;
  GraphDiff& out_;
  std::vector<uint8_t> grouped_nodes_a_, grouped_nodes_b_;
};

}  // namespace

bool is_renumbering(const NodeChange& c) {
  if (c.kind != NodeChange::Kind::Changed || c.differences.size() != 1 || c.differences[0].property_name != "arg")
    return false;
  const size_t name = c.after.find("= ") + 2;
  const std::string_view op = std::string_view(c.after).substr(name, c.after.find(' ', name) - name);
  if (op != "BUFFER" && op != "PARAM" && op != "DEFINE_GLOBAL" && op != "DEFINE_LOCAL" && op != "UNIQUE" &&
      op != "LUNIQUE")
    return false;
  // The first number in an arg is that of the buffer.
  auto without_number = [](const std::string& arg) {
    const size_t begin = arg.find_first_of("0123456789"), end = arg.find_first_not_of("0123456789", begin);
    return begin == arg.npos ? arg : arg.substr(0, begin) + (end == arg.npos ? "" : arg.substr(end));
  };
  return without_number(c.differences[0].before) == without_number(c.differences[0].after);
}

size_t GraphDiff::count_changes(NodeChange::Kind kind) const {
  return size_t(std::count_if(changes.begin(), changes.end(), [&](const NodeChange& c) { return c.kind == kind; }));
}

std::string node_as_line(const DiffSide& side, uint32_t i) {
  UOp u = side.nodes[i];
  std::string out = "%" + std::to_string(i) + " = " + op_name(u);
  if (u.dtype() != dtypes::void_) out += " " + std::string(u.dtype().repr());
  if (u.num_src()) out += " " + list_text(side, u.src());
  if (!u.arg().is_none()) out += " " + u.arg().repr();
  if (!u.tag().is_none()) out += " tag=" + u.tag().repr();
  return out;
}

GraphDiff diff_graphs(UOp a, UOp b, const DiffOptions& options) {
  NodeLabels labels(a.graph(), options);
  GraphDiff out;
  DiffSide side_a(a, labels), side_b(b, labels);
  out.num_nodes_a = side_a.nodes.size();
  out.num_nodes_b = side_b.nodes.size();
  if (is_same_graph(a, b, labels)) return out;
  match_graphs(side_a, side_b, labels);
  GraphDiffer(side_a, side_b, labels, out).run();
  std::ranges::stable_partition(out.changes, [](const NodeChange& c) { return !is_renumbering(c); });
  out.is_same = out.changes.empty() && !options.compares_order;
  return out;
}

}  // namespace tgc
