#include "lib/compile/hand_written.h"

#include <algorithm>
#include <map>

#include "lib/compile/backends.h"
#include "lib/support/lines.h"

namespace tgc {
namespace {

struct LanguageTarget {
  const char* name;
  const char* target;
};
constexpr LanguageTarget kNames[] = {{"cuda", "CUDA"}, {"hip", "AMD:HIP"},   {"opencl", "CL"}, {"metal", "METAL"},
                                     {"llvm", "CPU:LLVM"}, {"c", "CPU:CLANG"}};

// Words that HIP's headers define, and their replacements without these headers.
const std::pair<const char*, const char*> kHipWords[] = {
    {"__global__", "__attribute__((global))"},
    {"__device__", "__attribute__((device))"},
    {"__shared__", "__attribute__((shared))"},
    {"__forceinline__", "__inline__ __attribute__((always_inline))"},
    {"threadIdx.x", "(int)__builtin_amdgcn_workitem_id_x()"},
    {"threadIdx.y", "(int)__builtin_amdgcn_workitem_id_y()"},
    {"threadIdx.z", "(int)__builtin_amdgcn_workitem_id_z()"},
    {"blockIdx.x", "(int)__builtin_amdgcn_workgroup_id_x()"},
    {"blockIdx.y", "(int)__builtin_amdgcn_workgroup_id_y()"},
    {"blockIdx.z", "(int)__builtin_amdgcn_workgroup_id_z()"},
    {"blockDim.x", "(int)__builtin_amdgcn_workgroup_size_x()"},
    {"blockDim.y", "(int)__builtin_amdgcn_workgroup_size_y()"},
    {"blockDim.z", "(int)__builtin_amdgcn_workgroup_size_z()"},
    // the number of work groups: code objects of version 5 pass it as a hidden argument of the kernel
    {"gridDim.x", "((const __attribute__((address_space(4))) int*)__builtin_amdgcn_implicitarg_ptr())[0]"},
    {"gridDim.y", "((const __attribute__((address_space(4))) int*)__builtin_amdgcn_implicitarg_ptr())[1]"},
    {"gridDim.z", "((const __attribute__((address_space(4))) int*)__builtin_amdgcn_implicitarg_ptr())[2]"},
    {"__syncthreads()",
     "(__builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\"), __builtin_amdgcn_s_barrier(), "
     "__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\"))"},
};
constexpr std::string_view kHeaders[] = {"hip/hip_runtime.h", "hip/hip_fp16.h", "cuda_runtime.h",
                                         "device_launch_parameters.h", "cuda.h"};
// Headers that check_self_contained() accepts.
constexpr std::string_view kKnown[] = {"cuda_fp8.h", "cuda_fp16.h", "cuda_bf16.h", "metal_stdlib"};

using WordReplacements = std::map<std::string, std::string, std::less<>>;

// Replaces whole words outside of strings and comments; a word may contain a dot or end with "()". Removes
// /* comments */, because their lines may look like preprocessor directives. `in_comment`: whether the line begins and,
// on return, ends inside of such a comment.
std::string replace_words(std::string_view line, const WordReplacements& words, bool& in_comment) {
  std::string out;
  for (size_t at = 0; at < line.size();) {
    if (!in_comment && line.substr(at).starts_with("//")) return out += line.substr(at);
    if (in_comment || line.substr(at).starts_with("/*")) {
      size_t end = line.find("*/", at + (in_comment ? 0 : 2));
      in_comment = end == line.npos;
      at = in_comment ? line.size() : end + 2, out += ' ';
      continue;
    }
    if (line[at] == '"') {
      size_t end = line.find('"', at + 1);
      end = end == line.npos ? line.size() : end + 1;
      out += line.substr(at, end - at), at = end;
      continue;
    }
    if (!is_word_char(line[at])) {
      out += line[at++];
      continue;
    }
    size_t end = at;
    while (end < line.size() && is_word_char(line[end])) end++;
    size_t longest = end;
    if (end + 1 < line.size() && line[end] == '.' && is_word_char(line[end + 1]))
      for (longest = end + 1; longest < line.size() && is_word_char(line[longest]);) longest++;
    if (line.substr(end).starts_with("()")) longest = end + 2;
    auto found = words.find(line.substr(at, longest - at));
    if (found == words.end()) longest = end, found = words.find(line.substr(at, end - at));
    out += found == words.end() ? std::string(line.substr(at, longest - at)) : found->second;
    at = longest;
  }
  return out;
}

// Replaces __launch_bounds__(N) by the attribute that clang has for AMD.
std::string replace_launch_bounds(std::string line) {
  constexpr std::string_view kBounds = "__launch_bounds__(";
  if (size_t at = line.find(kBounds); at != line.npos)
    if (size_t end = line.find(')', at); end != line.npos)
      line.replace(at, end + 1 - at, "__attribute__((amdgpu_flat_work_group_size(1, " +
                                         line.substr(at + kBounds.size(), end - at - kBounds.size()) + ")))");
  return line;
}

Diag preprocessor_error(size_t number, std::string_view line) {
  return {.message = "a hand-written kernel may define macros without parameters, but has '" + std::string(line) + "'",
          .line = uint32_t(number), .column = 1,
          .expected = "the source after the preprocessor, as `clang -E` or `nvcc -E` prints it"};
}

// Returns the text that replaces a preprocessor directive; adds a macro that it defines to `words`. Throws Failure for
// a directive that is not supported.
std::string convert_directive(std::string_view line, size_t number, WordReplacements& words, bool& in_comment) {
  std::string_view rest = trimmed_line(line.substr(1));
  auto argument = [&](std::string_view word) { return trimmed_line(rest.substr(word.size())); };
  if (rest.starts_with("pragma") && argument("pragma").starts_with("unroll")) return "";
  if (rest.starts_with("pragma") && argument("pragma").starts_with("OPENCL")) return std::string(line);
  if (rest.starts_with("include")) {
    std::string_view file = argument("include");
    if (file.size() > 2) file = file.substr(1, file.size() - 2);
    if (std::ranges::find(kHeaders, file) != std::end(kHeaders)) return "";
    if (std::ranges::find(kKnown, file) != std::end(kKnown)) return std::string(line);
  }
  if (rest.starts_with("define")) {
    const std::string_view macro = argument("define");
    const size_t end = size_t(std::ranges::find_if_not(macro, is_word_char) - macro.begin());
    const std::string_view value = trimmed_line(macro.substr(end, macro.find("//") - std::min(end, macro.find("//"))));
    const bool has_parameters = end < macro.size() && macro[end] == '(';
    if (end > 0 && !has_parameters && value.find('#') == value.npos && !value.ends_with('\\'))
      return words[std::string(macro.substr(0, end))] = replace_words(value, words, in_comment), "";
  }
  throw Failure(preprocessor_error(number, line));
}

std::string_view kernel_keyword(Language language) {
  switch (language) {
    case Language::Cuda: return "__global__";
    case Language::Hip: return "__attribute__((global))";
    case Language::OpenCl: return "kernel";
    case Language::Metal: return "kernel";
    case Language::LlvmIr: return "define";
    default: return "void";
  }
}

constexpr std::string_view kQualifiers[] = {"const",    "restrict", "__restrict__", "__restrict", "volatile", "global",
                                            "__global", "constant", "__constant",   "device",     "noalias",  "local",
                                            "noundef",  "readonly", "writeonly",    "nocapture",  "align",    "struct"};

// Parses the declaration of a parameter, such as "const float* __restrict__ a", "device float* a [[buffer(0)]]" or
// "float* noalias align 32 %a".
HandWrittenKernel::KernelParameter parse_parameter(std::string text) {
  HandWrittenKernel::KernelParameter out;
  if (size_t attributes = text.find("[["); attributes != text.npos) {
    out.is_builtin = !trimmed_line(text.substr(attributes + 2)).starts_with("buffer");
    text.resize(attributes);
  }
  out.is_pointer = text.find('*') != text.npos || text.starts_with("ptr") || text.find('&') != text.npos;
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && (is_word_char(text[end]) || text[end] == '.')) end++;
    if (end > at) words.push_back(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  out.is_const = std::ranges::find(words, "const") != words.end() ||
                 std::ranges::find(words, "constant") != words.end() ||
                 std::ranges::find(words, "readonly") != words.end();
  std::erase_if(words, [](const std::string& w) {
    return std::ranges::find(kQualifiers, w) != std::end(kQualifiers) || w == "ptr" ||
           (w.find_first_not_of("0123456789") == w.npos);
  });
  if (words.empty()) return out;
  out.name = words.back(), words.pop_back();
  for (const std::string& w : words) out.type += (out.type.empty() ? "" : " ") + w;
  return out;
}

HandWrittenKernel parse_kernel(std::string_view source, size_t open) {
  HandWrittenKernel out;
  size_t begin = open;
  while (begin > 0 && is_word_char(source[begin - 1])) begin--;
  out.name = source.substr(begin, open - begin);
  std::string parameter;
  int depth = 0;
  for (size_t i = open; i < source.size(); i++) {
    const char c = source[i];
    depth += c == '(' || c == '[', depth -= c == ')' || c == ']';
    if ((depth == 1 && c == ',') || depth == 0) {
      if (!trimmed_line(parameter).empty())
        out.parameters.push_back(parse_parameter(std::string(trimmed_line(parameter))));
      parameter.clear();
      if (depth == 0) break;
    } else if (i > open) {
      parameter += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

bool is_template(std::string_view text, size_t at) {
  const size_t end = text.find_last_of(";{}", at);
  const std::string_view before = text.substr(end == text.npos ? 0 : end, at - (end == text.npos ? 0 : end));
  return before.find("template") != before.npos;
}

std::string remove_comments(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const bool is_long = rest.starts_with("/*");
    if (!is_long && !rest.starts_with("//")) {
      out += text[at++];
      continue;
    }
    size_t end = text.find(is_long ? "*/" : "\n", at);
    at = end == text.npos ? text.size() : end + (is_long ? 2 : 0);
  }
  return out;
}

}  // namespace

std::vector<std::string> language_names() {
  std::vector<std::string> out;
  for (const LanguageTarget& l : kNames) out.push_back(l.name);
  return out;
}

Result<std::string> default_language_target(const std::string& language) {
  std::string all;
  for (const LanguageTarget& l : kNames) {
    if (language == l.name) return std::string(l.target);
    all += (all.empty() ? "" : ", ") + std::string(l.name);
  }
  return Diag{.message = "unknown language '" + language + "'", .expected = "one of " + all};
}

Result<std::string> make_self_contained_source(Language language, std::string_view text) {
  if (language == Language::LlvmIr || language == Language::Ptx) return std::string(text);
  return catch_failures([&] {
    WordReplacements words;
    if (language == Language::Hip) words.insert(std::begin(kHipWords), std::end(kHipWords));
    std::string out;
    size_t number = 0;
    bool in_comment = false;
    for (std::string_view line : lines_of(text)) {
      number++;
      if (!in_comment && trimmed_line(line).starts_with('#')) {
        out += convert_directive(trimmed_line(line), number, words, in_comment) + "\n";
        continue;
      }
      std::string made = replace_words(line, words, in_comment);
      if (language == Language::Hip) made = replace_launch_bounds(std::move(made));
      const size_t mark = made.find(kernel_keyword(language));
      const bool is_device = language == Language::Hip || language == Language::Cuda;
      if (is_device && mark != made.npos && text.find("extern \"C\"") == text.npos &&
          !is_template(out + made, out.size() + mark))
        made.insert(mark, "extern \"C\" ");
      out += made + "\n";
    }
    return out;
  });
}

Result<std::vector<HandWrittenKernel>> kernels_in_source(Language language, std::string_view source) {
  std::vector<HandWrittenKernel> out;
  const std::string text = remove_comments(source);
  const std::string_view mark = kernel_keyword(language);
  std::string templates;
  for (size_t at = 0; (at = text.find(mark, at)) != text.npos; at += mark.size()) {
    const size_t behind = at + mark.size();
    const size_t begin = at >= 2 && text.substr(at - 2, 2) == "__" ? at - 2 : at;  // OpenCL also takes __kernel
    if ((begin > 0 && is_word_char(text[begin - 1])) || (behind < text.size() && is_word_char(text[behind]))) continue;
    // the parameters begin after the function's name, which follows "void" and attributes, or "@" in LLVM IR
    const bool is_ir = language == Language::LlvmIr;
    const size_t from = is_ir ? text.find('@', at) : text.find("void", at);
    size_t open = text.find('(', from);
    while (!is_ir && open != text.npos) {  // skips __attribute__((..)) and __launch_bounds__(..)
      size_t first = open;
      while (first > 0 && is_word_char(text[first - 1])) first--;
      const std::string_view word = std::string_view(text).substr(first, open - first);
      if (!word.starts_with("__attribute__") && !word.starts_with("__launch_bounds__")) break;
      int depth = 0;
      size_t end = open;
      do depth += text[end] == '(', depth -= text[end] == ')', end++;
      while (depth && end < text.size());
      open = text.find('(', end);
    }
    if (from == text.npos || open == text.npos) break;
    HandWrittenKernel kernel = parse_kernel(text, open);
    if (is_template(text, begin)) templates += (templates.empty() ? "" : ", ") + kernel.name;
    else if (!kernel.name.empty()) out.push_back(std::move(kernel));
    at = open - mark.size();
  }
  if (out.empty() && !templates.empty())
    return Diag{.message = "all kernels of the source are templates: " + templates,
                .expected = "a kernel that is no template, such as one that calls a template function"};
  if (out.empty())
    return Diag{.message = "the source has no kernel", .expected = "a function that begins with " + std::string(mark)};
  return out;
}

}  // namespace tgc
