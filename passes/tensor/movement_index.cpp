#include "passes/tensor/movement_index.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/shortcut.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

const RuleSet& reshape_index_rules() {
  static const RuleSet set("reshape", {&symbolic(), &pm_simplify_valid(), &pm_drop_and_clauses()});
  return set;
}
const RuleSet& pad_condition_rules() {
  static const RuleSet set("pad", {&symbolic(), &pm_simplify_valid()});
  return set;
}

namespace {

const Shortcut kReplaceRanges("replace-ranges", "a general substitution in small expressions");
const Shortcut kReshapeOnce("reshape-once", "rewriting the indices of a reshape that recurs with other ranges");
const Shortcut kReshapeOfOnes("reshape-of-ones",
                              "rewriting the indices of a reshape that only adds or drops axes of size 1");
const Shortcut kReshapeByBlocks("reshape-by-blocks",
                                "rewriting all indices at once where a reshape consists of independent blocks");
const Shortcut kPadInGeneral("pad-in-general", "rewriting the gate of a padding that recurs with other ranges");

// The key of the per-graph cache of reshapes, which recur with other ranges.
struct ReshapeKey {
  Shape from, to;  // the cache copies their elements to the graph's arena
  UOp general_sink;     // a SINK of the indices, with placeholders instead of ranges

  bool operator==(const ReshapeKey& other) const {
    return general_sink == other.general_sink && is_identical_shape(from, other.from) &&
           is_identical_shape(to, other.to);
  }
  static bool is_identical_shape(Shape a, Shape b) {
    return std::ranges::equal(a, b, [](Sint x, Sint y) { return Arg::is_identical(x.arg(), y.arg()); });
  }
};
struct ReshapeKeyHash {
  size_t operator()(const ReshapeKey& key) const {
    size_t h = std::hash<const Node*>()(key.general_sink.node());
    for (Shape shape : {key.from, key.to})
      for (Sint s : shape) h = (h ^ s.arg().hash()) * 0x9E3779B97F4A7C15;
    return h ^ h >> 32;
  }
};
struct ReshapeCache {
  std::unordered_map<ReshapeKey, UOp, ReshapeKeyHash> indices_by_key;
};

Shape copy_to_arena(Graph& graph, Shape shape) {
  auto* copy = static_cast<Sint*>(graph.arena().allocate(shape.size_bytes(), alignof(Sint)));
  std::uninitialized_copy(shape.begin(), shape.end(), copy);
  return {copy, shape.size()};
}

class RangeReplacer {
 public:
  RangeReplacer(std::span<const UOp> from, std::span<const UOp> to) : old_ranges_(from), new_ranges_(to) {}

  // Returns `u` with the ranges replaced; the empty UOp if `u` is too large or has an op that this class does not
  // support.
  UOp operator()(UOp u) {
    if (u.is(Op::RANGE)) {
      auto at = std::ranges::find(old_ranges_, u);
      return at == old_ranges_.end() ? u : new_ranges_[size_t(at - old_ranges_.begin())];
    }
    if (ranges_of(u).empty()) return u;
    for (auto& [before, after] : replaced_nodes_)
      if (before == u) return after;
    if (replaced_nodes_.size() == kMaxResults || !u.in(ops::ALU | Op::CAST) || u.num_src() > kMaxSources) return {};
    UOp src[kMaxSources];
    for (size_t i = 0; i < u.num_src(); i++)
      if (src[i] = (*this)(u.src(i)); !src[i]) return {};
    UOp out = u.with_src(std::span<const UOp>(src, u.num_src()));
    if (replaced_nodes_.size() == kMaxResults) return {};
    replaced_nodes_.emplace_back(u, out);
    return out;
  }

  bool replace_all(std::span<const UOp> all, std::vector<UOp>& out) {
    auto simple_size = [](UOp r) { return r.src(0).is_const(); };
    if (!std::ranges::all_of(old_ranges_, simple_size)) return false;
    out.reserve(all.size());
    for (UOp u : all) {
      UOp replaced = (*this)(u);
      if (!replaced) return false;
      out.push_back(replaced);
    }
    return true;
  }

