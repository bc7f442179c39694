#include "lib/profile/code_source.h"

#include <doctest/doctest.h>

#include "lib/profile/profile.h"
#include "lib/records/read_graph.h"

namespace tgc::profile {
namespace {

// Returns the access to x[index]. `index` has l and m, the thread in a group of 64 x 2 threads, and g, the group.
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
  GraphReadReport report{.accepts_malformed_graphs = true};
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
  CHECK(a->num_lanes == 32);
  CHECK(a->stride_bytes == 4);
  CHECK(a->num_cache_lines == 1);
  CHECK(a->fewest_cache_lines == 1);
  auto far = access("l*32 + g");
  REQUIRE(far);
  CHECK(far->stride_bytes == 128);
  CHECK(far->num_cache_lines == 32);
  CHECK(far->fewest_cache_lines == 1);
  auto same = access("g*7");
  REQUIRE(same);
  CHECK(same->num_cache_lines == 1);
  CHECK(same->fewest_cache_lines == 1);
  CHECK(same->stride_bytes == 0);
  auto halves = access("l*2", "half");
  REQUIRE(halves);
  CHECK(halves->stride_bytes == 4);
  CHECK(halves->lane_bytes == 2);
  CHECK(halves->num_cache_lines == 1);
  auto transposed = access("(l % UOp.const(dtypes.int, 8))*64 + l // UOp.const(dtypes.int, 8)");
  REQUIRE(transposed);
  CHECK(transposed->stride_bytes == 0);
  CHECK(transposed->num_cache_lines == 8);
  auto gated = access("l*32", "float", ", l < UOp.const(dtypes.int, 4)");
  REQUIRE(gated);
  CHECK(gated->num_lanes == 4);
  CHECK(gated->num_cache_lines == 4);
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
    GraphReadReport report{.accepts_malformed_graphs = true};
    auto read = read_graph(graph, InputKind::Pyrender, text, "in.uop", &report);
    std::vector<UOp> list = toposort(read.value_or_throw().root);
    UOp load = *std::ranges::find_if(list, [](UOp u) { return u.is(Op::LOAD); });
    auto access = bank_access(load, 32, group_sizes(list));
    return access ? std::pair(access->access_cycles, access->fewest_cycles) : std::pair(0u, 0u);
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
  BankAccess banks{.num_lanes = 32, .lane_bytes = 4, .access_cycles = 4, .fewest_cycles = 1};
  LaneAccess lanes{.num_lanes = 32, .lane_bytes = 4, .num_cache_lines = 4, .fewest_cache_lines = 1, .stride_bytes = 16};
  for (int64_t lane = 0; lane < 32; lane++) banks.addresses.push_back(lane * 16 + 8);
  lanes.addresses = banks.addresses;
  CHECK(merged_access(banks, 16, 1).access_cycles == 4);
  CHECK(merged_access(banks, 16, 1).fewest_cycles == 4);
  CHECK(merged_access(banks, 4, 2).access_cycles == 8);
  CHECK(merged_access(lanes, 16).num_cache_lines == 4);
  CHECK(merged_access(lanes, 16).fewest_cache_lines == 4);
  CHECK(merged_access(lanes, 4).fewest_cache_lines == 1);
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
  using SourceLine = CodeSource::SourceLine;
  const std::vector<ListedInstruction> code{{0, "v_mov_b32 v1, 0"}, {4, "s_waitcnt vmcnt(0)"},
                                            {8, "v_add_f32 v2, v1, v0"}, {12, "v_mul_f32 v3, v2, v2"},
                                            {16, "s_endpgm"}};
  const std::vector<ListedInstruction> own{{0, "v_mov_b32 v1, 0", 3}, {4, "v_add_f32 v4, v1, v0", 5}, {8, "s_nop 0", 6},
                                           {12, "s_endpgm", 7}};
  const AlignedLines made = align_lines(code, own);
  auto is = [&](size_t n, SourceLine l) {
    return made.instruction_lines[n].line == l.line && made.instruction_lines[n].is_exact == l.is_exact;
  };
  CHECK(made.num_matched == 3);
  CHECK(is(0, {3, true}));
  CHECK(is(1, {5, false}));  // a wait has the line of the next instruction
  CHECK(is(2, {5, false}));  // the counterpart has other registers
  CHECK(is(3, {0, false}));  // no counterpart
  CHECK(is(4, {7, true}));
  CHECK(made.difference_text ==
        "; 2 of 5 instructions are only in the profile's: 's_waitcnt vmcnt(0)', 'v_mul_f32 v3, v2, v2'"
        "; 1 of 4 instructions are only in tgc's: 's_nop 0'"
        "; 1 have other registers or other targets of branches");
}

TEST_CASE("listed_instructions: line 0 is no line") {
  auto listed = parse_instructions("k:\n; line 3\n  1600: 000085bf              \ts_clause 0x1\n; line 0\n"
                                   "  1604: 000085bf              \ts_nop 0\n"
                                   "  1608: 000085bf              \ts_nop 1\n");
  CHECK(listed == std::vector<ListedInstruction>{
                      {0x1600, "s_clause 0x1", 3}, {0x1604, "s_nop 0", 0}, {0x1608, "s_nop 1", 0}});
}

}  // namespace tgc::profile
