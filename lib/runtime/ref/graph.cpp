// Lowers a graph, at any stage of the pipeline, to REF's code. A node is computed in the innermost open loop among the
// ranges it depends on. A node that ends ranges, such as an END or a REDUCE, opens their loops, computes in each loop
// the nodes that depend on it, and closes them.
#include <algorithm>

#include "lib/runtime/ref/lower.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/uop.h"

namespace tgc::ref {
namespace {

class GraphLowering {
 public:
  GraphLowering(UOp sink, bool count)
      : sink_(sink),
        nodes_(toposort(sink)),
        kernel_ranges_(sink.graph(), nodes_),
        builder_(count),
        lowered_values_(sink.graph(), builder_),
        loop_builder_(builder_, lowered_values_),
        lane_plan_(kernel_ranges_),
        uniform_nodes_(sink.graph()),
        open_ranges_(kernel_ranges_.empty_set()) {
    lowered_values_.find_value_uses(nodes_);
    lane_plan_.find_register_uses(nodes_, lowered_values_);
    find_local_memories();
  }

  RefCode lower_kernel() {
    std::vector<UOp> open;
    for (UOp r : kernel_ranges_.all_ranges())
      if (kernel_ranges_.is_inside(sink_, r)) open.push_back(r);
    auto specials = find_specials_and_uniform_nodes();
    for (UOp u : nodes_)
      if (is_outside_ranges(u) && (specials.empty() || uniform_nodes_.contains(u))) lower_or_throw(u);
    if (!specials.empty()) lower_workgroups(specials);
    if (!open.empty())
      lower_range_body(open, {sink_}, [] {});  // ranges that no node ends become loops around the kernel
    return builder_.finish_kernel_code();
  }

 private:
  bool is_outside_ranges(UOp u) { return kernel_ranges_.ranges_around(u).empty(); }

  // Finds for each DEFINE_LOCAL the ranges around its stores or, if ENDs contain a store, around the outermost END.
  void find_local_memories() {
    std::vector<UOp> ends;
    for (UOp u : nodes_) {
      if (u.is(Op::END)) ends.push_back(u);
      if (u.is(Op::DEFINE_LOCAL)) local_memories_.push_back({u, kernel_ranges_.empty_set()});
    }
    for (auto& [define, contents] : local_memories_)
      for (UOp u : nodes_)
        if (u.is(Op::STORE) && base_define(u.src(0)) == define)
          contents.add(kernel_ranges_.ranges_around(outermost_end_around(u, ends)));
  }

  // Returns the outermost END in the chain of ENDs around a store, or the store.
  static UOp outermost_end_around(UOp store, std::span<const UOp> ends) {
    UOp out = store;
    for (UOp e : ends)
      if (e.src(0) == out || (e.src(0).is(Op::GROUP) && std::ranges::count(e.src(0).src(), out))) out = e;
    return out;
  }

  void lower_or_throw(UOp u) {
    name_in_errors(u, [&] { lower_node(u); });
  }
  void lower_node(UOp u) {
    if (lowered_values_.is_lowered(u) && u.in({Op::RANGE, Op::SPECIAL})) return;
    switch (u.op()) {
      case Op::RANGE:
      case Op::SPECIAL: return throw_cannot_run(u, "no node ends it");
      case Op::END:
        for (UOp r : kernel_ranges_.ranges_ended_by(u))
          if (is_atomic_add(u.src(0)) && !kernel_ranges_.is_inside(u.src(0), r))
            throw_cannot_run(u.src(0), "it does not depend on a loop around it");
        return lower_range_body(kernel_ranges_.ranges_ended_by(u), {u.src(0)}, [] {});
      case Op::STORE:
        if (auto ended = kernel_ranges_.ranges_ended_by(u); !ended.empty())
          return lower_range_body(ended, {u.src(0), u.src(1)}, [&] { lowered_values_.lower(u); });
        return lowered_values_.lower(u);
      case Op::REDUCE: return lower_reduce(u);
      case Op::BUFFERIZE: return lower_bufferize(u);
      case Op::CONTRACT: return lower_contract(u);
      case Op::UNROLL: return lower_unroll(u);
      default: return lowered_values_.lower(u);
    }
  }

