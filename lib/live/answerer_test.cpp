#include "lib/live/answerer.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

namespace tgc {

TEST_CASE("Answerer: a process that exceeds the time limit is killed, and the next question gets a new one") {
  AnswerProcess slow("read q; case $q in slow) sleep 30;; *) echo $$;; esac; read q", 0.2, {});
  const std::string first = slow.ask_question("1").value_or_throw();
  slow.stop_process();
  CHECK(slow.ask_question("slow").diag().text().find("did not answer within 0.2 s") != std::string::npos);
  CHECK(slow.ask_question("2").value_or_throw() != first);
}

TEST_CASE("Answerer: a busy process ends when the process that asks it is killed") {
  int news[2];
  REQUIRE(::pipe(news) == 0);
  const pid_t asker = ::fork();
  if (asker == 0) {
    AnswerProcess busy("read q; echo $$; while :; do :; done", 10, {});
    if (auto pid = busy.ask_question("")) (void)!::write(news[1], pid->data(), pid->size());
    ::close(news[1]);
    ::pause();
  }
  ::close(news[1]);
  char text[32] = {};
  REQUIRE(::read(news[0], text, sizeof text - 1) > 0);
  const pid_t busy = pid_t(std::strtol(text, nullptr, 10));
  ::kill(asker, SIGKILL), ::waitpid(asker, nullptr, 0);
  auto is_there = [&] {  // Returns true if the process runs; a zombie (state Z in /proc) does not.
    std::ifstream in("/proc/" + std::to_string(busy) + "/stat");
    std::string line;
    return std::getline(in, line) && line.find(") Z") == line.npos;
  };
  for (int i = 0; i < 200 && is_there(); i++) ::usleep(10000);
  CHECK_FALSE(is_there());
  ::close(news[0]);
}

}  // namespace tgc
