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

using ByteSpan = std::span<const uint8_t>;

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kEnd64Locator = 0x07064b50;

struct FileCloser {
  void operator()(FILE* f) const { std::fclose(f); }
};
using FileHandle = std::unique_ptr<FILE, FileCloser>;

[[noreturn]] void throw_errno(const std::string& what) { throw Failure(what + ": " + std::strerror(errno)); }

std::vector<uint8_t> read_file(const std::string& path) {
  FileHandle file(std::fopen(path.c_str(), "rb"));
  if (!file) throw_errno("cannot open it");
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
  if (std::ferror(file.get())) throw_errno("cannot read it");
  return out;
}

uint64_t read_number(ByteSpan bytes, uint64_t at, int size) {
  if (at > bytes.size() || bytes.size() - at < uint64_t(size)) throw Failure("the archive is truncated");
  uint64_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | bytes[at + uint64_t(i)];
  return value;
}

ByteSpan checked_subspan(ByteSpan bytes, uint64_t at, uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) throw Failure("the archive is truncated");
  return bytes.subspan(at, size);
}

struct ZipEntry {
  std::string name;
  uint32_t flags = 0, method = 0, crc = 0;
  uint64_t packed_size = 0, size = 0, offset = 0;
};

struct ZipDirectory {
  uint64_t num_entries, size, offset;
};

ZipDirectory find_directory(ByteSpan zip) {
  constexpr uint64_t kEndSize = 22, kLongestComment = 65535;
  if (zip.size() < kEndSize) throw Failure("the archive is truncated");
  uint64_t first = zip.size() - std::min<uint64_t>(zip.size(), kEndSize + kLongestComment);
  for (uint64_t at = zip.size() - kEndSize + 1; at-- > first;) {
    if (read_number(zip, at, 4) != kEnd) continue;
    ZipDirectory d{read_number(zip, at + 10, 2), read_number(zip, at + 12, 4), read_number(zip, at + 16, 4)};
    bool is64 = d.num_entries == 0xFFFF || d.size == 0xFFFFFFFF || d.offset == 0xFFFFFFFF;
    if (is64 && at >= 20 && read_number(zip, at - 20, 4) == kEnd64Locator) {
      uint64_t end64 = read_number(zip, at - 12, 8);
      if (read_number(zip, end64, 4) != kEnd64) throw Failure("the archive's directory is damaged");
      d = {read_number(zip, end64 + 32, 8), read_number(zip, end64 + 40, 8), read_number(zip, end64 + 48, 8)};
    }
    return d;
  }
  throw Failure("the archive has no directory; it is truncated or no zip file");
}

// Reads the 64-bit values of the sizes and the offset that are 0xFFFFFFFF in the central header.
void read_zip64_sizes(ByteSpan extra, ZipEntry& e) {
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    uint64_t id = read_number(extra, at, 2), size = read_number(extra, at + 2, 2);
    if (id == 1) {
      ByteSpan field = checked_subspan(extra, at + 4, size);
      uint64_t next = 0;
      for (uint64_t* value : {&e.size, &e.packed_size, &e.offset})
        if (*value == 0xFFFFFFFF) *value = read_number(field, next, 8), next += 8;
    }
    at += 4 + size;
  }
}

std::vector<ZipEntry> read_directory(ByteSpan zip) {
  ZipDirectory d = find_directory(zip);
  ByteSpan directory = checked_subspan(zip, d.offset, d.size);
  std::vector<ZipEntry> out;
  uint64_t at = 0;
  for (uint64_t i = 0; i < d.num_entries; i++) {
    if (read_number(directory, at, 4) != kCentralHeader) throw Failure("the archive's directory is damaged");
    ZipEntry e;
    e.flags = uint32_t(read_number(directory, at + 8, 2)), e.method = uint32_t(read_number(directory, at + 10, 2)),
    e.crc = uint32_t(read_number(directory, at + 16, 4));
    e.packed_size = read_number(directory, at + 20, 4), e.size = read_number(directory, at + 24, 4),
    e.offset = read_number(directory, at + 42, 4);
    uint64_t name = read_number(directory, at + 28, 2), extra = read_number(directory, at + 30, 2),
             comment = read_number(directory, at + 32, 2);
    ByteSpan text = checked_subspan(directory, at + 46, name);
    e.name.assign(reinterpret_cast<const char*>(text.data()), text.size());
    read_zip64_sizes(checked_subspan(directory, at + 46 + name, extra), e);
    at += 46 + name + extra + comment;
    out.push_back(std::move(e));
  }
  return out;
}