  // Opens loops or lanes over `ranges`, computes in each of them the nodes that `roots` need there, calls `inside`, and
  // closes them.
  template <class Inside>
  void lower_range_body(const std::vector<UOp>& ranges, UOpSpan roots, Inside inside) {
    RangeSet set = kernel_ranges_.set_of(ranges);
    std::vector<UOp> body = kernel_ranges_.body_nodes(roots, set);
    lower_in_levels(builder_.is_in_lanes() ? loop_levels_of(ranges) : lane_plan_.plan_levels(ranges, body), body, set,
                    inside);
  }

  template <class Inside>
  void lower_in_levels(const std::vector<LoopLevel>& levels, const std::vector<UOp>& body, const RangeSet& set,
                       Inside inside) {
    RangeSet before = open_ranges_, all = open_ranges_;
    all.add(set);
    std::vector<std::vector<UOp>> lists(levels.size());
    for (UOp u : body)
      // another node of this body opens the loops of the nodes that are left out here
      if (kernel_ranges_.ranges_around(u).is_within(all)) lists[innermost_level_of(u, levels)].push_back(u);
    for (size_t i = 0; i < levels.size(); i++) {
      open_level(levels[i], body);
      for (UOp u : lists[i]) lower_or_throw(u);
    }
    inside();
    for (size_t i = levels.size(); i-- > 0;) close_level(levels[i]);
    open_ranges_ = before;
  }

  // The node must depend on at least one level.
  size_t innermost_level_of(UOp u, const std::vector<LoopLevel>& levels) {
    size_t i = levels.size() - 1;
    while (std::none_of(levels[i].ranges.begin(), levels[i].ranges.end(),
                        [&](UOp r) { return kernel_ranges_.is_inside(u, r); }))
      i--;
    return i;
  }

  void open_level(const LoopLevel& level, const std::vector<UOp>& body) {
    RangeSet set = kernel_ranges_.set_of(level.ranges);
    const std::vector<UOp> own = lane_plan_.thread_registers(level.ranges, body);
    if (level.is_lane_level) {
      begin_lanes(level.ranges, set);
      lowered_values_.enter_lanes(own);
    } else {
      auto saved = lowered_values_.save_registers(own);
      loop_builder_.begin_loop(level.ranges[0]);
      lowered_values_.restore_registers(saved);
    }
    open_ranges_.add(set);
  }

  void begin_lanes(const std::vector<UOp>& ranges, const RangeSet& set) {
    for (auto& [define, contents] : local_memories_)
      if (contents.intersects(set)) lowered_values_.share_local_memory(define, 1);
    int64_t warp = 1;
    for (UOp r : ranges)
      if (axis_type(r) == AxisType::WARP) warp = multiply_lane_count(warp, r);
    lowered_values_.enter_scope();
    ref::begin_lanes(builder_, lowered_values_, ranges, warp);
  }

  void close_level(const LoopLevel& level) {
    if (!level.is_lane_level) return loop_builder_.end_loop();
    lowered_values_.leave_scope();
    builder_.end_lanes();
    lowered_values_.leave_lanes();
  }

  // Also finds nodes that are equal in all lanes: constants, definitions, and pure ops of them.
  std::vector<UOp> find_specials_and_uniform_nodes() {
    static constexpr OpSet kPure = ops::ALU | ops::Defines | OpSet{Op::CONST, Op::VCONST,    Op::DEFINE_VAR, Op::BIND,
                                                                   Op::CAST,  Op::VECTORIZE, Op::GEP};
    std::vector<UOp> out;
    for (UOp u : nodes_) {
      if (u.is(Op::SPECIAL)) out.push_back(u);
      if (u.in(kPure) && std::all_of(u.src().begin(), u.src().end(), [&](UOp s) { return uniform_nodes_.contains(s); }))
        uniform_nodes_.insert(u);
    }
    return out;
  }

