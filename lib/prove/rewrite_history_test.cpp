#include "lib/prove/rewrite_history.h"

#include <doctest/doctest.h>

#include "lib/import/import_sides.h"
#include "lib/text/repr.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

struct Retyped {
  UOp as_typed, as_weak;
};

Retyped sum_of(Graph& g, DType of, DType weak, Arg a, Arg b) {
  const UOp src[] = {g.node(Op::CONST, weak, {}, a), g.node(Op::CONST, weak, {}, b)};
  return {g.node(Op::ADD, of, src), g.node(Op::ADD, weak, src)};
}

bool is_proven(const Retyped& sum) {
  SidesImporter importer({});
  auto imported = importer.import(sum.as_typed, sum.as_weak).value_or_throw();
  SidePairs pairs;
  for (auto [before, after] : imported.pairs) pairs.push_back({before, after, imported.tolerance});
  ProofCache cache;
  return SidesProver(importer.graph(), {}, cache).decide_sides(pairs).kind == RewriteProof::Kind::Proven;
}

// Replays two rewrites of a sum: its right operand, a product, becomes a weak constant, and the sum of two weak
// constants becomes `result`. Returns the replayed graph.
UOp replayed(Graph& g, DType of, DType weak, Arg a, Arg b, UOp result, std::vector<RewriteSides>& retyped) {
  const Retyped sum = sum_of(g, of, weak, a, b);
  const UOp left = sum.as_weak.src(0), right = sum.as_weak.src(1);
  const UOp one = g.node(Op::CONST, of, {}, dtypes::is_float(of) ? Arg(1.0) : Arg(1));
  const UOp product_src[] = {one, right}, product = g.node(Op::MUL, of, product_src);
  const UOp sum_src[] = {left, product};
  const ReplayedRewrite rewrites[] = {{product, right}, {sum.as_weak, result}};
  return replay_rewrites(g.node(Op::ADD, of, sum_src), rewrites, RewriteOrder::SourcesFirst, &retyped);
}

}  // namespace

TEST_CASE("replay_rewrites: the dtype of a node follows those of its sources") {
  Graph g;
  const UOp five = g.node(Op::CONST, weakfloat(), {}, 5.0), number = g.node(Op::CONST, weakint(), {}, 5);
  std::vector<RewriteSides> retyped;
  CHECK(replayed(g, dtypes::float32, weakfloat(), 2.0, 3.0, five, retyped) == five);
  CHECK(replayed(g, dtypes::int8, weakint(), 2, 3, number, retyped) == number);
  REQUIRE(retyped.size() == 2);
  CHECK(retyped[0].before.dtype() == dtypes::float32);
  CHECK(retyped[0].after.dtype() == weakfloat());
  // a node of these dtypes must not be replaced by one with a weak dtype
  for (DType d : {dtypes::uint8, dtypes::float16, dtypes::float64}) {
    const bool is_int = dtypes::is_int(d);
    const Arg a = is_int ? Arg(2) : Arg(2.0), b = is_int ? Arg(3) : Arg(3.0);
    const UOp out = replayed(g, d, is_int ? weakint() : weakfloat(), a, b, is_int ? number : five, retyped);
    CHECK(out.is(Op::ADD));
  }
  CHECK(retyped.size() == 2);
}

TEST_CASE("replay_rewrites: a dtype that holds the number is proven, and one that wraps around is not") {
  Graph g;
  CHECK(is_proven(sum_of(g, dtypes::float32, weakfloat(), 2.0, 3.0)));
  CHECK(is_proven(sum_of(g, dtypes::int8, weakint(), 100, 27)));
  CHECK(!is_proven(sum_of(g, dtypes::int8, weakint(), 100, 28)));
}

}  // namespace tgc
