#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "apps/tgc/cli_testing.h"
#include "lib/runtime/npz.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

namespace fs = std::filesystem;

template <class T>
NamedArray named(const char* name, DType dtype, std::vector<T> values) {
  NamedArray out{name, Array(dtype, {int64_t(values.size())})};
  std::copy(values.begin(), values.end(), out.array.as<T>().begin());
  return out;
}
void put_arrays(const std::string& name, std::initializer_list<NamedArray*> arrays) {
  Arrays list;
  for (NamedArray* a : arrays) list.push_back({a->name, a->array.copy()});
  REQUIRE(write_npz((scratch_folder() / name).string(), list).ok());
}

void check_has(const std::string& text, const std::string& words) {
  INFO(text);
  CHECK(contains_text(text, words));
}

// Returns a kernel with data0[i] = f(data1[i], data2[i]) for 8 elements; `f` is an expression of a and b.
std::string elementwise(const std::string& dtype, const std::string& f, const std::string& before = "") {
  std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes." + dtype + ".ptr(8), (), ";
  return "i = UOp.range(8, 0, AxisType.LOOP)\n" + before + "a = " + global + "1).index(i)\nb = " + global +
         "2).index(i)\n" + "ast = " + global + "0).index(i, ptr=True).store(" + f + ").end(i).sink()\n";
}

void prepare() {
  static bool done = false;
  if (std::exchange(done, true)) return;
  write_scratch_file("add.uop", elementwise("float", "a+b"));
  write_scratch_file("div.uop", elementwise("int", "a//b"));
  std::string some = elementwise("int", "a+b");  // the next line replaces its size 8 by n
  write_scratch_file("var.uop", "n = UOp.variable('n', 1, 8)\n" + some.replace(some.find("range(8"), 7, "range(n"));
  auto a = named<float>("data1", dtypes::float32, {0, 1, 2, 3, 4, 5, 6, 7}),
       b = named<float>("data2", dtypes::float32, {8, 7, 6, 5, 4, 3, 2, 1});
  auto sum = named<float>("data0", dtypes::float32, std::vector<float>(8, 8.f)),
       wrong = named<float>("data0", dtypes::float32, {8, 8, 8, 8.5f, 8, 8, 9, 8});
  put_arrays("ab.npz", {&a, &b});
  put_arrays("sum.npz", {&sum});
  put_arrays("wrong.npz", {&wrong});
  auto n = named<int32_t>("data1", dtypes::int32, {9, 9, 9, 9, 9, 9, 9, 9}),
       d = named<int32_t>("data2", dtypes::int32, {1, 2, 3, 0, 5, 6, 7, 8});
  put_arrays("zero.npz", {&n, &d});
}

}  // namespace

TEST_CASE("run: --inputs and --expect take arrays from files, on each device") {
  prepare();
  for (std::string device : {"REF", "CPU", "CPU:LLVM", "CPU:CLANG"}) {
    CommandResult r = run_in_shell("tgc run add.uop --device=" + device + " --inputs=ab.npz --expect=sum.npz");
    INFO(r.err);
    CHECK(r.code == 0);
    check_has(r.out, "add: passed on ");
    check_has(r.out, "data0 float32 (8,): same exactly");
  }
  for (std::string target : {"CPU:CLANG", "CUDA:CUDA:sm_80", "METAL", "AMD:HIP:gfx1100"})
    CHECK(run_in_shell("tgc run add.uop --device=REF --target=" + target + " --inputs={}b.npz --expect=sum.npz").code ==
          2);  // the file addb.npz does not exist
  for (std::string target : {"CPU:CLANG", "CUDA:CUDA:sm_80", "METAL", "AMD:HIP:gfx1100"}) {
    CommandResult r =
        run_in_shell("tgc run add.uop --device=REF --target=" + target + " --inputs=ab.npz --expect=sum.npz");
    CHECK(r.code == 0);
    check_has(r.out, "passed on REF, lowered for " + target);
  }
}

