#include "lib/compile/compile.h"

#include <elf.h>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "lib/compile/load.h"

using namespace tgc;

namespace {

const char* kAddC =
    "void add(float* restrict data0_4, float* restrict data1_4, int core_id) {\n"
    "  for (int i = 0; i < 4; i++) *(data0_4+i) = (*(data1_4+i))+1.0f;\n"
    "}\n";

const char* kAddIr =
    "define void @add(float* noalias align 32 %data0, float* noalias align 32 %data1) #0\n"
    "{\n"
    "  %v0 = getelementptr inbounds float, float* %data1, i32 0\n"
    "  %v1 = load float, float* %v0\n"
    "  %v2 = fadd float %v1, 1.0\n"
    "  %v3 = getelementptr inbounds float, float* %data0, i32 0\n"
    "  store float %v2, float* %v3\n"
    "  ret void\n"
    "}\n"
    "attributes #0 = { alwaysinline nounwind \"no-builtins\" \"no-trapping-math\"=\"true\" }";

CompileJob job(Language language, std::string source) {
  return {.language = language, .source = std::move(source), .name = "add"};
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("a huge source is compiled with fewer passes") {
  std::string ir =
      "define void @add(float* noalias align 32 %data0, float* noalias align 32 %data1)\n{\n"
      "  %s0 = load float, float* %data1\n";
  for (int i = 0; i < 8000; i++) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    ir += "  %c" + n + " = fcmp ult float %s" + n + ", " + next + ".0\n  %s" + next + " = select i1 %c" + n +
          ", float " + next + ".0, float %s" + n + "\n";
  }
  ir += "  store float %s8000, float* %data0\n  ret void\n}\n";
  REQUIRE(ir.size() > 384 << 10);
  auto passes_of = [](const std::string& text) {
    return compile_without_cache(job(Language::LlvmIr, text), Artifact::Passes).value_or_throw();
  };
  CHECK(contains(passes_of(ir), "early-cse"));
  CHECK_FALSE(contains(passes_of(ir), "slp-vectorizer"));
  CHECK(contains(passes_of(kAddIr), "slp-vectorizer"));
  auto code =
      load_object(compile_without_cache(job(Language::LlvmIr, ir), Artifact::Binary).value_or_throw()).value_or_throw();
  float out = 0, in = 0.5f;
  reinterpret_cast<void (*)(float*, float*)>(code->symbol("add"))(&out, &in);
  CHECK(out == 8000);
}

TEST_CASE("C and LLVM IR compile to functions of this process") {
  for (auto [language, source, count] : {std::tuple(Language::C, kAddC, 4), std::tuple(Language::LlvmIr, kAddIr, 1)}) {
    auto object = compile_without_cache(job(language, source), Artifact::Binary);
    REQUIRE_MESSAGE(object, object.diag().text());
    auto code = load_object(*object);
    REQUIRE_MESSAGE(code, code.diag().text());
    auto* add = reinterpret_cast<void (*)(float*, float*, int)>((*code)->symbol("add"));
    REQUIRE(bool(add));
    CHECK_FALSE((*code)->symbol("sub"));
    std::vector<float> out(4), in{1, 2, 3, 4}, expected(4);
    for (int i = 0; i < count; i++) expected[size_t(i)] = in[size_t(i)] + 1;
    add(out.data(), in.data(), 0);
    CHECK(out == expected);
  }
}

TEST_CASE("loaded code calls outside functions, reads its constants and writes its variables") {
  auto object = compile_without_cache(
      job(Language::C,
          "void* memset(void*, int, unsigned long); static int calls; static const float table[4] = {1, 2, 3, 4};\n"
          "int work(float* out, int n) { memset(out, 0, n * 4l); for (int i = 0; i < n; i++) out[i] "
          "+= table[i & 3]; return ++calls; }\n"
          "void narrow(double* in, __bf16* out) { out[0] = in[0]; }"),
      Artifact::Binary);
  REQUIRE_MESSAGE(object, object.diag().text());
  auto code = load_object(*object);
  REQUIRE_MESSAGE(code, code.diag().text());
  auto* work = reinterpret_cast<int (*)(float*, int)>((*code)->symbol("work"));
  std::vector<float> out(5, 7.0f);
  CHECK(work(out.data(), 5) == 1);
  CHECK(work(out.data(), 5) == 2);
  CHECK(out == std::vector<float>{1, 2, 3, 4, 1});
  auto* narrow = reinterpret_cast<void (*)(double*, uint16_t*)>((*code)->symbol("narrow"));
  // the first x is halfway between two bfloat16s; the next two differ from it by less than a float can represent
  for (auto [x, expected] : {std::pair(1.00390625, 0x3F80), std::pair(1.00390625 + 0x1p-40, 0x3F81),
                             std::pair(1.00390625 - 0x1p-40, 0x3F80), std::pair(-1e300, 0xFF80)}) {
    double in = x;
    uint16_t bits = 0;
    narrow(&in, &bits);
    CHECK(bits == expected);
  }
}

TEST_CASE("load_object refuses files that are not objects or are truncated") {
  auto object = compile_without_cache(job(Language::LlvmIr, kAddIr), Artifact::Binary);
  REQUIRE(object);
  CHECK_FALSE(load_object(""));
  CHECK_FALSE(load_object("text"));
  size_t refused = 0;
  for (size_t length = 0; length < object->size(); length += 7) refused += !load_object(object->substr(0, length));
  CHECK(refused == (object->size() + 6) / 7);
  auto outside =
      compile_without_cache(job(Language::C, "void nowhere(void); void f(void) { nowhere(); }"), Artifact::Binary);
  REQUIRE(outside);
  auto code = load_object(*outside);
  REQUIRE_FALSE(code);
  CHECK(contains(code.diag().message, "'nowhere'"));
}

TEST_CASE("load_object refuses sizes, alignments, offsets and relocations that lie outside the object") {
  const std::string sound = compile_without_cache(job(Language::C, "float f(float x) { return x + 1.5f; }"),
                                                  Artifact::Binary).value_or_throw();
  REQUIRE(load_object(sound));
  Elf64_Ehdr header;
  std::memcpy(&header, sound.data(), sizeof header);
  size_t relocated = 0;
  for (size_t i = 0; i < header.e_shnum; i++) {
    const size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, sound.data() + at, sizeof section);
    auto with = [&](auto change) {
      Elf64_Shdr changed = section;
      change(changed);
      std::string object = sound;
      std::memcpy(object.data() + at, &changed, sizeof changed);
      return bool(load_object(object));
    };
    if (section.sh_type == SHT_RELA) {
      Elf64_Shdr target;
      std::memcpy(&target, sound.data() + header.e_shoff + section.sh_info * sizeof target, sizeof target);
      if (!(target.sh_flags & SHF_EXECINSTR)) continue;
      relocated++;
      for (uint64_t offset : {target.sh_size - 3, target.sh_size, uint64_t(1) << 40, UINT64_MAX - 4, UINT64_MAX}) {
        std::string object = sound;
        std::memcpy(object.data() + section.sh_offset + offsetof(Elf64_Rela, r_offset), &offset, sizeof offset);
        CHECK_FALSE(load_object(object));
      }
    }
    if (!(section.sh_flags & SHF_ALLOC) || section.sh_type != SHT_PROGBITS || !section.sh_size) continue;
    for (uint64_t alignment : {UINT64_MAX, uint64_t(1) << 63, uint64_t(1) << 40, uint64_t(3)})
      CHECK_FALSE(with([&](Elf64_Shdr& s) { s.sh_addralign = alignment; }));
    for (uint64_t size : {UINT64_MAX, uint64_t(1) << 40, uint64_t(sound.size())})
      CHECK_FALSE(with([&](Elf64_Shdr& s) { s.sh_size = size; }));
    CHECK_FALSE(with([&](Elf64_Shdr& s) { s.sh_offset = UINT64_MAX - 1; }));
  }
  CHECK(relocated > 0);
}

