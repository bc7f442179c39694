#include "lib/validate/local_race.h"

#include <doctest/doctest.h>

#include <vector>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

// A linear list of a workgroup with 8 threads and 64 elements of shared memory.
struct ListBuilder {
  Graph graph;
  std::vector<UOp> list;

  UOp add(Op op, DType dtype, std::vector<UOp> src, Arg arg = {}) {
    list.push_back(graph.node(op, dtype, src, arg));
    return list.back();
  }
  UOp less(UOp a, UOp b) { return graph.node(Op::CMPLT, dtypes::bool_, std::vector<UOp>{a, b}); }
  UOp number(int64_t value) { return graph.constant(dtypes::int32, Const(value)); }
  UOp thread = graph.special(number(8), "lidx0", dtypes::int32);
  UOp memory = graph.node(Op::DEFINE_LOCAL, dtypes::float32.ptr(64, AddrSpace::LOCAL), {}, 0);
  ListBuilder() { list.push_back(thread); }

  UOp loop(int64_t size) {
    list.push_back(graph.range(number(size), std::vector<Arg>{0, AxisType::LOOP}, dtypes::int32));
    return list.back();
  }
  void end(UOp range) { add(Op::END, dtypes::void_, {range}); }
  void barrier() { add(Op::BARRIER, dtypes::void_, {}); }
  UOp element(UOp at, UOp gate) {
    std::vector<UOp> src{memory, at};
    if (gate) src.push_back(gate);
    return graph.node(Op::INDEX, dtypes::float32.ptr(64, AddrSpace::LOCAL), src);
  }
  void store(UOp at, UOp gate = {}) {
    add(Op::STORE, dtypes::void_, {element(at, gate), graph.constant(dtypes::float32, Const(1.0))});
  }
  void load(UOp at, UOp gate = {}) {
    std::vector<UOp> src{element(at, gate)};
    if (gate) src.push_back(graph.constant(dtypes::float32, Const(0.0)));
    add(Op::LOAD, dtypes::float32, src);
  }
};

}  // namespace

TEST_CASE("find_local_race: a load of another thread's element without a barrier is a race") {
  ListBuilder own, other, waits;
  own.store(own.thread), own.load(own.thread);
  CHECK_FALSE(find_local_race(own.list));
  other.store(other.thread), other.load((other.thread + 1) % 8);
  const auto race = find_local_race(other.list);
  REQUIRE(race);
  CHECK(race->text() == "thread 7 loads local0[0], which thread 0 stores, with no barrier in between");
  waits.store(waits.thread), waits.barrier(), waits.load((waits.thread + 1) % 8);
  CHECK_FALSE(find_local_race(waits.list));
}

TEST_CASE("find_local_race: accesses whose gates exclude each other do not race") {
  for (const int64_t loading : {4, 3}) {
    ListBuilder index, block;
    const UOp stores = index.less(index.thread, index.number(4));
    index.store(index.thread % 4, stores), index.load(index.thread, stores);
    CHECK_FALSE(find_local_race(index.list));
    const UOp b = block.add(Op::IF, dtypes::void_, {block.less(block.thread, block.number(4))});
    block.store(block.thread), block.add(Op::ENDIF, dtypes::void_, {b});
    block.load(block.number(3), block.less(block.number(loading - 1), block.thread));
    CHECK(find_local_race(block.list).has_value());  // a thread from 4 loads what thread 3 stored
    ListBuilder apart;
    const UOp c = apart.add(Op::IF, dtypes::void_, {apart.less(apart.thread, apart.number(loading))});
    apart.store(apart.thread), apart.add(Op::ENDIF, dtypes::void_, {c});
    apart.load(apart.number(3), apart.less(apart.number(3), apart.thread));
    CHECK(find_local_race(apart.list).has_value() == (loading == 4));
  }
}

TEST_CASE("find_local_race: iterations of a loop race only for elements that both access") {
  for (const bool moves : {false, true}) {  // each iteration has the same 8 elements, or 8 elements of its own
    ListBuilder b;
    const UOp i = b.loop(4), first = moves ? i * 8 : i * 0;
    b.store(first + b.thread), b.barrier(), b.load(first + (b.thread + 1) % 8), b.end(i);
    const auto race = find_local_race(b.list);
    CHECK(race.has_value() == !moves);
    if (race) CHECK(race->is_load_first);
  }
  ListBuilder before;
  const UOp i = before.loop(4);
  before.load(i * 8 + before.thread), before.store(i * 8 + 8 + (before.thread + 1) % 8), before.end(i);
  CHECK(find_local_race(before.list).has_value());
}

}  // namespace tgc
