#include "lib/compile/own_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "lib/compile/cache.h"
#include "lib/contain/temporary_folder.h"
#include "lib/support/write_file.h"

namespace tgc {

namespace fs = std::filesystem;

namespace {

// A recording may have any number of sources that do not compile.
constexpr size_t kMostKeptFiles = 256;
constexpr uint64_t kMostKeptBytes = uint64_t(64) << 20;

}  // namespace

void remove_oldest_kept_files(const std::string& folder, uint64_t size) {
  struct KeptFile {
    fs::file_time_type time;
    uint64_t size;
    fs::path path;
  };
  std::vector<KeptFile> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (!fs::is_regular_file(it->symlink_status(gone))) continue;
    KeptFile file{it->last_write_time(gone), it->file_size(gone), it->path()};
    if (!gone) files.push_back(std::move(file));
    if (!gone) size += files.back().size;
  }
  std::ranges::sort(files, {}, &KeptFile::time);
  size_t left = files.size();
  for (const KeptFile& file : files) {
    if (left < kMostKeptFiles && size <= kMostKeptBytes) break;
    fs::remove(file.path, error);
    left--, size -= file.size;
  }
}

Status make_private_folder(const std::string& path) {
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

Result<std::string> keep_file_for_user(const std::string& name, const std::string& extension, std::string_view text) {
  std::string folder;
  Status made = catch_failures([&] {
    const CompileCache& cache = CompileCache::shared_cache();
    if (!cache.is_enabled()) throw Failure("the cache is off");
    return make_private_folder(folder = (cache.folder() / "kept").string()).value_or_throw();
  });
  if (!made) {
    auto base = temporary_folder();
    if (!base) return base.diag();
    folder = *base + "/tgc-kept-" + std::to_string(geteuid());
    if (auto own = make_private_folder(folder); !own) return own.diag();
  }
  std::string file = file_name_of(name.empty() ? "kernel" : name) + "-" + sha256_hex(sha256(text)).substr(0, 8);
  std::string path = folder + "/" + file + "." + extension;
  if (text.size() > kMostKeptBytes)
    return Diag{.message = "it has " + std::to_string(text.size()) + " bytes", .file = path};
  remove_oldest_kept_files(folder, text.size());
  if (auto status = write_file(path, text); !status) return status.diag();
  return path;
}

}  // namespace tgc
