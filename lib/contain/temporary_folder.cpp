#include "lib/contain/temporary_folder.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>

namespace tgc {

namespace fs = std::filesystem;

Result<std::string> temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  std::string path = named && *named ? named : "/tmp";
  std::error_code error;
  if (fs::is_directory(path, error)) return path;
  return Diag{.message = "the folder for temporary files does not exist",
              .file = path,
              .expected = named && *named ? "TMPDIR to name one" : "it, or TMPDIR to name another"};
}

TemporaryFolder::TemporaryFolder() {
  static std::once_flag once;
  const std::string folder = temporary_folder().value_or_throw();
  std::call_once(once, [&] { remove_leftover_folders(folder); });
  std::string pattern = folder + "/tgc-" + std::to_string(::getpid()) + "-XXXXXX";
  if (!::mkdtemp(pattern.data())) throw Failure(std::string("cannot make a temporary folder: ") + std::strerror(errno));
  path_ = std::move(pattern);  // a copy could fail for lack of memory
}
TemporaryFolder::~TemporaryFolder() {
  // remove_all allocates, and a second attempt may have enough memory
  for (int attempts = 0; attempts < 2; attempts++) {
    try {
      std::error_code error;
      fs::remove_all(path_, error);
      if (!error) return;
    } catch (const std::bad_alloc&) {
    }
  }
}

void remove_leftover_folders(const std::string& temporary_folder) {
  constexpr time_t kAge = 3600;  // a newer folder may belong to a process of another container
  std::error_code error, ignored;
  for (fs::directory_iterator it(temporary_folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    int owner = 0, length = 0;
    if (std::sscanf(name.c_str(), "tgc-%d-%*6[a-zA-Z0-9]%n", &owner, &length) != 1 || size_t(length) != name.size() ||
        owner <= 0)
      continue;
    struct stat info;
    if (::lstat(it->path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) continue;
    bool is_old = ::time(nullptr) - info.st_mtime > kAge, is_gone = ::kill(owner, 0) != 0 && errno == ESRCH;
    if (is_old && is_gone) fs::remove_all(it->path(), ignored);
  }
}

}  // namespace tgc
