#include "passes/kernel/stages.h"

#include <algorithm>

#include "lib/rewrite/shortcut.h"
#include "lib/target/target.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

namespace {

UOp flatten_range(UOp r) {
  auto start = size_t(range_start(r.op()));
  if (r.num_src() <= start) return {};
  auto ended = r.src().subspan(start);
  auto is_plain = [](UOp x) { return x.is(Op::RANGE) && std::ranges::all_of(x.src(), &UOp::is_const); };
  auto is_first = [&](const UOp& x) { return &*std::ranges::find(ended, x) == &x; };
  if (std::ranges::all_of(ended, is_plain) && std::ranges::all_of(ended, is_first)) return {};
  std::vector<UOp> src(r.src().begin(), r.src().begin() + ptrdiff_t(start));
  for (UOp x : toposort(r.graph().sink(ended)))
    if (x.is(Op::RANGE)) src.push_back(x);
  return r.with_src(src);
}

size_t count_divmod(UOp u) {
  constexpr OpSet kDivMod{Op::IDIV, Op::MOD};
  if (!u.graph().ops().intersects(kDivMod)) return 0;
  auto nodes = toposort(u);
  return size_t(std::ranges::count_if(nodes, [&](UOp x) { return x.in(kDivMod); }));
}

}  // namespace

const RuleSet& check_merge() {
  static const RuleSet set("check_merge", {&symbolic(), &pm_flatten_range()});
  return set;
}

