#include "lib/compile/metal/text.h"

#include <algorithm>
#include <utility>

#include "lib/compile/backends.h"
#include "lib/compile/metal/library.h"

namespace tgc {
namespace {

using Meaning = std::pair<std::string_view, std::string_view>;
constexpr Meaning kPositions[] = {
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
  size_t at = 0;
};

std::vector<Token> tokens_of(std::string_view s) {
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

[[noreturn]] void refuse(std::string_view source, const Token& token, std::string what) {
  throw RejectedSource(Diag{.message = std::move(what),
                      .line = uint32_t(1 + std::count(source.begin(), source.begin() + long(token.at), '\n'))});
}

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source), tokens_(tokens_of(source)) {}

  std::vector<MetalKernel> kernels() {
    std::vector<MetalKernel> out;
    for (size_t i = 0; i + 4 < tokens_.size(); i++)
      if (is(i, "kernel") && is(i + 1, "void") && is(i + 3, "(")) out.push_back(kernel(i + 2));
    return out;
  }

  std::string with_shared_memory() {
    std::string out;
    size_t done = 0, number = 0;
    for (size_t i = 1; i < tokens_.size(); i++) {
      bool declares = is(i, "threadgroup") && (is(i - 1, ";") || is(i - 1, "{") || is(i - 1, "}"));
      if (!declares) continue;
      size_t end = i;
      while (end < tokens_.size() && !is(end, ";")) end++;
      size_t name = i + 1, depth = 0;
      bool named = false;
      for (size_t k = i + 1; k < end; k++) {
        depth += is(k, "("), depth -= is(k, ")");
        if (is(k, "=") || (is(k, ",") && depth == 0))
          refuse(source_, tokens_[k], "threadgroup memory is declared one array at a time, without values");
        named = named || is(k, "[");
        if (!named && depth == 0 && is_word_char(tokens_[k].text[0])) name = k;
      }
      if (end == tokens_.size() || name + 1 > end)
        refuse(source_, tokens_[i], "a declaration of threadgroup memory has no end");
      std::string type = "tgc_type_" + std::to_string(number), called(tokens_[name].text);
      out += source_.substr(done, tokens_[i].at - done);
      out += "typedef " + between(i + 1, name) + type + between(name + 1, end) + "; " + type + "& " + called +
             " = tgc_threadgroup_memory<" + type + ">(" + std::to_string(number++) + ", \"" + called + "\")";
      done = end < tokens_.size() ? tokens_[end].at : source_.size();
      i = end;
    }
    return out + std::string(source_.substr(done));
  }

 private:
  bool is(size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }
  std::string between(size_t from, size_t to) const {
    return std::string(source_.substr(tokens_[from].at, tokens_[to].at - tokens_[from].at));
  }

  MetalKernel kernel(size_t name) {
    MetalKernel out{std::string(tokens_[name].text), {}};
    size_t begin = name + 2, depth = 0;
    for (size_t i = begin; i < tokens_.size(); i++) {
      if (depth == 0 && (is(i, ",") || is(i, ")"))) {
        if (i > begin) out.parameters.push_back(parameter(begin, i));
        begin = i + 1;
        if (is(i, ")")) return out;
      }
      depth += is(i, "(") || is(i, "["), depth -= is(i, ")") || is(i, "]");
    }
    refuse(source_, tokens_[name], "the parameters of the kernel '" + out.name + "' have no end");
  }

  MetalParameter parameter(size_t begin, size_t end) {
    MetalParameter out;
    bool is_pointer = false;
    for (size_t i = begin; i < end; i++) {
      if (is(i, "[") && is(i + 1, "[")) {
        auto* known = std::ranges::find(kPositions, tokens_[i + 2].text, &Meaning::first);
        if (known != std::end(kPositions)) out.position = known->second;
        else if (!is(i + 2, "buffer"))
          refuse(source_, tokens_[i],
                 "[[" + std::string(tokens_[i + 2].text) + "]], which the emulator does not support");
        break;
      }
      if (is(i, "*")) is_pointer = true;
      else if (is(i, "&")) out.is_reference = true;
      else out.name = tokens_[i].text;
    }
    if (out.position.empty() && !is_pointer && !out.is_reference)
      refuse(source_, tokens_[begin], "the parameter '" + out.name + "' is not a buffer, a value or a position");
    return out;
  }

  std::string_view source_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<MetalKernel> find_metal_kernels(std::string_view source) { return Reader(source).kernels(); }

std::string metal_entry_name(std::string_view kernel) { return "tgc_entry_" + std::string(kernel); }

std::string convert_metal_to_cpp(std::string_view source) {
  Reader reader(source);
  std::string text = reader.with_shared_memory();
  constexpr std::string_view kHeader = "#include <metal_stdlib>";
  for (size_t at = 0; (at = text.find(kHeader, at)) != text.npos;) text.replace(at, kHeader.size(), "");
  std::string out = std::string(kMetalLibrarySource) + text;
  if (!out.ends_with('\n')) out += '\n';
  for (const MetalKernel& k : reader.kernels()) {
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
