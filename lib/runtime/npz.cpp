#include "lib/runtime/npz.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "lib/support/deadline.h"
#include "lib/support/limits.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kEnd64Locator = 0x07064b50;

struct CloseFile {
  void operator()(FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<FILE, CloseFile>;

[[noreturn]] void fail_errno(const std::string& what) { throw Failure(what + ": " + std::strerror(errno)); }

std::vector<uint8_t> read_file(const std::string& path) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail_errno("cannot open it");
  struct stat info;
  const bool is_regular = fstat(fileno(file.get()), &info) == 0 && S_ISREG(info.st_mode);
  std::vector<uint8_t> out;
  uint8_t buffer[1 << 16];
  for (;;) {
    size_t n = std::fread(buffer, 1, sizeof buffer, file.get());
    out.insert(out.end(), buffer, buffer + n);
    if (!is_regular) check_limit(Limit::InputBytes, int64_t(out.size()));
    if (n < sizeof buffer) break;
  }
  if (std::ferror(file.get())) fail_errno("cannot read it");
  return out;
}

uint64_t number_at(Bytes bytes, uint64_t at, int size) {
  if (at > bytes.size() || bytes.size() - at < uint64_t(size)) throw Failure("the archive is truncated");
  uint64_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | bytes[at + uint64_t(i)];
  return value;
}

Bytes part(Bytes bytes, uint64_t at, uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) throw Failure("the archive is truncated");
  return bytes.subspan(at, size);
}

struct Entry {
  std::string name;
  uint32_t flags = 0, method = 0, crc = 0;
  uint64_t packed = 0, size = 0, offset = 0;
};

struct Directory {
  uint64_t entries, size, offset;
};

Directory find_directory(Bytes zip) {
  constexpr uint64_t kEndSize = 22, kLongestComment = 65535;
  if (zip.size() < kEndSize) throw Failure("the archive is truncated");
  uint64_t first = zip.size() - std::min<uint64_t>(zip.size(), kEndSize + kLongestComment);
  for (uint64_t at = zip.size() - kEndSize + 1; at-- > first;) {
    if (number_at(zip, at, 4) != kEnd) continue;
    Directory d{number_at(zip, at + 10, 2), number_at(zip, at + 12, 4), number_at(zip, at + 16, 4)};
    bool is64 = d.entries == 0xFFFF || d.size == 0xFFFFFFFF || d.offset == 0xFFFFFFFF;
    if (is64 && at >= 20 && number_at(zip, at - 20, 4) == kEnd64Locator) {
      uint64_t end64 = number_at(zip, at - 12, 8);
      if (number_at(zip, end64, 4) != kEnd64) throw Failure("the archive's directory is damaged");
      d = {number_at(zip, end64 + 32, 8), number_at(zip, end64 + 40, 8), number_at(zip, end64 + 48, 8)};
    }
    return d;
  }
  throw Failure("the archive has no directory; it is truncated or no zip file");
}

// Reads the 64-bit values of sizes and an offset that are 0xFFFFFFFF in the header.
void read_zip64(Bytes extra, Entry& e) {
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    uint64_t id = number_at(extra, at, 2), size = number_at(extra, at + 2, 2);
    if (id == 1) {
      Bytes field = part(extra, at + 4, size);
      uint64_t next = 0;
      for (uint64_t* value : {&e.size, &e.packed, &e.offset})
        if (*value == 0xFFFFFFFF) *value = number_at(field, next, 8), next += 8;
    }
    at += 4 + size;
  }
}

std::vector<Entry> read_directory(Bytes zip) {
  Directory d = find_directory(zip);
  Bytes directory = part(zip, d.offset, d.size);
  std::vector<Entry> out;
  uint64_t at = 0;
  for (uint64_t i = 0; i < d.entries; i++) {
    if (number_at(directory, at, 4) != kCentralHeader) throw Failure("the archive's directory is damaged");
    Entry e;
    e.flags = uint32_t(number_at(directory, at + 8, 2)), e.method = uint32_t(number_at(directory, at + 10, 2)),
    e.crc = uint32_t(number_at(directory, at + 16, 4));
    e.packed = number_at(directory, at + 20, 4), e.size = number_at(directory, at + 24, 4),
    e.offset = number_at(directory, at + 42, 4);
    uint64_t name = number_at(directory, at + 28, 2), extra = number_at(directory, at + 30, 2),
             comment = number_at(directory, at + 32, 2);
    Bytes text = part(directory, at + 46, name);
    e.name.assign(reinterpret_cast<const char*>(text.data()), text.size());
    read_zip64(part(directory, at + 46 + name, extra), e);
    at += 46 + name + extra + comment;
    out.push_back(std::move(e));
  }
  return out;
}

