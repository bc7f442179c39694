#include "lib/uop/wellformed.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"

using namespace tgc;

namespace {

struct Nodes {
  Graph g;
  UOp f = g.constant(dtypes::float32, 1.0), h = g.constant(dtypes::float16, 1.0), n = g.constant(dtypes::int32, 2),
      i = g.constant(dtypes::index, 2), b = g.constant(dtypes::bool_, true), none = g.invalid(),
      k = node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(4), {}, 0), range = g.range(4, 0, AxisType::LOOP);
  UOp at = node(Op::INDEX, dtypes::float32.ptr(4), {k, range});
  UOp pair = node(Op::VECTORIZE, dtypes::float32.vec(2), {f, f});

  UOp node(Op op, DType dtype, UOpSpan src = {}, Arg arg = {}) { return g.node(op, dtype, src, arg); }
  Arg ints(std::initializer_list<int64_t> values) { return g.ints(std::span(values.begin(), values.size())); }
  Arg loop(int64_t axis = 0) { return g.tuple({axis, AxisType::LOOP}); }

  void good(UOp u, int line = __builtin_LINE()) {
    INFO("line " << line);
    CHECK(structure_error(u.op(), u.src(), u.arg()) == "");
    CHECK(dtype_error(u) == "");
  }
  void bad(UOp u, std::string_view needs, int line = __builtin_LINE()) {
    INFO("line " << line);
    CHECK(structure_error(u.op(), u.src(), u.arg()) == "");
    std::string error = dtype_error(u);
    INFO(error);
    CHECK(error.find("needs " + std::string(needs)) != std::string::npos);
  }
};

}  // namespace

TEST_CASE("well formed: structure_error names a wrong number of sources or a wrong arg") {
  Graph g;
  UOp x = g.variable("x", 0, 9);
  auto error = [&](Op op, std::vector<UOp> src, Arg arg = {}) { return structure_error(op, src, arg); };
  CHECK(error(Op::ADD, {x, x}) == "");
  CHECK(error(Op::ADD, {x}) == "Ops.ADD with 1 source, needs 2");
  CHECK(error(Op::STORE, {}) == "Ops.STORE with 0 sources, needs 2 or more");
  CHECK(error(Op::BIND, {x, x, x}) == "Ops.BIND with 3 sources, needs 1 to 2");
  CHECK(error(Op::CONST, {}) == "Ops.CONST with the arg None, needs a number");
  CHECK(error(Op::RANGE, {x}, g.tuple({0, AxisType::LOOP})) == "");
  CHECK(error(Op::RANGE, {x}, g.tuple({0, 1})) != "");
  CHECK(error(Op::RANGE, {x}, g.tuple({AxisType::LOOP})) != "");
  CHECK(error(Op::RANGE, {x}, g.tuple({Int::pow2(100), AxisType::LOOP})) != "");
  CHECK(error(Op::GEP, {x}, 1) != "");
  CHECK(error(Op::GEP, {x}, g.tuple({})) != "");
  CHECK(error(Op::DEFINE_GLOBAL, {}, -1) != "");
  CHECK(error(Op::DEFINE_VAR, {}, g.tuple({g.str("x"), 0})) != "");
  CHECK(error(Op::DEFINE_VAR, {}, g.tuple({g.str("x"), 9, 0})) != "");
  CHECK(error(Op::DEFINE_VAR, {}, g.tuple({g.str("x"), 0, Const::invalid()})) != "");
  CHECK(error(Op::SPECIAL, {x}, g.str("gidx0")) == "");
  CHECK(error(Op::SPECIAL, {x}, g.str("gidx7")) != "");
  CHECK(error(Op::VCONST, {}, g.tuple({})) != "");
  CHECK(error(Op::REDUCE, {x}, Op::SIN) != "");
  CHECK(error(Op::UNROLL, {x}, g.tuple({g.tuple({0, 1 << 20})})) != "");
  CHECK(error(Op::SINK, {}) == "");
}

TEST_CASE("well formed: dtype_error checks memory accesses") {
  Nodes t;
  t.good(t.at);
  t.good(t.at.load());
  t.good(t.at.store(t.f));
  t.good(t.node(Op::INDEX, dtypes::float32.ptr(4), {t.k, t.i, t.b}));
  t.bad(t.node(Op::STORE, dtypes::void_, {t.k, t.k}), "an Ops.INDEX");
  t.bad(t.node(Op::STORE, dtypes::void_, {t.k, t.f}), "an Ops.INDEX");
  t.bad(t.node(Op::STORE, dtypes::void_, {t.node(Op::AFTER, t.k.dtype(), {t.k, t.f}), t.f}), "an Ops.INDEX");
  t.bad(t.node(Op::STORE, dtypes::void_, {t.i, t.i}), "an address");
  t.bad(t.node(Op::LOAD, dtypes::float32, t.k), "an Ops.INDEX");
  t.bad(t.node(Op::STORE, dtypes::void_, {t.at, t.k}), "an address and a number");
  t.bad(t.at.store(t.none), "a number that its address points to");
  t.bad(t.node(Op::INDEX, dtypes::float16, t.i), "the dtype of an element");
  t.bad(t.node(Op::INDEX, dtypes::float32, t.k), "an index");
  t.bad(t.node(Op::INDEX, dtypes::float32, {t.k, t.f}), "integers as its indices");
  t.bad(t.node(Op::INDEX, dtypes::float32, {t.k, t.i, t.i}), "an index, and optionally a bool gate");
  t.bad(t.node(Op::INDEX, dtypes::float32, {t.k, t.i, t.b, t.b}), "an index, and optionally a bool gate");
  t.bad(t.node(Op::LOAD, dtypes::void_, t.at), "an address, and a number");
  t.bad(t.node(Op::LOAD, dtypes::float32, t.f), "an address, and a number");
  t.bad(t.node(Op::LOAD, dtypes::float32, {t.at, t.n}), "an alternative value of its dtype");
  t.bad(t.node(Op::DEFINE_GLOBAL, dtypes::float32, {}, 0), "a pointer in its address space");
  t.bad(t.node(Op::DEFINE_LOCAL, dtypes::float32.ptr(4), {}, 0), "a pointer in its address space");
  t.bad(t.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(int64_t(1) << 62), {}, 0), "a size of at most 2**48 bytes");
}

