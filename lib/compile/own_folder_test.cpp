#include "lib/compile/own_folder.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "lib/contain/temporary_folder.h"

namespace fs = std::filesystem;
using namespace tgc;

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
  remove_oldest_kept_files(folder.path(), 4);
  CHECK(count() == 255);
  CHECK(fs::exists(folder.file("299")));
  CHECK(!fs::exists(folder.file("44")));
  make(300, 303, uint64_t(20) << 20);
  remove_oldest_kept_files(folder.path(), uint64_t(10) << 20);
  CHECK(count() == 2);
  CHECK(fs::exists(folder.file("302")));
  remove_oldest_kept_files(folder.path(), 4);
  CHECK(count() == 2);
  fs::create_directory(folder.file("folder"));
  remove_oldest_kept_files(folder.path(), uint64_t(64) << 20);
  CHECK(count() == 1);
  remove_oldest_kept_files(folder.file("none"), 4);
}