TEST_CASE("run: a mismatch is located and measured, its arrays are kept, and a command that repeats it is printed") {
  prepare();
  CommandResult r =
      run_in_shell("tgc run add.uop --device=CPU --inputs=ab.npz --expect=wrong.npz --save-failures=kept/add");
  CHECK(r.code == 1);
  check_has(r.out, "add: FAILED on CPU:LLVM, 1 of 1 array not as wrong.npz has it");
  check_has(r.out, "2 of 8 differ, max abs 1");
  check_has(r.out, "first [3]: 8, expected 8.5");
  check_has(r.out, "worst [6]: 8, expected 9");
  check_has(r.out, "NaN: 0, expected 0; Inf: 0, expected 0");
  size_t at = r.out.find("again: ");
  REQUIRE(at != std::string::npos);
  CommandResult again = run_in_shell(r.out.substr(at + 7, r.out.find('\n', at) - at - 7));
  CHECK(again.code == 1);
  check_has(again.out, "2 of 8 differ");
  auto actual = read_arrays((scratch_folder() / "kept/add/add-actual.npz").string());
  REQUIRE(actual.ok());
  CHECK(find_array(*actual, "data0")->as<float>()[3] == 8.f);
  // without --save-failures, no file is written, and the `again:` command has the options of this run
  fs::remove_all(scratch_folder() / "kept");
  r = run_in_shell("tgc run add.uop --device=CPU --inputs=ab.npz --expect=wrong.npz");
  CHECK(r.code == 1);
  CHECK_FALSE(contains_text(r.out, "wrote"));
  CHECK_FALSE(fs::exists(scratch_folder() / "kept"));
  check_has(r.out, "again: tgc run add.uop --device=CPU --inputs=ab.npz --expect=wrong.npz");
  CHECK(run_in_shell("tgc run add.uop --inputs=ab.npz --expect=wrong.npz --atol=1").code == 0);
  CHECK(run_in_shell("tgc run add.uop --inputs=ab.npz --expect=wrong.npz --rtol=0.06").code == 1);
  CHECK(run_in_shell("tgc run add.uop --inputs=ab.npz --expect=wrong.npz --rtol=0.12").code == 0);
  CHECK(run_in_shell("tgc run add.uop --inputs=ab.npz --expect=wrong.npz --ulp=1048576").code == 0);
}

TEST_CASE("run: --seed draws inputs, REF gives the expected results, and --save writes them") {
  prepare();
  CommandResult r = run_in_shell("tgc run add.uop --device=CPU --seed=3 --save={}.saved.npz");
  CHECK(r.code == 0);
  check_has(r.out, "1 array as REF has it (inputs from seed 3; also of all sizes)");
  auto one = read_arrays((scratch_folder() / "add.saved.npz").string());
  REQUIRE(one.ok());
  REQUIRE(run_in_shell("tgc run add.uop --device=REF --seed=3 --save=two.npz").code == 0);
  auto two = read_arrays((scratch_folder() / "two.npz").string());
  REQUIRE(two.ok());
  CHECK(std::memcmp(one->at(0).array.data(), two->at(0).array.data(), 32) == 0);
  check_has(run_in_shell("tgc run add.uop --device=CPU --reference=CPU:CLANG --json").out,
      "\"result\":\"passed\",\"reference\":\"CPU:CLANG\",\"seed\":0");
}

TEST_CASE("run: bad input is an error before any kernel runs") {
  prepare();
  expect_error("run add.uop --inputs=sum.npz", "data1 is missing, expected float32, 8 elements");
  expect_error("run div.uop --inputs=ab.npz", "data1 is float32 (8,), expected int32, 8 elements");
  auto a = named<float>("data1", dtypes::float32, {1, 2}), b = named<float>("data2", dtypes::float32, {1, 2});
  put_arrays("short.npz", {&a, &b});
  expect_error("run add.uop --inputs=short.npz", "data1 is float32 (2,), expected float32, 8 elements");
  expect_error("run add.uop --inputs=ab.npz --expect=short.npz", "the kernel stores no array 'data1', expected data0");
  expect_error("run add.uop --inputs=nowhere.npz", "nowhere.npz");
  expect_error("run var.uop --inputs=ab.npz", "the variable 'n' has no value, expected --var n=N with N from 1 to 8");
  expect_error("run var.uop --var n=9", "the variable 'n' cannot be 9, expected 1 to 8");
  expect_error("run var.uop --var n", "--var takes NAME=INTEGER");
  CHECK(run_in_shell("tgc run var.uop --var n=8").code == 0);
  std::string huge = elementwise("float", "a+b");
  for (size_t at; (at = huge.find("ptr(8)")) != huge.npos;) huge.replace(at, 6, "ptr(900000000000)");
  write_scratch_file("huge.uop", huge);
  expect_error("run huge.uop", "not enough memory: the kernel's arrays take");
  expect_error("run add.uop --device=TPU", "no device 'TPU', expected CPU:LLVM");
  expect_error("run add.uop --device=CPU --target=CUDA", "a kernel lowered for 'CUDA' does not run on 'CPU'");
  expect_error("run add.uop --device=plugin:./nothing.so", "the plugin does not load");
}

