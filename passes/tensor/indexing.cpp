#include "passes/tensor/stages.h"

#include <algorithm>
#include <cstdio>

#include "lib/rewrite/shortcut.h"
#include "lib/support/visible.h"
#include "lib/text/repr.h"
#include "lib/uop/facts.h"
#include "lib/uop/render.h"
#include "passes/symbolic/symbolic.h"
#include "passes/tensor/movement_index.h"

namespace tgc {

using namespace pat;

bool IndexingContext::RealizedAxes::has_axis(size_t axis) const {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

UOp IndexingContext::new_range(Sint size, AxisType type) {
  if (size.is_uop() && size.uop().is(Op::RANGE)) return size.uop();
  if (!resolve_ne(size, 1)) return graph.constant(dtypes::index, 0);
  return graph.range(to_uop(size, graph), std::array<Arg, 2>{next_range++, type});
}

std::span<const UOp> IndexingContext::copy_indices(std::vector<UOp>&& indices) {
  if (indices.empty()) return {};
  auto* copy = static_cast<UOp*>(graph.arena().allocate(indices.size() * sizeof(UOp), alignof(UOp)));
  std::copy(indices.begin(), indices.end(), copy);
  return {copy, indices.size()};
}

namespace {

bool is_outer(UOp range) {
  return range.arg().is_tuple() && !range.arg().items().empty() && range.arg().items().back() == Arg(AxisType::OUTER);
}

using StoreReason = IndexingContext::StoreReason;

UOp realize(IndexingContext& ctx, UOp u, StoreReason reason = StoreReason::OwnKernel, UOp by = {}) {
  ctx.realize_map[u] = {.reason = reason, .reading_op = by};
  return {};
}

UOp realize_bases(IndexingContext& ctx, UOp sink) {
  for (UOp s : sink.src())
    if (UOp base = base_of(s); !base.in(kAlwaysContiguous)) realize(ctx, base, StoreReason::Output);
  return {};
}

UOp realize_sources(IndexingContext& ctx, UOp u) {
  for (UOp s : u.src())
    if (!base_of(s).in(kAlwaysContiguous)) realize(ctx, s, StoreReason::Source, u);
  return {};
}

UOp realize_assign(IndexingContext& ctx, UOp assign) {
  UOp value = assign.src(1);
  if (!value.in(kAlwaysContiguous)) realize(ctx, value, StoreReason::Source, assign);
  if (!value.is(Op::KERNEL)) realize(ctx, assign);
  return {};
}

// The users of each node of the toposort `nodes`, without duplicates. A node is identified by its index in `nodes`.
class Consumers {
 public:
  explicit Consumers(const std::vector<UOp>& nodes) : users_begin_(nodes.size() + 1), users_end_(nodes.size()) {
    UOpMap<uint32_t> number_of(nodes.back().graph());
    std::vector<uint32_t> sources;
    for (uint32_t i = 0; i < nodes.size(); i++) {
      number_of[nodes[i]] = i;
      for (UOp s : nodes[i].src()) {
        sources.push_back(*number_of.find(s));
        users_begin_[sources.back() + 1]++;
      }
    }
    for (size_t i = 0; i < nodes.size(); i++) {
      users_begin_[i + 1] += users_begin_[i];
      users_end_[i] = users_begin_[i];
    }
    users_.resize(sources.size());
    const uint32_t* s = sources.data();
    for (uint32_t i = 0; i < nodes.size(); i++)
      for (size_t n = nodes[i].num_src(); n > 0; n--, s++)
        if (uint32_t& end = users_end_[*s]; end == users_begin_[*s] || users_[end - 1] != i) users_[end++] = i;
  }
  std::span<const uint32_t> users_of(size_t node) const {
    return std::span(users_).subspan(users_begin_[node], users_end_[node] - users_begin_[node]);
  }

 private:
  // the users of node i: users_[k] for users_begin_[i] <= k < users_end_[i]
  std::vector<uint32_t> users_begin_, users_end_;
  std::vector<uint32_t> users_;
};

const Shortcut kSameIndex("same-index",
                          "rewriting the index of an axis that all users index with the same loop or constant");

// Assigns ranges to the nodes, from the sink to the sources.
class RangeAssigner {
 public:
  RangeAssigner(const std::vector<UOp>& nodes, IndexingContext& ctx)
      : ctx_(ctx),
        graph_(ctx.graph),
        pcontig_(ctx.graph.settings().PCONTIG),
        prints_ranges_(ctx.graph.settings().DEBUG_RANGEIFY),
        nodes_(nodes),
        consumers_(nodes),
        ending_ranges_(nodes.size()) {}

  void assign_all_ranges() {
    if (prints_ranges_) std::fprintf(stderr, "**************************\n");
    for (size_t i = nodes_.size(); i-- > 0;) assign_ranges(i);
  }

 private:
  using Indices = std::vector<UOp>;

  void assign_ranges(size_t number) {
    UOp x = nodes_[number];
    if (x.in({Op::DEVICE, Op::UNIQUE, Op::KERNEL}) || x.dtype().scalar() == dtypes::index) return;
    auto users = consumers_.users_of(number);
    std::span<const UOp>& ending = ending_ranges_[number] = ending_ranges_of(users);
    auto out = output_ranges(x, users, ending);
    if (!out) return;
    if (!ending.empty() && x.in(ops::Elementwise | Op::REDUCE_AXIS)) end_ranges(x, ending, *out);
    auto in = input_ranges(x, *out, ending);
    if (prints_ranges_) print_ranges(x, users.size(), in, *out, ending.size());
    ctx_.range_map[x] = {in, *out};
  }

  void print_ranges(UOp x, size_t users, std::span<const UOp> in, std::span<const UOp> out, size_t ending) const {
    auto text = [](std::span<const UOp> a, const std::span<const UOp>* b) {
      std::string all;
      for (size_t i = 0; i < a.size(); i++) {
        std::string one = render(a[i]);
        if (b && i < b->size())
          if (std::string other = render((*b)[i]); other != one) one += " -> " + other;
        all += "[" + one + "]";
      }
      return all;
    };
    bool apart = x.is(Op::RESHAPE) || in.size() != out.size();
    std::string shape = "(";
    auto known = shape_or_none(x);
    for (const Sint& s : known ? *known : Shape())
      shape += (shape.size() > 1 ? ", " : "") + (s.is_uop() ? repr(s.uop()) : s.str());
    shape = known ? shape + (known->size() == 1 ? ",)" : ")") : "None";
    std::fprintf(stderr, "%s %2zu %-20s %-35s %2zu %s\n", ctx_.realize_map.contains(x) ? "***" : "   ", users,
                 ("Ops." + std::string(name_of(x.op()))).c_str(), shape.c_str(), ending,
                 visible_text(apart ? text(in, nullptr) + " -> " + text(out, nullptr) : text(in, &out)).c_str());
  }

  // `users` are indices into `nodes_`.
  std::span<const UOp> ending_ranges_of(std::span<const uint32_t> users) {
    std::span<const UOp> all;
    for (uint32_t user : users) all = join_ranges(all, ending_ranges_[user]);
    return all;
  }
  // Returns the union of `a` and `b`. With DEBUG_RANGEIFY, keeps duplicates, because tinygrad prints the number of
  // entries of its list.
  std::span<const UOp> join_ranges(std::span<const UOp> a, std::span<const UOp> b) {
    if (!prints_ranges_ || a.empty() || b.empty()) return unite_ranges(a, b);
    Indices all(a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    return ctx_.copy_indices(std::move(all));
  }
  std::span<const UOp> unite_ranges(std::span<const UOp> a, std::span<const UOp> b) {
    auto is_new = [&](UOp r) { return std::find(a.begin(), a.end(), r) == a.end(); };
    if (a.empty() || std::ranges::none_of(b, is_new)) return a.empty() ? b : a;
    Indices all(a.begin(), a.end());
    std::ranges::copy_if(b, std::back_inserter(all), is_new);
    return ctx_.copy_indices(std::move(all));
  }

  // Returns the ranges of x's output: new ranges if `x` is already realized, else the merged ranges of the users;
  // nullopt if `x` gets none. If `x` is already realized, clears `ending`.
  std::optional<std::span<const UOp>> output_ranges(UOp x, std::span<const uint32_t> users,
                                                    std::span<const UOp>& ending) {
    if (auto* realized = ctx_.realize_map.find(x)) {
      Shape shape = shape_of(x);
      Indices out;
      realized->has_axes = true;
      for (size_t i = 0; i < shape.size(); i++) {
        out.push_back(ctx_.new_range(shape[i]));
        realized->axes.push_back(uint32_t(i));
      }
      ending = {};
      return ctx_.copy_indices(std::move(out));
    }
    if (x.in({Op::MSTACK, Op::MSELECT})) return std::nullopt;
    auto& used = used_ranges_;
    used.clear();
    for (uint32_t user : users)
      if (auto* ranges = ctx_.range_map.find(nodes_[user])) used.push_back(ranges->input);
    if (used.empty()) return std::nullopt;
    if (used.size() == 1) return used[0];
    return merge_user_ranges(x, used);
  }

  // Merges the index expressions of several users. If the users index an axis differently, makes a new range for this
  // axis (without PCONTIG, for every axis) and realizes it. For an axis without a new range, the merged index is valid
  // if any user's index is.
  std::span<const UOp> merge_user_ranges(UOp x, const std::vector<std::span<const UOp>>& used) {
    size_t axes = used[0].size();
    for (auto u : used) axes = std::min(axes, u.size());
    std::vector<bool> same(axes, true);
    bool all_same = true;
    for (size_t i = 0; i < axes; i++) {
      for (auto u : used)
        if (!(u[i].get_idx() == used[0][i].get_idx())) same[i] = false;
      all_same &= same[i];
    }
    Indices out;
    std::vector<uint32_t> realized;
    for (size_t i = 0; i < axes; i++) {
      if (all_same || (pcontig_ && same[i])) {
        auto is_same = [&] { return all_same && is_unchanged_index(used, i); };
        out.push_back(run_shortcut(
            kSameIndex, graph_, [&] { return is_same() ? std::optional(used[0][i]) : std::nullopt; },
            [&] { return minimum_valid(used, i); }));
      } else {
        out.push_back(ctx_.new_range(shape_of(x)[i]));
        realized.push_back(uint32_t(i));
      }
    }
    if (!realized.empty()) ctx_.realize_map[x] = {true, std::move(realized), StoreReason::UsersDiffer};
    return ctx_.copy_indices(std::move(out));
  }

  // Returns true if all users index the axis with one loop or constant, which minimum_valid() would not change.
  bool is_unchanged_index(const std::vector<std::span<const UOp>>& used, size_t axis) const {
    UOp index = used[0][axis];
    bool simple = index.is(Op::RANGE) ? index.src(0).is_const() && py_less(0, index.vmax())
                                      : index.is_const() && !index.is_invalid();
    return simple && std::ranges::all_of(used, [&](auto& u) { return u[axis] == index; });
  }

  // Returns the common index of an axis, which is valid if the index of any user is valid.
  UOp minimum_valid(const std::vector<std::span<const UOp>>& used, size_t axis) {
    UOp valid = graph_.constant(dtypes::bool_, false);
    for (auto u : used) valid = valid | u[axis].get_valid();
    return graph_rewrite(valid.where(used[0][axis].get_idx(), graph_.invalid()), symbolic(), {.name = "minimum_valid"});
  }

  // Realizes `x`, an elementwise op or a reduction, because ranges end between `x` and a user. With PCONTIG > 1,
  // realizes only the axes whose index depends on a range with a greater arg than one of the ending ranges.
  void end_ranges(UOp x, std::span<const UOp>& ending, std::span<const UOp>& out) {
    auto* known = ctx_.realize_map.find(x);
    IndexingContext::RealizedAxes realized =
        known ? *known : IndexingContext::RealizedAxes{true, {}, StoreReason::LoopsEnd};
    for (size_t i = 0; i < out.size(); i++)
      if (!realized.has_axis(i) && (pcontig_ <= 1 || nests_inside(out[i], ending)))
        realized.axes.push_back(uint32_t(i));
    ending = {};
    if (realized.axes.empty()) return;
    Indices fresh;
    Shape shape = shape_of(x);
    for (size_t i = 0; i < out.size(); i++) fresh.push_back(realized.has_axis(i) ? ctx_.new_range(shape[i]) : out[i]);
    ctx_.realize_map[x] = std::move(realized);
    out = ctx_.copy_indices(std::move(fresh));
  }
  static bool nests_inside(UOp index, std::span<const UOp> ending) {
    for (UOp r : ranges_of(index))
      for (UOp e : ending)
        if (py_compare(r.arg(), e.arg()) == Order::Greater) return true;
    return false;
  }

  // Returns the input ranges of `x`: its output ranges, mapped to indices of the source for a movement op, or with new
  // ranges for the axes that `x` reduces. Adds the ranges that an EXPAND ends to `ending`.
  std::span<const UOp> input_ranges(UOp x, std::span<const UOp> out, std::span<const UOp>& ending) {
    if (x.in(ops::Movement)) {
      auto in = apply_movement_op(x, out);
      if (x.is(Op::EXPAND) && !injects_range(x)) ending = join_ranges(ending, ranges_of_changed(in, out));
      return ctx_.copy_indices(std::move(in));
    }
    if (x.is(Op::REDUCE_AXIS)) {
      Shape shape = shape_of(x.src(0));
      Indices in(out.begin(), out.begin() + ptrdiff_t(std::min(out.size(), shape.size())));
      for (size_t i = 0; i < in.size(); i++)
        if (reduces_axis(x, i)) in[i] = ctx_.new_range(shape[i], AxisType::REDUCE);
      return ctx_.copy_indices(std::move(in));
    }
    return out;
  }
  static bool reduces_axis(UOp x, size_t axis) {
    auto axes = x.arg()[1].items();
    return std::find(axes.begin(), axes.end(), Arg(int64_t(axis))) != axes.end();
  }
  static bool injects_range(UOp expand) {
    Shape shape = shape_of(expand);
    return std::any_of(shape.begin(), shape.end(), [](Sint s) { return s.is_uop() && s.uop().is(Op::RANGE); });
  }
  // Returns the ranges of those output indices that differ from the input index.
  std::span<const UOp> ranges_of_changed(const Indices& in, std::span<const UOp> out) {
    std::span<const UOp> all;
    for (size_t i = 0; i < std::min(in.size(), out.size()); i++)
      if (!(in[i] == out[i])) all = unite_ranges(all, ranges_of(out[i]));
    return all;
  }

  IndexingContext& ctx_;
  Graph& graph_;
  const int64_t pcontig_;
  const bool prints_ranges_;
  const std::vector<UOp>& nodes_;
  const Consumers consumers_;
  std::vector<std::span<const UOp>> ending_ranges_;
  std::vector<std::span<const UOp>> used_ranges_ = {};
};

}  // namespace

const RuleSet& pm_generate_realize_map() {
  using Ctx = IndexingContext;
  static const RuleSet set("pm_generate_realize_map", {
      rule("realize-outputs", node(Op::SINK).as(s), with<realize_bases>(s)),
      rule("realize", node({Op::COPY, Op::BUFFER_VIEW, Op::CONTIGUOUS, Op::STORE, Op::ENCDEC}).as(t),
           with_ctx<Ctx>(t, [](Ctx& ctx, UOp t) { return realize(ctx, t); })),
      rule("realize-outer-reduce", node(Op::REDUCE).as(r), with_ctx<Ctx>(r, [](Ctx& ctx, UOp r) {
             return std::any_of(r.src().begin() + 1, r.src().end(), is_outer) ? realize(ctx, r) : UOp();
           })),
      rule("realize-sources", node({Op::COPY, Op::MSELECT, Op::MSTACK, Op::ENCDEC}).as(r), with<realize_sources>(r)),
      rule("realize-assign", node(Op::ASSIGN).as(a), with<realize_assign>(a)),
  });
  return set;
}

UOp run_rangeify(UOp sink, IndexingContext& ctx) {
  auto nodes = toposort(sink);
  try_rules_on_each(nodes, pm_generate_realize_map(), {.ctx = ctx, .name = "get realize"});
  RangeAssigner(nodes, ctx).assign_all_ranges();
  return graph_rewrite(sink, pm_apply_rangeify(), {.ctx = ctx, .bottom_up = true, .name = "apply rangeify"});
}

}  // namespace tgc
