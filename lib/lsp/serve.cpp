// The loop of the language server: it answers messages first, then reads the output of jobs, then works.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "lib/lsp/message_reader.h"
#include "lib/lsp/server.h"
#include "lib/support/write_file.h"

namespace tgc {

int serve_lsp(int in, int out, const std::string& program) {
  bool is_connected = true;
  LspServer server([&](const std::string& json) { is_connected &= is_connected && write_all(out, framed(json)) == 0; },
                   program);
  ::fcntl(out, F_SETPIPE_SZ, 1 << 20);  // so that a large answer needs few switches between processes
  MessageReader reader;
  while (is_connected) {
    while (auto message = reader.next()) {
      server.receive(*message);
      if (server.exit_code()) return *server.exit_code();
    }
    std::vector<pollfd> fds{{in, POLLIN, 0}};
    for (int fd : server.job_outputs()) fds.push_back({fd, POLLIN, 0});
    const int ready = ::poll(fds.data(), fds.size(), server.has_work() ? 0 : -1);
    if (ready < 0 && errno != EINTR) return 1;
    if (ready == 0) server.work();
    if (ready <= 0) continue;
    if (fds[0].revents) {
      char chunk[1 << 16];
      const ssize_t n = ::read(in, chunk, sizeof chunk);
      if (n == 0 || (n < 0 && errno != EINTR)) return 1;
      if (n > 0) reader.add({chunk, size_t(n)});
    } else {
      server.read_jobs();
    }
  }
  return 1;
}

}  // namespace tgc
