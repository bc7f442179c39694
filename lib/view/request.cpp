#include "lib/view/request.h"

#include <algorithm>
#include <utility>

namespace tgc {
namespace {

constexpr std::string_view kEnd = "\r\n";

Diag bad() { return Diag{"400 Bad Request"}; }

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return out;
}

std::string_view without_blanks(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

}  // namespace

bool is_whole_request(std::string_view head) { return head.find("\r\n\r\n") != head.npos; }

Result<Request> parse_request(std::string_view head) {
  size_t end = head.find("\r\n\r\n");
  if (end == head.npos || end > kMostOfRequest) return bad();
  head = head.substr(0, end + kEnd.size());
  auto line = [&] {
    size_t at = head.find(kEnd);
    std::string_view out = head.substr(0, at);
    head.remove_prefix(at + kEnd.size());
    return out;
  };
  std::string_view first = line();
  size_t a = first.find(' '), b = first.rfind(' ');
  if (a == first.npos || a == b) return bad();
  std::string_view path = first.substr(a + 1, b - a - 1), version = first.substr(b + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad();
  if (first.substr(0, a) != "GET") return Diag{"405 Method Not Allowed"};
  if (!path.starts_with('/') || !is_printable(path)) return bad();
  Request out{.path = std::string(path.substr(0, path.find('?'))), .host = {}, .origin = {}};
  bool has_host = false, has_origin = false;
  while (!head.empty()) {
    std::string_view header = line();
    size_t colon = header.find(':');
    if (colon == header.npos || !colon || !is_printable(header.substr(0, colon))) return bad();
    std::string name = lower(header.substr(0, colon));
    std::string_view value = without_blanks(header.substr(colon + 1));
    if (name == "host" && std::exchange(has_host, true)) return bad();
    if (name == "origin" && std::exchange(has_origin, true)) return bad();
    if (name == "host") out.host = value;
    if (name == "origin") out.origin = value;
    if (name == "transfer-encoding" || (name == "content-length" && value != "0")) return bad();
  }
  if (!has_host) return bad();
  return out;
}

}  // namespace tgc
