#include "lib/records/svod_tree.h"

#include <doctest/doctest.h>

#include "lib/records/input_file.h"
#include "lib/records/read_graph.h"
#include "lib/support/testing.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

std::string pyrender_of(std::string_view tree) {
  Graph graph;
  auto read = read_graph(graph, detect_input_kind(tree), tree, "t");
  return read ? *write_graph(GraphFormat::Pyrender, read->root, read->info) : read.diag().message;
}

TEST_CASE("Svod's trees: a kernel is read as a graph of tinygrad 0.14") {
  const std::string text = *read_file(test_path("reports/svod_tree.txt"));
  CHECK(detect_input_kind(text) == InputKind::Repr);
  const std::string out = pyrender_of(text);
  CAPTURE(out);
  CHECK(out.find("c1 = UOp(Ops.PARAM, dtypes.float, (UOp.const(16, dtypes.weakint),), ParamArg(0, dtypes.float))") !=
        std::string::npos);
  CHECK(out.find("UOp.range(16, 0, AxisType.WEAK)") != std::string::npos);
  CHECK(out.find(".store(") != std::string::npos);
  CHECK(out.find("KernelInfo(name='test'") != std::string::npos);
}

TEST_CASE("Svod's trees: args, shared nodes and repeated nodes") {
  constexpr std::string_view kConst = "[1] CONST(Float(-inf)) : Scalar(Float16) shape=[]";
  const std::string compact = "[2] Max : Scalar(Float16) shape=[]\n├── " + std::string(kConst) +
                              "\n└── [1] → (see above)\n";
  const std::string full = "[2] Max : Scalar(Float16) shape=[]\n├── " + std::string(kConst) + "\n└── " +
                           std::string(kConst) + "\n";
  CHECK(pyrender_of(compact) == pyrender_of(full));
  CHECK(pyrender_of(compact).find("-inf") != std::string::npos);
  auto arg_of = [](const std::string& label) {
    Graph graph;
    graph.set_release(Release::v0_14);
    auto root = read_svod_tree(graph, "[1] " + label + "\n");
    return root ? std::string(printed_op_name(*root)) + " " + root->arg().repr() : root.diag().message;
  };
  CHECK(arg_of("RANGE(R0_1, GroupReduce) : Scalar(WeakInt) shape=[]") == "RANGE (0, 1, AxisType.GROUP_REDUCE)");
  CHECK(arg_of("RANGE(U3, Weak) : Scalar(WeakInt)") == "RANGE (3, AxisType.WEAK)");
  CHECK(arg_of("REDUCE(Add, num_axes=1, ranges=[118]) : Scalar(Float32) shape=[]") == "REDUCE (Ops.ADD, 1)");
  CHECK(arg_of("PERMUTE(axes=[1, 0]) : Scalar(Float32) shape=[]") == "PERMUTE (1, 0)");
  CHECK(arg_of("FLIP(axes=[true, false]) : Scalar(Float32) shape=[]") == "FLIP (True, False)");
  CHECK(arg_of("CAST : Scalar(UInt8) shape=[]") == "CAST dtypes.uchar");
  CHECK(arg_of("Lt : Scalar(Bool) shape=[]") == "CMPLT None");
  CHECK(arg_of("CONST(Bool(true)) : Scalar(Bool) shape=[]") == "CONST True");
  CHECK(arg_of("BUFFER(slot=3, addrspace=Some(Reg)) : Scalar(Float32) shape=[]") ==
        "BUFFER ParamArg(3, dtypes.float, addrspace=AddrSpace.REG)");
  CHECK(arg_of("SPECIAL('gidx0') : Scalar(WeakInt)") == "SPECIAL 'gidx0'");
}

TEST_CASE("Svod's trees: what tinygrad does not have, or the tree omits, is an error that names it") {
  auto error = [](const std::string& text) {
    Graph graph;
    graph.set_release(Release::v0_14);
    auto root = read_svod_tree(graph, text, "t");
    return root ? "none" : root.diag().message + " in line " + std::to_string(root.diag().line);
  };
  const std::string sink = "[9] SINK : Scalar(Void)\n";
  CHECK(error(sink + "└── [1] Erf : Scalar(Float32) shape=[]\n") == "unknown op 'Erf' in line 2");
  CHECK(error(sink + "└── [1] Exp2 : Vector { scalar: Float32, count: 4 }\n") ==
        "unknown dtype 'Vector { scalar: Float32, count: 4 }' in line 2");
  CHECK(error(sink + "└── [1] CUSTOM('f(') : Scalar(Float32)\n") == "the tree omits the arg of 'CUSTOM' in line 2");
  CHECK(error(sink + "└── [1] PARAM(slot=18446744073709551615) : Scalar(Int32) shape=[]\n") ==
        "a variable, whose name and bounds the tree omits in line 2");
  CHECK(error(sink + "└── [1] → (see above)\n") == "no node [1] above this line in line 2");
  CHECK(error(sink + "    └── [1] NOOP : Scalar(Void)\n") == "a node without the node above it in line 2");
  CHECK(error(sink + sink) == "a second tree in one text in line 2");
  CHECK(error(sink + "└── [1] STACK(len=2) : Scalar(WeakInt)\n") == "found 0 sources in line 2");
  CHECK(error(sink + "└── [1] RANGE(R0, Reduce)\n") == "a node without its dtype in line 2");
}

}  // namespace
}  // namespace tgc
