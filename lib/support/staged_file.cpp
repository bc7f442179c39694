#include "lib/support/staged_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "lib/support/hex.h"

namespace tgc {
namespace {

// The table of staged files that signal handlers read. Its entries are never moved or freed.
struct Slot {
  enum State { Free, Taken, Live };
  std::atomic<int> state{Free};
  pid_t owner = 0;  // a forked child inherits the table, but must remove only its own files
  char path[PATH_MAX] = {};
};
constinit Slot slots[32];

void end_by_signal(int signal) {
  remove_staged_files();
  raise(signal);  // takes the default action, which SA_RESETHAND restored, when this handler returns
}

void watch_signals() {
  struct sigaction old, ours{};
  ours.sa_handler = end_by_signal;
  ours.sa_flags = int(SA_RESETHAND);
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ})
    if (sigaction(signal, nullptr, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
      sigaction(signal, &ours, nullptr);
}

// Adds `path` to the table. Returns the index of its slot; -1 if the table is full or the path too long.
int remember(const std::string& path) {
  watch_signals();
  for (int i = 0; i < int(std::size(slots)) && path.size() < PATH_MAX; i++) {
    int expected = Slot::Free;
    if (!slots[i].state.compare_exchange_strong(expected, Slot::Taken)) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].owner = getpid();
    slots[i].state = Slot::Live;
    return i;
  }
  return -1;
}

int forget(int slot) {
  if (slot >= 0) slots[slot].state = Slot::Free;
  return -1;
}

int random_name(std::string& out) {
  char bytes[12];
  if (getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) return errno;
  out = ".tgc-" + to_hex({bytes, sizeof bytes}) + ".tmp";
  return 0;
}

}  // namespace

void remove_staged_files() noexcept {
  pid_t self = getpid();
  int kept = errno;
  for (Slot& s : slots)
    if (s.state == Slot::Live && s.owner == self) unlink(s.path);
  errno = kept;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(size_t(n));
  }
  return 0;
}

void StagedFile::swap(StagedFile& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(slot_, other.slot_);
  path_.swap(other.path_);
}

StagedFile::~StagedFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!path_.empty()) ::unlink(path_.c_str());
  forget(slot_);
}

int StagedFile::create(const std::string& folder, mode_t mode) {
  std::string name;
  if (int error = random_name(name)) return error;
  path_ = folder.empty() ? name : folder + "/" + name;
  slot_ = remember(path_);  // call before the file is created, so that a signal never leaves it behind
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd_ >= 0) return 0;
  int error = errno;
  slot_ = forget(slot_);
  path_.clear();
  return error;
}

int StagedFile::write(std::string_view bytes) { return write_all(fd_, bytes); }

int StagedFile::sync() {
  return ::fsync(fd_) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
}

int StagedFile::move_to(const std::string& path) {
  // Quotas and network file systems may report errors only on close(); closing a duplicate descriptor reports them too.
  if (int same = ::dup(fd_); same < 0 || (::close(same) != 0 && errno != EINTR)) return errno;
  if (::rename(path_.c_str(), path.c_str()) != 0) return errno;
  ::close(std::exchange(fd_, -1));
  slot_ = forget(slot_);
  path_.clear();
  return 0;
}

}  // namespace tgc
