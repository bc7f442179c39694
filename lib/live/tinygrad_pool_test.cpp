#include <doctest/doctest.h>

#include <thread>

#include "lib/live/tinygrad_process.h"

namespace tgc {
namespace {

// Stands in for tinygrad: answers a record with its process id as the error, exits at "dies", and sleeps at "sleeps".
constexpr const char* kFake = R"(while read -r q; do case "$q" in
*about*) echo '{"producer":"tinygrad 0.14.0","settings":["NOOPT"]}';;
*dies*) exit 3;;
*sleeps*) sleep 30;;
*) echo "{\"record\":{\"id\":\"k\",\"target\":\"CPU:CLANG\",\"nodes\":1,\"ast\":\"\",\"stages\":[],\"error\":\"$$\"}}";;
esac; done #)";

CompileQuestion about(const std::string& id) {
  return {.id = id, .target = "CPU:CLANG", .graph_json = "{}", .is_live = true};
}

}  // namespace

TEST_CASE("TinygradPool: a crash or a timeout is the result of its question, and a new process takes the place") {
  TinygradPool pool(kFake, 1, {});
  CHECK(pool.facts().value_or_throw().producer == "tinygrad 0.14.0");
  CHECK(pool.facts().value_or_throw().settings.contains("NOOPT"));
  const std::string first = *pool.ask_process(about("a")).value_or_throw().error;
  CHECK(*pool.ask_process(about("b")).value_or_throw().error == first);
  CHECK(*pool.ask_process(about("dies")).value_or_throw().error == "the command ended with exit code 3");
  const std::string second = *pool.ask_process(about("c")).value_or_throw().error;
  CHECK(second != first);
  pool.set_limit_seconds(0.2);
  CHECK(pool.ask_process(about("sleeps")).value_or_throw().error->find("did not answer within 0.2 s") !=
        std::string::npos);
  pool.set_limit_seconds(20);
  CHECK(*pool.ask_process(about("d")).value_or_throw().error != second);
}

TEST_CASE("TinygradPool: several threads share the processes") {
  TinygradPool pool(kFake, 2, {});
  std::set<std::string> processes;
  std::mutex lock;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; i++)
      threads.emplace_back([&] {
        for (int k = 0; k < 8; k++) {
          const std::string said = *pool.ask_process(about("k")).value_or_throw().error;
          std::lock_guard guard(lock);
          processes.insert(said);
        }
      });
  }
  CHECK(processes.size() >= 1);
  CHECK(processes.size() <= 2);
}

TEST_CASE("TinygradPool: a command without tinygrad is an error that says what to do") {
  TinygradPool pool("exit 7 #", 2, {});
  const std::string said = pool.ask_process(about("a")).diag().text();
  CHECK(said.find("tinygrad does not answer: the command ended with exit code 7") != std::string::npos);
  CHECK(said.find("pip install tinygrad") != std::string::npos);
}

TEST_CASE("CompileQuestion: a live question may leave a match of a rule out") {
  CompileQuestion question = about("k");
  question.excluded_match = RuleMatch{.place = "uop/symbolic.py:113", .match_number = 3, .stage = 4};
  CHECK(question.json() ==
        R"({"id":"k","target":"CPU:CLANG","settings":{},"live":true,"leave_out":{"place":"uop/symbolic.py:113",)"
        R"("n":3,"stage":4},"graph":{}})");
}

}  // namespace tgc
