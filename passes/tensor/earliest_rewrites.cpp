#include "passes/tensor/stages.h"

#include <algorithm>

#include "lib/rewrite/shortcut.h"
#include "lib/uop/debug.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/movement.h"
#include "passes/tensor/movement_index.h"

namespace tgc {

using namespace pat;

UOp contiguous(UOp u) {
  if (u.is(Op::CONTIGUOUS)) return u;
  UOp stored = u;
  while (stored.in({Op::RESHAPE, Op::MULTI})) stored = stored.src(0);
  return stored.is(Op::BUFFER) ? u : u.graph().node(Op::CONTIGUOUS, u.dtype(), u);
}

namespace {

using NumberedNodes = std::vector<UOp>;

// Ops that the rule "number" skips.
constexpr OpSet kUntagged = OpSet{Op::BUFFER, Op::CONST,  Op::DEVICE, Op::UNIQUE, Op::LUNIQUE, Op::DEFINE_VAR,
                                  Op::BIND,   Op::KERNEL, Op::END,    Op::MSTACK, Op::MSELECT, Op::RANGE} |
                            ops::Movement;

bool has_only_buffers(UOp u) {
  return std::all_of(u.src().begin(), u.src().end(), [](UOp s) { return s.is(Op::BUFFER); });
}

bool has_number(UOp x) { return !x.tag().is_none() || x.dtype().scalar() == dtypes::index; }
Arg assign_number(NumberedNodes& numbered, UOp x) {
  numbered.push_back(x);
  return x.graph().tuple({int64_t(numbered.size()) - 1});
}
UOp tag_uop(NumberedNodes& numbered, UOp x) { return has_number(x) ? UOp() : x.rtag(assign_number(numbered, x)); }

// Computes the result of add_tags(), but builds each node only once: the rules inspect only a node and its sources, so
// the numbers can be assigned before a node is built.
class NodeNumbering {
 public:
  NodeNumbering(UOp sink, NumberedNodes& numbered)
      : graph_(sink.graph()), numbered_nodes_(numbered), tags_(graph_), results_(graph_) {
    number_nodes(sink);
  }

  UOp build_tagged_graph(UOp sink) {
    std::vector<UOp> src;
    for (UOp u : cached_toposort(sink)) {
      src.assign(u.src().begin(), u.src().end());
      for (UOp& s : src) s = *results_.find(s);
      UOp made = results_[u] = graph_.node(u.op(), u.dtype(), src, u.arg(), *tags_.find(u));
      inherit_facts(u, made);
    }
    return *results_.find(sink);
  }

 private:
  void number_nodes(UOp sink) {
    std::vector<UOp> stack{sink};
    tags_[sink] = sink.tag();
    while (!stack.empty()) {
      UOp u = stack.back();
      stack.pop_back();
      if (needs_number(u)) tags_[u] = assign_number(numbered_nodes_, u);
      for (size_t i = u.num_src(); i-- > 0;) {
        UOp s = u.src(i);
        if (tags_.contains(s)) continue;
        tags_[s] = s.tag();
        stack.push_back(s);
      }
    }
  }
  static bool needs_number(UOp u) {
    if (has_number(u)) return false;
    return !u.in(kUntagged) || (u.in({Op::MSTACK, Op::MSELECT}) && !has_only_buffers(u));
  }

