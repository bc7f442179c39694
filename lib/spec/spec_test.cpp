#include "lib/spec/spec.h"

#include <doctest/doctest.h>

#include "lib/support/testing.h"
#include "lib/text/golden.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"

using namespace tgc;

namespace {

std::string verdict_of(std::string_view text, Spec spec) {
  Graph g;
  auto root = read_pyrender(g, text);
  if (!root) return root.diag().text();
  auto violation = verify_graph(*root, spec);
  return violation ? violation->rule ? std::string(violation->rule->name) : "none accepts " + std::string(name_of(violation->node.op())) : "good";
}

}  // namespace

TEST_CASE("spec: what tinygrad made is good, at every stage") {
  size_t kernels = 0, programs = 0;
  auto reader = GoldenReader::open(test_path("golden/kernels.jsonl.gz"));
  REQUIRE(reader.ok());
  for (;;) {
    auto record = reader->next();
    REQUIRE(record.ok());
    if (!*record) break;
    Graph g;
    auto ast = read_pyrender(g, (*record)->ast);
    REQUIRE(ast.ok());
    auto v = verify_graph(*ast, Spec::Kernel);
    CHECK_MESSAGE(!v, (*record)->id << ": " << v->text());
    kernels++;
    if (!(*record)->linear) continue;
    Graph h;
    auto listing = read_uops(h, *(*record)->linear);
    REQUIRE(listing.ok());
    auto w = verify(listing->list, Spec::Program);
    CHECK_MESSAGE(!w, (*record)->id << ": " << w->text());
    programs++;
  }
  CHECK(kernels > 100);
  CHECK(programs > 100);
}

TEST_CASE("spec: tensor graphs") {
  auto reader = GoldenReader::open(test_path("golden/tensor.jsonl.gz"));
  REQUIRE(reader.ok());
  for (;;) {
    auto record = reader->next();
    REQUIRE(record.ok());
    if (!*record) break;
    Graph g;
    auto ast = read_pyrender(g, (*record)->ast);
    REQUIRE(ast.ok());
    auto v = verify_graph(*ast, Spec::Tensor);
    CHECK_MESSAGE(!v, (*record)->id << ": " << v->text());
  }
}

TEST_CASE("spec: what is wrong is found by the rule that says so") {
  std::string x = "x = UOp.const(dtypes.float, 1.0)\ni = UOp.const(dtypes.int, 1)\nr = UOp.range(4, 0, AxisType.LOOP)\n"
                  "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\n";
  CHECK(verdict_of(x + "ast = (x+x).sink()", Spec::Kernel) == "good");
  CHECK(verdict_of(x + "ast = (x+i).sink()", Spec::Kernel) == "alu");
  CHECK(verdict_of(x + "ast = (x//x).sink()", Spec::Kernel) == "div-mod-of-integers");
  CHECK(verdict_of(x + "ast = UOp(Ops.CMPLT, dtypes.bool, (x, i)).sink()", Spec::Kernel) == "compare");
  CHECK(verdict_of(x + "ast = UOp(Ops.CONST, dtypes.float, (), 2).sink()", Spec::Kernel) == "const");
  CHECK(verdict_of(x + "ast = UOp(Ops.WHERE, dtypes.float, (x<x, x, i)).sink()", Spec::Kernel) == "where");
  CHECK(verdict_of(x + "ast = UOp(Ops.SHL, dtypes.int, (i, i.cast(dtypes.uint))).sink()", Spec::Kernel) == "good");
  CHECK(verdict_of(x + "ast = UOp(Ops.SHL, dtypes.int, (i, x)).sink()", Spec::Kernel) == "shift");
  CHECK(verdict_of(x + "ast = UOp(Ops.DEFINE_LOCAL, dtypes.float.ptr(4), (), 0).sink()", Spec::Kernel) == "define-local");
  CHECK(verdict_of(x + "ast = UOp(Ops.VECTORIZE, dtypes.float.vec(3), (x, x)).sink()", Spec::Kernel) == "vectorize");
  CHECK(verdict_of(x + "ast = b.index(r).sink()", Spec::Program) == "no-index-dtype");
  CHECK(verdict_of(x + "ast = b.index(i, ptr=True).store(x).sink()", Spec::Program) == "good");
  CHECK(verdict_of(x + "ast = UOp(Ops.IF, dtypes.void, (x, b.index(i))).sink()", Spec::Program) == "none accepts IF");
  CHECK(verdict_of("ast = UOp.new_buffer('CPU', 4, dtypes.float, 0).rtag(1)", Spec::Tensor) == "no-tags");
  CHECK(verdict_of(x + "ast = UOp(Ops.UNROLL, dtypes.float, (x,), ((0, 2),)).sink()", Spec::Kernel) == "unroll");
  CHECK(verdict_of(x + "ast = UOp(Ops.UNROLL, dtypes.float, (x,), ((0, 2),)).sink()", Spec::Full) == "good");
  CHECK(verdict_of(x + "ast = UOp(Ops.CUSTOM_KERNEL, dtypes.void, ()).sink()", Spec::Program) == "none accepts CUSTOM_KERNEL");
}

TEST_CASE("spec: accesses are checked against bounds when asked") {
  Settings settings;
  settings.IGNORE_OOB = 0;
  Graph g(settings);
  UOp b = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(4), {}, 0);
  auto good = [&](int64_t end) { return !verify_graph(b.index(g.special(g.constant(dtypes::int32, end), "gidx0", dtypes::int32)), Spec::Program); };
  CHECK(good(4));
  CHECK(!good(5));
}

TEST_CASE("spec: tables have tinygrad's number of rules") {
  CHECK(rules_of(Spec::Tensor).rules().size() == 45);
  CHECK(rules_of(Spec::Kernel).rules().size() == 39);
  CHECK(rules_of(Spec::Program).rules().size() == 34);
  CHECK(rules_of(Spec::Full).rules().size() == 156);
}
