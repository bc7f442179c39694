#include "lib/run/bounds_proof.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <deque>

#include "lib/support/testing.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

// The kernel stores to element `index` of a buffer of `size` elements if `gate` is "" or true. Variables: r0 in 0..15,
// r1 in 0..7, and x in 1..9.
BoundsProof prove(const std::string& size, const std::string& index, const std::string& gate = "") {
  static std::deque<Graph> graphs;
  Graph& graph = graphs.emplace_back();
  std::string text =
      "r0 = UOp.range(16, 0, AxisType.LOOP)\nr1 = UOp.range(8, 1, AxisType.REDUCE)\n"
      "x = UOp.variable(\"x\", 1, 9)\n"
      "buf = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(" +
      size + "), (), 0)\n";
  text += "i = " + index + "\n" + (gate.empty() ? "" : "g = " + gate + "\n") + "at = buf.index(i" +
          (gate.empty() ? "" : ", g") + ", ptr=True)\nast = at.store(UOp.const(dtypes.float, 1.0)).end(r0, r1).sink()";
  auto root = read_pyrender(graph, text, "test");
  REQUIRE_MESSAGE(root.ok(), root.diag().text());
  auto proof = prove_access_bounds(toposort(*root));
  REQUIRE_MESSAGE(proof.ok(), proof.diag().text());
  CHECK(proof->num_accesses == 1);
  return *proof;
}

std::string n(int value) { return "UOp.const(dtypes.index, " + std::to_string(value) + ")"; }

bool has_z3() {
  for (const char* name : {"libz3.so.4", "libz3.so"})
    if (dlopen(name, RTLD_NOW)) return true;
  return false;
}

TEST_CASE("prove_bounds needs no Z3 if bounds suffice") {
  CHECK(prove("128", "r0*" + n(8) + "+r1").num_proven_by_bounds == 1);
}

TEST_CASE("prove_bounds uses Z3 if bounds do not suffice") {
  SKIP_TEST_IF(!has_z3(), "libz3 is not installed");
  CHECK(prove("16", "r0*" + n(8) + "+r1", "(r0*" + n(8) + "+r1)<" + n(16)).num_proven_by_z3 == 1);
  // vmin and vmax of the terms do not show that the index is within bounds
  CHECK(prove("16", "(r0-r0%" + n(4) + ")+r0%" + n(4)).num_proven_by_z3 == 1);
  CHECK(prove("8", "(r0<" + n(8) + ").where(r0, r0-" + n(8) + ")").num_proven_by_z3 == 1);
}

TEST_CASE("prove_bounds returns a counterexample for an access out of bounds") {
  SKIP_TEST_IF(!has_z3(), "libz3 is not installed");
  BoundsProof p = prove("100", "r0*" + n(8) + "+r1");
  REQUIRE(p.failed_accesses.size() == 1);
  const OutOfBoundsAccess& f = p.failed_accesses[0];
  CHECK(f.is_proven);
  REQUIRE(f.node_values.size() == 3);
  int r0 = std::stoi(f.node_values[0].second), r1 = std::stoi(f.node_values[1].second),
      index = std::stoi(f.node_values[2].second);
  CHECK(f.node_values[0].first == "r0");
  CHECK(r0 * 8 + r1 == index);
  CHECK((index >= 100 && r0 < 16 && r1 < 8));
  CHECK(f.text().find("of 100 elements at [r0*8+r1]") != std::string::npos);
  p = prove("128", "r0-r1");
  REQUIRE(p.failed_accesses.size() == 1);
  CHECK(std::stoi(p.failed_accesses[0].node_values.back().second) < 0);
  p = prove("16", "r0*" + n(8) + "+r1", "(r0*" + n(8) + "+r1)<" + n(17));
  REQUIRE(p.failed_accesses.size() == 1);
  CHECK(p.failed_accesses[0].node_values.back().second == "16");
}

TEST_CASE("prove_bounds proves no access wrong that depends on an op without an exact form") {
  SKIP_TEST_IF(!has_z3(), "libz3 is not installed");
  Graph graph;
  const std::string text =
      "r0 = UOp.range(16, 0, AxisType.LOOP)\nodd = UOp(Ops.XOR, dtypes.index, (r0, UOp.const(dtypes.index, 1)))\n"
      "buf = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(16), (), 0)\n"
      "first = buf.index(odd, ptr=True).store(UOp.const(dtypes.float, 1.0))\n"
      "second = buf.index(odd+r0-r0, ptr=True).store(UOp.const(dtypes.float, 2.0))\n"
      "ast = UOp.sink(first.end(r0), second.end(r0))";
  const UOp root = read_pyrender(graph, text, "test").value_or_throw();
  const BoundsProof proof = prove_access_bounds(toposort(root)).value_or_throw();
  REQUIRE(proof.failed_accesses.size() == 2);
  for (const OutOfBoundsAccess& f : proof.failed_accesses) CHECK(!f.is_proven);
}

}  // namespace
}  // namespace tgc
