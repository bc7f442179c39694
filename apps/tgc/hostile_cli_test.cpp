// Graphs that once crashed tgc.
#include <string>

#include "apps/tgc/cli_testing.h"

using namespace tgc;

namespace {

const std::string kBuffer = "K = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0)\n";

// Checks that commands that compile the graph refuse it with exit code 2 and `why`, that `verify` exits with 1, and
// that `diff` accepts the graph.
void check_refused(const std::string& name, const std::string& text, const std::string& why) {
  std::string file = write_scratch_file(name, text);
  for (const char* command :
       {"dump --stage=all ", "dump --stage=source ", "dump --stage=source --target=CUDA ", "run --device=REF ",
        "run --device=CPU ", "stats ", "trace "})
    expect_error(command + file, why);
  CHECK(run_tgc("verify " + file).code == 1);
  CHECK(run_tgc("diff " + file + " " + file).code == 0);
}

}  // namespace

TEST_CASE("hostile: malformed nodes are rejected by the reader") {
  check_refused("store.uop", kBuffer + "ast = UOp(Ops.STORE, dtypes.void, (K, K)).sink()\n",
                "store.uop:2:1: Ops.STORE dtypes.void of dtypes.int.ptr(4), dtypes.int.ptr(4), "
                "needs an Ops.INDEX of the memory as its address");
  check_refused("index.uop", "ast = UOp(Ops.INDEX, dtypes.half, (UOp.const(dtypes.index, 16),)).sink()\n",
                "needs the dtype of an element, or a pointer to one");
  check_refused("range.uop", kBuffer + "ast = UOp(Ops.RANGE, dtypes.index, (K,), (0, AxisType.LOOP)).sink()\n",
                "needs an integer as its size, of its dtype");
  check_refused("no_index.uop", kBuffer + "ast = UOp(Ops.INDEX, dtypes.int, (K,)).sink()\n", "needs an index");
  const std::string invalid = "i = UOp(Ops.CONST, dtypes.index, (), Invalid)\n";
  check_refused("invalid_store.uop", kBuffer + invalid + "ast = K.index(i, ptr=True).store(i).sink()\n",
                "needs a number that its address points to");
  check_refused("invalid_range.uop", invalid + "ast = UOp(Ops.RANGE, dtypes.index, (i,), (3, AxisType.LOOP)).sink()\n",
                "needs a size of at most 64 bits");
  check_refused("fp8_div.uop",
                "c = UOp.const(dtypes.uchar, 3)\nast = UOp(Ops.IDIV, dtypes.fp8e4m3, (c, c)).sink()\n",
                "needs integers");
}

TEST_CASE("hostile: a kernel without a SINK is an error for every stage") {
  std::string file = write_scratch_file("no_sink.uop", "ast = UOp.const(dtypes.int, 1)\n");
  for (const char* command : {"dump --stage=source ", "run --device=CPU ", "stats ", "trace "})
    expect_error(command + file, "a kernel ends with a SINK, this one with Ops.CONST, expected what it stores");
}

TEST_CASE("hostile: a linear list out of order is an error") {
  std::string file = write_scratch_file("list.json",
                                        R"({"format":"tgc-graph","version":1,"stage":"linear","nodes":[)"
                         R"({"op":"CONST","dtype":"dtypes.int","arg":3},{"op":"ADD","dtype":"dtypes.int","src":[0,0]},)"
                                        R"({"op":"SINK","dtype":"dtypes.void","src":[1]}],"list":[1,0,2]})");
  expect_error("dump --stage=source " + file, "Ops.ADD comes before its source 0, Ops.CONST");
  CommandResult verified = run_tgc("verify --spec=full " + file);
  CHECK(verified.code == 1);
  CHECK(contains_text(verified.out, "Ops.ADD comes before its source 0"));
}

TEST_CASE("hostile: loops that Python cannot order are printed, but cannot be linearized") {
  std::string file = write_scratch_file("loops.uop",
                                        "i = UOp.range(24, 0, AxisType.LOOP)\nj = UOp.range(-7, 0, AxisType.LOOP)\n"
                                        "B = UOp(Ops.DEFINE_GLOBAL, dtypes.uint.ptr(24), (), 0)\n"
                                        "ast = B.index(i, ptr=True).store(j.cast(dtypes.uint)).end(i).sink()\n");
  expect_error("dump --target=CUDA --stage=linear --format=uops " + file,
               "'<' is not supported between AxisType.LOOP and AxisType.GLOBAL");
  CommandResult page = run_tgc("view --target=CUDA " + file + " -o " + file + ".html");
  CHECK(page.code == 0);
  CHECK(page.err.starts_with("tgc: note: wrote "));
  CHECK(page.err.find('\n') + 1 == page.err.size());  // no other message
}

TEST_CASE("hostile: sizes beyond 64 bits are errors") {
  expect_error("run --device=CPU " +
               write_scratch_file("huge.uop",
                                  "c0 = UOp.new_buffer('CPU', 4, dtypes.float, 1)\n"
                   "c2 = c0.reshape((4,1)).expand((4,1152921504606846976)).reshape((4611686018427387904,))"
                   "+UOp.const(dtypes.float, 1.0, device='CPU').reshape((1,)).expand((4611686018427387904,))\n"
                                  "ast = c2.contiguous().sink()\n"),
          "expected at most 2**48 bytes");
  expect_error("run --device=CPU " + write_scratch_file("global.uop",
                                    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4611686018427387904), (), 0)"
                                                        ".index(UOp.const(dtypes.index, 0), ptr=True)"
                                                        ".store(UOp.const(dtypes.float, 1.0)).sink()\n"),
               "needs a size of at most 2**48 bytes");
  expect_error("dump --stage=source --target=CUDA " +
               write_scratch_file("range.uop",
                                  kBuffer + "r = UOp.range(1000000000000000000000000000000, 0, AxisType.GLOBAL)\n"
                             "ast = K.index(r, ptr=True).store(UOp.const(dtypes.int, 1)).end(r).sink()\n"),
          "needs a size of at most 64 bits");
}

TEST_CASE("hostile: an index whose constants grow without bound ends at a limit") {
  std::string text = kBuffer + "x0 = UOp.range(10, 0, AxisType.LOOP)\n";
  for (int i = 1; i <= 30; i++) {
    std::string before = "x" + std::to_string(i - 1);
    text += "x" + std::to_string(i) + " = " + before + "*" + before + "\n";
  }
  text += "ast = K.index(x30, ptr=True).store(UOp.const(dtypes.int, 1)).end(x0).sink()\n";
  std::string file = write_scratch_file("squares.uop", text);
  for (const char* command : {"dump --stage=source ", "run --device=CPU ", "stats ", "trace -o /dev/null "}) {
    CommandResult r = run_tgc(command + file);
    INFO(command << r.err);
    CHECK(r.code == 2);
    CHECK(contains_text(r.err, "an integer of more than 32768 bits"));
  }
}
