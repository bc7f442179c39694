#include "lib/prove/store_order.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

struct Registers {
  Graph g;
  UOp reg = g.node(Op::DEFINE_REG, dtypes::int32.ptr(4, AddrSpace::REG), {}, 0);
  UOp place(UOp of, int64_t i) { return of.index_ptr(g.constant(dtypes::index, i)); }
  UOp number(int64_t i) { return g.constant(dtypes::int32, i); }
  UOp vector(UOp of) { return place(of, 0).cast(dtypes::int32.vec(4).ptr(4, AddrSpace::REG)); }
  UOp numbers(UOp last) { return g.node(Op::VECTORIZE, dtypes::int32.vec(4), {number(0), number(0), number(0), last}); }
};

TEST_CASE("has_unordered_stores: stores to one element must wait for each other") {
  Registers r;
  UOp first = r.place(r.reg, 0).store(r.number(1)), second = r.place(r.reg, 0).store(r.number(2));
  CHECK(has_unordered_stores(r.g.sink({first, second})));
  CHECK(!has_unordered_stores(r.g.sink({first, r.place(r.reg, 1).store(r.number(2))})));
  UOp later = r.place(r.reg.after({first}), 0).store(r.number(2));
  CHECK(!has_unordered_stores(r.g.sink({first, later})));
  auto at_row = [&](int64_t row) { return r.reg.index_ptr(r.g.constant(dtypes::index, row) * Const(2)); };
  CHECK(!has_unordered_stores(r.g.sink({first, at_row(1).store(r.number(2))})));
  CHECK(has_unordered_stores(r.g.sink({first, at_row(0).store(r.number(2))})));
  UOp all = r.vector(r.reg).store(r.numbers(r.number(2)));
  CHECK(has_unordered_stores(r.g.sink({all, r.place(r.reg, 3).store(r.number(2))})));
  UOp memory = r.g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(4), {}, 0);
  UOp one = r.place(memory, 0).store(r.number(1)), two = r.place(memory, 0).store(r.number(2));
  CHECK(!has_unordered_stores(r.g.sink({one, two})));
}

TEST_CASE("check_store_order: a split store whose parts no longer wait is not proven") {
  Registers r;
  std::vector<UOp> starts;
  for (int64_t i = 0; i < 4; i++) starts.push_back(r.place(r.reg, i).store(r.number(1)));
  UOp start = r.g.group(starts), read = r.place(r.reg.after({start}), 3).load();
  UOp whole = r.vector(r.reg).store(r.numbers(read));
  std::vector<UOp> parts;
  for (int64_t i = 0; i < 4; i++) parts.push_back(r.place(r.reg, i).store(i == 3 ? read : r.number(0)));
  UOp split = r.g.group(parts);
  std::vector<Rewrite> list(2);
  list[0].before = r.number(1), list[0].after = r.number(1);
  list[1].before = whole, list[1].after = split;
  RewriteProof same{.kind = RewriteProof::Kind::Proven}, splits = same;
  splits.application_index = 1;
  RewriteProof* proofs[] = {&splits, &same};
  UOp input = r.g.sink({start, whole}), result = r.g.sink({start, split});
  check_store_order(proofs, list, input, input);
  CHECK(splits.kind == RewriteProof::Kind::Proven);
  check_store_order(proofs, list, input, result);
  CHECK(splits.kind == RewriteProof::Kind::Unknown);
  CHECK(same.kind == RewriteProof::Kind::Proven);
}

}  // namespace
}  // namespace tgc
