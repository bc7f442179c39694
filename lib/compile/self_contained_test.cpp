#include "lib/compile/self_contained.h"

#include <doctest/doctest.h>

#include "lib/compile/backends.h"
#include "lib/compile/load.h"

using namespace tgc;

namespace {

std::string refusal(Language language, std::string_view source) {
  try {
    check_self_contained(language, source);
    return "";
  } catch (const RejectedSource& rejected) {
    return rejected.diag().text();
  }
}

bool begins(const std::string& text, std::string_view part) { return text.starts_with(part); }

}  // namespace

TEST_CASE("self-contained sources: preprocessor lines are refused, except those that renderers print") {
  for (Language l : {Language::C, Language::Cuda, Language::Hip, Language::OpenCl}) {
    CHECK(refusal(l, "#define half _Float16\nvoid f() {}\n") == "");
    CHECK(refusal(l, "#define __WMMA_16_16_16_half_float __builtin_amdgcn_mfma_f32_16x16x16f16\n") == "");
    CHECK(begins(refusal(l, "void f() {\n  #include \"/etc/passwd\"\n}"), "2:3: a line for the preprocessor"));
    for (std::string_view source :
         {"#embed \"/etc/passwd\"", "int a[] = {\n#embed </etc/passwd>\n};", "#if __has_include(\"/etc/x\")\n#endif",
          "/**/ #include \"x\"", "%:include \"x\"", "?" "?=include \"x\"", "#inc\\\nlude \"x\"",
          "#define half _Float16 // \\\n#include \"x\"", "#define __a __builtin_amdgcn_b(\"x\")", "#define X a##sm"}) {
      INFO(source);
      CHECK(refusal(l, source) != "");
    }
  }
}

TEST_CASE("self-contained sources: inline assembly is refused, except that of tensor cores") {
  for (Language l : {Language::C, Language::Hip, Language::OpenCl})
    for (std::string_view source : {"asm(\".incbin \\\"/etc/passwd\\\"\");", "void f() { __asm__ volatile(\"x\"); }",
                                    "__asm(\".include \\\"x\\\"\");"})
      CHECK(begins(refusal(l, source).substr(refusal(l, source).find(' ') + 1), "inline assembly"));
  for (Language l : {Language::C, Language::Hip, Language::OpenCl, Language::Cuda, Language::Metal})
    for (std::string_view source :
         {"__as\\\nm__(\"x\");", "__as\\ \t\nm__(\"x\");", "__as\\\r\nm__(\"x\");", "__as?" "?/\nm__(\"x\");",
          "__a\\u0073m__(\"x\");",
          "a\\U00000073m(\"x\");", "_Pragma(\"GCC dependency \\\"/etc/passwd\\\"\")", "x \\"}) {
      INFO(source);
      CHECK(refusal(l, source) != "");
    }
  CHECK(refusal(Language::OpenCl, R"(printf("%d \"\n\\", x);)") == "");
  CHECK(refusal(Language::C, "int plasma, asm_1;") == "");
  CHECK(refusal(Language::Cuda, "  asm(\"mma.sync.aligned.m16n8k16\");") == "");
  constexpr Language kIr = Language::LlvmIr;
  CHECK(refusal(kIr, "module asm \".incbin \\22/etc/passwd\\22\"") != "");
  CHECK(refusal(kIr, "  call void asm sideeffect \".include \\22x\\22\", \"\"()") != "");
  CHECK(refusal(kIr, "  call void asm sideeffect \".word (0x201000+($0<<5)+0$1-((0$1>>4)*6))\", \"i,r,~{memory}\""
                "(i32 4, i64 %x) #0; AMX ldz") == "");
  CHECK(refusal(kIr, "  call void asm sideeffect \"nop\\0Anop\\0Anop\\0A.word (2101792)\", \"~{memory}\"()") == "");
  CHECK(refusal(kIr, "  call void asm sideeffect \"nop\\0Anop\\0Anop\\0A.word (1)\\0A.incbin \\22x\\22\", \"\"()")
        != "");
  CHECK(refusal(kIr, "define void @asm(i32 %asm) {") == "");
}

TEST_CASE("self-contained sources: compile rejects sources that read files") {
  for (auto [renderer, source] :
       {std::pair("CLANG", "#include \"/etc/hostname\"\nvoid f() {}"),
        std::pair("LLVM", "module asm \".incbin \\22/etc/hostname\\22\"\ndefine void @f() {\n  ret void\n}")}) {
    auto job = make_compile_job("CPU", renderer, "");
    REQUIRE(job.ok());
    job->source = source, job->name = "closed";
    std::string why = compile_without_cache(*job, Artifact::Binary).diag().message;
    CHECK(why.find("a source must not read files") != std::string::npos);
  }
}

TEST_CASE("self-contained sources: code may call math and memory functions only") {
  auto load = [](std::string source) {
    auto job = make_compile_job("CPU", "CLANG", "");
    job->source = std::move(source), job->name = "f";
    auto object = compile(*job, Artifact::Binary);
    if (!object) return object.diag().text();
    auto code = load_object(*object);
    return code ? std::string() : code.diag().text();
  };
  CHECK(load("float exp2f(float);\nvoid f(float* x) { x[0] = exp2f(x[0]); }") == "");
  CHECK(load("void* memcpy(void*, void*, unsigned long);\nvoid f(char* x, long n) { memcpy(x, x + n, n); }") == "");
  for (const char* name : {"system", "execve", "open", "socket", "fork", "dlsym", "mprotect"}) {
    std::string declared = "int " + std::string(name) + "(const char*);\n";
    std::string why = load(declared + "void f(char* x) { " + name + "(x); }");
    CHECK(why.find("which kernels may not call") != std::string::npos);
  }
}
