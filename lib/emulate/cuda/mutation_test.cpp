#include <random>

#include "lib/emulate/cuda/testing.h"

namespace tgc::ptx {

TEST_CASE("PTX emulator: mutated texts are loaded or refused") {
  const std::string text = kernel_text(2, R"(
    .shared .align 16 .b8 s[512];  .local .align 4 .b8 l[16];
    mov.u64 %rd2, s;  cvta.to.global.u64 %rd3, %rd1;
    LOOP: ld.global.v2.f32 {%f1, %f2}, [%rd0+8];  fma.rn.ftz.f32 %f3, %f1, %f2, 0f3F800000;
    st.shared.f32 [%rd2+4], %f3;  bar.sync 0;  setp.lt.f32 %p1|%p2, %f1, %f3;
    @!%p1 bra DONE;  mov.b32 {%h1, %h2}, %r1;  cvt.rn.f16x2.f32 %r2, %f1, %f2;
    { .reg .b32 t;  mov.b32 t, %r2;  prmt.b32 %r3, t, 0, 0x5410; }
    T: .branchtargets LOOP, DONE;  brx.idx %r3, T;
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f5,%f6,%f7,%f8}, {%r1,%r2}, {%r3}, {%f5,%f6,%f7,%f8};
    atom.shared.cas.b32 %r5, [s], %r1, %r2;  shfl.sync.idx.b32 %r6|%p3, %r5, 0, 31, -1;
    .loc 1 3 4, function_name $L, inlined_at 1 2 3
    @%p2 bra LOOP;
    DONE: st.local.u32 [l], %r6;)") +
                           ".global .align 8 .b8 table[8] = {1, 2, 0xff, -1};\n.section .debug_x { .b8 1 }\n";
  GpuMemory memory(1 << 24);
  REQUIRE(LoadedModule::load_code(text, memory));
  std::mt19937 random(7);
  auto below = [&](size_t n) { return size_t(random()) % n; };
  const std::string letters = " \n\t,;:.{}[]()<>@!%|+-_=\"/*0123456789xUfdLOPrpsbu\xff";
  size_t loaded = 0, refused = 0;
  for (int n = 0; n < 4000; n++) {
    std::string t = text;
    if (n % 4 == 0) t.resize(below(t.size()));
    for (size_t k = below(4) + (n % 4 ? 1 : 0); k > 0 && !t.empty(); k--) {
      size_t at = below(t.size()), from = below(t.size()), length = below(12);
      switch (below(4)) {
        case 0: t[at] = letters[below(letters.size())]; break;
        case 1: t.erase(at, length); break;
        case 2: t.insert(at, t.substr(from, length)); break;
        default: t.insert(at, 1, letters[below(letters.size())]);
      }
    }
    auto module = LoadedModule::load_code(t, memory);
    (module ? loaded : refused)++;
    if (!module) CHECK_FALSE(module.diag().message.empty());
  }
  CHECK(loaded > 50);
  CHECK(refused > 1000);
  CHECK(memory.used_bytes() == 0);
}

TEST_CASE("PTX emulator: numbers that are too large are refused, not allocated") {
  auto refused = [](const std::string& text) {
    return !LoadedModule::load_code(text, *std::make_unique<GpuMemory>(1 << 20));
  };
  CHECK(refused(".target sm_80\n.global .b8 a[4294967296][4294967296];"));
  CHECK(refused(".target sm_80\n.global .b8 a[99999999999999999999];"));
  CHECK(refused(".target sm_80\n.global .b8 a[1048577];"));
  CHECK(refused(".target sm_80\n.file 4000000000 \"x\""));
  CHECK(refused(".target sm_80\n.entry k() { .shared .b8 s[4000000000]; }"));
  CHECK(refused(".target sm_80\n.entry k(.param .b8 p[4000000000]) { ret; }"));
  CHECK_FALSE(refused(".target sm_80\n.entry k() { .reg .b32 %r<4000000000>; mov.u32 %r3999999999, 1; }"));
  CHECK(refused(".target sm_80\n.entry k() {" + std::string(100000, '{')));
}

}  // namespace tgc::ptx