TEST_CASE("run: a kernel that dies is reported, and the next kernel runs") {
  prepare();
  write_scratch_file(
      "far.uop",
      "i = UOp.range(8, 0, AxisType.LOOP)\nx = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 2).index(i)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 1).index(x.cast(dtypes.index))\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 0).index(i, ptr=True).store(a).end(i).sink()\n");
  auto n = named<int32_t>("data1", dtypes::int32, {9, 9, 9, 9, 9, 9, 9, 9}),
       d = named<int32_t>("data2", dtypes::int32, std::vector<int32_t>(8, -2000000000));  // far outside mapped memory
  put_arrays("far.npz", {&n, &d});
  write_scratch_file("slow.uop",
                     "r = UOp.range(4000000000000, 0, AxisType.REDUCE)\n"
                     "v = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 1).index(UOp.const(dtypes.index, 0))\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 0).index(UOp.const(dtypes.index, 0), ptr=True)"
                     ".store((v*r.cast(dtypes.float)).reduce(r, arg=Ops.ADD)).sink()\n");
  CommandResult next = run_in_shell("tgc run div.uop var.uop --inputs=zero.npz --reference=none --var n=2");
  CHECK(next.code == 2);
  check_has(next.err, "kernel 'div' on CPU:LLVM: killed by SIGFPE (integer division by zero at 0x");
  check_has(next.out, "var: run, not compared, on CPU:LLVM");
  check_has(next.out, "1 of 2 kernels run, none compared, 1 in trouble");
  expect_error("run far.uop --inputs=far.npz --device=CPU --reference=none",
               "killed by SIGSEGV (access to unmapped memory at 0x");
  CommandResult outside = run_tgc("run far.uop --inputs=far.npz --device=REF --json");
  CHECK(outside.code == 1);  // the kernel is at fault
  CHECK(contains_text(outside.out, R"("result":"failed","error":"out of bounds: )"));
  std::string slow;  // raise the time limit until it suffices to compile the kernel
  for (const char* seconds : {"0.2", "2", "20"})
    if (slow.empty() || contains_text(slow, "compiler"))
      slow = run_tgc(std::string("run slow.uop --device=CPU --reference=none --timeout=") + seconds).err;
  check_has(slow, "tgc: kernel 'slow' on CPU:LLVM: did not end within ");
  // REF reports a division by zero and does not crash
  CommandResult ref = run_in_shell("tgc run div.uop --inputs=zero.npz --device=REF");
  CHECK(ref.code == 0);
  check_has(ref.out, "1 integer division by zero");
}

TEST_CASE("run: --each-stage runs every stage in REF and names the first wrong one") {
  prepare();
  CommandResult r = run_in_shell("tgc run add.uop --device=CPU --each-stage");
  CHECK(r.code == 0);
  check_has(r.out, "stages computes the same");
  write_scratch_file("sum.uop",
                     "i = UOp.range(4, 0, AxisType.LOOP)\nj = UOp.range(6, 1, AxisType.REDUCE)\n"
                     "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 1).index(i*6+j).reduce(j, arg=Ops.ADD)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0).index(i, ptr=True).store(a).end(i).sink()\n");
  CHECK(run_in_shell("tgc run sum.uop --device=REF --target=CUDA --each-stage").code == 0);
  // the expected arrays are wrong, so the first graph, the AST, already differs from them
  CommandResult wrong = run_in_shell("tgc run add.uop --device=CPU --inputs=ab.npz --expect=wrong.npz --each-stage");
  CHECK(wrong.code == 1);
  check_has(wrong.out, "the first stage that computes something else: ast");
  // 1e8 + 1 - 1e8 depends on the order of the sum, which the optimizer changes
  auto a = named<float>("data1", dtypes::float32, std::vector<float>(256, 1.f));
  a.array.as<float>()[0] = 1e8f, a.array.as<float>()[255] = -1e8f;
  put_arrays("order.npz", {&a});
  write_scratch_file("order.uop",
                     "j = UOp.range(256, 0, AxisType.REDUCE)\n"
                     "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(256), (), 1).index(j).reduce(j, arg=Ops.ADD)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 0).index(UOp.const(dtypes.index, 0), ptr=True)"
                     ".store(a).sink()\n");
  CommandResult order =
      run_in_shell("tgc run order.uop --device=REF --target=CUDA --reference=none --inputs=order.npz --each-stage");
  check_has(order.out, "the first stage that computes something else: ");
  CHECK(order.out.find("something else: ast") == std::string::npos);
}

TEST_CASE("run: --bench prints a line in the layout of tinygrad's DEBUG=2") {
  prepare();
  CommandResult r = run_in_shell("tgc run add.uop --device=CPU --bench 20");
  CHECK(r.code == 0);
  check_has(r.out, "*** CPU        1 E_");
  check_has(r.out, " arg  3 mem   0.00 GB tm ");
  check_has(r.out, " GFLOPS ");
  check_has(r.out, "20 runs: median ");
  check_has(run_in_shell("tgc run add.uop --bench 5 --json --reference=none").out,
            "\"bench\":{\"runs\":5,\"median_s\":");
}

TEST_CASE("run: linear listings, graphs after a stage and single records are inputs") {
  prepare();
  REQUIRE(run_in_shell("tgc dump add.uop --target=CUDA --stage=linear -o add.linear").code == 0);
  CommandResult listing = run_in_shell("tgc run add.linear --device=REF --inputs=ab.npz --expect=sum.npz");
  INFO(listing.err);
  CHECK(listing.code == 0);
  REQUIRE(run_in_shell("tgc dump add.uop --target=CPU --stage=expander --format=json -o add.json").code == 0);
  for (std::string device : {"REF", "CPU:CLANG"}) {
    CommandResult stage = run_in_shell("tgc run add.json --device=" + device + " --inputs=ab.npz --expect=sum.npz");
    INFO(stage.err);
    CHECK(stage.code == 0);
  }
  CommandResult record = run_in_shell("tgc run " + test_path("golden/NOOPT-1.jsonl.gz") + " --kernel=0 --device=CPU");
  INFO(record.out << record.err);
  CHECK(record.code == 0);
}

TEST_CASE("run: the sample device plugin runs kernels") {
  prepare();
  CommandResult r =
      run_in_shell("tgc run add.uop --device=plugin:" TGC_SAMPLE_DEVICE " --inputs=ab.npz --expect=sum.npz");
  INFO(r.err);
  CHECK(r.code == 0);
  check_has(r.out, "passed on plugin:");
  expect_error("run add.uop --device=plugin:" TGC_SAMPLE_DEVICE ":no-such-compiler",
               "there is no compiler 'no-such-compiler' here");
}

TEST_CASE("run: only the command line may name a plugin") {
  prepare();
  const std::string plugin = "plugin:" TGC_SAMPLE_DEVICE;
  run_in_shell("tgc run add.uop --inputs=ab.npz --expect=wrong.npz --device=" + plugin + " --repro=bundle.repro.json");
  const std::string commands[] = {"run bundle.repro.json", "reduce --while=wrong bundle.repro.json -o x",
                                  "run plugin.uop", "run bundle.repro.json --kernel=" + plugin, "bisect plugin.uop"};
  for (const std::string& command : commands) {
    write_scratch_file("plugin.uop", "# tgc: {\"target\":\"" + plugin + "\"}\n" + elementwise("float", "a+b"));
    CommandResult r = run_in_shell("tgc " + command);
    INFO(command << ": " << r.out << r.err);
    CHECK(r.code == 2);
    CHECK(r.err.find(plugin) != std::string::npos);
  }
  check_has(run_in_shell("tgc run bundle.repro.json").err, "named by the input");
  check_has(run_in_shell("tgc run bundle.repro.json --device=" + plugin).out, "on plugin:");
}

constexpr const char* kRoots = R"(c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), 0)
c1 = UOp.range(64, 0, AxisType.LOOP)
c2 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(64), (), 1)
c3 = c2.index(c1).sqrt()
c4 = (UOp.const(dtypes.float, 0.0)<c3).where(c3, UOp.const(dtypes.float, 0.0))
c5 = c0.index(c1, ptr=True).store(c4).end(c1)
ast = c5.sink()
)";

