#include <doctest/doctest.h>
#include <sys/resource.h>
#include <algorithm>

#include "lib/support/sanitized.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"

using namespace tgc;

TEST_CASE("graph: nodes with equal fields are the same node") {
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9);
  UOp sum = a + b;
  CHECK(sum == g.node(Op::ADD, dtypes::index, {a, b}));
  CHECK(!(sum == g.node(Op::ADD, dtypes::index, {b, a})));
  CHECK(!(sum == g.node(Op::MUL, dtypes::index, {a, b})));
  CHECK(!(sum == g.node(Op::ADD, dtypes::int32, {a, b})));
  CHECK(!(sum == sum.rtag(1)));
  CHECK(sum.rtag(1).rtag(Arg()) == sum);
  CHECK(g.constant(dtypes::float32, 1.0) == g.constant(dtypes::float32, 1));
  CHECK(!(g.constant(dtypes::float32, 1.0) == g.constant(dtypes::float64, 1.0)));
  CHECK(&sum.graph() == &g);
}

TEST_CASE("graph: src throws for a missing source") {
  Graph g;
  UOp store = g.node(Op::STORE, dtypes::void_, {g.node(Op::SINK, dtypes::void_, {})}, {});
  CHECK_THROWS_WITH_AS(store.src(1), "STORE with 1 source lacks source 1", Failure);
  CHECK_THROWS_WITH_AS(store.src(0).src(0), "SINK with 0 sources lacks source 0", Failure);
}

TEST_CASE("graph: a graph may have many nodes and a node many sources") {
  Graph g;
  std::vector<UOp> nodes;
  for (int i = 0; i < 5000; i++) nodes.push_back(g.constant(dtypes::int32, i));
  UOp sink = g.sink(nodes);
  CHECK(sink.num_src() == 5000);
  CHECK(sink.src(4321).arg() == Arg(4321));
  CHECK(&sink.graph() == &g);
  for (int i = 0; i < 5000; i++) REQUIRE(g.constant(dtypes::int32, i) == nodes[size_t(i)]);
  CHECK(g.size() == 5001);
}

TEST_CASE("graph: reserve does not change the nodes") {
  Graph g;
  UOp first = g.constant(dtypes::int32, 7);
  g.reserve(10);
  g.reserve(1000);
  CHECK(g.constant(dtypes::int32, 7) == first);
  for (int i = 0; i < 3000; i++) (void)g.constant(dtypes::int32, i);
  CHECK(g.constant(dtypes::int32, 7) == first);
  CHECK(g.size() == 3000);
}

TEST_CASE("graph: toposort visits each node once, depth first, and obeys the gate") {
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9);
  UOp sum = a + b, product = sum * a, root = g.sink({product, sum, b});
  auto order = toposort(root);
  CHECK(order == std::vector<UOp>{a, b, sum, product, root});
  CHECK(std::ranges::equal(cached_toposort(root), order));
  CHECK(cached_toposort(sum).size() == 3);
  CHECK(std::ranges::equal(cached_toposort(root), order));
  CHECK(toposort(root, [&](UOp u) { return !(u == sum); }) == std::vector<UOp>{a, product, b, root});
  CHECK(split_uop(a + b + a, Op::ADD) == std::vector<UOp>{a, b, a});
  CHECK(op_in_backward_slice_with_self(root, Op::MUL));
  CHECK(!op_in_backward_slice_with_self(sum, Op::MUL));
}

TEST_CASE("graph: a large graph finds its nodes again and its memory is reused") {
  constexpr int64_t kNodes = 100'000;
  auto fill = [] {
    Graph g;
    UOp x = g.variable("x", 0, 9), sum = x;
    std::vector<UOp> sums;
    for (int64_t i = 0; i < kNodes; i++)
      sums.push_back(sum = sum.alu(Op::ADD, i % 3 ? x : g.constant(dtypes::index, i)));
    sum = x;
    for (int64_t i = 0; i < kNodes; i++)
      REQUIRE((sum = sum.alu(Op::ADD, i % 3 ? x : g.constant(dtypes::index, i))) == sums[size_t(i)]);
    REQUIRE(&sum.graph() == &g);
    REQUIRE(g.size() == 1 + kNodes + (kNodes + 2) / 3);
  };
  auto peak_kb = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  for (int i = 0; i < 16; i++) fill();  // the allocator's peak memory use is stable after some rounds
  long before = peak_kb();
  for (int i = 0; i < 8; i++) fill();
  if (!kIsSanitized) CHECK(peak_kb() - before < 8 << 10);  // 8 MB; a leaked graph would take 24 MB
}

TEST_CASE("copy_into: the copy prints like the original and shares the same nodes") {
  Graph a, b;
  auto root = read_pyrender(a,
                            "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(16), (), 0)\n"
                            "c1 = UOp.range(16, 0, AxisType.LOOP)\n"
                            "c2 = c0.index(c1)\n"
                            "ast = c0.index(c1, ptr=True).store(c2*c2).end(c1).sink(arg=KernelInfo(name='twice'))\n");
  REQUIRE(root.ok());
  b.noop();  // makes the ids of equal nodes in the two graphs different
  UOp copy = copy_into(b, *root);
  CHECK(&copy.graph() == &b);
  CHECK(*pyrender(copy) == *pyrender(*root));
  CHECK(b.size() == toposort(*root).size() + 1);
  CHECK(copy_into(b, *root) == copy);
}
