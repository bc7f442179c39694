#include "lib/prove/lanes.h"

#include <algorithm>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr int64_t kMostPositions = 1024;

// Returns the size of a RANGE that the expander will replace by an axis; 0 for other nodes.
int64_t expanded_axis_size(UOp u) {
  if (!u.is(Op::RANGE) || !u.arg().is_tuple() || u.arg().items().size() != 2 || !u.src(0).is_const()) return 0;
  AxisType type = u.arg().items().back().axis_type();
  return type == AxisType::UPCAST || type == AxisType::UNROLL ? u.vmax().to_int().low_64_bits() + 1 : 0;
}

using Axes = std::map<int64_t, int64_t>;

Axes axis_sizes_of(Arg arg) {
  Axes out;
  for (Arg axis : arg.items()) out[axis[0].small_int()] = axis[1].small_int();
  return out;
}

int64_t num_positions(Arg arg) {
  int64_t out = 1;
  for (Arg axis : arg.items()) out *= axis[1].small_int();
  return out;
}

// Returns the row-major index of the position `at` among all positions on the axes of `arg`, the arg of an UNROLL or
// CONTRACT; -1 if `at` lacks an axis.
int64_t position_index(Arg arg, const LaneForms::Position& at) {
  int64_t out = 0;
  for (Arg axis : arg.items()) {
    auto it = std::ranges::find(at, axis[0].small_int(), &std::pair<int64_t, int64_t>::first);
    if (it == at.end()) return -1;
    out = out * axis[1].small_int() + it->second;
  }
  return out;
}

LaneForms::Position without_axes(const LaneForms::Position& at, Arg arg) {
  Axes axes = axis_sizes_of(arg);
  LaneForms::Position out;
  for (auto& p : at)
    if (!axes.contains(p.first)) out.push_back(p);
  return out;
}

LaneForms::Position with_axes(LaneForms::Position at, Arg arg, int64_t number) {
  at = without_axes(at, arg);
  std::vector<Arg> axes(arg.items().begin(), arg.items().end());
  for (size_t i = axes.size(); i-- > 0;) {
    int64_t size = axes[i][1].small_int();
    at.emplace_back(axes[i][0].small_int(), number % size);
    number /= size;
  }
  std::ranges::sort(at);
  return at;
}

struct EndedAxes {
  std::vector<std::pair<int64_t, int64_t>> axes = {};
  std::vector<UOp> loops = {};
};
EndedAxes ended_axes_of(UOp u) {
  EndedAxes out;
  for (size_t i = 1; i < u.num_src(); i++) {
    UOp s = u.src(i);
    if (s.is(Op::UNROLL))
      for (Arg axis : s.arg().items()) out.axes.emplace_back(axis[0].small_int(), axis[1].small_int());
    else if (int64_t size = expanded_axis_size(s)) out.axes.emplace_back(s.arg()[0].small_int(), size);
    else if (!s.is_const()) out.loops.push_back(s);  // a constant is the index of a loop of one iteration
  }
  return out;
}

// Calls use(position) for each combination of positions on `axes` (pairs of an axis and its size), with the positions
// `at` on other axes. Returns false, without calls, if there are too many.
template <class Use>
bool for_each_position(const std::vector<std::pair<int64_t, int64_t>>& axes, const LaneForms::Position& at,
                       const Use& use) {
  std::vector<LaneForms::Position> all{at};
  for (auto& [axis, size] : axes) {
    std::vector<LaneForms::Position> more;
    for (auto p : all) {
      std::erase_if(p, [&](auto& there) { return there.first == axis; });
      for (int64_t i = 0; i < size; i++) {
        more.push_back(p), more.back().emplace_back(axis, i);
        std::ranges::sort(more.back());
      }
    }
    all = std::move(more);
    if (all.size() > size_t(kMostPositions)) return false;
  }
  for (auto& p : all) use(p);
  return true;
}

std::vector<std::pair<int64_t, int64_t>> axis_list_of(Arg arg) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (Arg axis : arg.items()) out.emplace_back(axis[0].small_int(), axis[1].small_int());
  return out;
}

}  // namespace

LaneForms::Form LaneForms::form_of_text(std::string text) {
  return form_numbers_.try_emplace(std::move(text), form_numbers_.size()).first->second;
}

const LaneForms::Axes& LaneForms::axes_of_node(UOp root) {
  if (auto it = known_axes_.find(root.id()); it != known_axes_.end()) return it->second;
  std::vector<UOp> stack{root};
  while (!stack.empty()) {
    UOp u = stack.back();
    if (known_axes_.contains(u.id())) {
      stack.pop_back();
      continue;
    }
    size_t before = stack.size();
    for (UOp s : u.src())
      if (!known_axes_.contains(s.id())) stack.push_back(s);
    if (stack.size() > before) continue;
    Axes out;
    if (int64_t size = expanded_axis_size(u)) {
      out[u.arg()[0].small_int()] = size;
    } else if (u.is(Op::UNROLL)) {
      out = known_axes_.at(u.src(0).id());
      for (auto& [axis, size] : axis_sizes_of(u.arg())) out[axis] = size;
    } else {
      for (UOp s : u.src()) out.insert(known_axes_.at(s.id()).begin(), known_axes_.at(s.id()).end());
      if (u.is(Op::CONTRACT))
        for (auto& [axis, size] : axis_sizes_of(u.arg())) out.erase(axis);
      if (u.in({Op::REDUCE, Op::END}))
        for (auto& [axis, size] : ended_axes_of(u).axes) out.erase(axis);
    }
    known_axes_.emplace(u.id(), std::move(out));
    stack.pop_back();
  }
  return known_axes_.at(root.id());
}

