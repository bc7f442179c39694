// A graph into REF's code, at any stage of the pipeline. What a node needs is its ranges: it is computed in the innermost open loop among
// them. A node that ends ranges (END, REDUCE, BUFFERIZE, CONTRACT) opens their loops, computes in each what lies in it, and closes them.
#include <algorithm>

#include "lib/runtime/ref/lower.h"
#include "lib/runtime/ref/values.h"
#include "lib/runtime/ref/workgroups.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"
#include "lib/uop/render.h"

namespace tgc::ref {
namespace {

constexpr int64_t kEnoughLanes = 512;  // more ranges are not taken as lanes once there are so many

// A set of ranges.
class RangeSet {
 public:
  explicit RangeSet(size_t ranges = 0) : words_((ranges + 63) / 64) {}
  void add(size_t i) { words_[i / 64] |= uint64_t(1) << (i % 64); }
  void remove(size_t i) { words_[i / 64] &= ~(uint64_t(1) << (i % 64)); }
  bool contains(size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void add(const RangeSet& s) {
    for (size_t i = 0; i < words_.size(); i++) words_[i] |= s.words_[i];
  }
  void keep(const RangeSet& s) {
    for (size_t i = 0; i < words_.size(); i++) words_[i] &= s.words_[i];
  }
  bool intersects(const RangeSet& s) const {
    for (size_t i = 0; i < words_.size(); i++)
      if (words_[i] & s.words_[i]) return true;
    return false;
  }
  bool within(const RangeSet& s) const {
    for (size_t i = 0; i < words_.size(); i++)
      if (words_[i] & ~s.words_[i]) return false;
    return true;
  }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](uint64_t w) { return w == 0; });
  }

 private:
  std::vector<uint64_t> words_;
};

AxisType axis_type(UOp range) { return range.arg().items().back().axis_type(); }
int64_t axis_id(UOp range) { return range.arg()[0].small_int(); }
bool is_expanded(UOp range) { return axis_type(range) == AxisType::UPCAST || axis_type(range) == AxisType::UNROLL; }

// Whether the iterations of a range have nothing to do with each other.
bool is_parallel(AxisType type) { return type != AxisType::REDUCE && type != AxisType::UNROLL && type != AxisType::OUTER && type != AxisType::PLACEHOLDER; }

// Whether the iterations of a range are threads of a workgroup, with registers of their own.
bool is_thread(AxisType type) { return type == AxisType::LOCAL || type == AxisType::WARP || type == AxisType::GROUP_REDUCE; }

bool args_less(UOp a, UOp b) {
  auto x = a.arg().items(), y = b.arg().items();
  return std::lexicographical_compare(x.begin(), x.end() - 1, y.begin(), y.end() - 1,
                                      [](const Arg& p, const Arg& q) { return p.small_int() < q.small_int(); });
}

class GraphLowering {
 public:
  GraphLowering(UOp sink, bool count)
      : sink_(sink), nodes_(toposort(sink)), builder_(count), values_(sink.graph(), builder_), index_(sink.graph()), ranges_(sink.graph()) {
    find_ranges();
    values_.scan(nodes_);
    find_register_uses();
  }

  Code run() {
    bound_ = RangeSet(range_nodes_.size());
    std::vector<UOp> open;
    for (UOp r : range_nodes_)
      if (lies_in(sink_, r)) open.push_back(r);
    auto specials = find_specials();
    std::vector<UOp> list;
    for (UOp u : nodes_)
      if (ranges_[u].empty() && (specials.empty() || rooted_.contains(u))) list.push_back(u);
    process(list);
    if (!specials.empty()) run_workgroups(specials);
    if (!open.empty()) close(open, {sink_}, [] {});  // ranges that nothing ends: around everything
    return builder_.finish();
  }

 private:
  // ---- facts about the nodes

  bool lies_in(UOp u, UOp range) { return ranges_[u].contains(number_of(range)); }
  size_t number_of(UOp range) { return size_t(std::find(range_nodes_.begin(), range_nodes_.end(), range) - range_nodes_.begin()); }