namespace {

AxisType axis_type(UOp range) {
  if (!range.is(Op::RANGE)) throw Failure("Ops." + std::string(name_of(range.op())) + " ends as a range");
  return range.arg().items().back().axis_type();
}

// Returns `u` with the loops r0 and r1 merged. tinygrad substitutes and rewrites in one pass, tgc in two. The
// result is the same: in one pass, too, the rules get nodes whose loops are replaced already. The rules do not change
// other nodes, since an earlier pass has applied them.
UOp merge_loops(UOp u, UOp r0, UOp r1) {
  UOp s1 = r1.src(0), both = r0.with_src(r0.src(0) * s1);
  return graph_rewrite(substitute(u, {{r0, both / s1}, {r1, both % s1}}), check_merge());
}

// Returns true if the position in the INDEX `index` is a sum with factors c0 of r0 and c1 of r1 such that c0 != c1 *
// size of r1. Then the merged loop needs a division or remainder. Returns false if r0 or r1 occurs in any other form.
bool needs_division_if_merged(UOp index, UOp r0, UOp r1) {
  auto is_multiple = [](UOp term, UOp r) { return term.is(Op::MUL) && term.src(0) == r && term.src(1).is_const(); };
  Int c0 = 0, c1 = 0;
  for (UOp term : split_uop(index.src(1), Op::ADD)) {
    if (term == r0) c0 += 1;
    else if (term == r1) c1 += 1;
    else if (is_multiple(term, r0)) c0 += term.src(1).arg().as_int();
    else if (is_multiple(term, r1)) c1 += term.src(1).arg().as_int();
    else if (is_inside_range(term, r0) || is_inside_range(term, r1)) return false;
  }
  return c0 != c1 * r1.src(0).arg().as_int();
}

bool are_in_same_reduces(UOp r0, UOp r1, const std::vector<UOp>& reduces) {
  return std::all_of(reduces.begin(), reduces.end(),
                     [&](UOp r) { return is_inside_range(r, r0) == is_inside_range(r, r1); });
}

const Shortcut kMergeInVain("merge-in-vain", "merging loops where an index shows that a division would remain");

UOp simplify_merge_adjacent(UOp u) {
  auto ended = ended_ranges(u);
  if (ended.size() < 2) return u;
  std::vector<UOp> reduces, indexes;
  for (UOp x : toposort(u)) {
    if (x.is(Op::REDUCE)) reduces.push_back(x);
    if (x.is(Op::INDEX) && x.num_src() > 1) indexes.push_back(x);
  }
  // a loop of an END may merge only with the loop after it, a loop of a REDUCE with any other loop
  auto may_pair = [&](size_t i, size_t k) { return u.is(Op::END) ? k == i + 1 : k != i; };
  UOp out = u;
  size_t best = count_divmod(u);
  auto has_steps = [](UOp r) { return r.src(0).is_const() && r.vmax().to_int() > Int(0); };
  // skip a merge that adds a division or remainder to a graph that has none, because such a merge is rejected
  auto in_vain = [&](UOp r0, UOp r1) {
    return best == 0 && out == u && has_steps(r0) && has_steps(r1) &&
           std::ranges::any_of(indexes, [&](UOp x) { return needs_division_if_merged(x, r0, r1); });
  };
  auto merged_if_better = [&](UOp r0, UOp r1) {
    UOp candidate = merge_loops(out, r0, r1);
    size_t count = count_divmod(candidate);
    if (count > best) return out;
    best = count;
    return candidate;
  };
  for (size_t i = 0; i < ended.size(); i++)
    for (size_t k = 0; k < ended.size(); k++) {
      if (!may_pair(i, k) || axis_type(ended[i]) != axis_type(ended[k]) ||
          !are_in_same_reduces(ended[i], ended[k], reduces))
        continue;
      out = run_shortcut(
          kMergeInVain, u.graph(), [&] { return in_vain(ended[i], ended[k]) ? std::optional(out) : std::nullopt; },
          [&] { return merged_if_better(ended[i], ended[k]); });
    }
  return out;
}

UOp mark_range_mod(SplitRangesContext& ctx, UOp r, UOp c) {
  if (!c.is_const()) throw Failure("a range modulo a vector");
  bool known = std::any_of(ctx.marked_ranges.begin(), ctx.marked_ranges.end(), [&](auto& m) { return m.first == r; });
  if (!known && r.src(0).is_const() && is_divisible(r.src(0), c.arg().as_int())) ctx.marked_ranges.emplace_back(r, c);
  return {};
}

UOp part_of_range(UOp r, UOp end, int64_t part) {
  auto axes = r.arg().items();
  std::vector<Arg> arg(axes.begin(), axes.end() - 1);
  arg.push_back(part);
  arg.push_back(axes.back());
  return r.replace({.src = UOpSpan(end), .arg = r.graph().tuple(arg)});
}

UOp split_marked(SplitRangesContext& ctx, UOp x) {
  Substitution split;
  for (auto [r, c] : ctx.marked_ranges)
    if (c) split.emplace_back(r, part_of_range(r, r.src(0) / c, 0) * c + part_of_range(r, c, 1));
  if (split.empty()) return {};
  ctx.marked_ranges.clear();
  return substitute(x, split).simplify();
}

// Marks the ranges that index a store to an image, so that these ranges are not split. Replaces no node.
UOp keep_ranges_of_image(SplitRangesContext& ctx, UOp x) {
  if (!x.src(0).num_src() || !x.src(0).src(0).dtype().is_image()) return {};
  for (UOp r : x.src(0).ranges()) {
    auto known =
        std::find_if(ctx.marked_ranges.begin(), ctx.marked_ranges.end(), [&](auto& m) { return m.first == r; });
    if (known == ctx.marked_ranges.end()) ctx.marked_ranges.emplace_back(r, UOp());
    else known->second = UOp();
  }
  return {};
}

// Returns 0, the constants that `r` is compared with in `store`, and the end of `r`, sorted; nothing without such
// comparisons.
std::vector<Int> cut_points_of(UOp store, UOp r) {
  std::vector<Int> cuts;
  for (UOp u : toposort(store))
    if (u.is(Op::CMPLT) && u.src(0) == r && u.src(1).is_const()) cuts.push_back(u.src(1).arg().as_int());
  if (cuts.empty()) return {};
  cuts.push_back(0);
  cuts.push_back(r.src(0).arg().as_int());
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

UOp cut_store_range(const Target& target, UOp store, UOp r) {
  if (!r.src(0).is_const() || target.device != "CPU") return {};
  if (!in_backward_slice_with_self(store, r)) throw Failure("a store ends a range that it does not depend on");
  auto cuts = cut_points_of(store, r);
  if (cuts.empty()) return {};
  std::vector<UOp> stores;
  for (size_t i = 0; i + 1 < cuts.size(); i++) {
    UOp part = part_of_range(r, r.graph().constant(dtypes::index, cuts[i + 1] - cuts[i]), int64_t(i));
    stores.push_back(substitute(store, {{r, part + cuts[i]}}).end(part));
  }
  return r.graph().group(stores);
}

}  // namespace

const RuleSet& pm_flatten_range() {
  static const RuleSet set("pm_flatten_range", {
      // end(x, r0 * 4 + r1) -> end(x, r0, r1), the RANGEs of the expression; the same for REDUCE and STORE
      rule("flatten-range", node({Op::REDUCE, Op::STORE, Op::END}).as(r), with<flatten_range>(r)),
  });
  return set;
}

const RuleSet& pm_simplify_ranges() {
  static const RuleSet set("pm_simplify_ranges", {
      // loops r0 to s0 and r1 to s1 -> one loop r to s0 * s1, with r0 = r / s1 and r1 = r % s1, if this does not
      // increase the number of divisions and remainders
      rule("merge-adjacent-ranges", node({Op::END, Op::REDUCE}).as(u), with<simplify_merge_adjacent>(u)),
  });
  return set;
}

const RuleSet& pm_split_ranges() {
  static const RuleSet set("pm_split_ranges", {
      rule("mark-range-mod", node(Op::RANGE).as(r) % c, with<mark_range_mod>(r, c)),
      rule("keep-ranges-of-image", node(Op::STORE).as(x), with<keep_ranges_of_image>(x)),
      rule("split-marked-ranges", node(Op::SINK).as(x), with<split_marked>(x)),
  });
  return set;
}

const RuleSet& pm_split_store() {
  static const RuleSet own("pm_split_store", {
      // for r: store(... r < c ...) -> for r < c: store(...); for r >= c: store(...)
      rule("cut-store-range", node(Op::END, node(Op::STORE).as(s), r), with<cut_store_range>(s, r)),
  });
  static const RuleSet set("pm_split_store", {&pm_flatten_range(), &own});
  return set;
}

const RuleSet& split_ranges() {
  static const RuleSet set("split ranges", {&pm_split_ranges(), &pm_flatten_range()});
  return set;
}

const RuleSet& initial_symbolic() {
  static const RuleSet set("initial symbolic", {&sym(), &pm_flatten_range()});
  return set;
}

}  // namespace tgc
