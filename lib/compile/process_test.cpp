#include "lib/compile/process.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "lib/compile/own_folder.h"

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
  remove_leftovers(base.path());
  CHECK(!fs::exists(left));
  for (const std::string& path : kept) CHECK_MESSAGE(fs::exists(path + "/kernel.o"), path);
  CHECK(fs::is_symlink(base.file(dead + "linked")));
  remove_leftovers(base.file("no such folder"));

  CHECK(fs::path(TemporaryFolder().path()).filename().string().starts_with(own));  // the name has the process id
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

TEST_CASE("kept sources: the oldest files are removed, by number and by size") {
  TemporaryFolder folder;
  auto make = [&](int from, int to, uint64_t size) {
    for (int i = from; i < to; i++) {
      const std::string path = folder.file(std::to_string(i));
      std::ofstream(path) << "code";
      fs::resize_file(path, size);
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(1000 - i));
    }
  };
  auto count = [&] { return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()); };
  make(0, 300, 4);
  make_room_for_kept(folder.path(), 4);
  CHECK(count() == 255);
  CHECK(fs::exists(folder.file("299")));
  CHECK(!fs::exists(folder.file("44")));
  make(300, 303, uint64_t(20) << 20);
  make_room_for_kept(folder.path(), uint64_t(10) << 20);
  CHECK(count() == 2);
  CHECK(fs::exists(folder.file("302")));
  make_room_for_kept(folder.path(), 4);
  CHECK(count() == 2);
  fs::create_directory(folder.file("folder"));
  make_room_for_kept(folder.path(), uint64_t(64) << 20);
  CHECK(count() == 1);  // folders stay
  make_room_for_kept(folder.file("none"), 4);
}