  std::vector<UOp> expanded_ranges(Arg axes) {
    std::vector<UOp> out;
    for (Arg axis : axes.items())
      for (UOp r : range_nodes_)
        if (is_expanded(r) && axis_id(r) == axis[0].small_int()) out.push_back(r);
    return out;
  }

  // The ranges every node lies in (ops.py _ranges); also those that CONTRACT ends and UNROLL stands in.
  void find_ranges() {
    for (UOp u : nodes_)
      if (u.is(Op::RANGE)) range_nodes_.push_back(u);
    for (size_t i = 0; i < nodes_.size(); i++) {
      UOp u = nodes_[i];
      index_[u] = uint32_t(i);
      RangeSet set(range_nodes_.size());
      for (UOp s : u.src()) set.add(ranges_[s]);
      if (u.is(Op::RANGE)) set.add(number_of(u));
      if (range_start(u.op()) >= 0 || u.is(Op::AFTER))
        for (UOp r : ended_ranges(u)) {
          if (r.is(Op::RANGE)) set.remove(number_of(r));
          else
            for (size_t k = 0; k < range_nodes_.size(); k++)
              if (ranges_[r].contains(k)) set.remove(k);
        }
      if (u.is(Op::CONTRACT))
        for (UOp r : expanded_ranges(u.arg())) set.remove(number_of(r));
      if (u.is(Op::UNROLL))
        for (UOp r : expanded_ranges(u.arg())) set.add(number_of(r));
      ranges_[u] = std::move(set);
    }
  }

  // For each DEFINE_REG the ranges that all its loads and stores lie in; for each DEFINE_LOCAL those that its contents lie in.
  void find_register_uses() {
    std::vector<UOp> ends;
    for (UOp u : nodes_) {
      bool loads = u.is(Op::LOAD) || (u.is(Op::INDEX) && values_.is_loaded(u));
      if (loads || u.is(Op::STORE)) {
        UOp define = define_below(u.is(Op::INDEX) ? u : u.src(0));
        if (define && define.is(Op::DEFINE_REG)) {
          auto it = std::find_if(registers_.begin(), registers_.end(), [&](auto& r) { return r.define == define; });
          if (it == registers_.end()) registers_.push_back({define, ranges_[u], {u}});
          else it->common.keep(ranges_[u]), it->uses.push_back(u);
        }
      }
      if (u.is(Op::END)) ends.push_back(u);
      if (u.is(Op::DEFINE_LOCAL)) locals_.push_back({u, RangeSet(range_nodes_.size())});
    }
    for (auto& [define, contents] : locals_)
      for (UOp u : nodes_) {
        if (!u.is(Op::STORE) || define_below(u.src(0)) != define) continue;
        UOp holder = u;  // the END around the store
        for (UOp e : ends)
          if (e.src(0) == u || (e.src(0).is(Op::GROUP) && std::count(e.src(0).src().begin(), e.src(0).src().end(), u))) holder = e;
        contents.add(ranges_[holder]);
      }
  }

  // ---- order

  void process(const std::vector<UOp>& list) {
    for (UOp u : list) process(u);
  }

  void process(UOp u) {
    if (values_.known(u) && u.in({Op::RANGE, Op::SPECIAL})) return;
    switch (u.op()) {
      case Op::RANGE:
      case Op::SPECIAL: return cannot_run(u, "nothing ends it");
      case Op::END: return close(closed_ranges(u), {u.src(0)}, [] {});
      case Op::STORE:
        if (u.num_src() > 2 && !closed_ranges(u).empty()) return close(closed_ranges(u), {u.src(0), u.src(1)}, [&] { values_.lower(u); });
        return values_.lower(u);
      case Op::REDUCE: return reduce(u);
      case Op::BUFFERIZE: return bufferize(u);
      case Op::CONTRACT: return contract(u);
      case Op::UNROLL: return unroll(u);
      default: return values_.lower(u);
    }
  }

