#include "lib/support/open_input.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace tgc {
namespace {

std::string all_of(int fd) {
  std::string out(100, '\0');
  ssize_t n = ::read(fd, out.data(), out.size());
  ::close(fd);
  return out.substr(0, n < 0 ? 0 : size_t(n));
}

TEST_CASE("open_input: a FIFO can be opened several times, each time at its beginning") {
  const auto path = std::filesystem::temp_directory_path() / ("tgc_fifo." + std::to_string(getpid()));
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(path) << "once"; });
  int first = open_input_file(path), second = open_input_file(path);
  writer.join();
  REQUIRE(first >= 0);
  REQUIRE(second >= 0);
  CHECK(all_of(first) == "once");
  CHECK(all_of(second) == "once");
  CHECK(all_of(open_input_file(path)) == "once");
  std::filesystem::remove(path);
}

TEST_CASE("open_input: a missing file returns -1") { CHECK(open_input_file("/no/such/file") == -1); }

}  // namespace
}  // namespace tgc
