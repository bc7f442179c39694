#include "passes/kernel/stages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <queue>
#include <random>

#include "lib/support/pysort.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

using namespace tgc;

namespace {

std::vector<Op> ops_of(const std::vector<UOp>& list) {
  std::vector<Op> out;
  for (UOp u : list) out.push_back(u.op());
  return out;
}

UOp sum_kernel(Graph& g) {
  UOp out = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 0),
      in = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(16), {}, 1);
  UOp i = g.range(g.constant(dtypes::int32, 8), std::vector<Arg>{0, AxisType::LOOP}, dtypes::int32);
  UOp sum = in.index_ptr(i).load({}, dtypes::float32) + in.index_ptr(i + Const(8)).load({}, dtypes::float32);
  return g.sink(out.index_ptr(i).store(sum).end(i));
}

}  // namespace

TEST_CASE("linearize puts parameters first, then constants, the loop, and END and SINK last") {
  Graph g;
  auto list = linearize(sum_kernel(g));
  CHECK(ops_of(list) == std::vector<Op>{Op::DEFINE_GLOBAL, Op::DEFINE_GLOBAL, Op::CONST, Op::RANGE, Op::ADD, Op::INDEX,
                                        Op::LOAD, Op::INDEX, Op::LOAD, Op::INDEX, Op::ADD, Op::STORE, Op::END,
                                        Op::SINK});
  CHECK(list[0].arg() == Arg(0));
  CHECK(list[1].arg() == Arg(1));
}

TEST_CASE("linearize lists every node once, after its sources, with and without TUPLE_ORDER") {
  for (int64_t tuple_order : {0, 1}) {
    Settings settings;
    settings.TUPLE_ORDER = tuple_order;
    Graph g(settings);
    UOp sink = sum_kernel(g);
    auto list = linearize(sink);
    CHECK(list.size() == toposort(sink).size());
    for (size_t i = 0; i < list.size(); i++) {
      for (UOp s : list[i].src())
        CHECK(std::find(list.begin(), list.begin() + ptrdiff_t(i), s) != list.begin() + ptrdiff_t(i));
      CHECK(std::count(list.begin(), list.end(), list[i]) == 1);
    }
  }
}

TEST_CASE("without TUPLE_ORDER, nodes of equal priority keep the order of the toposort") {
  auto adds = [](int64_t tuple_order) {
    Settings settings;
    settings.TUPLE_ORDER = tuple_order;
    Graph g(settings);
    UOp x = g.variable("x", 0, 9, dtypes::int32);
    UOp mul = x * Const(2), add = x + Const(3);  // ADD precedes MUL in the order of ops
    return ops_of(linearize(g.sink({mul, add})));
  };
  auto place = [](const std::vector<Op>& ops, Op op) { return std::find(ops.begin(), ops.end(), op) - ops.begin(); };
  auto sorted = adds(1), plain = adds(0);
  CHECK(place(sorted, Op::ADD) < place(sorted, Op::MUL));
  CHECK(place(plain, Op::MUL) < place(plain, Op::ADD));
}

TEST_CASE("nodes that run more often come later, also with run counts above 32 bits") {
  Graph g;
  UOp buffer = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(8), {}, 0);
  std::vector<UOp> ranges;
  UOp sum = g.constant(dtypes::int32, 0);
  for (int i = 0; i < 5; i++) {
    ranges.push_back(g.range(g.constant(dtypes::int32, 1 << 30), std::vector<Arg>{i, AxisType::LOOP}, dtypes::int32));
    sum = sum + ranges.back();
  }
  UOp u = buffer.index_ptr(g.constant(dtypes::int32, 0)).store(sum);
  for (size_t i = 5; i-- > 0;) u = u.end(ranges[i]);
  auto list = linearize(g.sink(u));
  std::vector<Arg> opened;
  for (UOp x : list)
    if (x.is(Op::RANGE)) opened.push_back(x.arg()[0]);
  CHECK(opened.size() == 5);
  CHECK(list[list.size() - 7].is(Op::STORE));
}

