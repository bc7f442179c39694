// Tests the facts on which rules rely: bounds of nodes (UOp::vmin, vmax), factors and exact quotients. Z3 proves
// formulas of bounds for all operands.
#include <doctest/doctest.h>

#include <string>

#include "lib/prove/obligation.h"
#include "lib/support/z3.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"

namespace tgc {
namespace {

// SMT-LIB functions. cdiv rounds toward zero, and cmod is its remainder.
constexpr const char* kFunctions =
    "(define-fun least ((a Int) (b Int)) Int (ite (< b a) b a))\n"
    "(define-fun most ((a Int) (b Int)) Int (ite (< a b) b a))\n"
    "(define-fun least4 ((a Int) (b Int) (c Int) (d Int)) Int (least (least a b) (least c d)))\n"
    "(define-fun most4 ((a Int) (b Int) (c Int) (d Int)) Int (most (most a b) (most c d)))\n"
    "(define-fun cdiv ((a Int) (b Int)) Int (ite (>= a 0) (div a b) (- (div (- a) b))))\n"
    "(define-fun cmod ((a Int) (b Int)) Int (- a (* b (cdiv a b))))\n"
    "(define-fun number ((a Bool)) Int (ite a 1 0))\n";

struct Fact {
  Op op;
  std::string when;           // condition on the bounds under which `least` and `most` are right
  std::string least, most;
  std::string value;
  std::vector<std::array<int64_t, 4>> samples;  // bounds of a and b on which UOp::bounds() is compared
};

const std::vector<std::array<int64_t, 4>> kAny{
    {0, 9, 0, 3}, {-5, 7, -2, 4}, {-9, -1, 2, 6}, {3, 3, 5, 5}, {4, 9, 4, 4}};
const std::vector<std::array<int64_t, 4>> kFixed{
    {0, 9, 4, 4}, {-5, 7, 3, 3}, {-90, -1, 8, 8}, {2, 2, 5, 5}, {-2, 9, 7, 7}};

std::vector<Fact> facts() {
  return {
      {Op::ADD, "true", "(+ a0 b0)", "(+ a1 b1)", "(+ a b)", kAny},
      {Op::SUB, "true", "(- a0 b1)", "(- a1 b0)", "(- a b)", kAny},
      {Op::MUL, "true", "(least4 (* a0 b0) (* a0 b1) (* a1 b0) (* a1 b1))",
       "(most4 (* a0 b0) (* a0 b1) (* a1 b0) (* a1 b1))", "(* a b)", kAny},
      {Op::MAX, "true", "(most a0 b0)", "(most a1 b1)", "(most a b)", kAny},
      {Op::CMPLT, "true", "(number (< a1 b0))", "(number (< a0 b1))", "(number (< a b))", kAny},
      {Op::CMPNE, "true", "(number (or (< a1 b0) (< b1 a0)))", "(number (not (= a0 a1 b0 b1)))",
       "(number (not (= a b)))", kAny},
      {Op::MOD, "(= b0 b1) (> b0 0)", "(ite (> a0 0) 0 (ite (> a0 (- b0)) a0 (- 1 b0)))",
       "(ite (< a1 0) 0 (ite (< a1 b0) a1 (- b0 1)))", "(cmod a b)", kFixed},
      {Op::MOD,
       "(> b0 0) (< b0 b1)",
       "(ite (>= a0 0) 0 (- 1 b1))",
       "(ite (>= a0 0) (- b1 1) (ite (<= a1 0) 0 (- b1 1)))",
       "(cmod a b)",
       {{0, 9, 1, 3}, {-5, 7, 2, 4}, {-9, -1, 2, 6}}},
      {Op::IDIV, "(= b0 b1) (> b0 0)", "(cdiv a0 b0)", "(cdiv a1 b0)", "(cdiv a b)", kFixed},
  };
}

std::string name_of_fact(const Fact& f) { return std::string(name_of(f.op)) + " when " + f.when; }

TEST_CASE("bounds: the formulas hold for all operands") {
  for (const Fact& f : facts()) {
    const std::string question = std::string("(set-option :rlimit 20000000)") + kFunctions +
                                 "(declare-const a Int)(declare-const b Int)(declare-const a0 Int)"
                                 "(declare-const a1 Int)(declare-const b0 Int)(declare-const b1 Int)"
                                 "(assert (and (<= a0 a a1) (<= b0 b b1) " + f.when + "))"
                                 "(assert (not (<= " + f.least + " " + f.value + " " + f.most + ")))(check-sat)";
    // try several times, because Z3's strategies for products have time limits, which a busy machine exceeds
    std::string said = "unknown";
    for (int tries = 0; tries < 5 && said.starts_with("unknown"); tries++) said = Z3Session().ask_z3(question);
    INFO(name_of_fact(f), ": ", said);
    CHECK(said.starts_with("unsat"));
  }
}

TEST_CASE("bounds: nodes have the bounds of the formulas") {
  for (const Fact& f : facts()) {
    std::string text = kFunctions;
    auto number = [](Int v) { return v < 0 ? "(- " + (-v).str() + ")" : v.str(); };
    for (auto [a0, a1, b0, b1] : f.samples) {
      Graph g;
      UOp u = g.variable("a", Const(a0), Const(a1)).alu(f.op, g.variable("b", Const(b0), Const(b1)));
      std::string given =
          "((a0 " + number(a0) + ") (a1 " + number(a1) + ") (b0 " + number(b0) + ") (b1 " + number(b1) + "))";
      text += "(assert (let " + given + " (and " + f.when + " (= " + f.least + " " + number(u.vmin().to_int()) +
              ") (= " + f.most + " " + number(u.vmax().to_int()) + "))))\n";
    }
    Z3Session z3;
    std::string said = z3.ask_z3(text + "(check-sat)");
    INFO(name_of_fact(f), ": ", said);
    CHECK(said == "sat\n");
  }
}

TEST_CASE("bounds: a wrong formula and the wrapping of fixed dtypes are refuted") {
  auto refutes = [](const std::string& claim) {
    Z3Session z3;
    return z3.ask_z3(std::string(kFunctions) +
                     "(declare-const a Int)(declare-const a0 Int)(declare-const a1 Int)(assert (<= a0 a a1))"
                     "(assert (not " + claim + "))(check-sat)").starts_with("sat");
  };
  CHECK(refutes("(<= (+ a0 1) a a1)"));
  CHECK(refutes("(=> (and (<= 0 a0) (<= a1 255)) (<= (+ a0 9) (mod (+ a 9) 256) (+ a1 9)))"));
  Graph g;
  UOp x =
      g.node(Op::DEFINE_GLOBAL, dtypes::uint8.ptr(4), {}, int64_t(1)).index_ptr(g.constant(dtypes::index, 0)).load();
  CHECK((x + Const(9)).vmin().to_int() == 9);
  CHECK(g.variable("a", Const(int64_t(0)), Const(int64_t(300))).cast(dtypes::int8).vmin().to_int() == 0);
}

bool are_equal(Graph& g, UOp a, UOp b) {
  SideIsolator isolator(g, {});
  ProofCache cache;
  Prover prover(isolator.isolator(), cache);
  for (const ComparedValues& v : isolator.expressions_of({a, b}).compared_values)
    if (prover.prove_values(v).kind != ProofOutcome::Kind::Proven) return false;
  return true;
}

TEST_CASE("facts: factors, exact quotients and constant terms of indices") {
  Graph g;
  UOp i = g.variable("i", Const(int64_t(-50)), Const(int64_t(50))),
      j = g.variable("j", Const(int64_t(0)), Const(int64_t(9)));
  const UOp all[] = {i * Const(6),
                     i * Const(-6) + j * Const(4),
                     i * Const(12) + Const(8),
                     (i * Const(8) + j * Const(12)) * Const(3),
                     i * j * Const(10),
                     j * Const(4) + Const(3),
                     g.constant(dtypes::index, 24)};
  int quotients = 0, common_divisors = 0;
  for (UOp u : all) {
    Int factor = const_factor(u);
    UOp rest = divides(u, factor);
    REQUIRE(rest);
    CHECK(are_equal(g, rest * Const(factor), u));
    for (int64_t d : {-3, 2, 4, 5, 6, 8})
      if (UOp q = divides(u, d)) {
        CHECK(are_equal(g, q * Const(d), u));
        quotients++;
      }
    for (UOp by : {i, j, g.constant(dtypes::index, 4), i * Const(2)})
      if (UOp q = divide_exact(u, by)) {
        CHECK(are_equal(g, q * by, u));
        quotients++;
      }
    auto [peeled, constant] = pop_const(u);
    CHECK(are_equal(g, peeled + constant, u));
    for (UOp v : all) {
      UOp common = gcd(std::vector<UOp>{u, v}).simplify();
      UOp p = divide_exact(u, common), q = divide_exact(v, common);
      if (!p || !q) continue;
      CHECK(are_equal(g, p * common, u));
      common_divisors++;
    }
  }
  CHECK(quotients > 15);
  CHECK(common_divisors > 15);
  CHECK(!are_equal(g, i * Const(2), i * Const(3)));
}

}  // namespace
}  // namespace tgc