std::vector<uint8_t> inflate_entry(ByteSpan packed, uint64_t size) {
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

Array read_entry(ByteSpan zip, const ZipEntry& e) {
  if (e.flags & 1) throw Failure("it is encrypted");
  if (read_number(zip, e.offset, 4) != kLocalHeader) throw Failure("its header is damaged");
  uint64_t skip = 30 + read_number(zip, e.offset + 26, 2) + read_number(zip, e.offset + 28, 2);
  ByteSpan data = checked_subspan(zip, e.offset + skip, e.packed_size);
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

Arrays read_zip(ByteSpan zip) {
  Arrays out;
  std::set<std::string> names;
  // several entries may share their bytes, so the sum of their sizes is limited
  auto most = std::max(uint64_t(limit_value(Limit::InputBytes)), zip.size()), sum = uint64_t(0);
  for (const ZipEntry& e : read_directory(zip)) {
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

void append_number(std::string& out, uint64_t value, int size) {
  for (int i = 0; i < size; i++) out += char(value >> (8 * i) & 255);
}

// Writes the fields that local and central headers share. A size field of all ones means that the zip64 field has the
// value.
void append_common_fields(std::string& out, const ZipEntry& e) {
  // version 4.5 (zip64); file names are UTF-8; entries are stored, not compressed; the date is 1980-01-01
  append_number(out, 45, 2), append_number(out, 1 << 11, 2), append_number(out, 0, 2), append_number(out, 0, 2),
      append_number(out, 0x21, 2);
  append_number(out, e.crc, 4), append_number(out, 0xFFFFFFFF, 4), append_number(out, 0xFFFFFFFF, 4),
      append_number(out, e.name.size(), 2);
}

std::string local_header(const ZipEntry& e) {
  std::string out;
  append_number(out, kLocalHeader, 4);
  append_common_fields(out, e);
  append_number(out, 20, 2);
  out += e.name;
  append_number(out, 1, 2), append_number(out, 16, 2), append_number(out, e.size, 8), append_number(out, e.size, 8);
  return out;
}

std::string central_header(const ZipEntry& e) {
  std::string out;
  append_number(out, kCentralHeader, 4);
  append_number(out, 45, 2);
  append_common_fields(out, e);
  append_number(out, 28, 2), append_number(out, 0, 2), append_number(out, 0, 2), append_number(out, 0, 2),
      append_number(out, 0, 4), append_number(out, 0xFFFFFFFF, 4);
  out += e.name;
  append_number(out, 1, 2), append_number(out, 24, 2), append_number(out, e.size, 8), append_number(out, e.size, 8),
      append_number(out, e.offset, 8);
  return out;
}

std::string directory_end_record(uint64_t entries, uint64_t size, uint64_t offset) {
  std::string out;
  append_number(out, kEnd64, 4), append_number(out, 44, 8), append_number(out, 45, 2), append_number(out, 45, 2),
      append_number(out, 0, 4), append_number(out, 0, 4);
  append_number(out, entries, 8), append_number(out, entries, 8), append_number(out, size, 8),
      append_number(out, offset, 8);
  append_number(out, kEnd64Locator, 4), append_number(out, 0, 4), append_number(out, offset + size, 8),
      append_number(out, 1, 4);
  append_number(out, kEnd, 4), append_number(out, 0, 4), append_number(out, 0xFFFF, 2), append_number(out, 0xFFFF, 2),
      append_number(out, 0xFFFFFFFF, 4), append_number(out, 0xFFFFFFFF, 4), append_number(out, 0, 2);
  return out;
}

class ZipWriter {
 public:
  explicit ZipWriter(FileWriter& file) : file_(file) {}
  static constexpr size_t kPieceBytes = 4 << 20;

  void add_array(const std::string& name, const Array& array) {
    std::string header = npy_header(array);
    ZipEntry e;
    e.name = name + ".npy";
    e.size = e.packed_size = header.size() + array.nbytes();
    e.offset = offset_;
    uLong crc = crc32(0, reinterpret_cast<const uint8_t*>(header.data()), uInt(header.size()));
    const std::string_view data(reinterpret_cast<const char*>(array.data()), array.nbytes());
    for (size_t at = 0; at < data.size(); at += kPieceBytes) {
      throw_if_late(kSaveGraceSeconds);
      crc = crc32(crc, array.data() + at, uInt(std::min(data.size() - at, kPieceBytes)));
    }
    e.crc = uint32_t(crc);
    write(local_header(e));
    write(header);
    for (size_t at = 0; at < data.size(); at += kPieceBytes) {
      throw_if_late(kSaveGraceSeconds);
      write(data.substr(at, kPieceBytes));
    }
    entries_.push_back(std::move(e));
  }

  void finish() {
    uint64_t start = offset_;
    for (const ZipEntry& e : entries_) write(central_header(e));
    write(directory_end_record(entries_.size(), offset_ - start, start));
  }

 private:
  void write(std::string_view bytes) {
    file_.write(bytes).value_or_throw();
    offset_ += bytes.size();
  }

  FileWriter& file_;
  uint64_t offset_ = 0;
  std::vector<ZipEntry> entries_;
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
    for (const NamedArray& a : arrays) zip.add_array(a.name, a.array);
    zip.finish();
    return file.commit_file().value_or_throw();
  });
}

}  // namespace tgc