  void lower_workgroups(const std::vector<UOp>& specials) {
    lowered_values_.enter_scope();
    begin_workgroups(builder_, lowered_values_, specials, {});
    for (auto& [define, contents] : local_memories_)
      lowered_values_.share_local_memory(define, workgroup_size(specials));
    for (UOp u : nodes_)
      if (is_outside_ranges(u) && !uniform_nodes_.contains(u)) lower_or_throw(u);
    builder_.end_lanes();
    lowered_values_.leave_scope();
  }

  void lower_reduce(UOp u) {
    Op op = u.arg().op();
    DType dtype = u.dtype().scalar();
    auto ranges = kernel_ranges_.ranges_ended_by(u);
    RangeSet set = kernel_ranges_.set_of(ranges);
    std::vector<UOp> body = kernel_ranges_.body_nodes({u.src(0)}, set);
    size_t n = size_t(u.dtype().count()), each = size_t(u.src(0).dtype().count()) / n;
    if (ranges.empty()) return lowered_values_.set_value(u, combine_elements(u, op, dtype, {}, n, each));

    std::vector<Reg> sums(n);
    auto levels =
        builder_.is_in_lanes() || each != 1 ? loop_levels_of(ranges) : lane_plan_.plan_reduce_levels(ranges, body);
    Reg identity = lowered_values_.constant(dtype, identity_element(op, dtype));
    for (Reg& sum : sums) {
      sum = builder_.mutable_register(ref_type_of(dtype), builder_.is_in_lanes());
      builder_.emit_assign(sum, identity);
    }
    bool lanes = levels[0].is_lane_level;
    lower_in_levels(levels, body, set, [&] {
      if (lanes) {
        for (size_t i = 0; i < n; i++)
          builder_.emit_fold(LoweredValues::opcode_of(op), LoweredValues::rounding_of(dtype), sums[i],
                             element_of(u, lowered_values_.value_of(u.src(0)), i).reg);
      } else {
        LoweredValue next = combine_elements(u, op, dtype, sums, n, each);
        Reg mask = builder_.lane_mask();
        for (size_t i = 0; i < n; i++)
          builder_.emit_assign(sums[i],
                               mask == kNoRegister ? next[i].reg : builder_.emit_where(mask, next[i].reg, sums[i]));
      }
      builder_.count_evaluation(builder_.is_in_lanes());
    });
    LoweredValue out;
    for (Reg sum : sums) out.push_back({.reg = sum});
    lowered_values_.set_value(u, std::move(out));
  }

  // Reduces a vector to n results: result i combines `each` consecutive elements with op, starting from before[i] if
  // `before` is not empty.
  LoweredValue combine_elements(UOp u, Op op, DType dtype, const std::vector<Reg>& before, size_t n, size_t each) {
    const LoweredValue& in = lowered_values_.value_of(u.src(0));
    if (in.size() < n * each) throw_cannot_run(u, "its source has " + std::to_string(in.size()) + " elements");
    LoweredValue out;
    for (size_t i = 0; i < n; i++) {
      Reg r = before.empty() ? in[i * each].reg : before[i];
      for (size_t k = before.empty() ? 1 : 0; k < each; k++) {
        Reg operands[] = {r, in[i * each + k].reg};
        r = lowered_values_.emit_alu(op, dtype, operands);
      }
      out.push_back({.reg = r});
    }
    return out;
  }

  void lower_bufferize(UOp u) {
    Int size = int64_t(u.dtype().count());
    for (size_t i = 1; i < u.num_src(); i++) size = size * (u.src(i).vmax().to_int() + 1);
    int32_t memory = lowered_values_.add_scratch_memory("buffer", u.dtype(), size.int64_or_throw("its size"),
                                                        builder_.is_in_lanes() ? 1 : 0);
    lower_range_body(kernel_ranges_.ranges_ended_by(u), u.src(), [&] { lowered_values_.store_buffer(u, memory); });
    lowered_values_.set_value(u, {{.memory = memory}});
  }

