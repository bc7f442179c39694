#include "lib/support/write_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tgc {
namespace {

Diag trouble(const std::string& path, int error) {
  return {.message = std::string("cannot write: ") + std::strerror(error), .file = path};
}

}  // namespace

Status write_file(const std::string& path, std::string_view bytes) {
  std::string temporary = path + ".tmp" + std::to_string(::getpid());
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return trouble(path, errno);
  auto failed = [&](int error) {
    ::unlink(temporary.c_str());
    return trouble(path, error);
  };
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      int error = errno;
      ::close(fd);
      return failed(error);
    }
    done += size_t(n);
  }
  if (::close(fd) != 0) return failed(errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return failed(errno);
  return Unit{};
}

}  // namespace tgc