std::vector<uint8_t> inflate_entry(Bytes packed, uint64_t size) {
  // deflate compresses to at least 1/1032 of the size
  if (size / 1032 > packed.size() + 1) throw Failure("its size cannot be right");
  std::vector<uint8_t> out(size);
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&z, inflateEnd);
  uint64_t in_at = 0, out_at = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    z.next_in = const_cast<uint8_t*>(packed.data() + in_at);
    z.avail_in = uInt(std::min<uint64_t>(packed.size() - in_at, 1u << 30));
    z.next_out = out.data() + out_at;
    z.avail_out = uInt(std::min<uint64_t>(out.size() - out_at, 1u << 30));
    uInt given_in = z.avail_in, given_out = z.avail_out;
    state = inflate(&z, Z_NO_FLUSH);
    in_at += given_in - z.avail_in, out_at += given_out - z.avail_out;
    if (state == Z_OK && given_in == z.avail_in && given_out == z.avail_out) state = Z_BUF_ERROR;
  }
  if (state != Z_STREAM_END || out_at != size) throw Failure("its compressed data are damaged");
  return out;
}

Array read_entry(Bytes zip, const Entry& e) {
  if (e.flags & 1) throw Failure("it is encrypted");
  if (number_at(zip, e.offset, 4) != kLocalHeader) throw Failure("its header is damaged");
  uint64_t skip = 30 + number_at(zip, e.offset + 26, 2) + number_at(zip, e.offset + 28, 2);
  Bytes data = part(zip, e.offset + skip, e.packed);
  std::vector<uint8_t> unpacked;
  if (e.method == 8) unpacked = inflate_entry(data, e.size), data = unpacked;
  else if (e.method != 0) throw Failure("its compression method " + std::to_string(e.method) + " is not supported");
  if (data.size() != e.size) throw Failure("its size is wrong");
  uLong crc = 0;
  for (uint64_t at = 0; at < data.size(); at += 1u << 30)
    crc = crc32(crc, data.data() + at, uInt(std::min<uint64_t>(data.size() - at, 1u << 30)));
  if (crc != e.crc) throw Failure("its checksum is wrong");
  auto array = read_npy(data, "the array");
  return std::move(array.value_or_throw());
}

Arrays read_zip(Bytes zip) {
  Arrays out;
  std::set<std::string> names;
  // several entries may share their bytes, so the sum of their sizes is limited
  auto most = std::max(uint64_t(limit(Limit::InputBytes)), zip.size()), sum = uint64_t(0);
  for (const Entry& e : read_directory(zip)) {
    if (e.name.ends_with("/")) continue;
    if (e.size > most - sum) throw Failure(limit_error(Limit::InputBytes));
    sum += e.size;
    std::string name = e.name.ends_with(".npy") ? e.name.substr(0, e.name.size() - 4) : e.name;
    if (!names.insert(name).second) throw Failure("there are two arrays named '" + name + "'");
    auto array = catch_failures([&] { return read_entry(zip, e); });
    if (!array) throw Failure("'" + e.name + "': " + array.diag().message);
    out.push_back({name, std::move(*array)});
  }
  return out;
}

std::string stem_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
}

void put(std::string& out, uint64_t value, int size) {
  for (int i = 0; i < size; i++) out += char(value >> (8 * i) & 255);
}

// Writes the fields that local and central headers share. A size field of all ones means that the zip64 field has the
// value.
void put_common(std::string& out, const Entry& e) {
  // version 4.5 (zip64); file names are UTF-8; entries are stored, not compressed; the date is 1980-01-01
  put(out, 45, 2), put(out, 1 << 11, 2), put(out, 0, 2), put(out, 0, 2), put(out, 0x21, 2);
  put(out, e.crc, 4), put(out, 0xFFFFFFFF, 4), put(out, 0xFFFFFFFF, 4), put(out, e.name.size(), 2);
}

