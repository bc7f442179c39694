#include "lib/contain/process.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "lib/contain/temporary_folder.h"

namespace fs = std::filesystem;
using namespace tgc;

TEST_CASE("temporary folders: only leftovers of killed processes are removed") {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  REQUIRE(::waitpid(gone, nullptr, 0) == gone);
  TemporaryFolder base;
  auto made = [&](const std::string& name, int hours) {
    const std::string path = base.file(name);
    fs::create_directories(path);
    std::ofstream(path + "/kernel.o") << "code";
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    return path;
  };
  const std::string dead = "tgc-" + std::to_string(gone) + "-", own = "tgc-" + std::to_string(::getpid()) + "-";
  const std::string left = made(dead + "aB3dEf", 2);
  const std::string kept[] = {made(dead + "recent", 0), made(own + "aB3dEf", 2), made("tgc-kept-0", 2),
                              made(dead + "aB3dEf.more", 2), made("tgc--1-aB3dEf", 2)};
  fs::create_directory_symlink(kept[0], base.file(dead + "linked"));
  remove_leftover_folders(base.path());
  CHECK(!fs::exists(left));
  for (const std::string& path : kept) CHECK_MESSAGE(fs::exists(path + "/kernel.o"), path);
  CHECK(fs::is_symlink(base.file(dead + "linked")));
  remove_leftover_folders(base.file("no such folder"));

  CHECK(fs::path(TemporaryFolder().path()).filename().string().starts_with(own));
}

TEST_CASE("processes: a program that writes without end is ended") {
  auto ran = run_process({"cat", "/dev/zero"}, {}, 60);
  CHECK((!ran.ok() && ran.diag().message == "cat wrote more than 1 GB"));
}

TEST_CASE("processes: a program that closes its output and runs on is ended at its time limit") {
  auto begin = std::chrono::steady_clock::now();
  auto ran = run_process({"sh", "-c", "exec >&- 2>&-; sleep 20"}, {}, 1);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));
  CHECK((!ran.ok() && ran.diag().message == "sh did not end within 1 s"));
  CHECK(run_process({"sh", "-c", "exec >&- 2>&-; sleep 0.1; exit 7"}).value_or_throw().exit_code == 7);
}

TEST_CASE("shell: the exit code; at the time limit, what the command started is killed, too") {
  CHECK(run_shell("exit 7").value_or_throw() == 7);
  CHECK(run_shell("kill -9 $$").value_or_throw() == 128 + 9);
  CHECK(run_shell("read -r line; exit $?").value_or_throw() == 1);  // there is no standard input
  TemporaryFolder folder;
  const std::string child = folder.file("child");
  auto is_there = [&] {
    std::ifstream in(child);
    pid_t pid = 0;
    REQUIRE(bool(in >> pid));
    for (int i = 0; i < 100 && ::kill(pid, 0) == 0; i++) ::usleep(20000);
    return ::kill(pid, 0) == 0;
  };
  const std::string starts_child = "sleep 20 & echo $! > " + child + "; ";
  auto begin = std::chrono::steady_clock::now();
  CHECK(run_shell(starts_child + "sleep 20", {.limit_seconds = 0.5}).diag().message ==
        "did not end within 0.5 seconds");
  CHECK(!is_there());
  CHECK(run_shell(starts_child + "exit 3").value_or_throw() == 3);
  CHECK(!is_there());
  int asked = 0;
  CHECK(run_shell("sleep 20", {.should_stop = [&] { return ++asked > 3; }}).diag().message == "cancelled");
  const std::string started = folder.file("started");
  CHECK(run_shell("touch " + started, {.should_stop = [] { return true; }}).diag().message == "cancelled");
  CHECK(!fs::exists(started));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}