  // The ranges that a node ends, in the order in which they are nested, outermost first.
  std::vector<UOp> closed_ranges(UOp u) {
    std::vector<UOp> left, out;
    for (size_t i = size_t(range_start(u.op())); i < u.num_src(); i++)
      for (UOp r : range_nodes_)
        if ((u.src(i) == r || (!u.src(i).is(Op::RANGE) && lies_in(u.src(i), r))) && std::find(left.begin(), left.end(), r) == left.end()) left.push_back(r);
    std::sort(left.begin(), left.end(), args_less);
    while (!left.empty()) {  // a range whose size lies in another comes after that one
      auto ready = std::find_if(left.begin(), left.end(), [&](UOp r) {
        return std::none_of(left.begin(), left.end(), [&](UOp other) { return other != r && lies_in(r.src(0), other); });
      });
      if (ready == left.end()) cannot_run(u, "the sizes of its ranges depend on each other");
      out.push_back(*ready);
      left.erase(ready);
    }
    return out;
  }

  RangeSet set_of(const std::vector<UOp>& ranges) {
    RangeSet out(range_nodes_.size());
    for (UOp r : ranges) out.add(number_of(r));
    return out;
  }

  // The nodes that `roots` need and that lie in one of `ranges`, sources first.
  std::vector<UOp> body_of(std::span<const UOp> roots, const RangeSet& ranges) {
    std::vector<UOp> out, stack(roots.begin(), roots.end());
    UOpSet seen(sink_.graph());
    while (!stack.empty()) {
      UOp u = stack.back();
      stack.pop_back();
      if (!ranges_[u].intersects(ranges) || !seen.insert(u)) continue;
      out.push_back(u);
      for (UOp s : u.src()) stack.push_back(s);
    }
    std::sort(out.begin(), out.end(), [&](UOp a, UOp b) { return index_[a] < index_[b]; });
    return out;
  }

  // Opens loops or lanes over `ranges`, computes in each what `roots` need there, calls `inside` in the innermost, and closes them.
  template <class Inside>
  void close(const std::vector<UOp>& ranges, std::vector<UOp> roots, Inside inside) {
    RangeSet set = set_of(ranges);
    std::vector<UOp> body = body_of(roots, set);
    nest(plan(ranges, body), body, set, inside);
  }

  // Loops, and perhaps one group of ranges that become lanes, outermost first.
  struct Level {
    std::vector<UOp> ranges;
    bool lanes = false;
  };

  template <class Inside>
  void nest(const std::vector<Level>& levels, const std::vector<UOp>& body, const RangeSet& set, Inside inside) {
    RangeSet before = bound_, all = bound_;
    all.add(set);
    std::vector<std::vector<UOp>> lists(levels.size());
    for (UOp u : body) {
      if (!ranges_[u].within(all)) continue;  // it lies in a range that a node of this body ends
      size_t level = levels.size();
      auto lies_in_level = [&](const Level& l) { return std::any_of(l.ranges.begin(), l.ranges.end(), [&](UOp r) { return lies_in(u, r); }); };
      while (!lies_in_level(levels[--level])) {}
      lists[level].push_back(u);
    }
    for (size_t i = 0; i < levels.size(); i++) {
      open(levels[i]);
      process(lists[i]);
    }
    inside();
    for (size_t i = levels.size(); i-- > 0;) leave(levels[i]);
    bound_ = before;
  }

  void open(const Level& level) {
    if (level.lanes) return open_lanes(level.ranges);
    UOp r = level.ranges[0];
    Reg size = values_.size_register(r), bound = builder_.max_lane(size);
    Reg counter = builder_.open_loop(bound, "r" + range_str(r));
    values_.enter();
    values_.set(r, {{.reg = builder_.cast(counter, type_of(r.dtype()))}});
    masked_.push_back(bound != size);
    if (masked_.back()) builder_.push_mask(builder_.binary(Opc::Lt, counter, size));
    bound_.add(number_of(r));
  }

