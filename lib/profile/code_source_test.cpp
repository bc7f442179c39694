#include "lib/profile/code_source.h"

#include <doctest/doctest.h>

#include "lib/profile/profile.h"
#include "lib/records/read_graph.h"

namespace tgc::profile {
namespace {

// Returns how a wave accesses memory in a kernel that loads x[index]. `index` is an expression of l and m, the numbers
// of the thread along the axes of its work group, which have the sizes 64 and 2, and of g, the number of the work
// group.
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
  auto same = access("g*7");  // all lanes read the same address
  REQUIRE(same);
  CHECK(same->lines == 1);
  CHECK(same->fewest_lines == 1);
  CHECK(same->stride == 0);
  auto halves = access("l*2", "half");
  REQUIRE(halves);
  CHECK(halves->stride == 4);
  CHECK(halves->bytes == 2);
  CHECK(halves->lines == 1);
  auto transposed = access("(l % UOp.const(dtypes.int, 8))*64 + l // UOp.const(dtypes.int, 8)");
  REQUIRE(transposed);
  CHECK(transposed->stride == 0);
  CHECK(transposed->lines == 8);
  auto gated = access("l*32", "float", ", l < UOp.const(dtypes.int, 4)");
  REQUIRE(gated);
  CHECK(gated->lanes == 4);
  CHECK(gated->lines == 4);
  CHECK_FALSE(access("UOp(Ops.LOAD, dtypes.int, (UOp(Ops.INDEX, dtypes.float.ptr(65536), (x, l), None),), None)"));
}

TEST_CASE("bank_access: lanes that need different words of one bank take turns; the same word is free") {
  auto cycles = [](const std::string& index, const std::string& dtype = "float") {
    const std::string text = "x = UOp(Ops.DEFINE_LOCAL, dtypes.float.ptr(4096, AddrSpace.LOCAL), (), 'temp0')\n"
        "l = UOp(Ops.SPECIAL, dtypes.int, (UOp.const(dtypes.int, 32),), 'lidx0')\n"
        "p = UOp(Ops.INDEX, dtypes.float.ptr(4096, AddrSpace.LOCAL), (x, " + index + "), None)\n" +
        "v = UOp(Ops.LOAD, dtypes." + dtype + ", (p,), None)\n"
        "ast = UOp(Ops.SINK, dtypes.void, (v,), None)\n";
    Graph graph;
    ReadReport report{.take_malformed = true};
    auto read = read_graph(graph, InputKind::Pyrender, text, "in.uop", &report);
    std::vector<UOp> list = toposort(read.value_or_throw().root);
    UOp load = *std::ranges::find_if(list, [](UOp u) { return u.is(Op::LOAD); });
    auto access = bank_access(load, 32, group_sizes(list));
    return access ? std::pair(access->cycles, access->fewest) : std::pair(0u, 0u);
  };
  using Pair = std::pair<uint32_t, uint32_t>;
  CHECK(cycles("l") == Pair{1, 1});
  CHECK(cycles("l*2") == Pair{2, 1});
  CHECK(cycles("l*32") == Pair{32, 1});
  CHECK(cycles("l*33") == Pair{1, 1});
  CHECK(cycles("l // UOp.const(dtypes.int, 32)") == Pair{1, 1});
  CHECK(cycles("l*4", "float.vec(4)") == Pair{4, 4});
  CHECK(cycles("l*32", "float.vec(4)") == Pair{32, 4});
}

TEST_CASE("merged accesses: the compiler makes one instruction of several accesses to consecutive addresses") {
  BankAccess banks{.lanes = 32, .bytes = 4, .cycles = 4, .fewest = 1};
  LaneAccess lanes{.lanes = 32, .bytes = 4, .lines = 4, .fewest_lines = 1, .stride = 16};
  for (int64_t lane = 0; lane < 32; lane++) banks.addresses.push_back(lane * 16 + 8);
  lanes.addresses = banks.addresses;
  CHECK(merged(banks, 16, 1).cycles == 4);  // each lane reads four words, all different
  CHECK(merged(banks, 16, 1).fewest == 4);
  CHECK(merged(banks, 4, 2).cycles == 8);   // at two places
  CHECK(merged(lanes, 16).lines == 4);
  CHECK(merged(lanes, 16).fewest_lines == 4);
  CHECK(merged(lanes, 4).fewest_lines == 1);
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

TEST_CASE("align_lines: lines of another compiler's code are exact only for the same instruction") {
  using Line = CodeSource::Line;
  const std::vector<ListedInstruction> code{{0, "v_mov_b32 v1, 0"}, {4, "s_waitcnt vmcnt(0)"},
                                            {8, "v_add_f32 v2, v1, v0"}, {12, "v_mul_f32 v3, v2, v2"},
                                            {16, "s_endpgm"}};
  const std::vector<ListedInstruction> own{{0, "v_mov_b32 v1, 0", 3}, {4, "v_add_f32 v4, v1, v0", 5}, {8, "s_nop 0", 6},
                                           {12, "s_endpgm", 7}};
  const AlignedLines made = align_lines(code, own);
  auto is = [&](size_t n, Line l) { return made.lines[n].line == l.line && made.lines[n].is_exact == l.is_exact; };
  CHECK(made.pairs == 3);
  CHECK(is(0, {3, true}));
  CHECK(is(1, {5, false}));  // a wait has the line of the next instruction
  CHECK(is(2, {5, false}));  // the counterpart has other registers
  CHECK(is(3, {0, false}));  // an instruction without a counterpart, whose neighbours have different lines
  CHECK(is(4, {7, true}));
  CHECK(made.differs == "; 2 of 5 instructions are only in the profile's: 's_waitcnt vmcnt(0)', 'v_mul_f32 v3, v2, v2'"
                        "; 1 of 4 instructions are only in tgc's: 's_nop 0'"
                        "; 1 have other registers or other targets of branches");
}

TEST_CASE("listed_instructions: line 0 is no line") {
  auto listed = listed_instructions("k:\n; line 3\n  1600: 000085bf              \ts_clause 0x1\n; line 0\n"
                                    "  1604: 000085bf              \ts_nop 0\n"
                                    "  1608: 000085bf              \ts_nop 1\n");
  CHECK(listed == std::vector<ListedInstruction>{
                      {0x1600, "s_clause 0x1", 3}, {0x1604, "s_nop 0", 0}, {0x1608, "s_nop 1", 0}});
}

}  // namespace tgc::profile
