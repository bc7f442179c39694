#include "lib/compile/cache.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <vector>

using namespace tgc;

namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("tgc_cache_test." + std::to_string(::getpid()));
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
};

Sha256 key(int i) { return make_cache_key({"test", std::to_string(i)}); }
std::string value(int i, size_t size = 2000) { return std::string(size, char('a' + i % 26)) + std::to_string(i); }

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.is_regular_file() && e.path().filename() != "lock") out.push_back(e.path());
  return out;
}

}  // namespace

TEST_CASE("cache: a stored value is found by its own key only") {
  Folder folder;
  CompileCache cache(folder.path, 1 << 20);
  CHECK_FALSE(cache.load_entry(key(1)));
  cache.store_entry(key(1), value(1));
  cache.store_entry(key(2), "");
  CHECK(cache.load_entry(key(1)) == value(1));
  CHECK(cache.load_entry(key(2)) == "");
  CHECK_FALSE(cache.load_entry(key(3)));
  CHECK(cache.measure_usage().entries == 2);
  CHECK(*cache.clear() == 2);
  CHECK_FALSE(cache.load_entry(key(1)));
  CHECK_FALSE(CompileCache(folder.path, 0).is_enabled());
  CHECK(make_cache_key({"ab", "c"}) != make_cache_key({"a", "bc"}));
}

TEST_CASE("cache: a damaged entry is ignored and replaced") {
  Folder folder;
  CompileCache cache(folder.path, 1 << 20);
  for (auto damage : {+[](std::string& s) { s.resize(s.size() / 2); }, +[](std::string& s) { s.back() ^= 1; },
                      +[](std::string& s) { s.clear(); }}) {
    cache.store_entry(key(1), value(1));
    fs::path file = entries_of(folder.path).at(0);
    std::ifstream in(file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    damage(bytes);
    std::ofstream(file, std::ios::binary) << bytes;
    CHECK_FALSE(cache.load_entry(key(1)));
    cache.store_entry(key(1), value(1));
    CHECK(cache.load_entry(key(1)) == value(1));
  }
}

TEST_CASE("cache: an entry of another key or user, or that is not a regular file, is ignored without blocking") {
  Folder folder;
  CompileCache cache(folder.path, 1 << 20);
  cache.store_entry(key(1), value(1));
  fs::path one = entries_of(folder.path).at(0);
  cache.store_entry(key(2), value(2));
  for (const fs::path& file : entries_of(folder.path))
    if (file != one) fs::copy_file(one, file, fs::copy_options::overwrite_existing);
  CHECK(cache.load_entry(key(1)) == value(1));
  CHECK_FALSE(cache.load_entry(key(2)));  // the file of key 2 holds key 1's entry

  auto ignores = [&](auto&& spoil) {
    cache.store_entry(key(1), value(1));
    REQUIRE(cache.load_entry(key(1)) == value(1));
    spoil();
    CHECK_FALSE(cache.load_entry(key(1)));
    fs::remove_all(one);
  };
  ignores([&] { fs::remove(one); REQUIRE(::mkfifo(one.c_str(), 0600) == 0); });
  ignores([&] { fs::remove(one), fs::create_directory(one); });
  ignores([&] { fs::rename(one, folder.path / "elsewhere"), fs::create_symlink(folder.path / "elsewhere", one); });
  ignores([&] { fs::permissions(one, fs::perms::all); });
  if (::geteuid() == 0) ignores([&] { REQUIRE(::chown(one.c_str(), 1234, 1234) == 0); });
  cache.store_entry(key(1), value(1));
  CHECK((fs::status(one).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("cache: the size stays within the limit, and the least recently used entries are evicted") {
  Folder folder;
  CompileCache cache(folder.path, 100'000);
  int looks = 0;
  for (int i = 0; i < 1000; i++) {
    cache.store_entry(key(i), value(i));
    CHECK(cache.load_entry(key(0)) == value(0));  // read in every round, so its entry is kept
    if (key(i)[0] != 0) continue;          // store_entry() checks the cache's size only for such keys
    CHECK(cache.measure_usage().bytes <= 100'000);
    looks++;
  }
  CHECK(looks >= 2);
  CHECK_FALSE(cache.load_entry(key(5)));
  CHECK(cache.load_entry(key(999)) == value(999));
  cache.store_entry(key(1000), std::string(200'000, 'x'));
  CHECK_FALSE(cache.load_entry(key(1000)));
}

TEST_CASE("cache: concurrent processes, some of them killed, see only whole entries") {
  Folder folder;
  std::vector<pid_t> children;
  for (int child = 0; child < 4; child++) {
    pid_t pid = ::fork();
    if (pid == 0) {
      CompileCache cache(folder.path, 200'000);
      for (int round = 0;; round++)
        for (int i = 0; i < 50; i++) {
          auto got = cache.load_entry(key(i));
          if (got && *got != value(i, 5000)) ::_exit(1);
          cache.store_entry(key(i), value(i, 5000));
          if (child < 2 && round == 3) ::_exit(0);
        }
    }
    children.push_back(pid);
  }
  for (int child = 0; child < 4; child++) {
    int status = 0;
    if (child >= 2) ::kill(children[size_t(child)], SIGKILL);
    ::waitpid(children[size_t(child)], &status, 0);
    if (child < 2) CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  CompileCache cache(folder.path, 200'000);
  for (int i = 0; i < 50; i++)
    if (auto got = cache.load_entry(key(i))) CHECK(*got == value(i, 5000));
}
