// Parses the head of an untrusted HTTP request to the server of `tgc view`.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

struct Request {
  std::string path;    // the path as sent, up to a '?'
  std::string host;    // the Host header
  std::string origin;  // the Origin header; empty: none
};

constexpr size_t kMostOfRequest = 16 << 10;  // maximum bytes of a head

// Returns true if `head` is complete, that is, ends with an empty line.
bool is_whole_request(std::string_view head);

// Parses the head of a request. An error's message is the end of an HTTP status line ("405 Method Not Allowed").
// Errors: a method other than GET, a malformed head, a version other than HTTP/1.0 or 1.1, not one Host header, a body.
Result<Request> parse_request(std::string_view head);

}  // namespace tgc