std::string local_header(const Entry& e) {
  std::string out;
  put(out, kLocalHeader, 4);
  put_common(out, e);
  put(out, 20, 2);
  out += e.name;
  put(out, 1, 2), put(out, 16, 2), put(out, e.size, 8), put(out, e.size, 8);
  return out;
}

std::string central_header(const Entry& e) {
  std::string out;
  put(out, kCentralHeader, 4);
  put(out, 45, 2);
  put_common(out, e);
  put(out, 28, 2), put(out, 0, 2), put(out, 0, 2), put(out, 0, 2), put(out, 0, 4), put(out, 0xFFFFFFFF, 4);
  out += e.name;
  put(out, 1, 2), put(out, 24, 2), put(out, e.size, 8), put(out, e.size, 8), put(out, e.offset, 8);
  return out;
}

std::string directory_end(uint64_t entries, uint64_t size, uint64_t offset) {
  std::string out;
  put(out, kEnd64, 4), put(out, 44, 8), put(out, 45, 2), put(out, 45, 2), put(out, 0, 4), put(out, 0, 4);
  put(out, entries, 8), put(out, entries, 8), put(out, size, 8), put(out, offset, 8);
  put(out, kEnd64Locator, 4), put(out, 0, 4), put(out, offset + size, 8), put(out, 1, 4);
  put(out, kEnd, 4), put(out, 0, 4), put(out, 0xFFFF, 2), put(out, 0xFFFF, 2), put(out, 0xFFFFFFFF, 4),
      put(out, 0xFFFFFFFF, 4), put(out, 0, 2);
  return out;
}

class ZipWriter {
 public:
  explicit ZipWriter(FileWriter& file) : file_(file) {}
  static constexpr size_t kPiece = 4 << 20;

  void add(const std::string& name, const Array& array) {
    std::string header = npy_header(array);
    Entry e;
    e.name = name + ".npy";
    e.size = e.packed = header.size() + array.nbytes();
    e.offset = at_;
    uLong crc = crc32(0, reinterpret_cast<const uint8_t*>(header.data()), uInt(header.size()));
    const std::string_view data(reinterpret_cast<const char*>(array.data()), array.nbytes());
    for (size_t at = 0; at < data.size(); at += kPiece) {
      throw_if_late(kSaveGraceSeconds);
      crc = crc32(crc, array.data() + at, uInt(std::min(data.size() - at, kPiece)));
    }
    e.crc = uint32_t(crc);
    write(local_header(e));
    write(header);
    for (size_t at = 0; at < data.size(); at += kPiece) {
      throw_if_late(kSaveGraceSeconds);
      write(data.substr(at, kPiece));
    }
    entries_.push_back(std::move(e));
  }

  void finish() {
    uint64_t start = at_;
    for (const Entry& e : entries_) write(central_header(e));
    write(directory_end(entries_.size(), at_ - start, start));
  }

 private:
  void write(std::string_view bytes) {
    file_.write(bytes).value_or_throw();
    at_ += bytes.size();
  }

  FileWriter& file_;
  uint64_t at_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace

Result<Arrays> read_arrays(const std::string& path) {
  auto result = catch_failures([&] {
    std::vector<uint8_t> bytes = read_file(path);
    Arrays out;
    if (bytes.size() >= 2 && bytes[0] == 'P' && bytes[1] == 'K') return read_zip(bytes);
    if (bytes.empty() || bytes[0] != 0x93) throw Failure("neither an npz nor an npy file");
    auto array = read_npy(bytes, "the array");
    out.push_back({stem_of(path), std::move(array.value_or_throw())});
    return out;
  });
  if (!result) result.diag().file = path;
  return result;
}

Status write_npz(const std::string& path, const Arrays& arrays) {
  return catch_failures([&] {
    FileWriter file = std::move(FileWriter::create(path).value_or_throw());
    ZipWriter zip(file);
    for (const NamedArray& a : arrays) zip.add(a.name, a.array);
    zip.finish();
    return file.commit_file().value_or_throw();
  });
}

}  // namespace tgc