  void open_lanes(const std::vector<UOp>& ranges) {
    std::vector<Builder::LaneAxis> axes;
    int64_t most = 1, warp = 1;
    for (UOp r : ranges) {
      axes.push_back({values_.size_register(r), "r" + range_str(r)});
      most = std::min<int64_t>(most * std::min<int64_t>(most_iterations(r), 1 << 20), 1 << 20);
      if (axis_type(r) == AxisType::WARP) warp *= most_iterations(r);
    }
    RangeSet set = set_of(ranges);
    for (auto& [define, contents] : locals_)
      if (contents.intersects(set)) values_.share_local(define, 1);
    auto regs = builder_.open_lanes(axes, warp, most);
    values_.enter();
    for (size_t i = 0; i < ranges.size(); i++) values_.set(ranges[i], {{.reg = builder_.cast(regs[i], type_of(ranges[i].dtype()))}});
    bound_.add(set);
  }

  void leave(const Level& level) {
    values_.leave();
    if (level.lanes) {
      builder_.close_lanes();
      values_.leave_lanes();
      return;
    }
    if (masked_.back()) builder_.pop_mask();
    masked_.pop_back();
    builder_.close_loop();
  }

  // ---- lanes

  int64_t most_iterations(UOp range) {
    Const most = range.src(0).vmax();
    return most.is_integral() ? most.as_int().to_int64().value_or(INT32_MAX) : INT32_MAX;
  }

  // Which of the ranges become lanes: threads, and the innermost of the other parallel ones, as many as it takes. None when lanes are open
  // already, or when a reduction inside has more to offer.
  std::vector<Level> plan(const std::vector<UOp>& ranges, const std::vector<UOp>& body) {
    std::vector<UOp> lanes, warps, loops_outside, loops_inside;
    auto put = [](std::vector<UOp>& to, UOp r) { to.insert(to.begin(), r); };
    RangeSet set = set_of(ranges);
    int64_t total = 1;
    bool threads = false;
    for (size_t i = ranges.size(); i-- > 0;) {
      UOp r = ranges[i];
      AxisType type = axis_type(r);
      bool can = !builder_.in_lanes() && is_parallel(type) && !ranges_[r.src(0)].intersects(set) && (is_thread(type) || keeps_registers(r, body));
      if (!can || (total >= kEnoughLanes && !is_thread(type))) {
        put(can ? loops_outside : loops_inside, r);
        continue;
      }
      put(type == AxisType::WARP ? warps : lanes, r);
      threads |= is_thread(type);
      total *= std::min<int64_t>(most_iterations(r), 1 << 20);
    }
    lanes.insert(lanes.end(), warps.begin(), warps.end());  // a warp's lanes are neighbours
    std::vector<Level> out;
    if (!threads && (total < 2 || (total < 32 && has_larger_reduce(body, total)))) {
      for (UOp r : ranges) out.push_back({{r}, false});
      return out;
    }
    for (UOp r : loops_outside) out.push_back({{r}, false});
    out.push_back({lanes, true});
    for (UOp r : loops_inside) out.push_back({{r}, false});
    return out;
  }

  // Whether every register that the body uses has a value of its own for each iteration of `range`.
  bool keeps_registers(UOp range, const std::vector<UOp>& body) {
    for (auto& r : registers_) {
      bool used = std::any_of(r.uses.begin(), r.uses.end(), [&](UOp u) { return std::binary_search(body.begin(), body.end(), u, [&](UOp a, UOp b) { return index_[a] < index_[b]; }); });
      if (used && !r.common.contains(number_of(range))) return false;
    }
    return true;
  }

  bool has_larger_reduce(const std::vector<UOp>& body, int64_t than) {
    for (UOp u : body) {
      if (!u.is(Op::REDUCE) || u.num_src() < 2) continue;
      int64_t size = 1;
      for (UOp r : closed_ranges(u)) size = std::min<int64_t>(size * std::min<int64_t>(most_iterations(r), 1 << 20), 1 << 20);
      if (size > than) return true;
    }
    return false;
  }

