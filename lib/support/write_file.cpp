#include "lib/support/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace tgc {
namespace {

constexpr int kMostLinks = 40;  // maximum number of symbolic links to follow, as in Linux

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? "" : slash == 0 ? "/" : path.substr(0, slash);
}

// Returns N for /dev/fd/N and /proc/self/fd/N (the target of /dev/stdout), else -1. FileWriter duplicates descriptor N
// instead of opening the path, because that would start at the beginning of the file again.
int descriptor_of(std::string_view path) {
  for (std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(prefix)) continue;
    int n = -1;
    auto [end, error] = std::from_chars(path.data() + prefix.size(), path.data() + path.size(), n);
    if (error == std::errc() && end == path.data() + path.size()) return n;
  }
  return -1;
}

// Returns true if another user may have planted `link` in a shared folder, by the rule of Linux's protected_symlinks.
bool is_a_strangers(const struct stat& link, const std::string& folder) {
  struct stat parent;
  if (::stat(folder.empty() ? "." : folder.c_str(), &parent) != 0) return true;
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;
  return (parent.st_mode & kShared) == kShared && link.st_uid != geteuid() && link.st_uid != parent.st_uid;
}

// Resolves symbolic links in the last component of `path`. The final target need not exist. Returns 0 or an errno.
int follow_links(std::string& path) {
  for (int n = 0; n < kMostLinks && descriptor_of(path) < 0; n++) {
    struct stat info;
    if (::lstat(path.c_str(), &info) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISLNK(info.st_mode)) return 0;
    std::string folder = folder_of(path);
    if (is_a_strangers(info, folder)) return EACCES;
    char target[4096];
    ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    if (size < 0) return errno;
    if (size == ssize_t(sizeof target)) return ENAMETOOLONG;
    std::string leads_to(target, size_t(size));
    path = leads_to.starts_with('/') || folder.empty() ? leads_to : folder + "/" + leads_to;
  }
  return descriptor_of(path) < 0 ? ELOOP : 0;
}

}  // namespace

Diag FileWriter::trouble(int error) const {
  return {.message = std::string("cannot write: ") + std::strerror(error), .file = shown_};
}

FileWriter::FileWriter(FileWriter&& other) noexcept { *this = std::move(other); }
FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  shown_.swap(other.shown_);
  path_.swap(other.path_);
  staged_ = std::move(other.staged_);
  std::swap(through_, other.through_);
  std::swap(old_, other.old_);
  std::swap(in_place_, other.in_place_);
  return *this;
}
FileWriter::~FileWriter() {
  for (int fd : {through_, old_})
    if (fd >= 0) ::close(fd);
}

Result<FileWriter> FileWriter::create(const std::string& path) {
  FileWriter out;
  out.shown_ = path;
  out.path_ = path == "-" ? "/dev/stdout" : path;
  if (int error = out.open()) return out.trouble(error);
  return out;
}

int FileWriter::open() {
  if (path_.empty() || path_.find('\0') != path_.npos) return ENOENT;
  if (int error = follow_links(path_)) return error;
  if (int fd = descriptor_of(path_); fd >= 0) {
    through_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return through_ < 0 ? errno : 0;
  }
  old_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);  // fails if the file is not writable
  if (old_ < 0 && errno != ENOENT) return errno;
  if (old_ < 0) return path_.ends_with('/') ? EISDIR : staged_.create(folder_of(path_), 0666);
  struct stat info;
  if (::fstat(old_, &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return through_ = std::exchange(old_, -1), 0;
  if (int error = staged_.create(folder_of(path_), 0600)) return error;
  in_place_ = info.st_nlink > 1 || ::fchown(staged_.descriptor(), info.st_uid, info.st_gid) != 0 ||
              ::fchmod(staged_.descriptor(), info.st_mode & 07777) != 0;
  return 0;
}

Status FileWriter::write(std::string_view bytes) {
  if (int error = through_ >= 0 ? write_all(through_, bytes) : staged_.write(bytes)) return trouble(error);
  return Unit{};
}

Status FileWriter::commit() {
  if (through_ >= 0) {
    if (int fd = std::exchange(through_, -1); ::close(fd) != 0 && errno != EINTR) return trouble(errno);
    return Unit{};
  }
  int error = old_ >= 0 && !in_place_ ? staged_.sync() : 0;
  if (!error && !in_place_) error = staged_.move_to(path_);
  bool is_pinned = old_ >= 0 && (error == EBUSY || error == EXDEV || error == EPERM || error == EACCES);
  if (in_place_ || is_pinned) error = copy_over(old_);
  if (error) return trouble(error);
  return Unit{};
}

// Copies the new content over the existing file. Allocates disk space first, as a failed copy loses the old content.
int FileWriter::copy_over(int old) {
  int from = staged_.descriptor();
  struct stat info, before;
  if (::fstat(from, &info) != 0 || ::fstat(old, &before) != 0) return errno;
  int error = info.st_size > 0 ? ::posix_fallocate(old, 0, info.st_size) : 0;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO)
    return ::ftruncate(old, before.st_size) == 0 ? error : errno;
  char chunk[1 << 16];
  for (off_t at = 0; at < info.st_size;) {
    ssize_t n = ::pread(from, chunk, sizeof chunk, at);
    if (n <= 0) return n < 0 ? errno : EIO;
    if (error = write_all(old, {chunk, size_t(n)}); error) return error;
    at += n;
  }
  return ::ftruncate(old, info.st_size) == 0 && ::fsync(old) == 0 ? 0 : errno;
}

Status write_file(const std::string& path, std::string_view bytes) {
  auto file = FileWriter::create(path);
  if (!file) return file.diag();
  if (auto status = file->write(bytes); !status) return status;
  return file->commit();
}

}  // namespace tgc