TEST_CASE("well formed: dtype_error checks loops and branches") {
  Nodes t;
  t.good(t.range);
  t.good(t.at.store(t.f).end(t.range));
  t.bad(t.node(Op::RANGE, dtypes::index, t.k, t.loop()), "an integer as its size");
  t.bad(t.node(Op::RANGE, dtypes::index, t.none, t.loop()), "a size of at most 64 bits");
  UOp huge = t.g.constant(dtypes::index, Int::pow2(100));
  t.bad(t.node(Op::RANGE, dtypes::index, huge, t.loop()), "a size of at most 64 bits");
  t.bad(t.node(Op::SPECIAL, dtypes::int32, t.i, t.g.str("gidx0")), "an integer as its size");
  t.bad(t.node(Op::END, dtypes::void_, {t.at.store(t.f), t.f}), "ranges");
  t.bad(t.node(Op::ENDIF, dtypes::void_, t.b), "an IF");
  t.bad(t.node(Op::REDUCE, dtypes::float32, {t.n, t.range}, Op::ADD), "a source of its dtype");
  t.bad(t.node(Op::SINK, dtypes::void_, {}, t.g.str("name")), "dtypes.void, and a KernelInfo");
  t.good(t.node(Op::ASSIGN, dtypes::float32, {t.f, t.f}));
  t.good(t.node(Op::ASSIGN, dtypes::float32, {t.f, t.at.store(t.f)}));
  t.bad(t.node(Op::ASSIGN, dtypes::float32, {t.f, t.i}), "a target and a value of its dtype");
}

TEST_CASE("well formed: dtype_error checks arithmetic") {
  Nodes t;
  t.good(t.f + t.f);
  t.good(t.none);
  t.good(t.b.where(t.pair, t.pair));
  t.bad(t.node(Op::ADD, dtypes::float32, {t.f, t.n}), "operands of its dtype");
  t.bad(t.node(Op::ADD, dtypes::float32.ptr(4), {t.k, t.k}), "operands of its dtype");
  t.bad(t.node(Op::IDIV, dtypes::fp8e4m3, {t.n, t.n}), "integers");
  t.bad(t.node(Op::XOR, dtypes::float32, {t.f, t.f}), "integers or bools");
  t.bad(t.node(Op::WHERE, dtypes::float32, {t.f, t.f, t.f}), "a bool and two operands");
  t.bad(t.node(Op::CMPLT, dtypes::bool_, {t.f, t.h}), "two operands of one dtype");
  t.bad(t.node(Op::CONST, dtypes::int32, {}, 1.5), "a dtype that holds the number");
  t.bad(t.node(Op::CONST, dtypes::float32, {}, Const::invalid()), "a dtype that holds the number");
  t.bad(t.node(Op::CAST, dtypes::float32.vec(4), t.pair), "a number with as many elements");
  t.bad(t.node(Op::GEP, dtypes::float32, t.pair, t.ints({2})), "as many indices into its source");
  t.bad(t.node(Op::VECTORIZE, dtypes::float32.vec(3), {t.f, t.f}), "as many sources as its dtype has elements");
  t.bad(t.node(Op::NOOP, dtypes::float32.vec(1 << 20)), "vectors of at most 65536 elements");
  t.bad(t.node(Op::CUSTOM, dtypes::float32), "the text to render");
}

TEST_CASE("well formed: first_out_of_order finds a node before its source or twice in a list") {
  Nodes t;
  UOp load = t.at.load(), list[] = {t.k, t.range.src(0), t.range, t.at, load};
  CHECK(!first_unordered_node(list));
  UOp late[] = {t.k, t.range, t.range.src(0)};
  CHECK(first_unordered_node(late)->message.find("Ops.RANGE comes before its source 0, Ops.CONST") == 0);
  UOp twice[] = {t.k, t.k};
  CHECK(first_unordered_node(twice)->message.find("Ops.DEFINE_GLOBAL occurs twice") == 0);
  UOp begin = t.node(Op::IF, dtypes::void_, {t.b, t.at}), end = t.node(Op::ENDIF, dtypes::void_, {begin});
  UOp again[] = {t.b, t.k, t.range.src(0), t.range, t.at, begin, end, begin, end};
  CHECK(!first_unordered_node(again));
  again[6] = begin;
  CHECK(first_unordered_node(again)->message.find("Ops.IF occurs twice") == 0);
  again[6] = again[7] = end;
  CHECK(first_unordered_node(again)->message.find("Ops.ENDIF occurs twice") == 0);
}