 private:
  static constexpr size_t kMaxResults = 64, kMaxSources = 3;
  std::span<const UOp> old_ranges_, new_ranges_;
  std::vector<std::pair<UOp, UOp>> replaced_nodes_;
};

std::vector<UOp> replace_ranges(Graph& graph, std::span<const UOp> indices, std::span<const UOp> from,
                                std::span<const UOp> to) {
  auto quick = [&]() -> std::optional<std::vector<UOp>> {
    std::vector<UOp> out;
    return RangeReplacer(from, to).replace_all(indices, out) ? std::optional(std::move(out)) : std::nullopt;
  };
  return run_shortcut(kReplaceRanges, graph, quick, [&] {
    Substitution pairs;
    for (size_t i = 0; i < from.size(); i++) pairs.emplace_back(from[i], to[i]);
    UOp sink = substitute(graph.sink(indices), pairs);
    return std::vector<UOp>(sink.src().begin(), sink.src().end());
  });
}

UOp without_constant(UOp sum) { return sum.is(Op::ADD) && sum.src(1).is_const() ? sum.src(0) : sum; }

bool is_loop(UOp u) { return u.is(Op::RANGE) && py_less(0, u.vmax()); }

// For a sum of loop ranges of constant size times positive constants below kLimit, returns the greatest common divisor
// of the factors, ignoring a constant term; 0 for any other expression.
int64_t common_factor(UOp u) {
  constexpr int64_t kLimit = int64_t(1) << 40;
  switch (u.op()) {
    case Op::RANGE: return is_loop(u) && u.src(0).is_const();
    case Op::MUL: {
      UOp times = u.src(1);
      if (!u.src(0).is(Op::RANGE) || !times.is_const() || !py_less(0, times.vmin()) || !py_less(times.vmin(), kLimit))
        return 0;
      return common_factor(u.src(0)) * times.arg().small_int();
    }
    case Op::ADD: {
      int64_t a = common_factor(u.src(0)), b = u.src(1).is_const() ? a : common_factor(u.src(1));
      return a && b ? std::gcd(a, b) : 0;
    }
    default: return 0;
  }
}

// Makes numbered PLACEHOLDER ranges of the same sizes, so that expressions in different ranges share cached rewrites.
std::vector<UOp> placeholders_for(std::span<const UOp> ranges) {
  std::vector<UOp> out;
  out.reserve(ranges.size());
  for (UOp r : ranges)
    out.push_back(r.graph().range(r.src(0), std::array<Arg, 2>{int64_t(out.size()), AxisType::PLACEHOLDER}));
  return out;
}

// Returns true if it is certain that the rules of the reshape leave `u`, a sum of loop ranges that lies within its
// axis, unchanged. The rules may change a sum whose terms have a common factor.
bool is_unchanged_sum(UOp u) {
  UOp terms = without_constant(u);
  int64_t factor = common_factor(terms);
  if (!factor || (factor != 1 && terms.is(Op::ADD))) return false;
  if (u.is(Op::RANGE)) return true;
  UOp general = RangeReplacer(ranges_of(u), placeholders_for(ranges_of(u)))(u);
  return general && general.simplify() == general;
}

// Returns true if it is certain that the rules leave the gated index of a padded axis unchanged: x or x - p, where x is
// a sum of loop ranges, p is the padding in front, and the clauses of the gate bound x to the axis.
bool is_gated_index_unchanged(UOp index, Int size) {
  UOp value = index.src(1), x = without_constant(value);
  if (!std::ranges::all_of(split_uop(x, Op::ADD), is_loop) || !is_unchanged_sum(value)) return false;
  Const low = x.vmin(), high = x.vmax();
  bool after_upper = false;
  for (UOp clause : split_uop(index.src(0), Op::AND)) {
    auto bound = parse_valid(clause);
    if (!bound || !(bound->expr == x) || after_upper) return false;
    after_upper = bound->is_upper;
    (bound->is_upper ? high : low) = bound->bound;
  }
  Const before = value == x ? Const(0) : value.src(1).arg().to_const();
  return py_less(low, high) && !py_less(py_add(low, before), 0) && py_less(py_add(high, before), size);
}

// Returns true if it is certain that flattening and splitting the shape again leaves an index into an axis of `size`
// unchanged, if the other indices share no range with it.
bool is_index_unchanged(UOp index, Sint size) {
  if (size.is_uop() || !(index.dtype() == dtypes::index) || index.is_invalid()) return false;
  if (index.is(Op::WHERE)) return index.src(2).is_invalid() && is_gated_index_unchanged(index, size.as_int());
  if (py_less(index.vmin(), 0) || !py_less(index.vmax(), size.as_int())) return false;
  return index.is_const() || is_loop(index) || is_unchanged_sum(index);
}

bool have_shared_ranges(std::span<const UOp> indices) {
  for (size_t i = 0; i < indices.size(); i++)
    for (UOp r : ranges_of(indices[i]))
      if (std::ranges::any_of(indices.first(i), [&](UOp other) { return is_inside_range(other, r); })) return true;
  return false;
}

// Returns the indices for a reshape that only adds or drops axes of size 1; nullopt for any other reshape, if an axis
// has no index, or if the rules might change an index.
std::optional<std::vector<UOp>> reshape_unit_axes(Graph& graph, Shape from, Shape to, std::span<const UOp> indices) {
  auto is_one = [](Sint s) { return s == Sint(1); };
  if (indices.size() != to.size()) return std::nullopt;
  std::vector<UOp> out;
  out.reserve(from.size() + 1);
  size_t next = 0;
  for (size_t i = 0; i < to.size(); i++) {
    if (!is_index_unchanged(indices[i], to[i])) return std::nullopt;
    if (is_one(to[i])) continue;
    for (; next < from.size() && is_one(from[next]); next++) out.push_back(graph.constant(dtypes::index, 0));
    if (next == from.size() || !(from[next] == to[i])) return std::nullopt;
    out.push_back(indices[i]);
    next++;
  }
  for (; next < from.size() && is_one(from[next]); next++) out.push_back(graph.constant(dtypes::index, 0));
  if (next < from.size() || have_shared_ranges(indices)) return std::nullopt;
  return out;
}

UOp multiply(Sint s, UOp u) { return s.is_int() ? s.as_int() * u : s.uop() * u; }
UOp modulo(UOp u, Sint s) { return s.is_int() ? u % Const(s.as_int()) : u % s.uop(); }
UOp divide(UOp u, Sint s) { return s.is_int() ? u / Const(s.as_int()) : u / s.uop(); }
UOp add(UOp u, Sint s) { return s.is_int() ? u + Const(s.as_int()) : u + s.uop(); }
UOp subtract(UOp u, Sint s) { return s.is_int() ? u - Const(s.as_int()) : u - s.uop(); }

// Combines the indices into `to` (the sources of `sink`) into one flat index, splits it by the sizes of `from`, and
// simplifies. Returns a SINK of the new indices.
UOp reshape_indices(Graph& graph, Shape from, Shape to, UOp sink) {
  Sint stride = 1;
  UOp flat = graph.constant(dtypes::index, 0);
  std::vector<UOp> terms;
  terms.reserve(to.size());
  for (size_t i = std::min(to.size(), sink.num_src()); i-- > 0;) {
    terms.push_back(multiply(stride, sink.src(i)));
    stride = stride * to[i];
  }
  for (UOp term : terms) flat = flat + term;
  std::vector<UOp> out(from.size());
  for (size_t i = from.size(); i-- > 0;) {
    out[i] = modulo(flat, from[i]);
    flat = divide(flat, from[i]);
  }
  return graph_rewrite(graph.sink(out), reshape_index_rules(), {.name = "reshape"});
}

UOp padding_condition(UOp r, Sint begin, Sint end) {
  UOp above = begin.is_int() ? r.ge(Const(begin.as_int())) : r.ge(begin.uop());
  UOp below = end.is_int() ? r.lt(Const(end.as_int())) : r.lt(end.uop());
  return graph_rewrite(above & below, pad_condition_rules(), {.name = "pad"});
}

// Returns the simplified condition begin <= r < end. If possible, simplifies over placeholders, for which rewrite
// results are cached.
UOp make_bounds_condition(UOp r, Sint begin, Sint end) {
  Graph& graph = r.graph();
  auto in_general = [&]() -> std::optional<UOp> {
    std::vector<UOp> ranges(ranges_of(r).begin(), ranges_of(r).end()), index;
    if (ranges.empty()) return std::nullopt;
    std::ranges::sort(ranges, [](UOp a, UOp b) { return py_compare(a.arg(), b.arg()) == Order::Less; });
    auto placeholders = placeholders_for(ranges);
    if (!RangeReplacer(ranges, placeholders).replace_all(std::span(&r, 1), index)) return std::nullopt;
    UOp valid = padding_condition(index[0], begin, end);
    return replace_ranges(graph, std::span(&valid, 1), placeholders, ranges)[0];
  };
  return run_shortcut(kPadInGeneral, graph, in_general, [&] { return padding_condition(r, begin, end); });
}

// Returns the index into the source for one padded axis, of `size` elements in the source; Invalid in the padding.
UOp pad_index(UOp r, Sint size, Sint before, Sint after) {
  if (before == Sint(0) && after == Sint(0)) return r;
  return make_bounds_condition(r, before, size + before).where(subtract(r, before), r.graph().invalid());
}

std::vector<UOp> reshape_whole(Graph& graph, Shape from, Shape to, std::span<const UOp> indices) {
  auto ranges = ranges_of(graph.sink(indices));
  auto placeholders = placeholders_for(ranges);
  UOp general = graph.sink(replace_ranges(graph, indices, ranges, placeholders));
  auto reshape = [&] { return reshape_indices(graph, from, to, general); };
  auto once = [&] {
    auto& indices_by_key = graph.extension<ReshapeCache>().indices_by_key;
    if (auto found = indices_by_key.find({from, to, general}); found != indices_by_key.end()) return found->second;
    UOp result = reshape();
    indices_by_key.emplace(ReshapeKey{copy_to_arena(graph, from), copy_to_arena(graph, to), general}, result);
    return result;
  };
  UOp result = run_shortcut(kReshapeOnce, graph, once, reshape);
  return replace_ranges(graph, result.src(), placeholders, ranges);
}

// A block of a reshape: the axes [from, from_end) of the source have as many elements as the axes [to, to_end) of the
// result.
struct ReshapeBlock {
  size_t from, from_end, to, to_end;
  bool is_one_axis() const { return from_end - from == 1 && to_end - to == 1; }
};

// Returns the smallest blocks of a reshape. Axes of size 1 at the edges of blocks belong to none. Returns nullopt if a
// size is symbolic or 0, or if the numbers of elements differ.
std::optional<std::vector<ReshapeBlock>> reshape_blocks_of(Shape from, Shape to) {
  auto is_plain = [](Sint s) { return s.is_int() && s.as_int() > 0; };
  if (!std::ranges::all_of(from, is_plain) || !std::ranges::all_of(to, is_plain)) return std::nullopt;
  std::vector<ReshapeBlock> out;
  size_t i = 0, j = 0;
  for (;;) {
    while (i < from.size() && from[i] == Sint(1)) i++;
    while (j < to.size() && to[j] == Sint(1)) j++;
    if (i == from.size() || j == to.size()) break;
    ReshapeBlock block{i, i + 1, j, j + 1};
    Int a = from[i].as_int(), b = to[j].as_int();
    while (a != b) {
      if (a < b ? block.from_end == from.size() : block.to_end == to.size()) return std::nullopt;
      if (a < b) a = a * from[block.from_end++].as_int();
      else b = b * to[block.to_end++].as_int();
    }
    i = block.from_end, j = block.to_end;
    out.push_back(block);
  }
  return i == from.size() && j == to.size() ? std::optional(out) : std::nullopt;
}

// How the rules factor a sum depends on the neighbouring axes, so a sum is never accepted.
bool is_simple_index_within(UOp index, Sint size) {
  if (!(index.dtype() == dtypes::index) || index.is_invalid() || !index.in({Op::RANGE, Op::CONST})) return false;
  return !py_less(index.vmin(), 0) && py_less(index.vmax(), size.as_int());
}

// Reshapes block by block, so that blocks that recur hit the cache. Returns nullopt where this is not possible or does
// not help.
std::optional<std::vector<UOp>> reshape_by_blocks(Graph& graph, Shape from, Shape to, std::span<const UOp> indices) {
  auto blocks = indices.size() == to.size() ? reshape_blocks_of(from, to) : std::nullopt;
  if (!blocks || (blocks->size() == 1 && blocks->front().to_end - blocks->front().to == to.size())) return std::nullopt;
  std::vector<bool> unchanged(to.size());
  for (const ReshapeBlock& b : *blocks)
    unchanged[b.to] = b.is_one_axis() && is_index_unchanged(indices[b.to], to[b.to]);
  for (size_t i = 0; i < to.size(); i++)
    if (!unchanged[i] && !is_simple_index_within(indices[i], to[i])) return std::nullopt;
  std::vector<UOp> seen, out(from.size(), graph.constant(dtypes::index, 0));
  for (const ReshapeBlock& b : *blocks) {
    size_t before = seen.size();
    for (UOp index : indices.subspan(b.to, b.to_end - b.to))
      for (UOp r : ranges_of(index)) {
        if (std::find(seen.begin(), seen.begin() + ptrdiff_t(before), r) != seen.begin() + ptrdiff_t(before))
          return std::nullopt;
        seen.push_back(r);
      }
  }
  for (const ReshapeBlock& b : *blocks) {
    UOp index = indices[b.to];
    if (unchanged[b.to]) {
      out[b.from] = index;
      continue;
    }
    auto part = reshape_whole(graph, from.subspan(b.from, b.from_end - b.from), to.subspan(b.to, b.to_end - b.to),
                              indices.subspan(b.to, b.to_end - b.to));
    std::ranges::copy(part, out.begin() + ptrdiff_t(b.from));
  }
  return out;
}

}  // namespace

