#include "lib/support/write_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace tgc;
namespace fs = std::filesystem;

TEST_CASE("write_file: the whole file or none, and nothing beside it") {
  fs::path folder = fs::temp_directory_path() / "tgc-write-file-test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::string path = (folder / "out").string(), bytes("a\0b\n", 4);
  REQUIRE(write_file(path, "what was there before"));
  REQUIRE(write_file(path, bytes));
  std::ifstream in(path, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == bytes);
  Status missing = write_file((folder / "no" / "such").string(), bytes), is_folder = write_file(folder.string(), bytes);
  REQUIRE(!missing);
  CHECK(missing.diag().text() == (folder / "no" / "such").string() + ": cannot write: No such file or directory");
  CHECK(!is_folder);
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  fs::remove_all(folder);
}
