// Parses the head of an untrusted HTTP request to the server of `tgc view`.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

struct Request {
  std::string path;    // as sent, without the part after '?'
  std::string host;    // of the Host header
  std::string origin;  // of the Origin header; empty: none
};

constexpr size_t kMostOfRequest = 16 << 10;  // maximum bytes of a head

// Returns true if the head is complete.
bool is_whole_request(std::string_view head);

// Parses the head. Errors, whose message is the end of an HTTP status line ("405 Method Not Allowed"): a method other
// than GET, a malformed head, a version other than HTTP/1.0 and 1.1, no or several Host headers, a body.
Result<Request> parse_request(std::string_view head);

}  // namespace tgc
