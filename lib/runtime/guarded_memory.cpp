#include "lib/runtime/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/runtime/array.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kGuard = 1 << 16;  // bytes on each side: whole pages, of any size that there is
constexpr uint8_t kPattern = 0xC5;

size_t page_size() {
  static const auto size = size_t(sysconf(_SC_PAGESIZE));
  return size;
}

bool is_pattern(const uint8_t* from, size_t bytes) {
  return bytes == 0 || (from[0] == kPattern && std::memcmp(from, from + 1, bytes - 1) == 0);
}

std::string bytes_wrong(size_t n, const char* where) {
  return "wrote " + counted(n, "byte") + where;
}

}  // namespace

GuardedMemory::GuardedMemory(size_t bytes) : bytes_(bytes) {
  size_t page = page_size(), inside = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  size_t pages = (std::max<size_t>(inside, 1) + page - 1) / page * page;
  mapped_ = pages + 2 * kGuard;
  bool fits = inside >= bytes && pages >= inside && mapped_ > pages;
  void* p = fits ? mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
  if (p != MAP_FAILED && mprotect(static_cast<uint8_t*>(p) + kGuard, pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(p, mapped_);
    p = MAP_FAILED;
  }
  if (p == MAP_FAILED) throw Failure("not enough memory for an array of " + bytes_text(bytes));
  mapping_ = static_cast<uint8_t*>(p);
  uint8_t *begin = mapping_ + kGuard, *end = begin + pages;
  data_ = end - inside;
  std::memset(begin, kPattern, size_t(data_ - begin));
  std::memset(data_ + bytes, kPattern, size_t(end - data_) - bytes);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(other.mapped_),
      data_(other.data_),
      bytes_(other.bytes_) {}

GuardedMemory::~GuardedMemory() {
  if (mapping_) munmap(mapping_, mapped_);
}

std::string GuardedMemory::damage() const {
  const uint8_t *begin = mapping_ + kGuard, *end = mapping_ + mapped_ - kGuard, *after = data_ + bytes_;
  if (!is_pattern(after, size_t(end - after))) {
    const uint8_t* last = end;
    while (last[-1] == kPattern) last--;
    return bytes_wrong(size_t(last - after), " after the end");
  }
  if (!is_pattern(begin, size_t(data_ - begin))) {
    const uint8_t* first =
        std::find_if(begin, static_cast<const uint8_t*>(data_), [](uint8_t b) { return b != kPattern; });
    return bytes_wrong(size_t(data_ - first), " before the beginning");
  }
  return {};
}

}  // namespace tgc
