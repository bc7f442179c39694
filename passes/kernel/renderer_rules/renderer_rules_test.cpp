#include "lib/rewrite/testing.h"
#include "passes/kernel/renderer_rules/renderer_rules_internal.h"
#include "passes/kernel/stages.h"
#include "passes/symbolic/transcendental.h"

namespace tgc {
namespace {

Target target(std::string_view name) { return parse_target(name, {}).value_or_throw(); }
UOp through_float(UOp x, DType to) { return x.cast(dtypes::float32).cast(to); }
UOp vec2(UOp a, UOp b) { return a.graph().node(Op::VECTORIZE, a.dtype().vec(2), {a, b}); }

TEST_CASE("C dialects split vectors of bools, casts of bools and WHERE") {
  RuleTest t(extra_pm());
  UOp a = t.load(0, dtypes::float32.vec(2)), b = t.load(1, dtypes::float32.vec(2)), p = t.load(2, dtypes::bool_.vec(2)),
      x = t.load(3, dtypes::float32);
  t.check_rule("scalar-bools", a.lt(b), vec2(a.gep(0).lt(b.gep(0)), a.gep(1).lt(b.gep(1))));
  t.check_rule("scalar-bools", a.cast(dtypes::bool_), vec2(a.gep(0).cast(dtypes::bool_), a.gep(1).cast(dtypes::bool_)));
  t.check_declines("scalar-bools", a + b);
  t.check_declines("scalar-bools", x.lt(x));
  t.check_rule("scalar-cast-of-bool", p.cast(dtypes::int32),
               vec2(p.gep(0).cast(dtypes::int32), p.gep(1).cast(dtypes::int32)));
  t.check_declines("scalar-cast-of-bool", a.cast(dtypes::int32));
  t.check_rule("scalar-where", p.where(a, b),
               vec2(p.gep(0).where(a.gep(0), b.gep(0)), p.gep(1).where(a.gep(1), b.gep(1))));
  t.check_declines("scalar-where", t.load(4, dtypes::bool_).where(x, x));
  t.check_all_rules_fired();
}

TEST_CASE("bfloat16 is computed in float32, with casts by bits") {
  RuleTest t(opencl_rules());
  UOp a = t.load(0, dtypes::bfloat16), b = t.load(1, dtypes::bfloat16), f = t.load(2, dtypes::float32),
      p = t.load(3, dtypes::bool_);
  UOp fa = a.cast(dtypes::float32), fb = b.cast(dtypes::float32);
  t.check_rule("where-as-float", p.where(a, b), p.where(fa, fb).cast(dtypes::bfloat16));
  t.check_declines("where-as-float", p.where(f, f));
  t.check_rule("alu-as-float", a + b, (fa + fb).cast(dtypes::bfloat16));
  t.check_rule("alu-as-float", a.sqrt(), fa.sqrt().cast(dtypes::bfloat16));
  t.check_declines("alu-as-float", f + f);
  t.check_rule("compare-as-float", a.lt(b), fa.lt(fb));
  t.check_declines("compare-as-float", f.lt(f));
  t.check_rule("cast-to-through-float", t.load(4, dtypes::int32).cast(dtypes::bfloat16),
               through_float(t.load(4, dtypes::int32), dtypes::bfloat16));
  t.check_declines("cast-to-through-float", f.cast(dtypes::bfloat16));
  t.check_rule("cast-from-through-float", a.cast(dtypes::int32), through_float(a, dtypes::int32));
  t.check_declines("cast-from-through-float", a.cast(dtypes::float32));
  t.check_rule("bf16-to-float", fa,
               (a.bitcast(dtypes::uint16).cast(dtypes::uint32) << Const(16)).bitcast(dtypes::float32));
  t.check_rule("float-to-bf16", f.cast(dtypes::bfloat16), cast_float_to_bf16(f));
  CHECK_THROWS_AS(cast_float_to_bf16(t.load(5, dtypes::float32.vec(4))), Failure);
}

TEST_CASE("cast_float_to_bf16 rounds to nearest even") {
  Graph g;
  auto bits = [&](double v) {
    UOp out = cast_float_to_bf16(g.constant(dtypes::float32, v));
    return out.src(0).simplify().arg().as_int();
  };
  for (double v : {0.0, 1.0, -1.0, 3.140625, 1.00390625, 1.01171875, 65280.0, 1e-3, 3.3895313892515355e38})
    CHECK(bits(v) == Int(int64_t(float_to_bf16_bits(float(v)))));
}

TEST_CASE("Clang casts through float where LLVM would call a library function") {
  RuleTest t(clang_rules());
  UOp d = t.load(0, dtypes::float64), b = t.load(1, dtypes::bfloat16), v = t.load(2, dtypes::float32.vec(2)),
      f = t.load(3, dtypes::float32);
  t.check_rule("double-to-half", d.cast(dtypes::float16), through_float(d, dtypes::float16));
  t.check_declines("double-to-half", f.cast(dtypes::float16));
  t.check_rule("double-to-bf16", d.cast(dtypes::bfloat16), through_float(d, dtypes::bfloat16));
  t.check_rule("bf16-to-half", b.cast(dtypes::float16), through_float(b, dtypes::float16));
  t.check_rule("scalar-sqrt-trunc", v.sqrt(), vec2(v.gep(0).sqrt(), v.gep(1).sqrt()));
  t.check_rule("scalar-sqrt-trunc", v.trunc(), vec2(v.gep(0).trunc(), v.gep(1).trunc()));
  t.check_declines("scalar-sqrt-trunc", f.sqrt());
}

TEST_CASE("Metal computes functions of bfloat16 in float") {
  RuleTest t(metal_rules());
  UOp b = t.load(0, dtypes::bfloat16);
  t.check_rule("bf16-function-as-float", b.exp2(), b.cast(dtypes::float32).exp2().cast(dtypes::bfloat16));
  t.check_declines("bf16-function-as-float", b.reciprocal());
  t.check_declines("bf16-function-as-float", t.load(1, dtypes::float16).exp2());
}

TEST_CASE("CUDA computes fp8 in float32 and casts between fp8 dtypes through float32") {
  RuleTest t(cuda_rules());
  UOp a = t.load(0, dtypes::fp8e4m3), i = t.load(1, dtypes::int32);
  t.check_rule("alu-as-float", a + a, (a.cast(dtypes::float32) + a.cast(dtypes::float32)).cast(dtypes::fp8e4m3));
  t.check_rule("fp8-to-fp8", a.cast(dtypes::fp8e5m2), through_float(a, dtypes::fp8e5m2));
  t.check_declines("fp8-to-fp8", i.cast(dtypes::fp8e5m2));
  t.check_declines("fp8-to-fp8", t.graph.node(Op::CAST, a.dtype(), a));
}

UOp wmma(UOp a, UOp b, UOp c) {
  return a.graph().node(Op::WMMA, c.dtype(), {a, b, c}, a.graph().tuple({a.graph().str("wmma")}));
}

TEST_CASE("HIP packs fp8 operands and computes bfloat16 constants by bits") {
  RuleTest t(hip_rules());
  UOp a = t.load(0, dtypes::fp8e4m3.vec(8)), c = t.load(1, dtypes::float32.vec(4)),
      h = t.load(2, dtypes::float16.vec(8));
  t.check_rule("wmma-packs-fp8", wmma(a, a, c), wmma(a.bitcast(dtypes::uint64), a.bitcast(dtypes::uint64), c));
  t.check_declines("wmma-packs-fp8", wmma(h, h, c));
  t.check_declines("wmma-packs-fp8", wmma(a, a, t.load(3, dtypes::float32.vec(8))));
  t.check_rule("bf16-const", t.constant(dtypes::bfloat16, 1.5), cast_float_to_bf16(t.constant(dtypes::float32, 1.5)));
  t.check_declines("bf16-const", t.constant(dtypes::float32, 1.5));
  CHECK_THROWS_AS(t.check_declines("bf16-const", t.vconst(dtypes::bfloat16.vec(2), {1.0, 2.0})), Failure);
}

TEST_CASE("AMD LLVM spreads halfs over registers and expands functions of double") {
  RuleTest t(amd_llvm_rules(target("AMD:LLVM:gfx1101")));
  UOp v8 = t.load(0, dtypes::float16.vec(8)), v16 = t.load(1, dtypes::float16.vec(16)),
      zero = t.constant(dtypes::float16, 0.0), d = t.load(2, dtypes::float64);
  std::vector<UOp> spread, gathered;
  for (int i = 0; i < 16; i++) spread.push_back(i % 2 ? zero : v8.gep(i / 2));
  for (int i = 0; i < 8; i++) gathered.push_back(v16.gep(2 * i));
  t.check_rule("spread-halfs", t.graph.node(Op::CAST, v16.dtype(), v8), t.vectorize(spread));
  t.check_declines("spread-halfs", v8.cast(dtypes::float32));
  t.check_rule("gather-halfs", t.graph.node(Op::CAST, v8.dtype(), v16), t.vectorize(gathered));
  t.check_declines("gather-halfs", t.graph.node(Op::CAST, v16.dtype(), v8));
  t.check_rule("double-log2", d.log2(), xlog2(d));
  t.check_rule("double-exp2", d.exp2(), xexp2(d));
  t.check_declines("double-exp2", t.load(3, dtypes::float32).exp2());
}

TEST_CASE("AMD LLVM converts WMMA operands for each arch") {
  const RuleSet &cdna_set = amd_llvm_rules(target("AMD:LLVM:gfx942")),
                &rdna3_set = amd_llvm_rules(target("AMD:LLVM:gfx1100")),
                &rdna4_set = amd_llvm_rules(target("AMD:LLVM:gfx1201"));
  CHECK(&cdna_set == &amd_llvm_rules(target("AMD:LLVM:gfx950:xnack-")));
  CHECK(&rdna3_set == &amd_llvm_rules(target("AMD:LLVM:gfx1151")));
  CHECK(&rdna4_set == &amd_llvm_rules(target("AMD:LLVM:gfx1200")));
  RuleTest cdna(cdna_set), rdna3(rdna3_set), rdna4(rdna4_set);
  auto as = [](UOp x, DType d) { return x.bitcast(d); };
  {
    UOp b = cdna.load(0, dtypes::bfloat16.vec(4)), f8 = cdna.load(1, dtypes::fp8e5m2.vec(8)),
        c = cdna.load(2, dtypes::float32.vec(4)), h = cdna.load(3, dtypes::float16.vec(4));
    DType u = dtypes::uint16.vec(4);
    cdna.check_rule("wmma-cdna-bf16", wmma(b, b, c), wmma(as(b, u), as(b, u), c));
    cdna.check_declines("wmma-cdna-bf16", wmma(h, h, c));
    cdna.check_rule("wmma-cdna-fp8", wmma(f8, f8, c), wmma(as(f8, dtypes::uint64), as(f8, dtypes::uint64), c));
    cdna.check_declines("wmma-cdna-fp8", wmma(h, h, c));
  }
  {
    UOp h = rdna3.load(0, dtypes::float16.vec(16)), b = rdna3.load(1, dtypes::bfloat16.vec(16)),
        c = rdna3.load(2, dtypes::float16.vec(8)), f = rdna3.load(3, dtypes::float32.vec(8));
    UOp wide = rdna3.graph.node(Op::WMMA, h.dtype(), {h, h, c.cast(h.dtype())}, wmma(h, h, c).arg());
    rdna3.check_rule("wmma-rdna3-half", wmma(h, h, c), wide.cast(c.dtype()));
    rdna3.check_declines("wmma-rdna3-half", wmma(h, h, f));
    DType u = dtypes::uint16.vec(16);
    rdna3.check_rule("wmma-rdna3-bf16", wmma(b, b, f), wmma(as(b, u), as(b, u), f));
    rdna3.check_declines("wmma-rdna3-bf16", wmma(h, h, f));
  }
  {
    UOp b = rdna4.load(0, dtypes::bfloat16.vec(8)), h = rdna4.load(1, dtypes::float16.vec(8)),
        c = rdna4.load(2, dtypes::bfloat16.vec(8)), f = rdna4.load(3, dtypes::float32.vec(8));
    DType u = dtypes::uint16.vec(8);
    rdna4.check_rule("wmma-rdna4-bf16-to-bf16", wmma(b, b, c), wmma(as(b, u), as(b, u), as(c, u)).bitcast(c.dtype()));
    rdna4.check_declines("wmma-rdna4-bf16-to-bf16", wmma(b, b, f));
    rdna4.check_rule("wmma-rdna4-bf16-to-float", wmma(b, b, f), wmma(as(b, u), as(b, u), f));
    rdna4.check_declines("wmma-rdna4-bf16-to-float", wmma(h, h, f));
  }
}

TEST_CASE("each PTX rule applies and declines") {
  RuleTest t(ptx_rules());
  UOp p = t.load(0, dtypes::bool_), q = t.load(1, dtypes::bool_), x = t.load(2, dtypes::int32),
      h = t.load(3, dtypes::float16), u = t.load(4, dtypes::uint32);
  t.check_rule("ne-bool", p.ne(q), p ^ q);
  t.check_declines("ne-bool", x.ne(x));
  t.check_rule("eq-bool", p.alu(Op::CMPEQ, q), (p ^ q) ^ Const(true));
  t.check_rule("lt-bool", p.lt(q), (p ^ Const(true)) & q);
  t.check_declines("lt-bool", x.lt(x));
  t.check_rule("half-as-float", h.sqrt(), h.cast(dtypes::float32).sqrt().cast(dtypes::float16));
  for (UOp has : {h + h, h.exp2(), h.trunc(), h.maximum(h), x.alu(Op::SQRT)}) t.check_declines("half-as-float", has);

  UOp buf = t.buffer(0, dtypes::bool_),
      address = t.graph.node(Op::INDEX, dtypes::int64, {buf, t.load(5, dtypes::int64)}), r = t.range(4);
  UOp byte = t.graph.node(Op::LOAD, dtypes::uint8, {address, q.cast(dtypes::uint8)});
  t.check_rule("load-bool", t.graph.node(Op::LOAD, dtypes::bool_, {address, q}), byte.cast(dtypes::bool_));
  t.check_rule("load-bool", t.graph.node(Op::LOAD, dtypes::bool_, address),
               t.graph.node(Op::LOAD, dtypes::uint8, address).cast(dtypes::bool_));
  t.check_declines("load-bool", t.graph.node(Op::LOAD, dtypes::int8, address));
  t.check_declines("load-bool", buf.index_ptr(x).load());
  t.check_rule("store-bool", address.store(p, UOpSpan{r}), address.store(p.cast(dtypes::uint8), UOpSpan{r}));
  t.check_declines("store-bool", address.store(x));

  UOp floats = t.buffer(1, dtypes::float32),
      reg = t.graph.node(Op::DEFINE_REG, dtypes::float32.ptr(4, AddrSpace::REG), {}, 0);
  UOp at = floats.cast(dtypes::int64) + x.cast(dtypes::int64) * Const(4);
  t.check_rule("index-to-address", floats.index_ptr(x), t.graph.node(Op::INDEX, dtypes::int64, {floats, at}));
  t.check_rule("index-to-address", floats.index_ptr(x, p), t.graph.node(Op::INDEX, dtypes::int64, {floats, at, p}));
  t.check_declines("index-to-address", address);
  t.check_declines("index-to-address", reg.index_ptr(x));
  t.check_rule("drop-pointer-cast", floats.cast(dtypes::float32.vec(4).ptr(1024)), floats);
  t.check_declines("drop-pointer-cast", x.cast(dtypes::int64));
  t.check_rule("shl-by-uint", x << x, t.graph.node(Op::SHL, dtypes::int32, {x, x.cast(dtypes::uint32)}));
  t.check_declines("shl-by-uint", x.alu(Op::SHL, u));
  t.check_rule("shr-by-uint", x >> x, t.graph.node(Op::SHR, dtypes::int32, {x, x.cast(dtypes::uint32)}));
  t.check_declines("shr-by-uint", x.alu(Op::SHR, u));
  t.check_all_rules_fired();
}

TEST_CASE("each WGSL rule applies and declines") {
  RuleTest t(wgsl_rules());
  UOp p = t.load(0, dtypes::bool_), x = t.load(1, dtypes::int32), u = t.load(2, dtypes::uint32),
      bytes = t.buffer(0, dtypes::uint8), shorts = t.buffer(1, dtypes::int16);
  t.check_rule("bool-as-int", p.lt(p), p.cast(dtypes::int32).lt(p.cast(dtypes::int32)).cast(dtypes::bool_));
  t.check_rule("bool-as-int", p ^ p, (p.cast(dtypes::int32) ^ p.cast(dtypes::int32)).cast(dtypes::bool_));
  t.check_declines("bool-as-int", x.lt(x));

  // WGSL packs 4 bytes in a word: byte i is in word i / 4, shifted left by 8 * (i % 4)
  UOp shift = (x.cast(dtypes::uint32) % 4) * 8, word = bytes.index_ptr(x / 4);
  t.check_rule("packed-load", bytes.index_ptr(x).load(),
               ((word.load({}, dtypes::uint32) >> shift) & 0xFF).cast(dtypes::uint8));
  UOp gated = bytes.index_ptr(x / 4, p), seven = t.constant(dtypes::uint8, 7);
  t.check_rule("packed-load-alt", bytes.index_ptr(x, p).load(seven, dtypes::uint8),
               ((gated.load(seven.cast(dtypes::uint32), dtypes::uint32) >> shift) & 0xFF).cast(dtypes::uint8));
  UOp half_shift = (x.cast(dtypes::uint32) % 2) * 16,
      value = (shorts.index_ptr(x / 2).load({}, dtypes::uint32) >> half_shift) & 0xFFFF;
  UOp ones = t.constant(dtypes::uint32, 0xFFFFFFFFL) << t.constant(dtypes::uint32, 16);
  UOp upper = (value >> t.constant(dtypes::uint32, 15)).gt(0).where(ones, t.constant(dtypes::uint32, 0));
  t.check_rule("packed-load", shorts.index_ptr(x).load(),
               (upper | value.bitcast(dtypes::uint32)).bitcast(dtypes::int32).cast(dtypes::int16));
  t.check_declines("packed-load", t.load(3, dtypes::float32));
  t.check_declines("packed-load", t.load(4, dtypes::float16));
  UOp reg = t.graph.node(Op::DEFINE_REG, dtypes::uint8.ptr(4, AddrSpace::REG), {}, 0);
  t.check_declines("packed-load", reg.index_ptr(x).load());
  t.check_declines("packed-load-alt", t.buffer(2, dtypes::int32).index_ptr(x, p).load(x.const_like(7), dtypes::int32));
  UOp no_value = t.graph.node(Op::SINK, dtypes::void_, {x});
  CHECK_THROWS_AS(t.check_declines("packed-store", bytes.index_ptr(x).store(no_value)), Failure);
  CHECK_THROWS_AS(t.check_declines("packed-load-alt", bytes.index_ptr(x).load(seven, dtypes::uint8)), Failure);

  UOp b = t.load(5, dtypes::uint8), mask = ((Const(0xFF) << shift) ^ Const(0xFFFFFFFFL)).cast(dtypes::uint32);
  t.check_rule("packed-store", bytes.index_ptr(x).store(b),
               word.store((word.load({}, dtypes::uint32) & mask) | ((b & 0xFF).cast(dtypes::uint32) << shift)));
  t.check_rule("packed-store", bytes.index_ptr(x, p).store(b),
               gated.store((gated.load({}, dtypes::uint32) & mask) | ((b & 0xFF).cast(dtypes::uint32) << shift)));
  t.check_declines("packed-store", t.buffer(2, dtypes::int32).index_ptr(x).store(x));
  t.check_rule("shl-of-uint", x << x, (x.bitcast(dtypes::uint32) << x.cast(dtypes::uint32)).bitcast(dtypes::int32));
  t.check_declines("shl-of-uint", u << u);
  t.check_rule("shr-by-uint", x >> x, t.graph.node(Op::SHR, dtypes::int32, {x, x.cast(dtypes::uint32)}));
  t.check_declines("shr-by-uint", u >> u);
}

TEST_CASE("every target has an extra_matcher") {
  for (auto name : known_targets()) CHECK_NOTHROW(extra_matcher(target(name)));
  CHECK(&extra_matcher(target("CL:INTEL")) == &extra_matcher(target("CL")));
  CHECK(&extra_matcher(target("AMD:LLVM")) != &extra_matcher(target("CPU:LLVM")));
  CHECK(&extra_matcher(target("CUDA:PTX")) == &ptx_rules());
}

}  // namespace
}  // namespace tgc
