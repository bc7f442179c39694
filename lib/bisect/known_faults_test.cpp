#include "lib/bisect/known_faults.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"

namespace tgc {

TEST_CASE("a known fault is recognized by its file and the form of the rewrite") {
  Graph g;
  UOp x = g.variable("x", Const(0), Const(9), dtypes::float32), y = x.cast(dtypes::float16).cast(dtypes::float32);
  const KnownFault* fault = known_fault_of_rewrite("codegen/late/coalesce.py:97", y, x);
  REQUIRE(fault);
  CHECK(fault->name == "codegen/late/coalesce.py:100");
  CHECK(fault->issue_url == "https://github.com/tinygrad/tinygrad/issues/17208");
  CHECK(fault->program_text.find("Tensor(") != std::string::npos);
  CHECK_FALSE(known_fault_of_rewrite("uop/symbolic.py:100", y, x));
  CHECK_FALSE(known_fault_of_rewrite("codegen/late/coalesce.py:100", y, x.cast(dtypes::float16)));
  CHECK_FALSE(known_fault_of_rewrite("codegen/late/coalesce.py:100", x.cast(dtypes::float64).cast(dtypes::float32), x));
}

TEST_CASE("a quotient of equal numbers is a known fault, but not one of different numbers") {
  Graph g;
  UOp x = g.variable("x", Const(0), Const(9), dtypes::float32);
  UOp y = g.variable("y", Const(0), Const(9), dtypes::float32);
  const UOp one = g.constant(dtypes::float32, Const(1.0));
  const KnownFault* fault = known_fault_of_rewrite("uop/symbolic.py:136", x.alu(Op::MUL, x.alu(Op::RECIPROCAL)), one);
  REQUIRE(fault);
  CHECK(fault->name == "uop/symbolic.py:160");
  CHECK(known_fault_of_rewrite("uop/symbolic.py:161", y.alu(Op::MUL, x).alu(Op::MUL, x.alu(Op::RECIPROCAL)), y));
  CHECK_FALSE(known_fault_of_rewrite("uop/symbolic.py:160", x.alu(Op::MUL, y.alu(Op::RECIPROCAL)), one));
}

TEST_CASE("each known fault has a program, a file and patterns") {
  CHECK_FALSE(known_faults().empty());
  for (const KnownFault& fault : known_faults()) {
    INFO(fault.name);
    CHECK_FALSE(fault.program_text.empty());
    CHECK(fault.rule_file.ends_with(".py"));
    CHECK_FALSE(fault.description.empty());
  }
}

TEST_CASE("patterns of known faults compute with constants") {
  Graph g;
  UOp x = g.variable("x", Const(0), Const(9), dtypes::int32);
  auto number = [&](int n) { return g.constant(dtypes::int32, Const(n)); };
  const char *before = "CMPLT(ADD(x:int, c0), c1)", *after = "CMPLT(x, c1-c0)";
  UOp sum = x.alu(Op::ADD, number(100)).lt(number(120));
  CHECK(matches_rewrite(before, after, sum, x.lt(number(20))));
  CHECK(matches_rewrite(before, after, number(100).alu(Op::ADD, x).lt(number(120)), x.lt(number(20))));
  CHECK_FALSE(matches_rewrite(before, after, sum, x.lt(number(220))));
  CHECK_FALSE(matches_rewrite(before, after, sum, number(20).lt(x)));
  CHECK(matches_rewrite("MUL(x, 0)", "0", x.alu(Op::MUL, number(0)), number(0)));
  CHECK_FALSE(matches_rewrite("MUL(x, 0)", "0", x.alu(Op::MUL, number(1)), number(0)));
  CHECK_FALSE(matches_rewrite("MUL(x, x)", "x", x.alu(Op::MUL, number(1)), x));
}

}  // namespace tgc
