// The expected opts are those of tinygrad 0.12.0.
#include "passes/kernel/optimizer/optimizer.h"

#include "lib/text/pyrender.h"
#include "passes/kernel/optimizer/kernels_testing.h"

namespace tgc {
namespace {

Settings with_threads(int64_t n) {
  Settings s;
  s.CPU_COUNT = n;
  return s;
}

template <class Make>
std::string chosen(std::string_view target, Make make, const Settings& settings = {}) {
  TestKernelMaker b(target, settings);
  Scheduler k(make(b), b.target);
  k.convert_loop_to_global();
  return opts_text(hand_coded_optimizations(k).applied_opts());
}

auto elementwise(int64_t n) {
  return [=](TestKernelMaker& b) { return b.elementwise(n); };
}
auto row_sums(int64_t rows, int64_t inner) {
  return [=](TestKernelMaker& b) { return b.row_sums(rows, inner); };
}
auto matmul(int64_t m, int64_t n, int64_t k, DType in = dtypes::float32) {
  return [=](TestKernelMaker& b) { return b.matmul(m, n, k, in); };
}

// data0[r0] = sum over r1 of data1[r1] * data2[r0*k + r1]
auto matvec(int64_t m, int64_t k) {
  return [=](TestKernelMaker& b) {
    UOp i = b.loop(m, 0), r = b.reduce(k, 1);
    return b.kernel(
        i, (b.buffer(1, dtypes::float32).index(r) * b.buffer(2, dtypes::float32).index(i * k + r)).reduce({r}, Op::ADD),
        {i});
  };
}
// data0[r0*n + r1] = r1 < 2 ? data1[r0] : data2[r0*n + r1]
auto masked(int64_t rows, int64_t n) {
  return [=](TestKernelMaker& b) {
    UOp i = b.loop(rows, 0), j = b.loop(n, 1), at = i * n + j;
    return b.kernel(at, j.lt(2).where(b.buffer(1, dtypes::float32).index(i), b.buffer(2, dtypes::float32).index(at)),
                    {i, j});
  };
}

TEST_CASE("the heuristics prefer tensor cores") {
  auto half = [](int64_t m, int64_t n) { return matmul(m, n, 64, dtypes::float16); };
  CHECK(chosen("CUDA", half(128, 128)) == "TC(0,(-1, 0, 1)) UPCAST(0,4) UPCAST(1,4) LOCAL(1,4)");
  CHECK(chosen("METAL", half(24, 40)) == "TC(0,(-1, 0, 1)) UPCAST(0,3) UPCAST(0,5)");
  CHECK(chosen("METAL", half(20, 40)) == "GROUPTOP(0,16)");
  Settings off, padded, third, amx;
  off.TC = 0;
  padded.TC_OPT = 2;
  third.TC_SELECT = 3;
  amx.AMX = 1;
  amx.CPU_COUNT = 4;
  CHECK(chosen("CUDA", half(128, 128), off) == "UPCAST(1,4) UPCAST(0,4) UNROLL(0,4) LOCAL(0,8) LOCAL(1,16)");
  CHECK(chosen("METAL", half(20, 40), padded) == "TC(0,(-1, 2, 1)) UPCAST(0,3) UPCAST(0,5)");
  CHECK(chosen("CUDA", half(128, 128), third) == "TC(0,(3, 0, 1)) UPCAST(0,4) UPCAST(1,4) LOCAL(1,4)");
  // as in tinygrad, the heuristics try the AMX tensor core but discard its kernel, so no TC opt is chosen
  CHECK(chosen("CPU", matmul(64, 64, 64), amx) == "UPCAST(1,4) UPCAST(0,4) UNROLL(0,4) THREAD(0,2)");
}

TEST_CASE("a matrix-vector product gets GROUP, LOCAL and UPCAST") {
  CHECK(chosen("CUDA", matvec(256, 128)) == "GROUP(0,8) LOCAL(0,4) UPCAST(0,4)");
  CHECK(chosen("CUDA", matvec(256, 127)) == "UPCAST(0,4) LOCAL(0,32)");
  CHECK(chosen("CPU", matvec(256, 128), with_threads(4)) == "UNROLL(0,4)");
  Settings off, other;
  off.MV = 0;
  other.MV_BLOCKSIZE = 2;
  other.MV_THREADS_PER_ROW = 16;
  other.MV_ROWS_PER_THREAD = 1;
  CHECK(chosen("CUDA", matvec(256, 128), off) == "GROUPTOP(0,16)");
  CHECK(chosen("CUDA", matvec(256, 128), other) == "GROUP(0,16) LOCAL(0,2)");
}

TEST_CASE("kernels with few outputs get GROUPTOP") {
  Settings nolocals;
  nolocals.NOLOCALS = 1;
  CHECK(chosen("CUDA", row_sums(32, 256)) == "GROUPTOP(0,16)");
  CHECK(chosen("CUDA", row_sums(4096, 256)) == "UPCAST(0,4) UNROLL(0,4) LOCAL(0,32)");
  CHECK(chosen("CUDA", row_sums(32, 256), nolocals) == "GROUPTOP(0,16)");
  CHECK(chosen("CUDA", row_sums(256, 256), nolocals) == "UNROLL(0,4) NOLOCALS");
  CHECK(chosen("CPU", row_sums(32, 256)) == "UNROLL(0,4)");
}

TEST_CASE("the heuristics choose upcasts") {
  CHECK(chosen("CPU", elementwise(1024)) == "UPCAST(0,4)");
  CHECK(chosen("CUDA", masked(100, 4)) == "UPCAST(1,0) LOCAL(0,4)");
  CHECK(chosen("CUDA", masked(100, 8)) == "UPCAST(1,4) LOCAL(0,4) LOCAL(1,2)");
  auto columns = [](int64_t rows) { return [=](TestKernelMaker& b) { return b.scale_columns(rows, 48); }; };
  CHECK(chosen("CPU", columns(128), with_threads(4)) == "UPCAST(1,3) UPCAST(0,4)");
  CHECK(chosen("CUDA", columns(128)) == "UPCAST(1,3) UPCAST(0,4) LOCAL(0,32) LOCAL(0,4)");
  CHECK(chosen("CUDA", columns(16)) == "UPCAST(1,4) LOCAL(0,16) LOCAL(0,4)");
}

TEST_CASE("the heuristics choose unrolls") {
  CHECK(chosen("CPU", row_sums(32, 6)) == "UNROLL(0,0)");
  CHECK(chosen("CPU", row_sums(32, 33)) == "UPCAST(0,4)");
  auto nine = [](TestKernelMaker& b) {
    UOp i = b.loop(64, 0), x = b.reduce(3, 1), y = b.reduce(3, 2);
    return b.kernel(i, b.buffer(1, dtypes::float32).index(i * 9 + x * 3 + y).reduce({x, y}, Op::ADD), {i});
  };
  CHECK(chosen("CPU", nine) == "UNROLL(1,0) UNROLL(0,0)");
}

TEST_CASE("the heuristics choose locals") {
  Settings nolocals;
  nolocals.NOLOCALS = 1;
  CHECK(chosen("CUDA", elementwise(1024)) == "UPCAST(0,4) LOCAL(0,32)");
  CHECK(chosen("CUDA", elementwise(1023)) == "LOCAL(0,3)");
  CHECK(chosen("CUDA", elementwise(7)) == "");
  CHECK(chosen("CUDA", elementwise(1024), nolocals) == "UPCAST(0,4) NOLOCALS");
}

TEST_CASE("the heuristics choose threads") {
  CHECK(chosen("CPU", elementwise(1 << 20), with_threads(4)) == "UPCAST(0,4) THREAD(0,4)");
  CHECK(chosen("CPU", matmul(256, 256, 256), with_threads(4)) == "UPCAST(1,4) UPCAST(0,4) UNROLL(0,4) THREAD(0,4)");
  CHECK(chosen("CPU", matmul(256, 256, 256), with_threads(1)) == "UPCAST(1,4) UPCAST(0,4) UNROLL(0,4)");
  CHECK(chosen("CPU:LLVM", matmul(256, 256, 256), with_threads(4)) == "UPCAST(1,4) UPCAST(0,4) UNROLL(0,4)");
  Settings off = with_threads(4);
  off.THREADS = 0;
  CHECK(chosen("CPU", matmul(256, 256, 256), off) == "UPCAST(1,4) UPCAST(0,4) UNROLL(0,4)");
}

struct StageTest : TestKernelMaker {
  using TestKernelMaker::TestKernelMaker;
  KernelJob job{graph, target};
  UOp run(UOp sink) { return apply_opts(job, sink); }
  std::string name(UOp sink) { return std::string(run(sink).arg()[0].text()); }
};

TEST_CASE("kernels are named after their axes, with a number if the name repeats") {
  StageTest t("CPU", with_threads(1));
  const std::string sep = "\x1b[90m_\x1b[0m", end = "\x1b[90m\x1b[0m";
  std::string first = "E" + sep + "\x1b[97m256\x1b[0m" + sep + "\x1b[33m4\x1b[0m";
  CHECK(t.name(t.elementwise(1024)) == first + end);
  CHECK(t.name(t.elementwise(1024)) == first + "\x1b[90mn1\x1b[0m");
  CHECK(t.name(t.elementwise(1024)) == first + "\x1b[90mn2\x1b[0m");
  CHECK(t.name(t.elementwise(512)).ends_with(end));
  CHECK(t.name(t.row_sums(32, 256)).starts_with("r"));
}

Arg kernel_info(Graph& g, std::string_view name, Arg opts = {}) {
  return g.record(RecordClass::KernelInfo, {g.str(name), g.tuple({}), false, g.tuple({}), opts});
}

TEST_CASE("a kernel keeps its own name, and an optimized kernel stays unchanged") {
  StageTest t("CPU", with_threads(1));
  UOp out = t.run(t.elementwise(1024).with_arg(kernel_info(t.graph, "mine")));
  CHECK(out.arg()[0].text() == "mine");
  CHECK(out.tag() == Arg(1));
  CHECK(t.run(out) == out);
}

TEST_CASE("opts come from the job, else from the kernel, else from the heuristics; NOOPT disables the heuristics") {
  StageTest t("CPU", with_threads(1));
  Arg by2 = opt_to_arg(t.graph, {OptOps::UPCAST, 0, 2}), by8 = opt_to_arg(t.graph, {OptOps::UPCAST, 0, 8});
  UOp sink = t.elementwise(1024), with_own = sink.with_arg(kernel_info(t.graph, "test", t.graph.tuple({by2})));
  auto applied = [&](UOp u) { return t.run(u).arg()[3].repr(); };
  CHECK(applied(sink) == "(Opt(op=OptOps.UPCAST, axis=0, arg=4),)");
  CHECK(applied(with_own) == "(Opt(op=OptOps.UPCAST, axis=0, arg=2),)");
  t.job.opts = {by8};
  CHECK(applied(with_own) == "(Opt(op=OptOps.UPCAST, axis=0, arg=8),)");
  t.job.opts.emplace();
  CHECK(applied(sink) == "()");
  t.job.opts.reset();
}

TEST_CASE("NOOPT keeps the kernel's loops") {
  Settings noopt = with_threads(1);
  noopt.NOOPT = 1;
  StageTest t("CPU", noopt);
  CHECK(t.run(t.elementwise(1024)).arg()[3].repr() == "()");
}

TEST_CASE("the stage fails on a forced opt that does not fit") {
  StageTest t("CPU", with_threads(1));
  t.job.opts = {opt_to_arg(t.graph, {OptOps::LOCAL, 0, 4})};
  CHECK_THROWS_WITH_AS(t.run(t.elementwise(1024)), "locals needed for opt", KernelOptError);
}
}  // namespace
}  // namespace tgc
