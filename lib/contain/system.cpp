#include "lib/contain/system.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace tgc {

#if TGC_LINUX
bool make_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0; }
int accept_connection(int socket) { return accept4(socket, nullptr, nullptr, SOCK_CLOEXEC); }
std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}
#else
bool make_pipe(int ends[2]) {
  if (pipe(ends) != 0) return false;
  for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
  return true;
}
int accept_connection(int socket) {
  int connection = accept(socket, nullptr, nullptr);
  if (connection >= 0) fcntl(connection, F_SETFD, FD_CLOEXEC);
  return connection;
}
std::string signal_name(int signal) {
  struct Row {
    int signal;
    const char* name;
  };
  constexpr Row kNames[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
                            {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
                            {SIGKILL, "SIGKILL"}, {SIGSEGV, "SIGSEGV"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"},
                            {SIGTERM, "SIGTERM"}, {SIGSYS, "SIGSYS"},   {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}};
  for (const Row& row : kNames)
    if (row.signal == signal) return row.name;
  return "signal " + std::to_string(signal);
}
#endif

double processor_seconds() {
  double out = 0;
  for (int whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(whose, &used);
    for (const timeval& t : {used.ru_utime, used.ru_stime}) out += double(t.tv_sec) + double(t.tv_usec) * 1e-6;
  }
  return out;
}

}  // namespace tgc