  // The SPECIALs, if any. Also finds the nodes that do not depend on where among the lanes they are computed: they need no SPECIAL and no
  // memory.
  std::vector<UOp> find_specials() {
    static constexpr OpSet kPure = ops::ALU | ops::Defines | OpSet{Op::CONST, Op::VCONST, Op::DEFINE_VAR, Op::BIND, Op::CAST, Op::VECTORIZE, Op::GEP};
    std::vector<UOp> out;
    for (UOp u : nodes_) {
      if (u.is(Op::SPECIAL)) out.push_back(u);
      if (u.in(kPure) && std::all_of(u.src().begin(), u.src().end(), [&](UOp s) { return rooted_.contains(s); })) rooted_.insert(u);
    }
    return out;
  }

  void run_workgroups(const std::vector<UOp>& specials) {
    values_.enter();
    open_workgroups(builder_, values_, specials, {});
    for (auto& [define, contents] : locals_) values_.share_local(define, workgroup_size(specials));
    for (UOp u : nodes_)
      if (ranges_[u].empty() && !rooted_.contains(u)) process(u);
    builder_.close_lanes();
    values_.leave();
  }

  // ---- nodes that end ranges

  void reduce(UOp u) {
    Op op = u.arg().op();
    DType dtype = u.dtype().scalar();
    auto ranges = closed_ranges(u);
    RangeSet set = set_of(ranges);
    std::vector<UOp> body = body_of({&u.src()[0], 1}, set);
    size_t n = size_t(u.dtype().count()), each = size_t(u.src(0).dtype().count()) / n;
    if (ranges.empty()) return values_.set(u, combine(u, op, dtype, {}, n, each));

    std::vector<Reg> sums(n);
    auto levels = plan_reduce(ranges, body, each);
    Reg identity = values_.constant(dtype, identity_element(op, dtype));
    for (Reg& sum : sums) {
      sum = builder_.mutable_register(type_of(dtype), builder_.in_lanes());
      builder_.assign(sum, identity);
    }
    bool lanes = levels[0].lanes;
    nest(levels, body, set, [&] {
      if (lanes) {
        for (size_t i = 0; i < n; i++) builder_.fold(Values::opcode(op), Values::rounding(dtype), sums[i], values_.get(u.src(0))[i].reg);
      } else {
        Value next = combine(u, op, dtype, sums, n, each);
        Reg mask = builder_.lane_mask();
        for (size_t i = 0; i < n; i++) builder_.assign(sums[i], mask == kNone ? next[i].reg : builder_.where(mask, next[i].reg, sums[i]));
      }
      builder_.count_evaluation(builder_.in_lanes());
    });
    Value out;
    for (Reg sum : sums) out.push_back({.reg = sum});
    values_.set(u, std::move(out));
  }

  // Each of the n results from `each` neighbouring elements, after what was there before (devectorizer.py horizontal_reduce).
  Value combine(UOp u, Op op, DType dtype, const std::vector<Reg>& before, size_t n, size_t each) {
    const Value& in = values_.get(u.src(0));
    Value out;
    for (size_t i = 0; i < n; i++) {
      Reg r = before.empty() ? in[i * each].reg : before[i];
      for (size_t k = before.empty() ? 1 : 0; k < each; k++) {
        Reg operands[] = {r, in[i * each + k].reg};
        r = values_.alu(op, dtype, operands);
      }
      out.push_back({.reg = r});
    }
    return out;
  }

  // A reduction outside of lanes takes its own elements as lanes; they are combined one after the other all the same.
  std::vector<Level> plan_reduce(const std::vector<UOp>& ranges, const std::vector<UOp>& body, size_t each) {
    std::vector<Level> loops;
    for (UOp r : ranges) loops.push_back({{r}, false});
    if (builder_.in_lanes() || each != 1) return loops;
    RangeSet set = set_of(ranges);
    for (UOp u : body)
      if (u.in({Op::WMMA, Op::STORE})) return loops;
    int64_t total = 1;
    size_t first = ranges.size();
    while (first > 0 && total < kEnoughLanes && !ranges_[ranges[first - 1].src(0)].intersects(set)) total *= std::min<int64_t>(most_iterations(ranges[--first]), 1 << 20);
    if (first != 0 || total < 8) return loops;
    return {{ranges, true}};
  }

