// Lowers a linear list to REF's code, one op after another.
#include <algorithm>

#include "lib/runtime/ref/lower.h"
#include "lib/uop/uop.h"

namespace tgc::ref {
namespace {

class ListLowering {
 public:
  ListLowering(std::span<const UOp> list, bool count)
      : list_(list), builder_(count), lowered_values_(list[0].graph(), builder_),
        loop_builder_(builder_, lowered_values_) {
    lowered_values_.find_value_uses(list);
  }

  RefCode lower_kernel() {
    // lowered first, outside all loops: constants, definitions, and pure ops of them
    static constexpr OpSet kPure =
        ops::ALU | ops::Defines | OpSet{Op::CONST, Op::VCONST, Op::DEFINE_VAR, Op::CAST, Op::VECTORIZE, Op::GEP};
    for (UOp u : list_)
      if (u.in(kPure) &&
          std::all_of(u.src().begin(), u.src().end(), [&](UOp s) { return uniform_nodes_.contains(s); })) {
        uniform_nodes_.insert(u);
        lower(u);
      }
    find_lanes();
    lowered_values_.enter_scope();
    bool lanes = !specials_.empty() || !lane_ranges_.empty();
    if (lanes) {
      begin_workgroups(builder_, lowered_values_, specials_, lane_ranges_);
      for (UOp u : list_)
        if (u.is(Op::DEFINE_LOCAL)) lowered_values_.share_local_memory(u, workgroup_size(specials_));
    }
    for (UOp u : list_)
      if (!uniform_nodes_.contains(u)) lower(u);
    if (!open_ranges_.empty()) throw_cannot_run(open_ranges_.back(), "no node ends it");
    if (lanes) builder_.end_lanes();
    lowered_values_.leave_scope();
    return builder_.finish_kernel_code();
  }

 private:
  bool is_lane_range(UOp range) const {
    return std::find(lane_ranges_.begin(), lane_ranges_.end(), range) != lane_ranges_.end();
  }

  // Finds the lanes: the SPECIALs and, if workgroups have one thread and no local memory, barriers, tensor cores or
  // atomic adds, the outermost RANGEs that are parallel, alone at their level, of a size known outside all loops, and
  // share no registers between iterations, until there are kEnoughLanes lanes.
  void find_lanes() {
    for (UOp u : list_)
      if (u.is(Op::SPECIAL)) specials_.push_back(u);
    bool has_local =
        std::any_of(list_.begin(), list_.end(), [](UOp u) { return u.in({Op::DEFINE_LOCAL, Op::BARRIER, Op::WMMA}); });
    const bool has_atomics = std::ranges::any_of(list_, is_atomic_add);
    if (has_local || has_atomics || workgroup_size(specials_) > 1) return;
    int64_t total = 1;
    for (UOp s : specials_) total = multiply_lane_count(total, s);
    size_t from = 0, to = list_.size();
    while (total < kEnoughLanes) {
      UOp range = find_only_range(from, to);
      if (!range || !is_parallel_range(range) || !lowered_values_.is_lowered(range.src(0)) ||
          !has_private_registers(from, to))
        return;
      lane_ranges_.push_back(range);
      total = multiply_lane_count(total, range);
    }
  }

  bool is_parallel_range(UOp range) {
    AxisType type = range.arg().items().back().axis_type();
    return type == AxisType::LOOP || type == AxisType::GLOBAL || type == AxisType::THREAD;
  }

  // Sets `from` and `to` to the bounds of the only outermost RANGE between them, and returns the RANGE; the empty UOp
  // if there are none or several.
  UOp find_only_range(size_t& from, size_t& to) {
    UOp found;
    size_t begin = 0, end = 0;
    int depth = 0;
    for (size_t i = from; i < to; i++) {
      if (list_[i].is(Op::RANGE) && depth++ == 0) {
        if (found) return {};
        found = list_[i], begin = i + 1;
      }
      if (list_[i].is(Op::END) && --depth == 0) end = i;
    }
    if (found) from = begin, to = end;
    return found;
  }

  // True if no register that is used between the positions is also used outside them.
  bool has_private_registers(size_t from, size_t to) {
    std::vector<UOp> inner, outer;
    for (size_t i = 0; i < list_.size(); i++) {
      if (!list_[i].in({Op::LOAD, Op::STORE})) continue;
      UOp define = base_define(list_[i].src(0));
      if (define && define.is(Op::DEFINE_REG)) (i >= from && i < to ? inner : outer).push_back(define);
    }
    return std::none_of(inner.begin(), inner.end(),
                        [&](UOp d) { return std::find(outer.begin(), outer.end(), d) != outer.end(); });
  }

  void lower(UOp u) {
    name_in_errors(u, [&] { lower_node(u); });
  }
  void lower_node(UOp u) {
    switch (u.op()) {
      case Op::SPECIAL: return;
      case Op::RANGE:
        if (is_lane_range(u)) return;
        open_ranges_.push_back(u);
        return loop_builder_.begin_loop(u);
      case Op::END: {
        UOp range = u.num_src() > 1 ? u.src(1) : UOp();
        if (!range || !range.is(Op::RANGE)) throw_cannot_run(u, "it does not end a range");
        if (is_lane_range(range)) return;
        if (open_ranges_.empty() || open_ranges_.back() != range)
          throw_cannot_run(u, "it does not end the innermost range");
        open_ranges_.pop_back();
        return loop_builder_.end_loop();
      }
      case Op::IF: return builder_.push_mask(lowered_values_.scalar(u.src(0)).reg);
      case Op::ENDIF: return builder_.pop_mask();
      default: return lowered_values_.lower(u);
    }
  }

  std::span<const UOp> list_;
  RefBuilder builder_;
  LoweredValues lowered_values_;
  LoopBuilder loop_builder_;
  UOpSet uniform_nodes_{list_[0].graph()};
  std::vector<UOp> specials_, lane_ranges_, open_ranges_;
};

}  // namespace

RefCode lower_list(std::span<const UOp> list, bool count_evaluations) {
  if (list.empty()) throw Failure("an empty list of UOps cannot be run");
  return ListLowering(list, count_evaluations).lower_kernel();
}

}  // namespace tgc::ref
