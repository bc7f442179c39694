#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>

#include "lib/lsp/serve.h"
#include "lib/lsp/server.h"
#include "lib/support/limits.h"
#include "lib/support/lines.h"
#include "lib/support/write_file.h"

namespace tgc {

int serve_lsp(int in, int out, const std::string& program) {
  bool is_connected = true;
  LspServer server(
      [&](const std::string& json) { is_connected &= is_connected && write_all(out, frame_message(json)) == 0; },
      program);
  ::fcntl(out, F_SETPIPE_SZ, 1 << 20);  // with a larger pipe, large answers need fewer process switches
  MessageReader reader;
  while (is_connected) {
    while (auto message = reader.next_message()) {
      server.receive_message(*message);
      if (server.exit_code()) return *server.exit_code();
    }
    std::vector<pollfd> fds{{in, POLLIN, 0}};
    for (int fd : server.job_output_descriptors()) fds.push_back({fd, POLLIN, 0});
    const int ready = ::poll(fds.data(), fds.size(), server.has_idle_work() ? 0 : -1);
    if (ready < 0 && errno != EINTR) return 1;
    if (ready == 0) server.do_idle_work();
    if (ready <= 0) continue;
    if (fds[0].revents) {
      char chunk[1 << 16];
      const ssize_t n = ::read(in, chunk, sizeof chunk);
      if (n == 0 || (n < 0 && errno != EINTR)) return 1;
      if (n > 0) reader.add_bytes({chunk, size_t(n)});
    } else {
      server.read_job_outputs();
    }
  }
  return 1;
}

namespace {

constexpr size_t kLongestHeader = 1 << 13;

// Returns nullopt if the Content-Length is missing, no number, or too large.
std::optional<size_t> content_length(std::string_view header) {
  constexpr std::string_view kName = "content-length:";
  for (std::string_view line : lines_of(header)) {
    auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? char(a - 'A' + 'a') : a) == b; };
    if (line.size() < kName.size() || !std::equal(kName.begin(), kName.end(), line.begin(), [&](char b, char a) {
          return same(a, b);
        }))
      continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t", kName.size()), line.size()));
    size_t length = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), length);
    const std::string_view rest = line.substr(size_t(end - line.data()));
    const int64_t most = limit_value(Limit::InputBytes);
    if (error != std::errc() || rest.find_first_not_of(" \t\r") != rest.npos) return std::nullopt;
    return most && length > size_t(most) ? std::nullopt : std::optional(length);
  }
  return std::nullopt;
}

}  // namespace

void MessageReader::add_bytes(std::string_view bytes) {
  if (next_byte_ > received_bytes_.size() / 2) received_bytes_.erase(0, next_byte_), next_byte_ = 0;
  received_bytes_ += bytes;
}

std::optional<std::string> MessageReader::next_message() {
  const std::string_view left = std::string_view(received_bytes_).substr(next_byte_);
  size_t end = left.substr(0, kLongestHeader).find("\r\n\r\n");
  if (end == left.npos) {
    if (left.size() < kLongestHeader) return std::nullopt;
    next_byte_ += kLongestHeader;
    return "";
  }
  const auto length = content_length(left.substr(0, end + 2));
  end += 4;
  if (!length) return next_byte_ += end, "";
  if (left.size() - end < *length) return std::nullopt;
  std::string out(left.substr(end, *length));
  next_byte_ += end + *length;
  return out;
}

std::string frame_message(std::string_view json) {
  return "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + std::string(json);
}

}  // namespace tgc