  // A buffer of the kernel's own, filled where it stands.
  void bufferize(UOp u) {
    int64_t size = u.dtype().count();
    for (size_t i = 1; i < u.num_src(); i++) size *= (u.src(i).vmax().as_int() + 1).int64_or_throw("a size");
    int32_t memory = values_.scratch("buffer", u.dtype(), size, builder_.in_lanes() ? 1 : 0);
    std::vector<UOp> roots(u.src().begin(), u.src().end());
    close(closed_ranges(u), roots, [&] { values_.store_buffer(u, memory); });
    values_.set(u, {{.memory = memory}});
  }

  // The vector of a value's elements for every choice of the named axes, the last one running fastest.
  void contract(UOp u) {
    Value out;
    choose(u, u.arg().items(), out);
    if (!(u.dtype() == dtypes::void_)) values_.set(u, std::move(out));
  }

  void choose(UOp u, std::span<const Arg> axes, Value& out) {
    std::vector<UOp> ranges;
    for (Arg axis : axes)
      for (UOp r : range_nodes_)
        if (is_expanded(r) && axis_id(r) == axis[0].small_int()) ranges.push_back(r);
    RangeSet set = set_of(ranges), before = bound_, all = bound_;
    all.add(set);
    std::vector<UOp> body = body_of({&u.src()[0], 1}, set);
    int64_t choices = 1;
    for (Arg axis : axes) choices *= axis[1].small_int();
    for (int64_t choice = 0; choice < choices; choice++) {
      values_.enter();
      int64_t rest = choice;
      for (size_t i = axes.size(); i-- > 0; rest /= axes[i][1].small_int())
        for (UOp r : ranges)
          if (axis_id(r) == axes[i][0].small_int()) values_.set(r, {{.reg = builder_.constant_int(type_of(r.dtype()), rest % axes[i][1].small_int())}});
      bound_ = all;
      for (UOp x : body)
        if (!x.is(Op::RANGE) && ranges_[x].within(all)) process(x);
      if (!(u.dtype() == dtypes::void_))
        for (const Element& e : Value(values_.get(u.src(0)))) out.push_back(e);
      bound_ = before;
      values_.leave();
    }
  }

  // The element of a vector that the named axes stand at.
  void unroll(UOp u) {
    const Value& from = values_.get(u.src(0));
    Reg at = builder_.constant_int(Type::I64, 0);
    for (Arg axis : u.arg().items()) {
      Reg here = kNone;
      for (UOp r : range_nodes_)
        if (is_expanded(r) && axis_id(r) == axis[0].small_int() && values_.known(r)) here = builder_.cast(values_.scalar(r).reg, Type::I64);
      if (here == kNone) cannot_run(u, "axis " + axis[0].repr() + " has no range");
      at = builder_.binary(Opc::Add, builder_.binary(Opc::Mul, at, builder_.constant_int(Type::I64, axis[1].small_int())), here);
    }
    size_t n = size_t(u.dtype().count());
    Value out;
    for (size_t i = 0; i < n; i++) {
      Reg r = from[i].reg;
      for (size_t k = 1; k < from.size() / n; k++)
        r = builder_.where(builder_.binary(Opc::Eq, at, builder_.constant_int(Type::I64, int64_t(k))), from[k * n + i].reg, r);
      out.push_back({.reg = r});
    }
    values_.set(u, std::move(out));
  }

  struct RegisterUses {
    UOp define;
    RangeSet common;
    std::vector<UOp> uses;
  };

  UOp sink_;
  std::vector<UOp> nodes_;
  Builder builder_;
  Values values_;
  UOpMap<uint32_t> index_;
  UOpMap<RangeSet> ranges_;
  UOpSet rooted_{sink_.graph()};
  std::vector<UOp> range_nodes_;
  std::vector<RegisterUses> registers_;
  std::vector<std::pair<UOp, RangeSet>> locals_;
  RangeSet bound_;
  std::vector<bool> masked_;
};

}  // namespace

Code lower_graph(UOp sink, bool count_evaluations) { return GraphLowering(sink, count_evaluations).run(); }

}  // namespace tgc::ref
