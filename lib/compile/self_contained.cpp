#include "lib/compile/self_contained.h"

#include <algorithm>

#include "lib/compile/backends.h"

namespace tgc {
namespace {

// Preprocessor lines that renderers/cstyle prints.
constexpr std::string_view kDirectives[] = {
    "#define INFINITY (__builtin_inff())", "#define NAN (__builtin_nanf(\"\"))",
    "#define INFINITY (__int_as_float(0x7f800000))", "#define NAN (__int_as_float(0x7fffffff))",
    "#define half _Float16", "#pragma OPENCL EXTENSION cl_khr_fp16 : enable", "#include <cuda_fp8.h>",
    "#include <cuda_fp16.h>", "#include <cuda_bf16.h>", "#include <metal_stdlib>",
    R"c(#define AMX_SET(imm5) __asm("nop\nnop\nnop\n.word (0x201000+(%0<<5)+%1)" : : "i"(17), "i"(imm5) : "memory"))c",
    R"c(#define AMX(op, gpr, btf) __asm(".word (0x201000+(%0 << 5)+0%1-((0%1>>4)*6))" : : "i"(op), )c"
    R"c("r"((unsigned long long)(gpr)+(btf)) : "memory"))c"};
// Inline assembly that the LLVM IR renderer prints, up to the end of the string: Apple's AMX.
constexpr std::string_view kAssembly[] = {"asm sideeffect \".word (0x201000+($0<<5)+0$1-((0$1>>4)*6))\"",
                                          "asm sideeffect \"nop\\0Anop\\0Anop\\0A.word (2101792)\"",
                                          "asm sideeffect \"nop\\0Anop\\0Anop\\0A.word (2101793)\""};

[[noreturn]] void throw_rejection(std::string_view source, size_t at, const std::string& what) {
  std::string_view before = source.substr(0, at);
  size_t line_begin = before.rfind('\n') + 1;
  throw RejectedSource(Diag{.message = what + ", which no renderer prints: a source must not read files",
                      .line = uint32_t(1 + std::count(before.begin(), before.end(), '\n')),
                      .column = uint32_t(at - line_begin + 1)});
}

size_t find_word(std::string_view text, std::string_view word, size_t from) {
  for (size_t at = from; (at = text.find(word, at)) != text.npos; at++) {
    bool begins = at == 0 || !is_word_char(text[at - 1]), ends = at + word.size() >= text.size() ||
                                                            !is_word_char(text[at + word.size()]);
    if (begins && ends) return at;
  }
  return text.npos;
}

// Returns true for a line such as
// "#define __WMMA_16_16_16_half_float __builtin_amdgcn_mfma_f32_16x16x16f16".
bool names_tensor_core(std::string_view line) {
  constexpr std::string_view kDefine = "#define __", kBuiltin = " __builtin_amdgcn_";
  size_t builtin = line.find(kBuiltin);
  return line.starts_with(kDefine) && builtin != line.npos &&
         std::ranges::all_of(line.substr(kDefine.size(), builtin - kDefine.size()), is_word_char) &&
         std::ranges::all_of(line.substr(builtin + kBuiltin.size()), is_word_char);
}

bool is_renderer_line(std::string_view source, size_t at) {
  std::string_view line = source.substr(at, source.find('\n', at) - at);
  return (at == 0 || source[at - 1] == '\n') &&
         (std::ranges::find(kDirectives, line) != std::end(kDirectives) || names_tensor_core(line));
}

void check_c_source(Language language, std::string_view source) {
  for (std::string_view sign : {"#", "%:", "?" "?="})  // # and C's other spellings of it: digraph and trigraph
    for (size_t at = 0; (at = source.find(sign, at)) != source.npos;) {
      if (!is_renderer_line(source, at)) throw_rejection(source, at, "a line for the preprocessor");
      at = std::min(source.find('\n', at), source.size());
    }
  // These could hide a word: a backslash or trigraph at the end of a line joins two lines; \u and \U spell characters.
  for (size_t at = 0; (at = source.find('\\', at)) != source.npos; at++)
    if (at + 1 == source.size() || std::string_view(" \t\v\f\r\nuU").find(source[at + 1]) != source.npos)
      throw_rejection(source, at, "a joined line or an escaped character");
  if (size_t at = source.find("?" "?/"); at != source.npos) throw_rejection(source, at, "a trigraph");
  for (std::string_view word : {"_Pragma", "__pragma"})
    if (size_t at = find_word(source, word, 0); at != source.npos) throw_rejection(source, at, "a pragma");
  if (language == Language::Cuda) return;  // PTX assembly cannot read files
  for (std::string_view word : {"asm", "_asm", "__asm", "__asm__"})
    for (size_t at = 0; (at = find_word(source, word, at)) != source.npos; at++)
      if (!is_renderer_line(source, source.rfind('\n', at) + 1)) throw_rejection(source, at, "inline assembly");
}

void check_llvm_ir(std::string_view source) {
  for (size_t at = 0; (at = find_word(source, "asm", at)) != source.npos; at++) {
    bool is_name = at > 0 && (source[at - 1] == '%' || source[at - 1] == '@');
    auto begins = [&](std::string_view known) { return source.substr(at).starts_with(known); };
    if (!is_name && std::ranges::none_of(kAssembly, begins)) throw_rejection(source, at, "inline assembly");
  }
}

}  // namespace

void check_self_contained(Language language, std::string_view source) {
  switch (language) {
    case Language::LlvmIr: return check_llvm_ir(source);
    case Language::Ptx: return;
    default: return check_c_source(language, source);
  }
}

}  // namespace tgc
