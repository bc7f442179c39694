#include "lib/support/open_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "lib/support/limits.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

constexpr int64_t kMaxTexts = 16;  // largest size of a copy, in multiples of Limit::InputBytes

FILE* copy_to_temporary(int from) {
  FILE* copy = std::tmpfile();
  if (!copy) return nullptr;
  std::vector<char> buffer(1 << 18);
  int64_t size = 0;
  for (;;) {
    ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n == 0) return copy;
    if (n > 0 && (size += n) / kMaxTexts > limit_value(Limit::InputBytes)) errno = EFBIG, n = -1;
    int error = n > 0 ? write_all(fileno(copy), {buffer.data(), size_t(n)}) : errno;
    if (error == 0) continue;
    std::fclose(copy);
    errno = error;
    return nullptr;
  }
}

// Returns the copy of the FIFO `path`, which the first call makes; null and errno on failure.
FILE* cached_copy(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, FILE*> copies;
  std::lock_guard lock(mutex);
  auto known = copies.find(path);
  if (known != copies.end()) return known->second;
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  FILE* copy = copy_to_temporary(fd);
  int error = errno;
  ::close(fd);
  errno = error;
  return copy ? copies[path] = copy : nullptr;
}

}  // namespace

int open_input_file(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISFIFO(info.st_mode)) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  FILE* copy = cached_copy(path);
  if (!copy) return -1;
  return ::open(("/proc/self/fd/" + std::to_string(fileno(copy))).c_str(), O_RDONLY | O_CLOEXEC);
}

}  // namespace tgc
