#include "lib/support/log.h"

#include <doctest/doctest.h>

namespace tgc {
namespace {

std::string logged;

struct Logged {
  Logged() { logged.clear(), set_log_output([](std::string_view line) { logged += line; }); }
  ~Logged() { log_levels = {}; }
};

TEST_CASE("log: a level applies to all topics or to one, and entries below it are not made") {
  Logged log;
  REQUIRE(set_log_levels("info,contain=debug,live=off"));
  int made = 0;
  auto entry = [&](const char* text) {
    return [&made, text] { return made++, std::string(text); };
  };
  log_info(LogTopic::Compile, entry("compiled"));
  log_debug(LogTopic::Compile, entry("too detailed"));
  log_debug(LogTopic::Contain, entry("worker 7 started"));
  log_info(LogTopic::Live, entry("off"));
  CHECK(made == 2);
  CHECK(logged.find(" info compile: compiled\n") != std::string::npos);
  CHECK(logged.find(" debug contain: worker 7 started\n") != std::string::npos);
  CHECK(logged.starts_with("tgc: "));
}

TEST_CASE("log: an unknown level or topic is an error") {
  Logged log;
  CHECK(set_log_levels("loud").diag().text() == "unknown log level 'loud', expected off, info or debug");
  CHECK(set_log_levels("compile").diag().message.starts_with("unknown log level"));
  CHECK(set_log_levels("info,nothing=debug").diag().message == "unknown topic of the log 'nothing'");
  CHECK(set_log_levels("").diag().message == "unknown log level ''");
  CHECK_FALSE(set_log_file("/dev/null/log.txt"));
}

}  // namespace
}  // namespace tgc
