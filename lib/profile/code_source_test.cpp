#include "lib/profile/code_source.h"

#include <doctest/doctest.h>

#include "lib/profile/profile.h"
#include "lib/records/read_graph.h"

namespace tgc::profile {
namespace {

// Returns how a wave accesses memory by the last LOAD of a kernel that loads x[index]. `index` is an expression of l,
// the number of the thread along the first axis of its work group, of size 64, and of g, the number of the group.
std::optional<LaneAccess> access(const std::string& index, const std::string& dtype = "float",
                                 const std::string& gate = "") {
  const std::string text = "x = UOp(Ops.DEFINE_GLOBAL, dtypes." + dtype + ".ptr(65536), (), 1)\n"
      "l = UOp(Ops.SPECIAL, dtypes.int, (UOp.const(dtypes.int, 64),), 'lidx0')\n"
      "m = UOp(Ops.SPECIAL, dtypes.int, (UOp.const(dtypes.int, 2),), 'lidx1')\n"
      "g = UOp(Ops.SPECIAL, dtypes.int, (UOp.const(dtypes.int, 8),), 'gidx0')\n"
      "i = " + index + "\n"
      "p = UOp(Ops.INDEX, dtypes." + dtype + ".ptr(65536), (x, i" + gate + "), None)\n"
      "v = UOp(Ops.LOAD, dtypes." + dtype + ", (p,), None)\n"
      "ast = UOp(Ops.SINK, dtypes.void, (v, m, g), None)\n";
  static std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(std::make_unique<Graph>());
  ReadReport report{.take_malformed = true};
  UOp root = read_graph(*graphs.back(), InputKind::Pyrender, text, "in.uop", &report).value_or_throw().root;
  std::vector<UOp> list = toposort(root);
  UOp load;
  for (UOp u : list)
    if (u.is(Op::LOAD)) load = u;
  return lane_access(load, 32, group_sizes(list));
}

}  // namespace

TEST_CASE("lane_access: neighbouring addresses, strides, gates and addresses from memory") {
  auto a = access("l + g*64");
  REQUIRE(a);
  CHECK(a->lanes == 32);
  CHECK(a->stride == 4);
  CHECK(a->lines == 1);
  CHECK(a->fewest_lines == 1);
  auto far = access("l*32 + g");
  REQUIRE(far);
  CHECK(far->stride == 128);
  CHECK(far->lines == 32);
  CHECK(far->fewest_lines == 1);
  auto same = access("g*7");  // all lanes read one address
  REQUIRE(same);
  CHECK(same->lines == 1);
  CHECK(same->fewest_lines == 1);
  CHECK(same->stride == 0);
  auto halves = access("l*2", "half");
  REQUIRE(halves);
  CHECK(halves->stride == 4);
  CHECK(halves->bytes == 2);
  CHECK(halves->lines == 1);
  auto turns = access("(l % UOp.const(dtypes.int, 8))*64 + l // UOp.const(dtypes.int, 8)");
  REQUIRE(turns);
  CHECK(turns->stride == 0);
  CHECK(turns->lines == 8);
  auto gated = access("l*32", "float", ", l < UOp.const(dtypes.int, 4)");
  REQUIRE(gated);
  CHECK(gated->lanes == 4);
  CHECK(gated->lines == 4);
  CHECK_FALSE(access("UOp(Ops.LOAD, dtypes.int, (UOp(Ops.INDEX, dtypes.float.ptr(65536), (x, l), None),), None)"));
}

TEST_CASE("nodes_text: the nodes that print a line, then those inside it") {
  CHECK(nodes_text({}) == "");
  CHECK(nodes_text({{12, "LOAD", "dtypes.float", true}}) == "12 LOAD float");
  CHECK(nodes_text({{40, "STORE", "dtypes.void", true}, {38, "ADD", "dtypes.float", false},
                    {39, "MUL", "dtypes.float", false}}) == "40 STORE (38 ADD, 39 MUL)");
  CHECK(nodes_text({{9, "STORE", "dtypes.void", true}, {3, "ADD", "dtypes.int", false},
                    {4, "ADD", "dtypes.int", false}, {5, "INDEX", "dtypes.int", false},
                    {7, "ADD", "dtypes.int", false}}) == "9 STORE (3..4 ADD, 7 ADD)");
}

TEST_CASE("source_lines: line 0 is no line") {
  auto lines = source_lines("k:\n; line 3\n  1600: 000085bf              \ts_clause 0x1\n; line 0\n"
                            "  1604: 000085bf              \ts_nop 0\n  1608: 000085bf              \ts_nop 0\n");
  CHECK(lines == std::map<uint64_t, uint32_t>{{0x1600, 3}, {0x1604, 0}, {0x1608, 0}});
}

}  // namespace tgc::profile
