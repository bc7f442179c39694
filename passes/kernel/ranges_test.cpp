#include "passes/kernel/stages.h"

#include <array>
#include <random>
#include <ranges>

#include "lib/rewrite/testing.h"
#include "lib/target/target.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {
namespace {

UOp part_of_loop(RuleTest& t, int64_t end, int64_t part) {
  return t.graph.range(t.constant(dtypes::index, end), std::array<Arg, 3>{0, part, AxisType::LOOP});
}

TEST_CASE("ranges are flattened and adjacent loops merged") {
  RuleTest flatten(pm_flatten_range());
  UOp r = flatten.range(3), s = flatten.range(4, 1), x = flatten.load(0, dtypes::float32);
  flatten.check_rule("flatten-range", x.end(r * 4 + s), x.end({r, s}));
  flatten.check_rule("flatten-range", x.reduce(r * 4 + s, Op::ADD), x.reduce({r, s}, Op::ADD));
  flatten.check_declines("flatten-range", x.end({r, s}));
  flatten.check_declines("flatten-range", flatten.buffer(1, dtypes::float32).index_ptr(r).store(x));

  RuleTest t(pm_simplify_ranges());
  UOp a = t.range(3), b = t.range(4, 1), both = t.range(12), other = t.range(4, 1, AxisType::UPCAST),
      buffer = t.buffer(0, dtypes::float32);
  auto store = [&](UOp at) { return buffer.index_ptr(at).store(t.constant(dtypes::float32, 1.0)); };
  t.check_rule("merge-adjacent-ranges", store(a * 4 + b).end({a, b}), store(both).end(both));
  t.check_declines("merge-adjacent-ranges", store(b * 3 + a).end({a, b}));
  t.check_declines("merge-adjacent-ranges", store(a * 4 + other).end({a, other}));
}

TEST_CASE("the merge-in-vain shortcut gives the same loops as trying every merge") {
  Graph g;
  std::mt19937 random(7);
  auto below = [&](uint32_t n) { return int64_t(random() % n); };
  auto global = [&](int64_t i) { return g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(4096), {}, i); };
  int merged = 0;
  for (int kernel = 0; kernel < 300; kernel++) {
    std::vector<UOp> loops;
    for (int64_t i = 0; i < 3; i++) loops.push_back(g.range(Const(2 + below(3)), i, AxisType::LOOP));
    auto index = [&] {
      UOp sum = g.constant(dtypes::index, below(2));
      Int step = 1;
      for (UOp r : std::views::reverse(loops)) {
        sum = sum + r * Const(below(4) ? step : Int(below(6)));
        step = step * (r.vmax().to_int() + 1);
      }
      return below(5) ? sum : sum.lt(40).where(sum, g.invalid());
    };
    UOp value = global(1).index(index()) + global(2).index(index());
    UOp end = global(0).index_ptr(index()).store(value).end(loops);
    end = graph_rewrite(end, symbolic());
    UOp quick = graph_rewrite(end, pm_simplify_ranges());
    RewriteObserver observer;
    set_observer(g, &observer);
    CHECK(quick == graph_rewrite(end, pm_simplify_ranges()));
    set_observer(g, nullptr);
    merged += !(quick == end);
  }
  CHECK(merged > 30);
  CHECK(merged < 270);
}

TEST_CASE("a loop r that is used as r % c is split if c divides its size") {
  RuleTest t(pm_split_ranges());
  SplitRangesContext ctx;
  UOp r = t.range(8), four = t.constant(dtypes::index, 4), x = t.load(0, dtypes::float32);
  t.check_match_declines("mark-range-mod", r % 4, ctx);
  t.check_match_declines("mark-range-mod", t.range(9, 1) % 4, ctx);
  REQUIRE(ctx.marked_ranges.size() == 1);
  CHECK((ctx.marked_ranges[0].first == r && ctx.marked_ranges[0].second == four));
  t.check_rule("split-marked-ranges", t.graph.sink({r % 4}), t.graph.sink({part_of_loop(t, 4, 1)}), ctx);
  CHECK(ctx.marked_ranges.empty());
  t.check_declines("split-marked-ranges", t.graph.sink({r % 4}), ctx);

  t.check_match_declines("keep-ranges-of-image", t.buffer(1, dtypes::float32).index(r).store(x), ctx);
  CHECK(ctx.marked_ranges.empty());
  UOp image = t.buffer(2, dtypes::float32, 32).with_dtype(dtypes::imagef(std::array<int64_t, 3>{1, 8, 4}));
  t.check_match_declines("keep-ranges-of-image", image.index(r).store(x), ctx);
  t.check_match_declines("mark-range-mod", r % 4, ctx);
  t.check_declines("split-marked-ranges", t.graph.sink({r % 4}), ctx);
}

TEST_CASE("on the CPU, a loop is cut at the constants that its range is compared with") {
  RuleTest t(pm_split_store());
  const Target cpu = parse_target("CPU", {}).value_or_throw(), cuda = parse_target("CUDA", {}).value_or_throw();
  UOp r = t.range(8), x = t.load(0, dtypes::float32), y = t.load(1, dtypes::float32),
      buffer = t.buffer(2, dtypes::float32);
  auto store = [&](UOp i) { return buffer.index_ptr(i).store(i.lt(3).where(x, y)); };
  UOp below = part_of_loop(t, 3, 0), from = part_of_loop(t, 5, 1);
  t.check_rule("cut-store-range", store(r).end(r),
               t.graph.group({store(below + 0).end(below), store(from + 3).end(from)}), cpu);
  t.check_declines("cut-store-range", store(r).end(r), cuda);
  t.check_declines("cut-store-range", buffer.index_ptr(r).store(x).end(r), cpu);
}

}  // namespace
}  // namespace tgc
