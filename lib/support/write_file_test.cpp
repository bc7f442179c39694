#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "lib/support/testing.h"
#include "lib/support/write_file.h"

using namespace tgc;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("tgc-write-file-test." + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
  long files() const { return std::distance(fs::directory_iterator(path), {}); }
};

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
struct stat info_of(const std::string& path) {
  struct stat info{};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info;
}

int status_of(const std::function<void()>& work) {
  pid_t child = fork();
  if (child == 0) work(), _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("write_file: writes the whole file or nothing and leaves no other file") {
  Folder folder;
  std::string path = folder / "out", bytes("a\0b\n", 4);
  REQUIRE(write_file(path, "what was there before"));
  REQUIRE(write_file(path, bytes));
  CHECK(content(path) == bytes);
  Status missing = write_file(folder / "no/such", bytes), is_folder = write_file(folder.path.string(), bytes);
  REQUIRE(!missing);
  CHECK(missing.diag().text() == (folder / "no/such") + ": cannot write: No such file or directory");
  CHECK(!is_folder);
  CHECK(!write_file("", bytes));
  CHECK(!write_file(path + "/", bytes));
  CHECK(!write_file(folder / "new/", bytes));
  CHECK(folder.files() == 1);
}

TEST_CASE("write_file: keeps permissions, links and owners") {
  Folder folder;
  std::string path = folder / "out";
  REQUIRE(write_file(path, "old"));
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  REQUIRE(write_file(path, "new"));
  CHECK((info_of(path).st_mode & 07777) == 0640);

  fs::create_symlink("out", folder / "link");  // relative to the link's folder
  REQUIRE(write_file(folder / "link", "by the link"));
  CHECK(S_ISLNK(info_of(folder / "link").st_mode));
  CHECK(content(path) == "by the link");

  fs::create_symlink("to-come", folder / "dangling");
  REQUIRE(write_file(folder / "dangling", "made"));
  CHECK(content(folder / "to-come") == "made");

  fs::create_symlink("round", folder / "round");
  CHECK(!write_file(folder / "round", "x"));

  fs::create_hard_link(path, folder / "twin");
  auto inode = info_of(path).st_ino;
  REQUIRE(write_file(path, "short"));
  CHECK(content(folder / "twin") == "short");
  CHECK(info_of(path).st_ino == inode);
  CHECK(folder.files() == 6);

  if (geteuid() == 0) {
    fs::remove(folder / "twin");
    REQUIRE(::chown(path.c_str(), 1234, 2345) == 0);
    REQUIRE(write_file(path, "of another"));
    CHECK(info_of(path).st_uid == 1234);
    CHECK(info_of(path).st_gid == 2345);
    CHECK((info_of(path).st_mode & 07777) == 0640);
  }
}

TEST_CASE("write_file: does not follow another user's link in a world-writable folder") {
  SKIP_TEST_IF(geteuid() != 0, "only root can do this");
  Folder folder;
  REQUIRE(write_file(folder / "mine", "precious"));
  REQUIRE(::chmod(folder.path.c_str(), 01777) == 0);
  fs::create_symlink("mine", folder / "trap");
  REQUIRE(::lchown((folder / "trap").c_str(), 1234, 1234) == 0);
  CHECK(!write_file(folder / "trap", "x"));
  CHECK(content(folder / "mine") == "precious");
}

TEST_CASE("write_file: writes directly to devices, FIFOs and descriptors") {
  Folder folder;
  std::string fifo = folder / "fifo", got;
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::thread reader([&] { got = content(fifo); });
  CHECK(write_file(fifo, "through"));
  reader.join();
  CHECK(got == "through");
  CHECK(S_ISFIFO(info_of(fifo).st_mode));
  CHECK(write_file("/dev/null", "gone"));
  CHECK(S_ISCHR(info_of("/dev/null").st_mode));
  Status full = write_file("/dev/full", "x");
  REQUIRE(!full);
  CHECK(full.diag().text() == "/dev/full: cannot write: No space left on device");

  std::string path = folder / "shared";  // writes to /dev/fd/N must begin at the offset of descriptor N
  int fd = ::open(path.c_str(), O_CREAT | O_RDWR, 0600);
  REQUIRE(write_all(fd, "first ") == 0);
  CHECK(write_file("/dev/fd/" + std::to_string(fd), "second"));
  fs::create_symlink("/proc/self/fd/" + std::to_string(fd), folder / "link");
  CHECK(write_file(folder / "link", " third"));
  CHECK(content(path) == "first second third");
  ::close(fd);
  CHECK(!write_file("/dev/fd/" + std::to_string(fd), "x"));
}

TEST_CASE("FileWriter: content that is not committed or does not fit leaves the old file") {
  Folder folder;
  std::string path = folder / "out";
  REQUIRE(write_file(path, "old"));
  {
    auto file = FileWriter::create(path);
    REQUIRE(file);
    REQUIRE(file->write("half"));
    CHECK(folder.files() == 2);
  }
  CHECK(content(path) == "old");
  CHECK(folder.files() == 1);

  fs::create_hard_link(path, folder / "twin");
  for (std::string name : {"out", "new"}) {
    int status = status_of([&] {
      signal(SIGXFSZ, SIG_IGN);
      rlimit small{1000, 1000};
      setrlimit(RLIMIT_FSIZE, &small);
      Status written = write_file((folder.path / name).string(), std::string(5000, 'x'));
      _exit(written ? 1 : written.diag().message == "cannot write: File too large" ? 0 : 2);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(content(path) == "old");
  CHECK(folder.files() == 2);
}

TEST_CASE("FileWriter: a signal that ends the process removes the incomplete file") {
  Folder folder;
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGXFSZ, SIGABRT}) {
    int status = status_of([&] {
      for (int n : {SIGTERM, SIGINT, SIGHUP, SIGXFSZ, SIGABRT}) signal(n, SIG_DFL);
      rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      auto file = FileWriter::create(folder / "out");
      if (!file || !file->write("half")) _exit(3);
      if (fork() == 0) {  // must not remove its parent's files
        raise(SIGTERM);
        _exit(0);
      }
      int child = 0;
      wait(&child);
      if (folder.files() != 1) _exit(4);
      raise(number);
    });
    INFO(number);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    CHECK(folder.files() == 0);
  }
}

using namespace tgc;

TEST_CASE("file_name_of: valid names stay unchanged, others become valid and distinct") {
  for (std::string good : {"bin_add_half.0", "E_22_3_4n1", "a#b@c+d", "größe", "モデル.3"})
    CHECK(file_name_of(good) == good);
  std::set<std::string> seen;
  const std::string hostile[] = {"", ".", "..", "../../x", "/etc/passwd", "-o", "a/b", "a b", "a\nb", "a\\b",
                                 std::string("a\0b", 3), std::string("a\0", 2), "a\x1b[31m", "\xff\xfe", "\xc0\xaf",
                                 "\xe2\x80\xae" "gpj", "\xed\xa0\x80", std::string(400, 'x'), std::string(401, 'x'),
                                 std::string(200, '/')};
  for (const std::string& name : hostile) {
    std::string made = file_name_of(name);
    INFO(made);
    CHECK(seen.insert(made).second);
    CHECK(made.size() < 200);
    CHECK(made[0] != '.');
    CHECK(made[0] != '-');
    CHECK(std::filesystem::path(made).filename() == made);
    for (char c : made) CHECK((c > ' ' || c < 0));
    CHECK(file_name_of(made) == made);
  }
}

TEST_CASE("TakenPaths: a repeated name gets a distinct path") {
  UsedPaths taken;
  CHECK(taken.make_distinct_path("k") == "k");
  CHECK(taken.make_distinct_path("k") == "k~2");
  CHECK(taken.make_distinct_path("k~2") == "k~2~2");
  CHECK(taken.make_distinct_path("k") == "k~3");
  CHECK(!taken.reserve_path("k"));
  CHECK(taken.reserve_path("l"));
}
