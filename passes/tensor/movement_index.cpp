#include "passes/tensor/movement_index.h"

#include <algorithm>
#include <unordered_map>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "passes/symbolic/symbolic.h"
#include "passes/symbolic/valid.h"

namespace tgc {

using namespace pat;

namespace {

const RuleSet& reshape_rules() {
  static const RuleSet set("reshape", {&symbolic(), &pm_simplify_valid(), &pm_drop_and_clauses()});
  return set;
}
const RuleSet& pad_rules() {
  static const RuleSet set("pad", {&symbolic(), &pm_simplify_valid()});
  return set;
}

// Reshapes recur with the same shapes, so what one does is found once per graph, with numbered placeholders for its ranges.
struct ReshapeCache {
  struct KeyHash {
    size_t operator()(Arg key) const { return key.hash(); }
  };
  struct KeyEqual {
    bool operator()(Arg a, Arg b) const { return Arg::identical(a, b); }
  };
  std::unordered_map<Arg, UOp, KeyHash, KeyEqual> known;
};

Arg as_arg(Graph& graph, Shape shape) {
  std::vector<Arg> items;
  for (Sint s : shape) items.push_back(s.arg());
  return graph.tuple(items);
}

UOp times(Sint s, UOp u) { return s.is_int() ? s.as_int() * u : s.uop() * u; }
UOp mod(UOp u, Sint s) { return s.is_int() ? u % Const(s.as_int()) : u % s.uop(); }
UOp div(UOp u, Sint s) { return s.is_int() ? u / Const(s.as_int()) : u / s.uop(); }
UOp plus(UOp u, Sint s) { return s.is_int() ? u + Const(s.as_int()) : u + s.uop(); }
UOp minus(UOp u, Sint s) { return s.is_int() ? u - Const(s.as_int()) : u - s.uop(); }

// The indices of `to` (the sources of `sink`) as one flat index, split up again by the sizes of `from`.
UOp reshape_indices(Graph& graph, Shape from, Shape to, UOp sink) {
  Sint stride = 1;
  UOp flat = graph.constant(dtypes::index, 0);
  std::vector<UOp> terms;
  for (size_t i = std::min(to.size(), sink.num_src()); i-- > 0;) {
    terms.push_back(times(stride, sink.src(i)));
    stride = stride * to[i];
  }
  for (UOp term : terms) flat = flat + term;
  std::vector<UOp> out(from.size());
  for (size_t i = from.size(); i-- > 0;) {
    out[i] = mod(flat, from[i]);
    flat = div(flat, from[i]);
  }
  return graph_rewrite(graph.sink(out), reshape_rules(), {.name = "reshape"});
}

// The index of one padded axis: gated by the elements that are no padding.
UOp pad_index(UOp r, Sint size, Sint before, Sint after) {
  if (before == Sint(0) && after == Sint(0)) return r;
  Sint end = size + before;
  UOp above = before.is_int() ? r.ge(Const(before.as_int())) : r.ge(before.uop());
  UOp below = end.is_int() ? r.lt(Const(end.as_int())) : r.lt(end.uop());
  // the gate is simplified on its own, so that it stays what this padding adds
  UOp valid = graph_rewrite(above & below, pad_rules(), {.name = "pad"});
  return valid.where(minus(r, before), r.graph().invalid());
}

}  // namespace

std::vector<UOp> apply_reshape(Graph& graph, Shape from, Shape to, std::span<const UOp> indices) {
  UOp sink = graph.sink(indices);
  Substitution to_placeholders, back;
  for (UOp r : ranges_of(sink)) {
    UOp placeholder = graph.range(r.src(0), std::array<Arg, 2>{int64_t(to_placeholders.size()), AxisType::PLACEHOLDER});
    to_placeholders.emplace_back(r, placeholder);
    back.emplace_back(placeholder, r);
  }
  UOp general = substitute(sink, to_placeholders);
  UOp& result = graph.extension<ReshapeCache>().known[graph.tuple({as_arg(graph, from), as_arg(graph, to), Arg(general)})];
  if (!result) result = reshape_indices(graph, from, to, general);
  UOp out = substitute(result, back);
  return {out.src().begin(), out.src().end()};
}

std::vector<UOp> apply_movement_op(UOp movement, std::span<const UOp> indices) {
  if (movement.num_src() == 0) throw Failure("Ops." + std::string(name_of(movement.op())) + " has no source");
  Shape from = shape_of(movement.src(0));
  std::vector<UOp> out;
  size_t n = std::min(indices.size(), shape_of(movement).size());  // an INDEX may name the first axes alone
  switch (movement.op()) {
    case Op::SHRINK: {
      auto bounds = marg_pairs(movement);
      for (size_t i = 0; i < n; i++)
        out.push_back(bounds[i].first == Sint(0) ? indices[i] : plus(indices[i], bounds[i].first));
      return out;
    }
    case Op::PERMUTE: {
      auto order = movement.arg().items();
      if (n < order.size()) throw Failure("a PERMUTE of " + std::to_string(order.size()) + " axes has " + std::to_string(n) + " indices");
      out.resize(order.size());
      for (size_t i = 0; i < order.size(); i++) out[size_t(order[i].small_int())] = indices[i];
      return out;
    }
    case Op::FLIP:
      for (size_t i = 0; i < n; i++) {
        if (!movement.arg()[i].as_bool()) out.push_back(indices[i]);
        else if (Sint last = from[i] - Sint(1); last.is_int()) out.push_back(Const(last.as_int()) - indices[i]);
        else out.push_back(last.uop() - indices[i]);
      }
      return out;
    case Op::EXPAND: {
      ShapeVec to = marg_shape(movement);
      for (size_t i = 0; i < n; i++) out.push_back(from[i] == to[i] ? indices[i] : indices[i].const_like(0));
      return out;
    }
    case Op::PAD: {
      auto amounts = marg_pairs(movement);
      for (size_t i = 0; i < n; i++) out.push_back(pad_index(indices[i], from[i], amounts[i].first, amounts[i].second));
      return out;
    }
    case Op::RESHAPE: return apply_reshape(movement.graph(), from, marg_shape(movement), indices);
    default: throw Failure("Ops." + std::string(name_of(movement.op())) + " is no movement op");
  }
}

const RuleSet& pm_mops() {
  static const RuleSet set("pm_mops", {
      // index(movement(x), i...) -> index(x, movement(i)...)
      rule("index-through-movement", any_len(Op::INDEX, node(ops::Movement).as(r)).as(idx), with(r, idx, [](UOp r, UOp idx) {
             std::vector<UOp> src{r.src(0)};
             for (UOp i : apply_movement_op(r, idx.src().subspan(1))) src.push_back(i);
             return idx.graph().node(Op::INDEX, idx.dtype(), src, idx.arg());
           })),
      // after(movement(x), deps...) -> movement(after(x, deps...))
      rule("after-below-movement", any_len(Op::AFTER, node(ops::Movement).as(r)).as(a), with(r, a, [](UOp r, UOp a) {
             std::vector<UOp> after(a.src().begin(), a.src().end()), src(r.src().begin(), r.src().end());
             after[0] = r.src(0);
             src[0] = a.replace({.src = after, .tag = Arg()});
             return r.replace({.src = src, .tag = a.tag()});
           })),
      // end(movement(x), ranges...) -> end(x, ranges...)
      rule("end-drops-movement", any_len(Op::END, node(ops::Movement).as(r)).as(a), with(r, a, [](UOp r, UOp a) {
             std::vector<UOp> src(a.src().begin(), a.src().end());
             src[0] = r.src(0);
             return a.with_src(src);
           })),
  });
  return set;
}

}  // namespace tgc