TEST_CASE("run: --save files pass as --expect, and a run without comparison does not count as passed") {
  write_scratch_file("roots.uop", kRoots);
  for (std::string device : {"CPU:LLVM", "CPU:CLANG"}) {
    CommandResult ran = run_in_shell("tgc run roots.uop --save=roots.npz --device=" + device);
    CHECK(ran.code == 0);
    check_has(ran.out, "(inputs from seed 0, floats between 0 and 1 in data1: others make NaNs; also of all sizes)");
    ran = run_in_shell("tgc run roots.uop --expect=roots.npz --device=" + device);
    CHECK(ran.code == 0);
    check_has(ran.out, "data0 float32 (64,): same exactly");
  }
  CommandResult alone = run_in_shell("tgc run roots.uop roots.uop --device=REF");
  CHECK(alone.code == 0);
  check_has(alone.out, "roots: run, not compared, on REF");
  check_has(alone.out, "2 of 2 kernels run, none compared");
  CommandResult none = run_in_shell("head -c 0 /dev/null > empty.uop; tgc run empty.uop --expect=roots.npz");
  CHECK(none.code == 2);
}

TEST_CASE("run: a variable that the kernel does not have is an error before any kernel runs") {
  write_scratch_file("roots.uop", kRoots);
  CommandResult ran = run_in_shell("tgc run roots.uop --device=CPU --var sz=3 --save=never.npz");
  CHECK(ran.code == 2);
  CHECK(ran.err.find("the kernel has no variable 'sz'") != std::string::npos);
  CHECK_FALSE(fs::exists(scratch_folder() / "never.npz"));
  ran = run_in_shell("tgc run roots.uop roots.uop --device=CPU --var sz=3");
  CHECK(ran.code == 2);
  CHECK(ran.err.find("no kernel has a variable 'sz'") != std::string::npos);
}

