#include "lib/compile/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "lib/support/write_file.h"

namespace tgc {

namespace fs = std::filesystem;

namespace {

// Entry format: magic, hash of all that follows, key, payload. The key detects an entry copied to another entry's path.
constexpr std::string_view kMagic = "tgc-cache-2\n";
constexpr size_t kHashed = kMagic.size() + sizeof(Sha256), kHeader = kHashed + sizeof(Sha256);

std::string_view hash_bytes(const Sha256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<uint64_t> cache_limit_from_environment() {
  constexpr uint64_t kUsual = 512, kMost = uint64_t(1) << 40;  // in MiB; shifting a value up to kMost cannot overflow
  std::string text = environment_value("TGC_CACHE_MB");
  uint64_t value = text.empty() ? kUsual : 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || (error == std::errc() && end == text.data() + text.size() && value <= kMost)) return value << 20;
  return Diag{.message = "TGC_CACHE_MB is '" + text + "'", .expected = "a number of megabytes"};
}

fs::path default_folder() {
  if (std::string dir = environment_value("TGC_CACHE_DIR"); !dir.empty()) return dir;
  if (std::string dir = environment_value("XDG_CACHE_HOME"); !dir.empty()) return fs::path(dir) / "tgc";
  if (std::string dir = environment_value("HOME"); !dir.empty()) return fs::path(dir) / ".cache" / "tgc";
  return {};
}

// Rejects files that are not regular, belong to another user or are writable by other users. Never waits for a FIFO.
bool read_entry(const fs::path& path, std::string& out) {
  int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info;
  bool ok = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & 022);
  if (ok) {
    out.resize(size_t(info.st_size));
    size_t at = 0;
    while (at < out.size()) {
      ssize_t n = ::read(fd, out.data() + at, out.size() - at);
      if (n <= 0) break;
      at += size_t(n);
    }
    ok = at == out.size();
    ::futimens(fd, nullptr);
  }
  ::close(fd);
  return ok;
}

std::optional<struct stat> find_entry_status(const fs::path& path) {
  struct stat info;
  bool is_entry = path.filename().string().size() == 2 * sizeof(Sha256) && ::stat(path.c_str(), &info) == 0;
  return is_entry && S_ISREG(info.st_mode) ? std::optional(info) : std::nullopt;
}

// True for a temporary file of a writer that probably crashed, because the file is old.
bool is_leftover_file(const fs::path& path) {
  constexpr time_t kLong = 3600;  // in seconds
  struct stat info;
  bool is_staged = path.filename().string().starts_with(".tgc-") && ::lstat(path.c_str(), &info) == 0;
  return is_staged && info.st_mtime < ::time(nullptr) - kLong;
}

// True for one key in 256. A count of stored entries would not do, because a process may store only one entry.
bool is_shrink_due(const Sha256& key) { return key[0] == 0; }

// is_held() is false if another process has the lock, or if locking fails.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : fd_(::open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    is_held_ = fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool is_held() const { return is_held_; }

 private:
  int fd_;
  bool is_held_;
};

}  // namespace

CompileCache& CompileCache::shared_cache() {
  static CompileCache cache = [] {
    fs::path folder = default_folder();
    bool off = folder.empty() || environment_value("TGC_CACHE") == "0";
    return CompileCache(folder, off ? 0 : cache_limit_from_environment().value_or_throw());
  }();
  return cache;
}

fs::path CompileCache::path_of_entry(const Sha256& key) const {
  std::string name = sha256_hex(key);
  return folder_ / name.substr(0, 2) / name;
}

std::optional<std::string> CompileCache::load_entry(const Sha256& key) {
  if (!is_enabled()) return std::nullopt;
  std::string bytes;
  fs::path path = path_of_entry(key);
  if (!read_entry(path, bytes)) return std::nullopt;
  std::string_view all = bytes;
  bool sound = all.size() >= kHeader && all.starts_with(kMagic) &&
               all.substr(kHashed, sizeof(Sha256)) == hash_bytes(key) &&
               all.substr(kMagic.size(), sizeof(Sha256)) == hash_bytes(sha256(all.substr(kHashed)));
  if (!sound) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return std::nullopt;
  }
  bytes.erase(0, kHeader);
  return bytes;
}

void CompileCache::store_entry(const Sha256& key, std::string_view bytes) {
  if (!is_enabled() || bytes.size() + kHeader > limit_bytes_) return;
  std::error_code error;
  fs::path path = path_of_entry(key);
  fs::create_directories(path.parent_path(), error);
  if (error) return;
  std::string entry(kMagic), hashed(hash_bytes(key));
  hashed += bytes;
  entry += hash_bytes(sha256(hashed));
  entry += hashed;
  StagedFile file;
  if (file.create(folder_.string(), 0600) != 0 || file.write(entry) != 0 || file.move_to(path.string()) != 0) return;
  if (is_shrink_due(key)) shrink_to_limit();
}

// Removes old temporary files and, if the cache exceeds its limit, the least recently used entries, down to 3/4 of the
// limit. Does nothing while another process does so.
void CompileCache::shrink_to_limit() {
  FolderLock lock(folder_);
  if (!lock.is_held()) return;
  struct Entry {
    fs::path path;
    uint64_t size;
    int64_t last_used_ns;  // nanoseconds since 1970
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (is_leftover_file(it->path())) fs::remove(it->path(), gone);
    auto info = find_entry_status(it->path());
    if (!info) continue;
    const timespec& used = info->st_mtim;
    entries.push_back({it->path(), uint64_t(info->st_size), used.tv_sec * int64_t(1'000'000'000) + used.tv_nsec});
    total += entries.back().size;
  }
  if (total <= limit_bytes_) return;
  std::ranges::sort(entries, {}, &Entry::last_used_ns);
  for (const Entry& e : entries) {
    if (total <= limit_bytes_ / 4 * 3) break;
    if (fs::remove(e.path, error)) total -= e.size;
  }
}

CompileCache::CacheUsage CompileCache::measure_usage() const {
  CacheUsage out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    auto info = find_entry_status(it->path());
    if (!info) continue;
    out.entries++;
    out.bytes += uint64_t(info->st_size);
  }
  return out;
}

Result<uint64_t> CompileCache::clear() {
  uint64_t count = 0;
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end; it.increment(error))
    if (find_entry_status(it->path())) paths.push_back(it->path());
  for (const fs::path& p : paths) {
    std::error_code failed;
    count += fs::remove(p, failed);
    if (failed) return Diag{.message = "cannot remove a cache entry: " + failed.message(), .file = p.string()};
  }
  return count;
}

Sha256 make_cache_key(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (std::string_view part : parts) all.append(std::to_string(part.size())).append(":").append(part);
  return sha256(all);
}

}  // namespace tgc