TEST_CASE("a source that does not compile gives a message, a line and a kept file") {
  auto bad_c = compile_without_cache(job(Language::C, "void f(int* a) {\n  a[0] = b;\n}\n"), Artifact::Binary);
  REQUIRE_FALSE(bad_c);
  CHECK(contains(bad_c.diag().message, "use of undeclared identifier 'b'"));
  CHECK(bad_c.diag().line == 2);
  CHECK(bad_c.diag().context == "  a[0] = b;");
  CHECK(contains(bad_c.diag().file, "add-"));
  auto bad_ir = compile_without_cache(
      job(Language::LlvmIr, "define void @f() {\n  %a = add i32 %b, 1\n  ret void\n}\n"), Artifact::LlvmIr);
  REQUIRE_FALSE(bad_ir);
  CHECK(contains(bad_ir.diag().message, "use of undefined value '%b'"));
  CHECK(bad_ir.diag().line == 2);
  // the engine still works after an error, even a fatal one
  auto fatal = compile_without_cache({.language = Language::LlvmIr, .machine = "amdgcn", .arch = "gfx1100",
                                 .source = "define i32 @f(i32 %a) {\n"
                                           "  %b = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
                                           "  ret i32 %b\n"
                                           "}\n"
                                           "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
                                 .name = "f"},
                                Artifact::Assembly);
  CHECK_FALSE(fatal);
  CHECK(compile_without_cache(job(Language::LlvmIr, kAddIr), Artifact::Binary));
}

TEST_CASE("a compilation does not affect the next object") {
  std::string other = kAddIr;
  other.replace(other.find("1.0"), 3, "2.5").replace(other.find("@add"), 4, "@two");
  CompileJob one = job(Language::LlvmIr, kAddIr), two = job(Language::LlvmIr, other), lines = one;
  lines.annotates_lines = true;
  for (const char* machine : {"", "aarch64", "x86_64"})
    for (Artifact what : {Artifact::Binary, Artifact::Assembly}) {
      one.machine = two.machine = lines.machine = machine;
      auto first = compile_without_cache(one, what), with_lines = compile_without_cache(lines, what);
      REQUIRE(first);
      REQUIRE(with_lines);
      CHECK(*with_lines != *first);
      auto between = compile_without_cache(two, what);
      REQUIRE(between);
      CHECK(*between != *first);
      CHECK_FALSE(compile_without_cache(job(Language::LlvmIr, "define void @f() { ret i32 %b }"), what));
      CHECK(*compile_without_cache(one, what) == *first);
      CHECK(*compile_without_cache(lines, what) == *with_lines);
      CHECK(*compile_without_cache(two, what) == *between);
    }
}

TEST_CASE("concurrent compilations give the same object") {
  auto alone = compile_without_cache(job(Language::LlvmIr, kAddIr), Artifact::Binary);
  REQUIRE(alone);
  std::atomic<int> same = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; i++)
        if (auto made = compile_without_cache(job(Language::LlvmIr, kAddIr), Artifact::Binary)) same += *made == *alone;
    });
  for (std::thread& t : threads) t.join();
  CHECK(same == 40);
}
