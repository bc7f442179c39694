#include "passes/kernel/optimizer/kernels_testing.h"

namespace tgc {
namespace {

struct Opts : TestKernelMaker {
  Opts(std::string_view target_text, UOp (*make)(TestKernelMaker&))
      : TestKernelMaker(target_text), k(make(*this), target) {
    k.convert_loop_to_global();
  }

  Arg tc(int64_t select, int64_t opt, int64_t use) { return graph.ints(std::array{select, opt, use}); }
  void applies(const Opt& opt, std::string_view axes_after) {
    CHECK_NOTHROW(k.apply_opt(opt));
    CHECK(axes_text(k) == axes_after);
  }
  void refuses(const Opt& opt, const char* message) {
    UOp before = k.ast();
    size_t applied = k.applied_opts().size();
    CHECK_THROWS_WITH_AS(k.apply_opt(opt), message, KernelOptError);
    CHECK(k.ast() == before);
    CHECK(k.applied_opts().size() == applied);
  }

  Scheduler k;
};

UOp matmul64(TestKernelMaker& b) { return b.matmul(64, 64, 64); }
UOp rows(TestKernelMaker& b) { return b.row_sums(32, 48); }

TEST_CASE("loops become global axes if the target has local axes") {
  CHECK(axes_text(Opts("CUDA", matmul64).k) == "g0=64 g1=64 R0=64");
  CHECK(axes_text(Opts("CPU", matmul64).k) == "L0=64 L1=64 R0=64");
}

TEST_CASE("UPCAST splits off the inner steps of an axis") {
  Opts t("CUDA", matmul64);
  t.applies({OptOps::UPCAST, 1, 4}, "g0=64 g1=16 u0=4 R0=64");
  CHECK(addresses_text(t.k) == "(r2*64+(r1*4+r3)), (r0*64+r2), (r0*64+(r1*4+r3))");
  Opts whole("CUDA", [](TestKernelMaker& b) { return b.matmul(16, 64, 64); });
  whole.applies({OptOps::UPCAST, 0, 0}, "g0=64 u0=16 R0=64");
}

TEST_CASE("UPCAST is refused if it does not fit") {
  Opts t("CUDA", matmul64);
  t.refuses({OptOps::UPCAST, 0, 32}, "don't upcast more than 16");
  t.refuses({OptOps::UPCAST, 0, 0}, "don't upcast more than 16");
  t.refuses({OptOps::UPCAST, 0, 5}, "5 can't divide 64 in \x1b[34m  64\x1b[0m \x1b[34m  64\x1b[0m \x1b[31m  64\x1b[0m");
  t.refuses({OptOps::UPCAST, 2, 4}, "upcast is for GLOBAL/LOCAL/LOOP");
  t.refuses({OptOps::UPCAST, 3, 4}, "invalid axis 3 of UPCAST, the kernel has 3");
  t.refuses({OptOps::UPCAST, {}, 4}, "UPCAST needs an axis");
  t.refuses({OptOps::UPCAST, 0, {}}, "the arg of UPCAST is an integer, not None");
}

TEST_CASE("UNROLL counts the reduce axes") {
  Opts t("CPU", rows);
  t.applies({OptOps::UNROLL, 0, 4}, "L0=32 R0=12 r0=4");
  t.applies({OptOps::UNROLL, 0, 0}, "L0=32 r0=4 r1=12");
  t.refuses({OptOps::UNROLL, 0, 2}, "the axis of UNROLL is out of range");
}

TEST_CASE("UNROLL is refused if it does not fit") {
  Opts t("CPU", rows);
  t.refuses({OptOps::UNROLL, 0, 48}, "don't unroll more than 32");
  t.refuses({OptOps::UNROLL, 1, 4}, "the axis of UNROLL is out of range");
}

TEST_CASE("LOCAL splits a local axis off a global axis") {
  Opts t("CUDA", matmul64);
  t.applies({OptOps::LOCAL, 0, 8}, "g0=8 g1=64 l0=8 R0=64");
  t.applies({OptOps::LOCAL, 1, 0}, "g0=8 l0=8 l1=64 R0=64");
}

TEST_CASE("LOCAL is refused if it does not fit") {
  Opts("CPU", matmul64).refuses({OptOps::LOCAL, 0, 8}, "locals needed for opt");
  Opts t("CUDA", matmul64);
  t.refuses({OptOps::LOCAL, 2, 8}, "local is for globals");
  t.k.apply_opt({OptOps::NOLOCALS});
  t.refuses({OptOps::LOCAL, 0, 8}, "can't use locals");
}

TEST_CASE("GROUP splits off the inner steps of a reduce, GROUPTOP the outer ones") {
  Opts group("CUDA", rows), top("CUDA", rows);
  group.applies({OptOps::GROUP, 0, 16}, "g0=32 G0=16 R0=3");
  CHECK(addresses_text(group.k) == "(r0*48+(r1*16+r2)), r0");
  top.applies({OptOps::GROUPTOP, 0, 16}, "g0=32 G0=16 R0=3");
  CHECK(addresses_text(top.k) == "(r0*48+(r2*3+r1)), r0");
}

TEST_CASE("GROUP is refused if it does not fit") {
  Opts("CPU", rows).refuses({OptOps::GROUP, 0, 16}, "locals needed for opt");
  Opts t("CUDA", rows);
  t.refuses({OptOps::GROUPTOP, 1, 16}, "the axis of a group is out of range");
  t.k.apply_opt({OptOps::NOLOCALS});
  t.refuses({OptOps::GROUP, 0, 16}, "can't use locals");
  Opts big("CUDA", [](TestKernelMaker& b) { return b.row_sums(32, 16384); });
  big.refuses({OptOps::GROUP, 0, 16384}, "exceeds maximum shared memory size: needs 65536, max 49152");
  big.k.apply_opt({OptOps::GROUP, 0, 4096});
  big.refuses({OptOps::LOCAL, 0, 8}, "exceeds maximum shared memory size: needs 131072, max 49152");
}

TEST_CASE("GROUP inside another reduce is refused") {
  Opts t("CUDA", [](TestKernelMaker& b) {
    UOp i = b.loop(4, 0), outer = b.reduce(16, 1), inner = b.reduce(32, 2);
    UOp max = b.buffer(1, dtypes::float32).index((i * 16 + outer) * 32 + inner).reduce({inner}, Op::MAX);
    return b.kernel(i, max.reduce({outer}, Op::ADD), {i});
  });
  t.refuses({OptOps::GROUP, 1, 16}, "cannot have a GROUP_REDUCE inside another reduce");
  t.applies({OptOps::GROUP, 0, 16}, "g0=4 G0=16 R0=32");
}

TEST_CASE("THREAD splits off the outer steps of a loop") {
  Settings s;
  s.CPU_COUNT = 4;
  TestKernelMaker bench("CPU", s);
  Scheduler k(bench.matmul(64, 64, 64), bench.target);
  k.apply_opt({OptOps::THREAD, 0, 4});
  CHECK(axes_text(k) == "L0=16 L1=64 t0=4 R0=64");
  CHECK(addresses_text(k) == "(r2*64+r1), ((r3*16+r0)*64+r2), ((r3*16+r0)*64+r1)");
  CHECK_THROWS_WITH_AS(k.apply_opt({OptOps::THREAD, 1, 4}), "already threaded", KernelOptError);
}

TEST_CASE("THREAD is refused if it does not fit") {
  Settings s;
  s.CPU_COUNT = 4;
  TestKernelMaker bench("CPU", s), one("CPU:LLVM", s);
  Scheduler k(bench.matmul(64, 64, 64), bench.target), llvm(one.matmul(64, 64, 64), one.target);
  CHECK_THROWS_WITH_AS(llvm.apply_opt({OptOps::THREAD, 0, 4}), "target does not support threads", KernelOptError);
  CHECK_THROWS_WITH_AS(k.apply_opt({OptOps::THREAD, 0, 8}), "too many threads", KernelOptError);
  CHECK_THROWS_WITH_AS(k.apply_opt({OptOps::THREAD, 2, 4}), "can't apply range to this dim", KernelOptError);
}

TEST_CASE("NOLOCALS is refused if the kernel has local axes") {
  Opts t("CUDA", matmul64);
  t.applies({OptOps::NOLOCALS}, "g0=64 g1=64 R0=64");
  CHECK(t.k.dont_use_locals());
  Opts late("CUDA", matmul64);
  late.k.apply_opt({OptOps::LOCAL, 0, 8});
  late.refuses({OptOps::NOLOCALS}, "no locals can't have locals");
}

TEST_CASE("PADTO enlarges an axis and masks the accesses") {
  Opts t("CUDA", [](TestKernelMaker& b) { return b.row_sums(30, 45); });
  t.applies({OptOps::PADTO, 0, 8}, "g0=32 R0=45");
  t.applies({OptOps::PADTO, 1, 8}, "g0=32 R0=48");
  CHECK(addresses_text(t.k) ==
        "((r0*45+r1) if ((r1<45)&((r0<30)&True)) else Invalid), (r0 if ((r0<30)&True) else Invalid)");
}

TEST_CASE("PADTO is refused if it does not fit") {
  Opts t("CUDA", [](TestKernelMaker& b) { return b.row_sums(30, 45, Op::MAX); });
  t.refuses({OptOps::PADTO, 1, 8}, "cannot pad a reduce that zeros would change");
  t.refuses({OptOps::PADTO, 0, 128}, "pad adds more than quadruple the work");
  t.k.apply_opt({OptOps::UPCAST, 0, 3});
  t.refuses({OptOps::PADTO, 1, 4}, "cannot pad upcasted");

  Opts exp("CUDA", [](TestKernelMaker& b) {
    UOp i = b.loop(30, 0), r = b.reduce(45, 1);
    return b.kernel(i, b.buffer(1, dtypes::float32).index(i * 45 + r).exp2().reduce({r}, Op::ADD), {i});
  });
  exp.refuses({OptOps::PADTO, 1, 8}, "cannot pad a reduce that zeros would change");
  exp.applies({OptOps::PADTO, 0, 8}, "g0=32 R0=45");

  Opts symbolic("CUDA", [](TestKernelMaker& b) {
    UOp i = b.graph.range(b.graph.variable("n", 1, 30), std::array<Arg, 2>{0, AxisType::LOOP});
    return b.kernel(i, b.buffer(1, dtypes::float32).index(i) + 1.0, {i});
  });
  symbolic.refuses({OptOps::PADTO, 0, 8}, "only pad const axes");
}

TEST_CASE("SWAP swaps two global axes") {
  Opts t("CUDA", [](TestKernelMaker& b) { return b.scale_columns(8, 16); });
  t.applies({OptOps::SWAP, 0, 1}, "g0=16 g1=8");
  CHECK(addresses_text(t.k) == "r0, (r1*16+r0), (r1*16+r0)");
  for (UOp u : t.k.facts().nodes) CHECK(u.tag().is_none());
}

TEST_CASE("SWAP is refused if it does not fit") {
  Opts t("CUDA", rows);
  t.refuses({OptOps::SWAP, 0, 1}, "swap only for globals");
  t.refuses({OptOps::SWAP, 0, 2}, "the other axis of SWAP is out of range");
}

TEST_CASE("TC splits N, M and K and puts a WMMA in place of the reduce") {
  Opts t("METAL", [](TestKernelMaker& b) { return b.matmul(16, 32, 64); });
  auto left = t.k.apply_opt({OptOps::TC, 0, t.tc(-1, 0, 1)});
  REQUIRE(left.size() == 3);
  CHECK(left[0].vmax().as_int() + 1 == Int(4));
  CHECK(left[1].vmax().as_int() + 1 == Int(2));
  CHECK(left[2].vmax().as_int() + 1 == Int(8));
  // the swizzles replace K's unrolled axes in the operands, so none is left
  CHECK(axes_text(t.k) == "g0=2 g1=4 w0=32 u0=2 R0=8");
  UOp reduce = t.k.reduceop();
  REQUIRE(reduce);
  CHECK(reduce.src(0).is(Op::UNROLL));
  UOp wmma = reduce.src(0).src(0);
  CHECK(wmma.is(Op::WMMA));
  CHECK(wmma.arg()[0].text() == "WMMA_8_8_8_half_float");
  CHECK(wmma.arg()[4].text() == "METAL");
  CHECK(wmma.src(0).is(Op::CONTRACT));
  CHECK(wmma.src(0).dtype() == dtypes::float16.vec(2));
  t.refuses({OptOps::GROUP, 0, 2}, "no grouping with tensor cores");
}

TEST_CASE("TC with use_tensor_cores=2 splits the axes but emits no WMMA") {
  Opts t("METAL", matmul64);
  t.k.apply_opt({OptOps::TC, 0, t.tc(-1, 0, 2)});
  CHECK(axes_text(t.k) == "g0=8 g1=8 w0=32 u0=2 R0=8 r0=2 r1=2 r2=2");
  CHECK(!t.k.reduceop().src(0).is(Op::UNROLL));
}

TEST_CASE("TC pads axes only with tc_opt=2") {
  auto odd = [](TestKernelMaker& b) { return b.matmul(10, 12, 20); };
  Opts t("METAL", odd);
  CHECK_THROWS_WITH_AS(t.k.apply_opt({OptOps::TC, 0, t.tc(-1, 1, 1)}), "no tensor core available", KernelOptError);
  Opts padded("METAL", odd);
  padded.applies({OptOps::TC, 0, padded.tc(-1, 2, 1)}, "g0=2 g1=2 w0=32 u0=2 R0=3");
  CHECK(opts_text(padded.k.applied_opts()) == "TC(0,(-1, 2, 1))");
}

TEST_CASE("TC is refused if it does not fit") {
  Opts t("METAL", matmul64);
  t.refuses({OptOps::TC, {}, t.tc(-1, 0, 1)}, "tensor core opts must have an axis");
  t.refuses({OptOps::TC, 0, 1}, "tensor core opts must have valid arg");
  t.refuses({OptOps::TC, 0, t.tc(5, 0, 1)}, "tensor core opts must have valid tc_select");
  t.refuses({OptOps::TC, 0, t.tc(-1, 3, 1)}, "tensor core opts must have valid tc_opt");
  t.refuses({OptOps::TC, 0, t.tc(-1, 0, 0)}, "use_tensor_cores value is not valid");
  t.refuses({OptOps::TC, 1, t.tc(-1, 0, 1)}, "no tensor core available");
  t.refuses({OptOps::TC, 0, t.tc(0, 0, 1)}, "no tensor core available");
  t.k.apply_opt({OptOps::UPCAST, 0, 4});
  t.refuses({OptOps::TC, 0, t.tc(-1, 0, 1)}, "tensor core opts must be first");

  Opts none("METAL", [](TestKernelMaker& b) { return b.elementwise(64); });
  none.refuses({OptOps::TC, 0, none.tc(-1, 0, 1)}, "no reduce ops for TensorCore");
  Opts no_mul("METAL", rows);
  no_mul.refuses({OptOps::TC, 0, no_mul.tc(-1, 0, 1)}, "no tensor core available");
}

TEST_CASE("tf32 tensor cores need ALLOW_TF32") {
  Settings allow;
  allow.ALLOW_TF32 = 1;
  TestKernelMaker without("CUDA"), with("CUDA", allow);
  auto apply = [](TestKernelMaker& b) {
    Scheduler k(b.matmul(64, 64, 64, dtypes::float32, dtypes::float32), b.target);
    k.convert_loop_to_global();
    k.apply_opt({OptOps::TC, 0, b.graph.ints(std::array<int64_t, 3>{-1, 0, 1})});
    return axes_text(k);
  };
  CHECK_THROWS_AS(apply(without), KernelOptError);
  CHECK(apply(with) == "g0=4 g1=8 w0=32 u0=2 u1=2 R0=8");
}

TEST_CASE("to_arg and to_opt convert Opts to records and back") {
  Graph g;
  Opt opt{OptOps::UPCAST, 1, 4};
  CHECK(opt_to_arg(g, opt).repr() == "Opt(op=OptOps.UPCAST, axis=1, arg=4)");
  CHECK(opt_to_arg(g, {OptOps::NOLOCALS}).repr() == "Opt(op=OptOps.NOLOCALS, axis=None, arg=None)");
  Opt back = opt_from_arg(opt_to_arg(g, opt));
  CHECK(back.op == OptOps::UPCAST);
  CHECK(*back.axis == 1);
  CHECK(back.arg == Arg(4));
  CHECK_THROWS_AS(opt_from_arg(g.str("UPCAST")), Failure);
  CHECK_THROWS_AS(opt_from_arg(g.record(RecordClass::Opt, {OptOps::UPCAST, g.str("0"), 4})), Failure);
}

}  // namespace
}  // namespace tgc
