// Computes the ranges that enclose a node and those that it ends (uop/ops.py: _ranges, ended_ranges).
#include <algorithm>

#include "lib/uop/bottom_up.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {

struct alignas(UOp) RangeList {  // a header, which `size` UOps follow in memory
  uint32_t size;
};

namespace {

constexpr RangeList kNoRanges{0};

const RangeList* make_list(Graph& graph, std::span<const UOp> ranges) {
  if (ranges.empty()) return &kNoRanges;
  auto* list = static_cast<RangeList*>(graph.arena().allocate(sizeof(RangeList) + ranges.size_bytes(), alignof(UOp)));
  list->size = uint32_t(ranges.size());
  std::copy(ranges.begin(), ranges.end(), reinterpret_cast<UOp*>(list + 1));
  return list;
}

std::span<const UOp> view(const RangeList* list) { return {reinterpret_cast<const UOp*>(list + 1), list->size}; }

bool contains(std::span<const UOp> list, UOp u) { return std::find(list.begin(), list.end(), u) != list.end(); }

// Returns the same as range_start (ops.h), for graphs of releases other than 0.12.0.
int foreign_range_start(Op op) {
  switch (op) {
    case Op::LINEAR: return 0;
    case Op::STAGE:
    case Op::CALL:
    case Op::FUNCTION:
    case Op::UNSHARD:
    case Op::BUFFER_VIEW: return 1;
    case Op::COPY: return 2;
    case Op::STORE: return -1;
    default: return range_start(op);
  }
}

template <int (*range_start)(Op)>
void collect_ended(UOp u, std::vector<UOp>& out) {
  std::vector<UOp> stack{u};
  while (!stack.empty()) {
    UOp x = stack.back();
    stack.pop_back();
    if (int start = range_start(x.op()); start >= 0) {
      if (size_t(start) < x.num_src()) out.insert(out.end(), x.src().begin() + start, x.src().end());
    } else if (x.is(Op::AFTER)) {
      for (size_t i = x.num_src(); i-- > 1;) stack.push_back(x.src(i));
    }
  }
}

template <int (*range_start)(Op)>
bool may_end_ranges(UOp u) {
  return range_start(u.op()) >= 0 || u.is(Op::AFTER);
}

// Returns the list of a source that contains the ranges of all sources, so that `u` can share the list. Considers only
// the first list that is not empty; returns null if that list lacks a range. Returns the empty list if all are empty.
const RangeList* list_of_source(UOp u) {
  const RangeList* widest = &kNoRanges;
  for (UOp s : u.src()) {
    const RangeList* list = s.node()->ranges;
    if (list == widest || list->size == 0) continue;
    if (widest->size == 0) {
      widest = list;
      continue;
    }
    for (UOp r : view(list))
      if (!contains(view(widest), r)) return nullptr;
  }
  return widest;
}

template <int (*range_start)(Op) = tgc::range_start>
void compute_ranges(UOp u) {
  const Node* n = u.node();
  std::vector<UOp> ended;
  if (may_end_ranges<range_start>(u)) collect_ended<range_start>(u, ended);
  if (!u.is(Op::RANGE) && ended.empty())
    if (const RangeList* shared = list_of_source(u)) {
      n->ranges = shared;
      return;
    }

  std::vector<UOp> out;
  constexpr size_t kUsual = 8;
  out.reserve(kUsual);
  if (u.is(Op::RANGE)) out.push_back(u);
  auto add = [&](UOp r) {
    if (!contains(out, r)) out.push_back(r);
  };
  for (UOp s : u.src())
    for (UOp r : view(s.node()->ranges)) add(r);
  auto remove = [&](UOp r) {
    if (auto it = std::find(out.begin(), out.end(), r); it != out.end()) out.erase(it);
  };
  for (UOp e : ended) {
    if (e.is(Op::RANGE)) remove(e);  // only `e` itself: the ranges that enclose `e` do not end
    else for (UOp r : ranges_of(e)) remove(r);
  }
  n->ranges = make_list(u.graph(), out);
}

}  // namespace

std::vector<UOp> ended_ranges(UOp u) {
  std::vector<UOp> out;
  collect_ended<range_start>(u, out);
  return out;
}

std::span<const UOp> ranges_of(UOp u) {
  if (!u.node()->ranges)
    bottom_up(
        u, [](UOp x) { return x.node()->ranges != nullptr; }, [](UOp) { return true; },
        u.graph().is_foreign() ? compute_ranges<foreign_range_start> : compute_ranges<>);
  return view(u.node()->ranges);
}

std::span<const UOp> UOp::ranges() const { return ranges_of(*this); }

bool lies_in(UOp u, UOp range) { return contains(ranges_of(u), range); }

}  // namespace tgc
