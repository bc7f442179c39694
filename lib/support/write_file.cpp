#include "lib/support/write_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "lib/support/counted.h"
#include "lib/support/pytext.h"
#include "lib/support/sha256.h"
#include "lib/support/visible.h"

namespace tgc {

namespace {

constexpr int kMaxLinks = 40;  // as in Linux

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? "" : slash == 0 ? "/" : path.substr(0, slash);
}

// Returns N for /dev/fd/N and /proc/self/fd/N (the target of /dev/stdout), else -1. FileWriter duplicates descriptor N,
// because opening the path would start at the beginning of the file again.
int descriptor_of_path(std::string_view path) {
  for (std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(prefix)) continue;
    if (auto n = parse_number<int>(path.substr(prefix.size()))) return *n;
  }
  return -1;
}

// Returns true if another user may have planted `link` in a shared folder, by the rule of Linux's protected_symlinks.
bool may_be_planted(const struct stat& link, const std::string& folder) {
  struct stat parent;
  if (::stat(folder.empty() ? "." : folder.c_str(), &parent) != 0) return true;
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;
  return (parent.st_mode & kShared) == kShared && link.st_uid != geteuid() && link.st_uid != parent.st_uid;
}

// Resolves symbolic links in the last component of `path`. The final target need not exist. Returns 0 or an errno.
int follow_links(std::string& path) {
  for (int n = 0; n < kMaxLinks && descriptor_of_path(path) < 0; n++) {
    struct stat info;
    if (::lstat(path.c_str(), &info) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISLNK(info.st_mode)) return 0;
    std::string folder = folder_of(path);
    if (may_be_planted(info, folder)) return EACCES;
    char target[4096];
    ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    if (size < 0) return errno;
    if (size == ssize_t(sizeof target)) return ENAMETOOLONG;
    std::string leads_to(target, size_t(size));
    path = leads_to.starts_with('/') || folder.empty() ? leads_to : folder + "/" + leads_to;
  }
  return descriptor_of_path(path) < 0 ? ELOOP : 0;
}

}  // namespace

Diag FileWriter::diag_of_errno(int error) const {
  return {.message = std::string("cannot write: ") + std::strerror(error), .file = user_path_};
}

FileWriter::FileWriter(FileWriter&& other) noexcept { *this = std::move(other); }
FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  user_path_.swap(other.user_path_);
  path_.swap(other.path_);
  staged_file_ = std::move(other.staged_file_);
  std::swap(direct_descriptor_, other.direct_descriptor_);
  std::swap(old_descriptor_, other.old_descriptor_);
  std::swap(should_copy_in_place_, other.should_copy_in_place_);
  return *this;
}
FileWriter::~FileWriter() {
  for (int fd : {direct_descriptor_, old_descriptor_})
    if (fd >= 0) ::close(fd);
}

Result<FileWriter> FileWriter::create(const std::string& path) {
  FileWriter out;
  out.user_path_ = path;
  out.path_ = path == "-" ? "/dev/stdout" : path;
  if (int error = out.open()) return out.diag_of_errno(error);
  return out;
}

int FileWriter::open() {
  if (path_.empty() || path_.find('\0') != path_.npos) return ENOENT;
  if (int error = follow_links(path_)) return error;
  if (int fd = descriptor_of_path(path_); fd >= 0) {
    direct_descriptor_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return direct_descriptor_ < 0 ? errno : 0;
  }
  old_descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
  if (old_descriptor_ < 0 && errno != ENOENT) return errno;
  if (old_descriptor_ < 0) return path_.ends_with('/') ? EISDIR : staged_file_.create(folder_of(path_), 0666);
  struct stat info;
  if (::fstat(old_descriptor_, &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return direct_descriptor_ = std::exchange(old_descriptor_, -1), 0;
  if (int error = staged_file_.create(folder_of(path_), 0600)) return error;
  should_copy_in_place_ = info.st_nlink > 1 || ::fchown(staged_file_.descriptor(), info.st_uid, info.st_gid) != 0 ||
              ::fchmod(staged_file_.descriptor(), info.st_mode & 07777) != 0;
  return 0;
}

Status FileWriter::write(std::string_view bytes) {
  if (int error = direct_descriptor_ >= 0 ? write_all(direct_descriptor_, bytes) : staged_file_.write(bytes))
    return diag_of_errno(error);
  return Unit{};
}

Status FileWriter::commit_file() {
  if (direct_descriptor_ >= 0) {
    if (int fd = std::exchange(direct_descriptor_, -1); ::close(fd) != 0 && errno != EINTR) return diag_of_errno(errno);
    return Unit{};
  }
  int error = old_descriptor_ >= 0 && !should_copy_in_place_ ? staged_file_.sync_file() : 0;
  if (!error && !should_copy_in_place_) error = staged_file_.move_to(path_);
  bool is_pinned = old_descriptor_ >= 0 && (error == EBUSY || error == EXDEV || error == EPERM || error == EACCES);
  if (should_copy_in_place_ || is_pinned) error = copy_over_file(old_descriptor_);
  if (error) return diag_of_errno(error);
  return Unit{};
}

// Allocates disk space first, because a failed copy loses the old content.
int FileWriter::copy_over_file(int old) {
  int from = staged_file_.descriptor();
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
  return file->commit_file();
}

namespace {

// An entry of the table of staged files, which signal handlers read. Entries are never moved or freed.
struct StagedFileSlot {
  enum State { Free, Taken, Live };
  std::atomic<int> state{Free};
  pid_t owner = 0;  // process that made the file; a forked child inherits the table, but must not remove the file
  char path[PATH_MAX] = {};
};
constinit StagedFileSlot slots[32];

void end_by_signal(int signal) {
  remove_staged_files();
  raise(signal);  // SA_RESETHAND restored the default action, which follows when this handler returns
}

void watch_signals() {
  struct sigaction old, ours{};
  ours.sa_handler = end_by_signal;
  ours.sa_flags = int(SA_RESETHAND);
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ})
    if (sigaction(signal, nullptr, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
      sigaction(signal, &ours, nullptr);
}

// Returns the index of the slot for `path`; -1 if the table is full or the path too long.
int claim_table_slot(const std::string& path) {
  watch_signals();
  for (int i = 0; i < int(std::size(slots)) && path.size() < PATH_MAX; i++) {
    int expected = StagedFileSlot::Free;
    if (!slots[i].state.compare_exchange_strong(expected, StagedFileSlot::Taken)) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].owner = getpid();
    slots[i].state = StagedFileSlot::Live;
    return i;
  }
  return -1;
}

int release_table_slot(int slot) {
  if (slot >= 0) slots[slot].state = StagedFileSlot::Free;
  return -1;
}

int make_temporary_name(std::string& out) {
  char bytes[12];
  if (getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) return errno;
  out = ".tgc-" + sha256_hex({bytes, sizeof bytes}) + ".tmp";
  return 0;
}

}  // namespace

void remove_staged_files() noexcept {
  pid_t self = getpid();
  int kept = errno;
  for (StagedFileSlot& s : slots)
    if (s.state == StagedFileSlot::Live && s.owner == self) unlink(s.path);
  errno = kept;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(size_t(n));
  }
  return 0;
}