  // Concatenates the source's elements for all positions on the CONTRACT's axes, of which the last varies fastest.
  void lower_contract(UOp u) {
    std::span<const Arg> axes = u.arg().items();
    std::vector<UOp> ranges = kernel_ranges_.expanded_ranges_of(u.arg());
    RangeSet set = kernel_ranges_.set_of(ranges), before = open_ranges_, all = open_ranges_;
    all.add(set);
    std::vector<UOp> body = kernel_ranges_.body_nodes({u.src(0)}, set);
    int64_t choices = 1;
    for (const Arg& axis : axes) choices *= axis[1].small_int();
    LoweredValue out;
    open_ranges_ = all;
    for (int64_t choice = 0; choice < choices; choice++) {
      lowered_values_.enter_scope();
      set_expanded_ranges(axes, ranges, choice);
      for (UOp x : body)
        if (!x.is(Op::RANGE) && kernel_ranges_.ranges_around(x).is_within(all)) lower_or_throw(x);
      if (!(u.dtype() == dtypes::void_)) {
        const LoweredValue& chosen = lowered_values_.value_of(u.src(0));
        out.insert(out.end(), chosen.begin(), chosen.end());
      }
      lowered_values_.leave_scope();
    }
    open_ranges_ = before;
    if (!(u.dtype() == dtypes::void_)) lowered_values_.set_value(u, std::move(out));
  }

  // Sets each expanded range to its position in the combination number `choice` of positions on the axes.
  void set_expanded_ranges(std::span<const Arg> axes, std::span<const UOp> ranges, int64_t choice) {
    for (size_t i = axes.size(); i-- > 0; choice /= axes[i][1].small_int())
      for (UOp r : ranges)
        if (axis_id(r) == axes[i][0].small_int())
          lowered_values_.set_value(
              r, {{.reg = builder_.constant_int(ref_type_of(r.dtype()), choice % axes[i][1].small_int())}});
  }

  void lower_unroll(UOp u) {
    const LoweredValue& from = lowered_values_.value_of(u.src(0));
    std::vector<UOp> ranges = kernel_ranges_.expanded_ranges_of(u.arg());
    Reg at = builder_.constant_int(RefType::I64, 0);
    for (Arg axis : u.arg().items()) {
      Reg here = kNoRegister;
      for (UOp r : ranges)
        if (axis_id(r) == axis[0].small_int() && lowered_values_.is_lowered(r))
          here = builder_.cast(lowered_values_.scalar(r).reg, RefType::I64);
      if (here == kNoRegister) throw_cannot_run(u, "axis " + axis[0].repr() + " has no range");
      at = builder_.emit_binary(
          Opcode::Add, builder_.emit_binary(Opcode::Mul, at, builder_.constant_int(RefType::I64, axis[1].small_int())),
          here);
    }
    size_t n = size_t(u.dtype().count());
    if (from.size() < n) throw_cannot_run(u, "its source has " + std::to_string(from.size()) + " elements");
    LoweredValue out;
    for (size_t i = 0; i < n; i++) {
      Reg r = from[i].reg;
      for (size_t k = 1; k < from.size() / n; k++)
        r = builder_.emit_where(builder_.emit_binary(Opcode::Eq, at, builder_.constant_int(RefType::I64, int64_t(k))),
                                from[k * n + i].reg, r);
      out.push_back({.reg = r});
    }
    lowered_values_.set_value(u, std::move(out));
  }

  UOp sink_;
  std::vector<UOp> nodes_;
  KernelRanges kernel_ranges_;
  RefBuilder builder_;
  LoweredValues lowered_values_;
  LoopBuilder loop_builder_;
  LanePlan lane_plan_;
  UOpSet uniform_nodes_;
  std::vector<std::pair<UOp, RangeSet>> local_memories_;
  RangeSet open_ranges_;  // the ranges whose loops or lanes are open
};

}  // namespace

RefCode lower_graph(UOp sink, bool count_evaluations) { return GraphLowering(sink, count_evaluations).lower_kernel(); }

}  // namespace tgc::ref