TEST_CASE("run: arrays beyond the process limits are an error before the kernel runs, and a killed one is reported") {
  if (tgc::kIsSanitized) {
    MESSAGE("SKIPPED: AddressSanitizer reserves more address space than the limit");
    return;
  }
  write_scratch_file("large.uop", R"(c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(400000000), (), 0)
c1 = UOp.range(400000000, 0, AxisType.LOOP)
c2 = c0.index(c1, ptr=True).store(UOp.const(dtypes.float, 1.0)).end(c1)
ast = c2.sink()
)");
  CommandResult ran = run_in_shell("(ulimit -v 2000000; tgc run large.uop --device=CPU --reference=none)");
  CHECK(ran.code == 2);
  CHECK(ran.err.find("not enough memory: the kernel's arrays take 1.6 GB") != std::string::npos);
  // the system kills the worker at its limit of processor time with SIGKILL, as it does when memory runs out
  write_scratch_file("endless.uop", R"(c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 0)
c1 = UOp.range(1000000000000, 0, AxisType.REDUCE)
c2 = c0.index(UOp.const(dtypes.index, 0), ptr=True).store((c1.cast(dtypes.float).sin()).reduce(c1, arg=Ops.ADD))
ast = c2.sink()
)");
  ran = run_in_shell("(ulimit -t 1; tgc run endless.uop --device=CPU:CLANG --reference=none --set NOOPT=1)");
  CHECK(ran.code == 2);
  CHECK(ran.err.find("killed by SIGKILL") != std::string::npos);
}

TEST_CASE("run: LLVM's SLP vectorizer does not mix up accumulators") {
  // ResNet-50's last 3x3 convolution, which LLVM 19 miscompiled for AVX-512
  CommandResult ran = run_in_shell("TGC_CACHE=0 tgc run " + test_path("slp_conv.uop") + " --device=CPU:LLVM");
  CHECK(ran.code == 0);
  CHECK(ran.out.find("1 array as REF has it") != std::string::npos);
}

}  // namespace tgc