void StagedFile::swap(StagedFile& other) noexcept {
  std::swap(file_descriptor_, other.file_descriptor_);
  std::swap(table_index_, other.table_index_);
  path_.swap(other.path_);
}

StagedFile::~StagedFile() {
  if (file_descriptor_ >= 0) ::close(file_descriptor_);
  if (!path_.empty()) ::unlink(path_.c_str());
  release_table_slot(table_index_);
}

int StagedFile::create(const std::string& folder, mode_t mode) {
  std::string name;
  if (int error = make_temporary_name(name)) return error;
  path_ = folder.empty() ? name : folder + "/" + name;
  table_index_ = claim_table_slot(path_);  // before open(), because a signal may arrive right after it
  file_descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (file_descriptor_ >= 0) return 0;
  int error = errno;
  table_index_ = release_table_slot(table_index_);
  path_.clear();
  return error;
}

int StagedFile::write(std::string_view bytes) { return write_all(file_descriptor_, bytes); }

int StagedFile::sync_file() {
  return ::fsync(file_descriptor_) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
}

int StagedFile::move_to(const std::string& path) {
  // Quotas and network file systems may report errors only on close(); closing a duplicate descriptor reports them too.
  if (int same = ::dup(file_descriptor_); same < 0 || (::close(same) != 0 && errno != EINTR)) return errno;
  if (::rename(path_.c_str(), path.c_str()) != 0) return errno;
  ::close(std::exchange(file_descriptor_, -1));
  table_index_ = release_table_slot(table_index_);
  path_.clear();
  return 0;
}

namespace {

constexpr size_t kMaxNameBytes = 170;  // leaves room for suffixes within the usual limit of 255 bytes
constexpr size_t kHash = 9;

// Returns the byte length of the first character of `text`; 0 if a file name should not contain this character.
size_t length_of_safe_character(std::string_view text) {
  size_t end = 0;
  int32_t code = decode_utf8(text, end);
  constexpr std::u32string_view kBad = U"\t\n\u00a0\u202f /\\";
  bool is_bad = code < 0 || is_hidden(uint32_t(code)) || kBad.find(char32_t(code)) != kBad.npos;
  return is_bad ? 0 : end;
}

}  // namespace

std::string file_name_of(std::string_view name) {
  std::string out = name.empty() || name[0] == '.' || name[0] == '-' ? "_" : "";
  bool same = out.empty();
  size_t cut = 0;  // end of the last character after which the hash still fits in the name
  for (size_t i = 0; i < name.size();) {
    size_t size = length_of_safe_character(name.substr(i));
    if (out.size() + size > kMaxNameBytes) {
      same = false;
      break;
    }
    if (out.size() <= kMaxNameBytes - kHash) cut = out.size();
    out += size ? name.substr(i, size) : "_";
    same &= size > 0;
    i += size ? size : 1;
  }
  if (!same && out.size() > kMaxNameBytes - kHash) out.resize(cut);
  return same ? out : out + "-" + sha256_hex(sha256(name)).substr(0, 8);
}

std::string UsedPaths::make_distinct_path(const std::string& stem) {
  std::string out = stem;
  for (size_t n = 2; !reserve_path(out); n++) out = stem + "~" + std::to_string(n);
  return out;
}

}  // namespace tgc
