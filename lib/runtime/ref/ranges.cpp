#include "lib/runtime/ref/ranges.h"

#include "lib/runtime/ref/values.h"
#include "lib/uop/facts.h"

namespace tgc::ref {
namespace {

bool is_expanded_range(UOp range) {
  return axis_type(range) == AxisType::UPCAST || axis_type(range) == AxisType::UNROLL;
}

bool range_args_less(UOp a, UOp b) {
  auto x = a.arg().items(), y = b.arg().items();
  return std::lexicographical_compare(x.begin(), x.end() - 1, y.begin(), y.end() - 1,
                                      [](const Arg& p, const Arg& q) { return p.small_int() < q.small_int(); });
}

}  // namespace

AxisType axis_type(UOp range) { return range.arg().items().back().axis_type(); }
int64_t axis_id(UOp range) { return range.arg()[0].small_int(); }

// Finds the ranges around each node as tinygrad does (uop/ops.py:_ranges). A CONTRACT also ends the expanded ranges of
// its arg, and an UNROLL depends on those of its arg.
KernelRanges::KernelRanges(Graph& graph, std::span<const UOp> nodes)
    : node_positions_(graph), ranges_around_(graph), ended_ranges_(graph) {
  for (UOp u : nodes)
    if (u.is(Op::RANGE)) all_ranges_.push_back(u);
  RangeSet ended_once = empty_set();
  ranges_ended_twice_ = empty_set();
  for (size_t i = 0; i < nodes.size(); i++) {
    UOp u = nodes[i];
    node_positions_[u] = uint32_t(i);
    RangeSet set = empty_set();
    for (UOp s : u.src()) set.add(ranges_around(s));
    if (u.is(Op::RANGE)) set.add(range_index(u));
    if (range_start(u.op()) >= 0 || u.is(Op::AFTER)) {
      RangeSet ended = empty_set();
      for (UOp r : ended_ranges(u)) {
        if (r.is(Op::RANGE)) ended.add(range_index(r));
        else ended.add(ranges_around(r));
      }
      set.remove(ended);
      if (!u.is(Op::AFTER)) {
        RangeSet twice = ended;
        twice.keep_common_ranges(ended_once);
        ranges_ended_twice_.add(twice);
        ended_once.add(ended);
        ended_ranges_[u] = std::move(ended);
      }
    }
    if (u.is(Op::CONTRACT)) set.remove(set_of(expanded_ranges_of(u.arg())));
    if (u.is(Op::UNROLL)) set.add(set_of(expanded_ranges_of(u.arg())));
    ranges_around_[u] = std::move(set);
  }
}

RangeSet KernelRanges::set_of(std::span<const UOp> ranges) const {
  RangeSet out = empty_set();
  for (UOp r : ranges) out.add(range_index(r));
  return out;
}

std::vector<UOp> KernelRanges::ranges_ended_by(UOp u) const {
  std::vector<UOp> left, out;
  for (size_t i = size_t(range_start(u.op())); i < u.num_src(); i++)
    for (UOp r : all_ranges_)
      if ((u.src(i) == r || (!u.src(i).is(Op::RANGE) && is_inside(u.src(i), r))) &&
          std::find(left.begin(), left.end(), r) == left.end())
        left.push_back(r);
  std::sort(left.begin(), left.end(), range_args_less);
  while (!left.empty()) {  // a range whose size depends on another range comes after that range
    auto ready = std::find_if(left.begin(), left.end(), [&](UOp r) {
      return std::none_of(left.begin(), left.end(),
                          [&](UOp other) { return other != r && is_inside(r.src(0), other); });
    });
    if (ready == left.end()) throw_cannot_run(u, "the sizes of its ranges depend on each other");
    out.push_back(*ready);
    left.erase(ready);
  }
  return out;
}

std::vector<UOp> KernelRanges::expanded_ranges_of(const Arg& axes) const {
  std::vector<UOp> out;
  for (const Arg& axis : axes.items())
    for (UOp r : all_ranges_)
      if (is_expanded_range(r) && axis_id(r) == axis[0].small_int()) out.push_back(r);
  return out;
}

std::vector<UOp> KernelRanges::body_nodes(UOpSpan roots, const RangeSet& ranges) const {
  std::vector<UOp> out, stack(roots.begin(), roots.end());
  if (roots.empty()) return out;
  UOpSet seen(roots[0].graph());
  while (!stack.empty()) {
    UOp u = stack.back();
    stack.pop_back();
    if (!ranges_around(u).intersects(ranges) || !seen.insert(u)) continue;
    out.push_back(u);
    for (UOp s : u.src()) stack.push_back(s);
  }
  if (ranges.intersects(ranges_ended_twice_)) {
    const auto from = open_ranges_by_node(roots, ranges);
    std::erase_if(out, [&](UOp u) {
      RangeSet lies_in = ranges_around(u);
      lies_in.keep_common_ranges(ranges);
      return !lies_in.is_within(from.at(u));
    });
  }
  std::sort(out.begin(), out.end(), [&](UOp a, UOp b) { return precedes_node(a, b); });
  return out;
}

// Returns, for nodes that depend on one of `ranges`, those of `ranges` that are open on some path from a root to the
// node.
std::unordered_map<UOp, RangeSet> KernelRanges::open_ranges_by_node(UOpSpan roots, const RangeSet& ranges) const {
  std::unordered_map<UOp, RangeSet> out;
  std::vector<std::pair<UOp, RangeSet>> stack;
  for (UOp u : roots) stack.emplace_back(u, ranges);
  while (!stack.empty()) {
    auto [u, open] = std::move(stack.back());
    stack.pop_back();
    if (!ranges_around(u).intersects(ranges)) continue;
    auto [known, is_new] = out.try_emplace(u, open);
    if (!is_new) {
      if (open.is_within(known->second)) continue;
      known->second.add(open);
      open = known->second;
    }
    if (const RangeSet* ended = ended_ranges_.find(u)) open.remove(*ended);
    for (UOp s : u.src()) stack.emplace_back(s, open);
  }
  return out;
}

bool KernelRanges::is_in_body(const std::vector<UOp>& body, UOp u) const {
  return std::binary_search(body.begin(), body.end(), u, [&](UOp a, UOp b) { return precedes_node(a, b); });
}

}  // namespace tgc::ref