std::vector<UOp> apply_reshape(Graph& graph, Shape from, Shape to, std::span<const UOp> indices) {
  auto not_plain = [&] {
    return run_shortcut(kReshapeByBlocks, graph, [&] { return reshape_by_blocks(graph, from, to, indices); },
                        [&] { return reshape_whole(graph, from, to, indices); });
  };
  return run_shortcut(kReshapeOfOnes, graph, [&] { return reshape_unit_axes(graph, from, to, indices); }, not_plain);
}

std::vector<UOp> apply_movement_op(UOp movement, std::span<const UOp> indices) {
  if (movement.num_src() == 0) throw Failure("Ops." + std::string(name_of(movement.op())) + " has no source");
  Shape from = shape_of(movement.src(0));
  std::vector<UOp> out;
  size_t n = std::min(indices.size(), shape_of(movement).size());
  out.reserve(n + 1);  // one more for the INDEX's buffer, which pm_mops inserts in front
  switch (movement.op()) {
    case Op::SHRINK: {
      auto bounds = marg_pairs(movement);
      for (size_t i = 0; i < n; i++)
        out.push_back(bounds[i].first == Sint(0) ? indices[i] : add(indices[i], bounds[i].first));
      return out;
    }
    case Op::PERMUTE: {
      auto order = movement.arg().items();
      if (n < order.size())
        throw Failure("a PERMUTE of " + std::to_string(order.size()) + " axes has " + std::to_string(n) + " indices");
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
      Shape to = shape_of(movement);
      for (size_t i = 0; i < n; i++) out.push_back(from[i] == to[i] ? indices[i] : indices[i].const_like(0));
      return out;
    }
    case Op::PAD: {
      auto amounts = marg_pairs(movement);
      for (size_t i = 0; i < n; i++) out.push_back(pad_index(indices[i], from[i], amounts[i].first, amounts[i].second));
      return out;
    }
    case Op::RESHAPE: return apply_reshape(movement.graph(), from, shape_of(movement), indices);
    default: throw Failure("Ops." + std::string(name_of(movement.op())) + " is not a movement op");
  }
}

