#include "lib/prove/special_inputs.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

struct Kernels {
  Graph g;
  UOp i = g.range(Const(int64_t(16)), 0, AxisType::LOOP);

  UOp input(DType d, int64_t number) { return g.node(Op::DEFINE_GLOBAL, d.ptr(16), {}, number).index_ptr(i).load(); }
  UOp kernel(UOp value) {
    const UOp out = g.node(Op::DEFINE_GLOBAL, value.dtype().ptr(16), {}, 0);
    return g.sink(out.index_ptr(i).store(value).end(i));
  }
  std::map<std::string, std::string> difference(UOp right, UOp wrong) {
    const UOp ast = kernel(right), graph = kernel(wrong), sides[] = {right, wrong};
    StageRunner runner(ast);
    CHECK(runner.difference_from_ast(graph) == "");
    const SpecialInputs special(runner, ast, sides, {});
    auto differs = [&](const StageTrial& t) { return runner.unexplained_difference(t, graph).value_or("") != ""; };
    for (size_t n = 0; n < special.num_draws(); n++)
      if (const auto t = special.draw_trial(n); t && differs(*t)) return special.narrow_point(*t, differs);
    return {};
  }
};

TEST_CASE("special inputs: numbers of the sides show a difference that usual inputs do not") {
  Kernels k;
  const UOp n = k.input(dtypes::int32, 1), limit = n.const_like(Const(int64_t(123456)));
  const auto found = k.difference(n.lt(limit).where(n, n + limit), n);
  REQUIRE(found.size() == 1);
  CHECK(found.begin()->first.starts_with("data1["));
  CHECK(std::stoll(found.begin()->second) >= 123456);
  const UOp least = n.const_like(Const(int64_t(-2147483648)));
  CHECK(k.difference(n.ne(least).where(n, n.const_like(Const(int64_t(0)))), n).begin()->second == "-2147483648");
}

TEST_CASE("special inputs: values for which the AST is not defined show nothing") {
  Kernels k;
  const UOp n = k.input(dtypes::int32, 1), m = k.input(dtypes::int32, 2), zero = n.const_like(Const(int64_t(0)));
  const UOp quotient = m.alu(Op::IDIV, n);
  CHECK(k.difference(quotient, n.ne(zero).where(quotient, n.const_like(Const(int64_t(7))))).empty());
}

TEST_CASE("special inputs: rounding, and an infinity on the way, show nothing") {
  Kernels k;
  const UOp x = k.input(dtypes::float32, 1), y = k.input(dtypes::float32, 2);
  CHECK(k.difference((x + y) - y, x + (y - y)).empty());
  CHECK(k.difference(x * y * y.const_like(Const(0.5)), x * (y * y.const_like(Const(0.5)))).empty());
}

}  // namespace
}  // namespace tgc