LaneForms::Position LaneForms::restrict_position(UOp u, const Position& at) {
  const Axes& axes = axes_of_node(u);
  Position out;
  for (auto& p : at)
    if (axes.contains(p.first)) out.push_back(p);
  return out;
}

LaneForms::Form LaneForms::form_of_value(UOp u, int lane, const Position& position) {
  Position at = restrict_position(u, position);
  std::pair<uint64_t, Position> key{uint64_t(u.id()) << 16 | uint64_t(lane), at};
  if (auto it = known_forms_.find(key); it != known_forms_.end()) return it->second;
  nesting_depth_++;
  Form out = make_form(u, lane, at);
  nesting_depth_--;
  known_forms_.emplace(std::move(key), out);
  return out;
}

std::vector<LaneForms::Form> LaneForms::forms_of_terms(UOp reduce, int lane, const Position& at) {
  UOp from = reduce.src(0);
  const int amount = from.dtype().count() / std::max(1, reduce.dtype().count());
  std::vector<Form> out;
  bool all = for_each_position(ended_axes_of(reduce).axes, at, [&](const Position& p) {
    for (int i = 0; i < amount; i++) out.push_back(form_of_value(from, lane * amount + i, p));
  });
  if (!all) throw TooManyPositions{};
  return out;
}

LaneForms::Form LaneForms::make_form(UOp u, int lane, const Position& at) {
  auto text = [&](std::string_view head) { return std::string(head) + " " + std::string(u.dtype().scalar().repr()); };
  auto opaque = [&] {
    std::string out = "node " + std::to_string(u.id()) + " " + std::to_string(lane);
    for (auto& [axis, i] : at) out += " " + std::to_string(axis) + "=" + std::to_string(i);
    return form_of_text(out);
  };
  auto source = [&](UOp s) { return std::to_string(form_of_value(s, num_lanes_of_node(s) > 1 ? lane : 0, at)); };
  switch (u.op()) {
    case Op::CONST:
    case Op::VCONST:
      return form_of_text(text("const") + " " + (u.arg().is_tuple() ? u.arg()[size_t(lane)] : u.arg()).repr());
    case Op::RANGE:
      if (expanded_axis_size(u) && !at.empty()) return form_of_text(text("const") + " " + std::to_string(at[0].second));
      return opaque();
    case Op::UNROLL: {
      int64_t number = position_index(u.arg(), at), positions = num_positions(u.arg());
      int64_t each = num_lanes_of_node(u.src(0)) / std::max<int64_t>(1, positions);
      if (number < 0 || each * positions != num_lanes_of_node(u.src(0)) || lane >= each) return opaque();
      return form_of_value(u.src(0), int(number * each) + lane, without_axes(at, u.arg()));
    }
    case Op::CONTRACT: {
      int each = num_lanes_of_node(u.src(0));
      return form_of_value(u.src(0), lane % each, with_axes(at, u.arg(), lane / each));
    }
    case Op::GEP:
      return u.arg().is_tuple() ? form_of_value(u.src(0), int(u.arg()[size_t(lane)].small_int()), at) : opaque();
    case Op::VECTORIZE:
      if (size_t(lane) >= u.num_src() || num_lanes_of_node(u.src(size_t(lane))) != 1) return opaque();
      return form_of_value(u.src(size_t(lane)), 0, at);
    case Op::CAT: {
      size_t i = 0;
      for (; lane >= num_lanes_of_node(u.src(i)); i++) lane -= num_lanes_of_node(u.src(i));
      return form_of_value(u.src(i), lane, at);
    }
    case Op::REDUCE: {
      std::vector<Form> all = forms_of_terms(u, lane, at), loops;
      for (UOp s : ended_axes_of(u).loops) {
        if (!axes_of_node(s).empty()) return opaque();
        const auto ranges = ranges_of(s);
        if (ranges.empty()) loops.push_back(form_of_value(s, 0, at));
        for (UOp r : ranges) loops.push_back(form_of_value(r, 0, at));
      }
      if (!keeps_order_ || !dtypes::is_float(u.dtype())) {
        std::ranges::sort(all), std::ranges::sort(loops);
        loops.erase(std::unique(loops.begin(), loops.end()), loops.end());
      }
      std::string out = text("reduce") + " " + u.arg().repr();
      for (Form f : all) out += " " + std::to_string(f);
      out += " over";
      for (Form f : loops) out += " " + std::to_string(f);
      return form_of_text(out);
    }
    default: break;
  }
  const bool is_access = u.in({Op::INDEX, Op::LOAD}) && !u.src(0).dtype().is_image();
  const bool each_lane =
      u.in(ops::Elementwise) || (is_access && (num_lanes_of_node(u) == 1 || u.src(0).dtype().base().count() == 1));
  if (!each_lane || nesting_depth_ > 3000) return opaque();
  if (u.is(Op::CAST) && u.dtype().is_ptr()) return opaque();
  std::string out = text(name_of(u.op()));
  if (u.is(Op::INDEX)) out += " " + std::string(u.dtype().is_ptr() ? "ptr" : "");
  for (UOp s : u.src()) {
    if (num_lanes_of_node(s) > 1 && num_lanes_of_node(s) != num_lanes_of_node(u)) return opaque();
    out += " " + source(s);
  }
  return form_of_text(out);
}