  Graph& graph_;
  NumberedNodes& numbered_nodes_;
  UOpMap<Arg> tags_;
  UOpMap<UOp> results_;
};

// If `b` permutes or flips a value of the assigned buffer, computes `b` into another buffer first.
UOp realize_before_permuting_assign(UOp a, UOp b, UOp assign) {
  UOp target = base_of(a);
  for (UOp p : toposort(b, [](UOp s) { return !s.in(kAlwaysContiguous); })) {
    if (!p.in({Op::PERMUTE, Op::FLIP})) continue;
    auto below = toposort(p, [](UOp s) { return !s.in(kAlwaysContiguous - Op::BUFFER); });
    if (std::find(below.begin(), below.end(), target) != below.end()) return assign.with_src({a, contiguous(b)});
  }
  return {};
}

}  // namespace

const RuleSet& split_reduceop_rules() {
  static const RuleSet set("split_reduceop", {&pm_mops(), &substitute_rules()});
  return set;
}

namespace {

// For each axis of `x`, returns true if the index into the base of `x` does not depend on the axis.
std::vector<bool> expanded_axes(UOp x, Shape shape) {
  Graph& graph = x.graph();
  if (shape_of(base_of(x)).empty()) return std::vector<bool>(shape.size(), true);
  std::vector<UOp> ranges;
  for (size_t i = 0; i < shape.size(); i++)
    ranges.push_back(shape[i].as_int() > 1 ? graph.range(Const(shape[i].as_int()), int64_t(i), AxisType::LOOP)
                                           : graph.constant(dtypes::index, 0));
  UOp indexed = substitute(x.index(ranges, x.dtype().base()), {{base_of(x), graph.noop()}}, &split_reduceop_rules(),
                           "split_reduceop");
  std::vector<bool> expanded(shape.size(), true);
  for (UOp r : ranges_of(indexed)) expanded[size_t(r.arg()[0].small_int())] = false;
  return expanded;
}

struct ReduceSplit {
  int64_t axis, divisor;
};

// Returns the first reduced axis that can be split, and the largest allowed divisor of its size.
std::optional<ReduceSplit> find_split(UOp reduce, UOp x, Shape shape, Int output_size) {
  const Settings& settings = x.graph().settings();
  auto expanded = expanded_axes(x, shape);
  // limit the outputs of the first kernel to 2**REDUCEOP_SPLIT_SIZE, and the number of parts, which is the work per
  // output of the second kernel
  Int most = floor_div(Int(int64_t(1)) << int(settings.REDUCEOP_SPLIT_SIZE), output_size);
  int64_t parts = most < 256 ? most.small_value() : 256;
  for (Arg axis : reduce.arg()[1].items()) {
    auto i = size_t(axis.small_int());
    if (expanded[i]) continue;
    for (int64_t d = parts; d >= 8; d--)
      if (floor_mod(shape[i].as_int(), Int(d)) == Int(0)) return ReduceSplit{int64_t(i), d};
  }
  return std::nullopt;
}

// Splits a reduction of many elements per output into two kernels, because one kernel with few outputs would use few of
// the device's threads.
UOp split_reduceop(UOp reduce, UOp x) {
  const Settings& settings = x.graph().settings();
  Shape shape = shape_of(x), out = shape_of(reduce);
  Sint outputs = prod(out);
  if (outputs == Sint(0) || !settings.SPLIT_REDUCEOP) return {};
  if (!std::all_of(shape.begin(), shape.end(), [](Sint s) { return s.is_int(); })) return {};
  if (floor_div(prod(shape), outputs).as_int() < Int(settings.REDUCEOP_SPLIT_THRESHOLD)) return {};
  auto split = find_split(reduce, x, shape, outputs.as_int());
  if (!split) return {};
  ShapeVec halves(shape.begin(), shape.end());
  auto at = size_t(split->axis);
  halves[at] = floor_div(halves[at], Sint(split->divisor));
  halves.insert(halves.begin() + split->axis, Sint(split->divisor));
  std::vector<int64_t> order, axes;
  for (size_t i = 0; i < halves.size(); i++)
    if (i != at) order.push_back(int64_t(i));
  order.push_back(split->axis);  // the axis of the parts is last, so that the second kernel reads contiguous memory
  for (Arg a : reduce.arg()[1].items()) axes.push_back(a.small_int());
  Op op = reduce.arg()[0].op();
  UOp first = contiguous(reduce_axis(permute(reshape(x, halves), order), op, axes));
  if (has_debug_level(x.graph(), 3))
    print_debug_line("split " + std::to_string(split->divisor) + ": " + str(shape) + " -> " +
                     str(shape_of(first.src(0).src(0))) + " -> " + str(out));
  return reshape(reduce_axis(first, op, std::array{int64_t(out.size())}), out).rtag(reduce.tag());
}

bool has_empty_axis(UOp u) {
  auto shape = shape_or_none(u);
  return shape && std::any_of(shape->begin(), shape->end(), [](Sint s) { return s.vmax() == Int(0); });
}

bool is_on_disk(UOp u) {
  Arg device = device_or_throw(u);
  return device.is_str() && device.text().starts_with("DISK");
}

UOp copy_below_movement(UOp x, UOp copy) {
  if (!is_on_disk(x)) return {};
  return with_first_source(x, with_first_source(copy, x.src(0)).rtag({})).rtag(copy.tag());
}

UOp assign_to_no_buffer(UOp x, UOp target, UOp assign) {
  UOp base = base_of(target);
  if (base.is(Op::BUFFER) || (base.is(Op::MSTACK) && has_only_buffers(base))) return {};
  return x.graph().node(Op::CONTIGUOUS, x.dtype(), x, {}, assign.tag());
}

// If `src` only permutes and reshapes its base, records for the base the copy `contig` with these movements undone.
UOp found_contiguous(ContiguousViews& views, UOp contig, UOp src) {
  UOp base = base_of(src);
  for (UOp x = src; !(x == base); x = x.src(0)) {
    if (x.is(Op::PERMUTE)) {
      auto order = x.arg().items();
      std::vector<int64_t> back(order.size());
      for (size_t i = 0; i < order.size(); i++) back[size_t(order[i].small_int())] = int64_t(i);
      contig = permute(contig, back);
    } else if (x.is(Op::RESHAPE)) {
      contig = reshape(contig, shape_of(x.src(0)));
    } else {
      return {};
    }
  }
  views.contiguous_by_base[base] = contig;
  return {};
}

UOp read_contiguous_views(ContiguousViews& views, UOp alu) {
  auto is_viewed = [&](UOp s) { return views.contiguous_by_base.contains(s); };
  if (views.contiguous_by_base.empty() || std::ranges::none_of(alu.src(), is_viewed)) return {};
  std::vector<UOp> src;
  for (UOp s : alu.src()) src.push_back(is_viewed(s) ? views.contiguous_by_base.at(s) : s);
  return alu.with_src(src);
}

}  // namespace

const RuleSet& add_tags() {
  static const RuleSet set("add_tags", {
      rule("number", node(OpSet::all() - kUntagged).as(x), with<tag_uop>(x)),
      rule("number-choice", node({Op::MSTACK, Op::MSELECT}).as(x),
           with_ctx<NumberedNodes>(x, [](NumberedNodes& numbered, UOp x) {
             return has_only_buffers(x) ? UOp() : tag_uop(numbered, x);
           })),
  });
  return set;
}

const RuleSet& mop_cleanup() {
  static const RuleSet set("mop_cleanup", {
      rule("merge-reshapes", any_len(Op::RESHAPE, node(Op::RESHAPE).as(y)).as(x), with(x, y, [](UOp x, UOp y) {
             return x.tag().is_none() && y.tag().is_none() ? x.with_src({y.src(0), x.src(1)}) : UOp();
           })),
  });
  return set;
}

const RuleSet& earliest_rewrites() {
  constexpr OpSet kSwizzles = ops::Movement - OpSet{Op::SHRINK, Op::RESHAPE};
  static const RuleSet own(
      "earliest_rewrites",
      {
          rule("drop-detach", node({Op::DETACH, Op::CONTIGUOUS_BACKWARD}).as(x),
               with(x, [](UOp x) { return x.src(0); })),
          rule("custom-kernel", node(Op::CUSTOM_KERNEL).as(x),
               with(x,
                    [](UOp) -> UOp {
                      throw Failure("a CUSTOM_KERNEL is made by a Python function, which only tinygrad can call");
                    })),
          // contiguous(reshape(buffer)) -> reshape(buffer)
          rule("contiguous-of-buffer", node(Op::CONTIGUOUS, any_len(Op::RESHAPE, node(Op::BUFFER)).as(r)).as(x),
               with(r, x, [](UOp r, UOp x) { return r.rtag(x.tag()); })),
          // reduce(x) -> reduce(contiguous(reduce(x split into parts))), for many elements per output
          rule("split-reduce", node(Op::REDUCE_AXIS, x).as(red), with<split_reduceop>(red, x)),
          rule("reduce-of-nothing", node(Op::REDUCE_AXIS, x).as(red),
               with(red, x,
                    [](UOp red, UOp x) {
                      if (!has_empty_axis(x) || has_empty_axis(red)) return UOp();
                      return red.const_like(identity_element(red.arg()[0].op(), red.dtype()));
                    })),
          // a tensor without elements -> a constant 0
          rule("empty", node(OpSet::all() - Op::SINK).as(x),
               with(x, [](UOp x) { return has_empty_axis(x) ? x.const_like(0).rtag(x.tag()) : UOp(); })),
          // copy(contiguous(swizzle(file))) -> copy(swizzle(file))
          rule("disk-copy-drops-contiguous", any_len(Op::COPY, node(Op::CONTIGUOUS, node(kSwizzles).as(x))).as(y),
               with(x, y, [](UOp x, UOp copy) { return is_on_disk(x) ? with_first_source(copy, x) : UOp(); })),
          // copy(swizzle(file)) -> swizzle(copy(file))
          rule("disk-copy-first", any_len(Op::COPY, node(kSwizzles).as(x)).as(y), with<copy_below_movement>(x, y)),
          rule("copy-of-const", node(Op::COPY, s, anything()).as(x),
               with(x, s,
                    [](UOp x, UOp s) {
                      UOp base = base_of(s);
                      return base.is_const() ? x.const_like(base.arg().to_const()) : UOp();
                    })),
          // copy(movement(x)) -> copy(contiguous(movement(x))), if the number of elements is not that of the base
          rule("copy-of-part", node(Op::COPY, node(ops::Movement).as(r), d).as(x),
               with(x, r, d,
                    [](UOp x, UOp r, UOp d) {
                      return size_of(r) != size_of(base_of(r)) ? x.with_src({contiguous(r), d}) : UOp();
                    })),
          // copy(x) to the device of x -> noop(x)
          rule("copy-to-same", node(Op::COPY, x, anything()).as(y),
               with(x, y,
                    [](UOp x, UOp copy) {
                      bool is_on_device = device_or_throw(x) == device_or_throw(copy);
                      return is_on_device ? x.graph().node(Op::NOOP, x.dtype(), x, {}, copy.tag()) : UOp();
                    })),
          rule("assign-to-no-buffer", node(Op::ASSIGN, node(OpSet::all() - Op::BUFFER).as(t), x).as(y),
               with<assign_to_no_buffer>(x, t, y)),
          rule("assign-from-permuted", node(Op::ASSIGN, a, b).as(y), with<realize_before_permuting_assign>(a, b, y)),
      });
  static const RuleSet set("earliest_rewrites", {&mop_cleanup(), &own});
  return set;
}

const RuleSet& replace_contiguous() {
  static const RuleSet set("replace_contiguous", {
      rule("found-contiguous", node(Op::CONTIGUOUS, node(ops::Movement).as(s)).as(x), with<found_contiguous>(x, s)),
      // x op y, where x is also read as contiguous(permute(x)) -> unpermute(contiguous(permute(x))) op y
      rule("read-contiguous", node(ops::ALU).as(x), with<read_contiguous_views>(x)),
  });
  return set;
}

const RuleSet& earliest_rewrites_stage() {
  static const RuleSet set("earliest rewrites", {&pm_mops(), &earliest_rewrites(), &replace_contiguous()});
  return set;
}

namespace {
const Shortcut kNumberInOneWalk("number-in-one-walk",
                                "building each node twice: with its own number, and with its numbered sources");
}  // namespace

UOp number_uops(UOp sink, std::vector<UOp>& numbered) {
  return run_shortcut(
      kNumberInOneWalk, sink.graph(), [&] { return NodeNumbering(sink, numbered).build_tagged_graph(sink); },
      [&] { return graph_rewrite(sink, add_tags(), {.ctx = numbered, .bottom_up = true, .name = "number the uops"}); });
}

UOp rewrite_earliest(UOp sink) {
  ContiguousViews views;
  return graph_rewrite(sink, earliest_rewrites_stage(), {.ctx = views, .name = "earliest rewrites"});
}

}  // namespace tgc
