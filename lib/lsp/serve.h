// The base protocol of language servers. A message is JSON below a header with its length in bytes:
//   Content-Length: 52\r\n\r\n{"jsonrpc":"2.0",...
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tgc {

class MessageReader {
 public:
  void add_bytes(std::string_view bytes);
  // Returns an empty text for an unusable header, which is skipped, and nullopt if more bytes are needed.
  std::optional<std::string> next_message();

 private:
  std::string received_bytes_;
  size_t next_byte_ = 0;
};

std::string frame_message(std::string_view json);

}  // namespace tgc