bool LaneForms::collect_effects(UOp u, const Position& position, std::vector<StoreEffect>& out) {
  const Position at = position;
  switch (u.op()) {
    case Op::STORE: {
      int n = std::max(num_lanes_of_node(u.src(0)), u.src(1).dtype().count());
      if (num_lanes_of_node(u.src(0)) != n && u.src(1).dtype().count() != 1) n = 1;
      if (num_lanes_of_node(u.src(0)) != u.src(1).dtype().count()) return false;
      for (int lane = 0; lane < n; lane++) {
        std::set<Form> loops;
        for (UOp s : u.src().subspan(2)) loops.insert(form_of_value(s, 0, at));
        out.push_back({form_of_text("store " + std::to_string(form_of_value(u.src(0), lane, at)) + " " +
                                    std::to_string(form_of_value(u.src(1), lane, at))),
                       loops});
      }
      return true;
    }
    case Op::UNROLL: {
      std::vector<StoreEffect> all;
      int64_t number = position_index(u.arg(), at), positions = num_positions(u.arg());
      if (number < 0 || !collect_effects(u.src(0), without_axes(at, u.arg()), all) || all.size() % size_t(positions))
        return false;
      size_t each = all.size() / size_t(positions);
      out.insert(out.end(), all.begin() + long(size_t(number) * each), all.begin() + long(size_t(number + 1) * each));
      return true;
    }
    case Op::CONTRACT: {
      bool good = true;
      return for_each_position(axis_list_of(u.arg()), at,
                               [&](const Position& p) { good = good && collect_effects(u.src(0), p, out); }) &&
             good;
    }
    case Op::GEP: {
      std::vector<StoreEffect> all;
      if (!collect_effects(u.src(0), at, all)) return false;
      for (Arg i : u.arg().items()) {
        if (size_t(i.small_int()) >= all.size()) return false;
        out.push_back(all[size_t(i.small_int())]);
      }
      return true;
    }
    case Op::GROUP:
    case Op::SINK: return std::ranges::all_of(u.src(), [&](UOp s) { return collect_effects(s, at, out); });
    case Op::NOOP: return u.num_src() == 0;
    case Op::END: {
      std::vector<StoreEffect> all;
      bool good = true;
      const EndedAxes ended = ended_axes_of(u);
      if (!for_each_position(ended.axes, at,
                             [&](const Position& p) { good = good && collect_effects(u.src(0), p, all); }) ||
          !good)
        return false;
      for (UOp s : ended.loops) {
        if (!axes_of_node(s).empty()) return false;
        for (UOp r : ranges_of(s))
          for (StoreEffect& e : all) e.loops.insert(form_of_value(r, 0, at));
      }
      out.insert(out.end(), all.begin(), all.end());
      return true;
    }
    default: return false;
  }
}

bool LaneForms::are_same(UOp before, UOp after) {
  Axes axes = axes_of_node(before);
  for (auto& [axis, size] : axes_of_node(after))
    if (auto it = axes.try_emplace(axis, size).first; it->second != size) return false;
  std::vector<Position> all{{}};
  for (auto& [axis, size] : axes) {
    std::vector<Position> more;
    for (auto& p : all)
      for (int64_t i = 0; i < size; i++) more.push_back(p), more.back().emplace_back(axis, i);
    all = std::move(more);
    if (all.size() > size_t(kMostPositions)) return false;
  }
  bool is_effect = before.dtype() == dtypes::void_;
  if (is_effect != (after.dtype() == dtypes::void_)) return false;
  if (!is_effect &&
      (num_lanes_of_node(before) != num_lanes_of_node(after) || before.dtype().scalar() != after.dtype().scalar()))
    return false;
  try {
    for (auto& p : all) {
      if (is_effect) {
        std::vector<StoreEffect> a, b;
        if (!collect_effects(before, p, a) || !collect_effects(after, p, b)) return false;
        std::ranges::sort(a), std::ranges::sort(b);
        if (a != b) return false;
      } else {
        for (int lane = 0; lane < num_lanes_of_node(before); lane++)
          if (form_of_value(before, lane, p) != form_of_value(after, lane, p)) return false;
      }
    }
  } catch (const TooManyPositions&) { return false; }
  return true;
}

}  // namespace tgc
