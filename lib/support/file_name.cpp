#include "lib/support/file_name.h"

#include "lib/support/pytext.h"
#include "lib/support/sha256.h"
#include "lib/support/visible.h"

namespace tgc {
namespace {

constexpr size_t kLongest = 170;  // maximum bytes of a name; leaves room for suffixes within the usual limit of 255
constexpr size_t kHash = 9;       // length of "-" and eight digits of the hash

// Returns the byte length of the first character of `text`; 0 if a file name should not contain this character.
size_t harmless(std::string_view text) {
  size_t end = 0;
  int32_t code = decode_utf8(text, end);
  constexpr std::u32string_view kBad = U"\t\n\u00a0\u202f /\\";
  bool is_bad = code < 0 || is_hidden(uint32_t(code)) || kBad.find(char32_t(code)) != kBad.npos;
  return is_bad ? 0 : end;
}

}  // namespace

std::string file_name_of(std::string_view name) {
  std::string out = name.empty() || name[0] == '.' || name[0] == '-' ? "_" : "";
  bool same = out.empty();
  size_t cut = 0;  // end of the last character after which the hash still fits in the name
  for (size_t i = 0; i < name.size();) {
    size_t size = harmless(name.substr(i));
    if (out.size() + size > kLongest) {
      same = false;
      break;
    }
    if (out.size() <= kLongest - kHash) cut = out.size();
    out += size ? name.substr(i, size) : "_";
    same &= size > 0;
    i += size ? size : 1;
  }
  if (!same && out.size() > kLongest - kHash) out.resize(cut);
  return same ? out : out + "-" + to_hex(sha256(name)).substr(0, 8);
}

std::string TakenPaths::distinct(const std::string& stem) {
  std::string out = stem;
  for (size_t n = 2; !take(out); n++) out = stem + "~" + std::to_string(n);
  return out;
}

}  // namespace tgc
