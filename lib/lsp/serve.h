// The base protocol of language servers: messages of JSON, each below a header with its length in bytes:
//   Content-Length: 52\r\n\r\n{"jsonrpc":"2.0",...
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tgc {

// Splits the bytes that a client sends into messages. Damaged headers are skipped.
class MessageReader {
 public:
  void add(std::string_view bytes);
  // Returns the next whole message; an empty text for a damaged header; nullopt if more bytes are needed.
  std::optional<std::string> next();

 private:
  std::string buffer_;
  size_t at_ = 0;  // the bytes of buffer_ before at_ were returned
};

// Returns `json` below its header.
std::string framed(std::string_view json);

}  // namespace tgc
