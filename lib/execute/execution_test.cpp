#include "lib/execute/execution.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/compilation/compilation.h"
#include "lib/execute/lower.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

// A kernel that computes data0[i] = f(a, b) for 8 ints a = data1[i], b = data2[i]; `f` is an expression.
struct Elementwise {
  Graph graph;
  Placement place;
  UOp ast;

  Elementwise(const std::string& f, const std::string& device)
      : place(std::move(choose_placement(device, "", {}).value_or_throw())) {
    std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), ";
    ast = read_pyrender(graph, "i = UOp.range(8, 0, AxisType.LOOP)\na = " + global + "1).index(i)\nb = " + global +
                        "2).index(i)\nast = " + global + "0).index(i, ptr=True).store(" + f +
                        ").end(i).sink()\n")
              .value_or_throw();
  }
  Result<ExecutionResult> run(const Arrays& given, const ExecuteOptions& options = {}) {
    Executable kernel = std::move(make_executable({.root = ast}, place).value_or_throw());
    auto inputs = make_input_arrays(kernel.buffers(), given, "given.npz", {});
    if (!inputs) return inputs.diag();
    return execute_kernel(kernel, *place.device, *inputs, {}, options);
  }
};

NamedArray ints(const std::string& name, int32_t value, int64_t size = 8) {
  NamedArray out{name, Array(dtypes::int32, {size})};
  std::ranges::fill(out.array.as<int32_t>(), value);
  return out;
}
Arrays arrays(int32_t a, int32_t b) {
  Arrays out;
  out.push_back(ints("data1", a)), out.push_back(ints("data2", b));
  return out;
}

}  // namespace

TEST_CASE("execute runs a kernel on arrays in a worker or in this process, and times it") {
  for (std::string device : {"REF", "CPU:LLVM", "CPU:CLANG"})
    for (bool in_process : {false, true}) {
      CAPTURE(device);
      CAPTURE(in_process);
      auto done = Elementwise("a*b", device).run(arrays(6, 7), {.should_run_in_process = in_process, .num_repeats = 3});
      REQUIRE_MESSAGE(done.ok(), done.diag().text());
      REQUIRE(done->outputs.size() == 1);
      CHECK(done->outputs[0].name == "data0");
      CHECK(done->outputs[0].array.as<int32_t>()[7] == 42);
      CHECK(done->run_seconds.size() == 3);
    }
}

TEST_CASE("execute returns an error if a kernel kills its worker; REF computes and notes undefined operations") {
  auto killed = Elementwise("a//b", "CPU").run(arrays(6, 0));
  REQUIRE(!killed.ok());
  CHECK(killed.diag().message.find("killed by SIGFPE") == 0);
  auto noted = Elementwise("a//b", "REF").run(arrays(6, 0));
  REQUIRE(noted.ok());
  CHECK(noted->notes == "8 integer divisions by zero");
}

TEST_CASE("execute passes arrays by number if the parameters of a list are unordered; variables come last") {
  // computes data0[0] = (data2[0] ^ data1[0]) * v ^ u, with the variables u and v
  std::string text =
      // clang-format off
      "0 Ops.DEFINE_GLOBAL : dtypes.int.ptr(1)  []                               2\n"
      "1 Ops.DEFINE_GLOBAL : dtypes.int.ptr(1)  []                               0\n"
      "2 Ops.DEFINE_GLOBAL : dtypes.int.ptr(1)  []                               1\n"
      "3 Ops.DEFINE_VAR    : dtypes.int         []                               ('v', 0, 9)\n"
      "4 Ops.DEFINE_VAR    : dtypes.int         []                               ('u', 0, 9)\n"
      "5 Ops.CONST         : dtypes.int         []                               0\n"
      "6 Ops.INDEX         : dtypes.int.ptr(1)  [0, '0']                         None\n"
      "7 Ops.INDEX         : dtypes.int.ptr(1)  [2, '0']                         None\n"
      "8 Ops.INDEX         : dtypes.int.ptr(1)  [1, '0']                         None\n"
      "9 Ops.LOAD          : dtypes.int         [6]                              None\n"
      "10 Ops.LOAD         : dtypes.int         [7]                              None\n"
      "11 Ops.XOR          : dtypes.int         [9, 10]                          None\n"
      "12 Ops.MUL          : dtypes.int         [11, 3]                          None\n"
      "13 Ops.XOR          : dtypes.int         [12, 4]                          None\n"
      "14 Ops.STORE        : dtypes.void        [8, 13]                          None\n"
      "15 Ops.SINK         : dtypes.void        [14]                             KernelInfo(name='listed')\n";
      // clang-format on
  Graph g;
  std::vector<UOp> list = std::move(read_uops(g, text).value_or_throw().list);
  for (std::string device : {"CPU:LLVM", "CPU:CLANG"}) {
    CAPTURE(device);
    Placement place = std::move(choose_placement(device, "", {}).value_or_throw());
    auto kernel = Executable::make_for_device(list, *place.target, *place.device);
    REQUIRE_MESSAGE(kernel.ok(), kernel.diag().text());
    Arrays given;
    given.push_back(ints("data1", 3, 1)), given.push_back(ints("data2", 10, 1));
    Arrays inputs = std::move(make_input_arrays(kernel->buffers(), given, "", {}).value_or_throw());
    auto done = execute_kernel(*kernel, *place.device, inputs, {{"v", 5}, {"u", 1}}, {});
    REQUIRE_MESSAGE(done.ok(), done.diag().text());
    CHECK(done->outputs[0].array.as<int32_t>()[0] == ((10 ^ 3) * 5 ^ 1));
    std::swap(list[2], list[3]);
    CHECK(Executable::make_for_device(list, *place.target, *place.device).diag().text().find("below a DEFINE_VAR") !=
          std::string::npos);
    std::swap(list[2], list[3]);
  }
}

TEST_CASE("input_arrays names an array that is missing or does not fit, with its file") {
  Elementwise kernel("a+b", "REF");
  Arrays given;
  given.push_back(ints("data1", 1));
  CHECK(kernel.run(given).diag().text() == "given.npz: data2 is missing, expected int32, 8 elements");
  given.push_back(ints("data2", 1, 4));
  CHECK(kernel.run(given).diag().text() == "given.npz: data2 is int32 (4,), expected int32, 8 elements");
}

TEST_CASE("lower_kernel gives the same list from an AST, a later graph and a list; the observer sees the AST once") {
  Elementwise kernel("a*b", "CPU:CLANG");
  const Target& target = *kernel.place.target;
  struct Told : ExecuteObserver {
    int begun = 0, lowered = 0;
    bool observes_kernels() const override { return true; }
    void on_kernel_begin(UOp) override { begun++; }
    Status on_kernel_lowered(UOp, KernelOutputs&) override { return lowered++, Unit{}; }
  } told;
  auto whole = lower_kernel({.root = kernel.ast}, target, {.observer = &told});
  REQUIRE(whole.ok());
  auto compilation =
      Compilation::begin({.graph = borrow_graph(kernel.graph), .root = kernel.ast}, {.target = "CPU:CLANG"});
  REQUIRE(compilation.ok());
  REQUIRE(compilation->run_through_stage(get_stage_row("expander")).ok());
  UOp expanded = compilation->current_graph();
  auto resumed = lower_kernel({.root = expanded, .stage = "expander"}, target, {.observer = &told});
  REQUIRE(resumed.ok());
  CHECK(*resumed == *whole);
  CHECK(*lower_kernel({.linear_list = *whole}, target, {.observer = &told}) == *whole);
  CHECK(told.begun == 1);
  CHECK(told.lowered == 2);
}

}  // namespace tgc
