#include "lib/compile/own_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/compile/cache.h"
#include "lib/support/file_name.h"
#include "lib/support/write_file.h"

namespace tgc {

namespace fs = std::filesystem;

Status make_own_folder(const std::string& path) {
  auto refused = [&](const std::string& why) { return Diag{.message = why, .file = path}; };
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return refused(std::string("cannot make the folder: ") + std::strerror(errno));
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return refused(std::string("cannot use it: ") + std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refused("not a folder");
  if (info.st_uid != geteuid()) return refused("the folder belongs to another user");
  if ((info.st_mode & 077) && ::chmod(path.c_str(), 0700) != 0)
    return refused(std::string("cannot make the folder private: ") + std::strerror(errno));
  return Unit{};
}

Result<std::string> temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  std::string path = named && *named ? named : "/tmp";
  std::error_code error;
  if (fs::is_directory(path, error)) return path;
  return Diag{.message = "the folder for temporary files does not exist",
              .file = path,
              .expected = named && *named ? "TMPDIR to name one" : "it, or TMPDIR to name another"};
}

Result<std::string> keep_for_user(const std::string& name, const std::string& extension, std::string_view text) {
  std::string folder;
  Status made = catch_failures([&] {
    const CompileCache& cache = CompileCache::shared();
    if (!cache.enabled()) throw Failure("the cache is off");
    return make_own_folder(folder = (cache.folder() / "kept").string()).value_or_throw();
  });
  if (!made) {
    auto base = temporary_folder();
    if (!base) return base.diag();
    folder = *base + "/tgc-kept-" + std::to_string(geteuid());
    if (auto own = make_own_folder(folder); !own) return own.diag();
  }
  std::string file = file_name_of(name.empty() ? "kernel" : name) + "-" + to_hex(sha256(text)).substr(0, 8);
  std::string path = folder + "/" + file + "." + extension;
  if (auto status = write_file(path, text); !status) return status.diag();
  return path;
}

}  // namespace tgc