UOp with_first_source(UOp u, UOp first) {
  std::vector<UOp> src(u.src().begin(), u.src().end());
  src[0] = first;
  return u.with_src(src);
}

const RuleSet& pm_mops() {
  static const RuleSet set("pm_mops",
                           {
                               rule("index-through-movement", any_len(Op::INDEX, node(ops::Movement).as(r)).as(idx),
                                    with(r, idx,
                                         [](UOp r, UOp idx) {
                                           auto indices = apply_movement_op(r, idx.src().subspan(1));
                                           indices.insert(indices.begin(), r.src(0));
                                           return idx.graph().node(Op::INDEX, idx.dtype(), indices, idx.arg());
                                         })),
                               rule("after-below-movement", any_len(Op::AFTER, node(ops::Movement).as(r)).as(a),
                                    with(r, a,
                                         [](UOp r, UOp a) {
                                           std::vector<UOp> after(a.src().begin(), a.src().end()),
                                               src(r.src().begin(), r.src().end());
                                           after[0] = r.src(0);
                                           src[0] = a.replace({.src = after, .tag = Arg()});
                                           return r.replace({.src = src, .tag = a.tag()});
                                         })),
                               rule("end-drops-movement", any_len(Op::END, node(ops::Movement).as(r)).as(a),
                                    with(r, a, [](UOp r, UOp a) { return with_first_source(a, r.src(0)); })),
                           });
  return set;
}

}  // namespace tgc