namespace {

// A direct implementation of linearize() with TUPLE_ORDER, for graphs without loops and parameters.
std::vector<UOp> slow_linearize(UOp sink) {
  auto nodes = toposort(sink);
  auto sorted = nodes;
  auto priority = [](UOp u) { return u.is(Op::DEFINE_LOCAL) ? -18 : u.is(Op::CONST) ? -10 : u.is(Op::LOAD) ? -1 : 0; };
  py_sort(sorted,
          [&](UOp a, UOp b) { return priority(a) != priority(b) ? priority(a) < priority(b) : tuplize_less(a, b); });
  UOpMap<int> rank(sink.graph()), users(sink.graph());
  for (size_t i = 0; i < sorted.size(); i++) rank[sorted[i]] = int(i), users[sorted[i]] = 0;
  for (UOp u : nodes)
    for (UOp s : u.src()) users[s]++;
  std::priority_queue<int> heap;
  heap.push(rank[sink]);
  std::vector<UOp> out;
  while (!heap.empty()) {
    UOp u = sorted[size_t(heap.top())];
    heap.pop();
    out.push_back(u);
    for (UOp s : u.src())
      if (--users[s] == 0) heap.push(rank[s]);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("linearize agrees with a direct implementation on random graphs") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; round++) {
    Graph g;
    std::vector<UOp> nodes;
    auto pick = [&] { return nodes[random() % nodes.size()]; };
    for (int i = 0; i < 3; i++)
      nodes.push_back(g.node(Op::DEFINE_LOCAL, dtypes::float32.ptr(8 << i, AddrSpace::LOCAL), {}, i));
    std::vector<UOp> buffers = nodes;
    for (int i = 0; i < 4; i++) nodes.push_back(g.constant(dtypes::float32, double(i)));
    if (round % 4 == 0) nodes.push_back(g.constant(dtypes::float32, std::nan("")));
    nodes.erase(nodes.begin(), nodes.begin() + 3);
    for (int i = 0; i < 10 + round; i++) switch (random() % 5) {
        case 0: nodes.push_back(pick() + pick()); break;
        case 1: nodes.push_back(pick() * pick()); break;
        case 2: nodes.push_back(pick().exp2()); break;
        case 3: nodes.push_back(buffers[random() % 3].index_ptr(pick()).load()); break;
        default: nodes.push_back(pick().sqrt());
      }
    if (round % 3 == 0) {
      UOp twin = pick();
      nodes.insert(nodes.end(), {twin.rtag(), twin.rtag() + twin, twin + twin.rtag()});
    }
    UOp sink = g.sink(std::vector<UOp>(nodes.end() - 5, nodes.end()));
    CHECK(linearize(sink) == slow_linearize(sink));
  }
}

TEST_CASE("wrap_gated_stores puts a gated store between IF and ENDIF") {
  Graph g;
  UOp buffer = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(8), {}, 0);
  UOp i = g.special(g.constant(dtypes::int32, 16), "gidx0", dtypes::int32);
  UOp store = buffer.index_ptr(i, i.lt(Const(8))).store(i);
  auto list = wrap_gated_stores(linearize(g.sink(store)));
  size_t n = list.size();
  REQUIRE(n >= 4);
  CHECK(list[n - 4].is(Op::IF));
  CHECK(list[n - 4].src(0) == i.lt(Const(8)));
  CHECK(list[n - 4].src(1) == store.src(0));
  CHECK(list[n - 3] == store);
  CHECK(list[n - 2].is(Op::ENDIF));
  CHECK(list[n - 2].src(0) == list[n - 4]);
  CHECK(list[n - 1].is(Op::SINK));

  UOp plain = buffer.index_ptr(i).store(i);
  CHECK(wrap_gated_stores(linearize(g.sink(plain))).size() == linearize(g.sink(plain)).size());
}

TEST_CASE("wrap_gated_stores throws if the list already contains an IF") {
  Graph g;
  UOp cond = g.constant(dtypes::bool_, true);
  CHECK_THROWS_AS(wrap_gated_stores({cond, g.node(Op::IF, dtypes::void_, cond)}), Failure);
}
