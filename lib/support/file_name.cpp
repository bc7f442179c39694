#include "lib/support/file_name.h"

#include <cstdint>

#include "lib/support/sha256.h"

namespace tgc {
namespace {

constexpr size_t kLongest = 170;  // maximum bytes of a name; leaves room for suffixes within the usual limit of 255
constexpr size_t kHash = 9;       // length of "-" and eight digits of the hash

// Returns the byte length of the first character of `text`; 0 if a file name should not contain this character.
size_t harmless(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  uint8_t first = byte(0);
  if (first < 0x80) return first > ' ' && first != 0x7F && first != '/' && first != '\\';
  size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  uint32_t code = first & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; i++) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  bool is_control = code < 0xA1 || (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202F) ||
                    (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xD800 && code < 0xE000) ||
                    code == 0x61C || code > 0x10FFFF;
  return is_control ? 0 : size;
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
