#include "lib/compile/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "lib/compile/own_folder.h"
#include "lib/contain/system.h"

extern char** environ;

namespace tgc {

namespace fs = std::filesystem;

namespace {

std::string error_text(int code) { return std::strerror(code); }

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int fds[2];
    if (!make_pipe(fds)) throw Failure("cannot make a pipe: " + error_text(errno));
    read = fds[0], write = fds[1];
  }
  ~Pipe() { close_read(), close_write(); }
  void close_read() { close(read); }
  void close_write() { close(write); }

 private:
  static void close(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

pid_t start(const std::vector<std::string>& argv, Pipe& in, Pipe& out, Pipe& err) {
  std::vector<char*> args;
  for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  posix_spawn_file_actions_adddup2(&actions, err.write, 2);
  pid_t pid = 0;
  posix_spawnattr_t usual;  // gives the program the default actions for signals that this process ignores
  posix_spawnattr_init(&usual);
  sigset_t signals;
  sigemptyset(&signals), sigaddset(&signals, SIGPIPE), sigaddset(&signals, SIGXFSZ);
  posix_spawnattr_setsigdefault(&usual, &signals);
  posix_spawnattr_setflags(&usual, POSIX_SPAWN_SETSIGDEF);
  int code = ::posix_spawnp(&pid, args[0], &actions, &usual, args.data(), environ);
  posix_spawnattr_destroy(&usual);
  posix_spawn_file_actions_destroy(&actions);
  if (code) throw Failure("cannot start " + argv[0] + ": " + error_text(code));
  return pid;
}

constexpr size_t kMostOutput = size_t(1) << 30;  // bytes; the answer of a worker cannot be longer either

// Reads what is available; returns false at the end of the file.
bool drain(int fd, std::string& to) {
  char chunk[1 << 16];
  ssize_t n = ::read(fd, chunk, sizeof chunk);
  if (n > 0) to.append(chunk, size_t(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

ProcessResult talk(const std::vector<std::string>& argv, std::string_view input, int seconds) {
  using Clock = std::chrono::steady_clock;
  Pipe in, out, err;
  pid_t pid = start(argv, in, out, err);
  in.close_read(), out.close_write(), err.close_write();
  ::fcntl(in.write, F_SETFL, O_NONBLOCK);
  auto deadline = Clock::now() + std::chrono::seconds(seconds);
  auto killed = [&](const std::string& why) -> Failure {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return Failure(argv[0] + why);
  };
  auto too_late = [&] { return killed(" did not end within " + std::to_string(seconds) + " s"); };
  ProcessResult result;
  if (input.empty()) in.close_write();
  while (out.read >= 0 || err.read >= 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd fds[] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}, {in.write, POLLOUT, 0}};
    if (left <= 0 || ::poll(fds, 3, int(left)) == 0) throw too_late();
    if (fds[2].revents) {
      ssize_t n = ::write(in.write, input.data(), input.size());
      if (n > 0) input.remove_prefix(size_t(n));
      if (input.empty() || (n < 0 && errno != EAGAIN && errno != EINTR)) in.close_write();
    }
    if (fds[0].revents && !drain(out.read, result.out)) out.close_read();
    if (fds[1].revents && !drain(err.read, result.err)) err.close_read();
    if (result.out.size() + result.err.size() > kMostOutput) throw killed(" wrote more than 1 GB");
  }
  int status = 0;
  auto pause = std::chrono::microseconds(50);  // a program usually ends as soon as it has closed its output
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (Clock::now() >= deadline) throw too_late();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(10000));
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

// Ignores SIGPIPE, so that a program that ends before it has read its input does not kill this process.
void ignore_broken_pipes() {
  static const bool done = [] {
    struct sigaction old;
    if (::sigaction(SIGPIPE, nullptr, &old) == 0 && old.sa_handler == SIG_DFL) ::signal(SIGPIPE, SIG_IGN);
    return true;
  }();
  (void)done;
}

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& argv, std::string_view input, int seconds) {
  ignore_broken_pipes();
  return catch_failures([&] { return talk(argv, input, seconds); });
}

std::string find_program(std::string_view name, const std::vector<std::string>& folders) {
  std::vector<std::string> places;
  if (const char* path = std::getenv("PATH")) {
    std::stringstream parts{std::string(path)};
    for (std::string part; std::getline(parts, part, ':');)
      if (!part.empty()) places.push_back(part);
  }
  places.insert(places.end(), folders.begin(), folders.end());
  for (const std::string& folder : places)
    if (std::string path = folder + "/" + std::string(name); ::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

TemporaryFolder::TemporaryFolder() {
  static std::once_flag once;
  const std::string folder = temporary_folder().value_or_throw();
  std::call_once(once, [&] { remove_leftovers(folder); });
  std::string pattern = folder + "/tgc-" + std::to_string(::getpid()) + "-XXXXXX";
  if (!::mkdtemp(pattern.data())) throw Failure("cannot make a temporary folder: " + error_text(errno));
  path_ = std::move(pattern);  // a copy could fail, and then nobody would remove the folder
}
TemporaryFolder::~TemporaryFolder() {
  // remove_all allocates: if memory ran out, a second attempt may have enough
  for (int attempts = 0; attempts < 2; attempts++) {
    try {
      std::error_code error;
      fs::remove_all(path_, error);
      if (!error) return;
    } catch (const std::bad_alloc&) {
    }
  }
}

void remove_leftovers(const std::string& temporary_folder) {
  constexpr time_t kAge = 3600;  // seconds; a newer folder may belong to a process of another container
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

std::string read_whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) throw Failure(Diag{.message = "cannot read", .file = path});
  return text.str();
}

}  // namespace tgc
