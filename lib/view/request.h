// What a browser asks the server of `tgc view` for: the head of an HTTP request, read without trust.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

struct Request {
  std::string path;    // as it was sent, without what follows '?'
  std::string host;    // of the Host header
  std::string origin;  // of the Origin header; empty: none
};

constexpr size_t kMostOfRequest = 16 << 10;  // bytes of a head

// Whether the head is there as a whole; until then more is to be read.
bool is_whole_request(std::string_view head);

// The request. Errors, whose message is an HTTP status line's end ("405 Method Not Allowed"): what is no GET, a head
// that is no head of HTTP/1.0 or 1.1, none or several Host headers, a body.
Result<Request> parse_request(std::string_view head);

}  // namespace tgc
