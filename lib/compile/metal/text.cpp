#include "lib/compile/metal/text.h"

#include <algorithm>
#include <utility>

#include "lib/compile/backends.h"
#include "lib/compile/metal/library.h"

namespace tgc {
namespace {

using PositionName = std::pair<std::string_view, std::string_view>;
constexpr PositionName kPositions[] = {
    {"threadgroup_position_in_grid", "group"},
    {"threadgroups_per_grid", "groups"},
    {"thread_position_in_threadgroup", "thread_in_group"},
    {"threads_per_threadgroup", "threads"},
    {"thread_position_in_grid", "thread_in_grid"},
    {"thread_index_in_threadgroup", "number_in_group"},
    {"thread_index_in_simdgroup", "number_in_simdgroup"},
    {"simdgroup_index_in_threadgroup", "simdgroup"}};

// Comments, and literals of strings and characters, yield no tokens.
struct Token {
  std::string_view text;
  size_t offset = 0;
};

std::vector<Token> tokenize(std::string_view s) {
  std::vector<Token> out;
  for (size_t at = 0; at < s.size();) {
    std::string_view rest = s.substr(at);
    size_t length = 1;
    if (rest.starts_with("//")) length = rest.find('\n');
    else if (rest.starts_with("/*")) length = rest.find("*/", 2) == rest.npos ? rest.npos : rest.find("*/", 2) + 2;
    else if (rest[0] == '"' || rest[0] == '\'') {
      while (length < rest.size() && rest[length] != rest[0]) length += rest[length] == '\\' ? 2 : 1;
      length++;
    } else if (is_word_char(rest[0])) {
      while (length < rest.size() && is_word_char(rest[length])) length++;
      out.push_back({rest.substr(0, length), at});
    } else if (static_cast<unsigned char>(rest[0]) > ' ') {
      out.push_back({rest.substr(0, 1), at});
    }
    at = length >= s.size() - at ? s.size() : at + length;
  }
  return out;
}

[[noreturn]] void throw_rejection(std::string_view source, const Token& token, std::string what) {
  throw RejectedSource(Diag{.message = std::move(what),
                      .line = uint32_t(1 + std::count(source.begin(), source.begin() + long(token.offset), '\n'))});
}

class KernelParser {
 public:
  explicit KernelParser(std::string_view source) : source_(source), tokens_(tokenize(source)) {}

  std::vector<MetalKernel> parse_kernels() {
    std::vector<MetalKernel> out;
    for (size_t i = 0; i + 4 < tokens_.size(); i++)
      if (is_token(i, "kernel") && is_token(i + 1, "void") && is_token(i + 3, "(")) out.push_back(parse_kernel(i + 2));
    return out;
  }

  std::string convert_shared_memory() {
    std::string out;
    size_t done = 0, number = 0;
    for (size_t i = 1; i < tokens_.size(); i++) {
      bool declares =
          is_token(i, "threadgroup") && (is_token(i - 1, ";") || is_token(i - 1, "{") || is_token(i - 1, "}"));
      if (!declares) continue;
      size_t end = i;
      while (end < tokens_.size() && !is_token(end, ";")) end++;
      size_t name = i + 1, depth = 0;
      bool named = false;
      for (size_t k = i + 1; k < end; k++) {
        depth += is_token(k, "("), depth -= is_token(k, ")");
        if (is_token(k, "=") || (is_token(k, ",") && depth == 0))
          throw_rejection(source_, tokens_[k], "threadgroup memory is declared one array at a time, without values");
        named = named || is_token(k, "[");
        if (!named && depth == 0 && is_word_char(tokens_[k].text[0])) name = k;
      }
      if (end == tokens_.size() || name + 1 > end)
        throw_rejection(source_, tokens_[i], "a declaration of threadgroup memory has no end");
      std::string type = "tgc_type_" + std::to_string(number), called(tokens_[name].text);
      out += source_.substr(done, tokens_[i].offset - done);
      out += "typedef " + text_between(i + 1, name) + type + text_between(name + 1, end) + "; " + type + "& " + called +
             " = tgc_threadgroup_memory<" + type + ">(" + std::to_string(number++) + ", \"" + called + "\")";
      done = end < tokens_.size() ? tokens_[end].offset : source_.size();
      i = end;
    }
    return out + std::string(source_.substr(done));
  }

 private:
  bool is_token(size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }
  std::string text_between(size_t from, size_t to) const {
    return std::string(source_.substr(tokens_[from].offset, tokens_[to].offset - tokens_[from].offset));
  }

  MetalKernel parse_kernel(size_t name) {
    MetalKernel out{std::string(tokens_[name].text), {}};
    size_t begin = name + 2, depth = 0;
    for (size_t i = begin; i < tokens_.size(); i++) {
      if (depth == 0 && (is_token(i, ",") || is_token(i, ")"))) {
        if (i > begin) out.parameters.push_back(parse_parameter(begin, i));
        begin = i + 1;
        if (is_token(i, ")")) return out;
      }
      depth += is_token(i, "(") || is_token(i, "["), depth -= is_token(i, ")") || is_token(i, "]");
    }
    throw_rejection(source_, tokens_[name], "the parameters of the kernel '" + out.name + "' have no end");
  }

  MetalParameter parse_parameter(size_t begin, size_t end) {
    MetalParameter out;
    bool is_pointer = false;
    for (size_t i = begin; i < end; i++) {
      if (is_token(i, "[") && is_token(i + 1, "[")) {
        auto* known = std::ranges::find(kPositions, tokens_[i + 2].text, &PositionName::first);
        if (known != std::end(kPositions)) out.position = known->second;
        else if (!is_token(i + 2, "buffer"))
          throw_rejection(source_, tokens_[i],
                          "[[" + std::string(tokens_[i + 2].text) + "]], which the emulator does not support");
        break;
      }
      if (is_token(i, "*")) is_pointer = true;
      else if (is_token(i, "&")) out.is_reference = true;
      else out.name = tokens_[i].text;
    }
    if (out.position.empty() && !is_pointer && !out.is_reference)
      throw_rejection(source_, tokens_[begin],
                      "the parameter '" + out.name + "' is not a buffer, a value or a position");
    return out;
  }

  std::string_view source_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<MetalKernel> find_metal_kernels(std::string_view source) { return KernelParser(source).parse_kernels(); }

std::string metal_entry_name(std::string_view kernel) { return "tgc_entry_" + std::string(kernel); }

std::string convert_metal_to_cpp(std::string_view source) {
  KernelParser reader(source);
  std::string text = reader.convert_shared_memory();
  constexpr std::string_view kHeader = "#include <metal_stdlib>";
  for (size_t at = 0; (at = text.find(kHeader, at)) != text.npos;) text.replace(at, kHeader.size(), "");
  std::string out = std::string(kMetalLibrarySource) + text;
  if (!out.ends_with('\n')) out += '\n';
  for (const MetalKernel& k : reader.parse_kernels()) {
    out += "extern \"C\" TGC_UNCHECKED void " + metal_entry_name(k.name) +
           "(void* const* a, const tgc::Position* p) { " + k.name + "(";
    size_t n = 0;
    for (const MetalParameter& p : k.parameters) {
      if (&p != k.parameters.data()) out += ", ";
      if (!p.position.empty()) out += "tgc::" + p.position + "(*p)";
      else out += std::string(p.is_reference ? "tgc::Reference" : "tgc::Pointer") + "{a[" + std::to_string(n++) + "]}";
    }
    out += "); }\n";
  }
  return out;
}

}  // namespace tgc
