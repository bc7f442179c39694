// libtgc_fail_alloc.so, for scripts/tests/faults. Loaded by LD_PRELOAD, it counts the allocations of a program and its
// children, and makes number TGC_FAIL_ALLOC fail (from 1; 0: none). The count is in a mapped file, which TGC_FAIL_COUNT
// names, so that it survives any end of the program.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" {  // glibc's allocator, under names that this library does not replace
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

std::atomic<uint64_t>* count;  // null: the file is not mapped
uint64_t failing_allocation;

__attribute__((constructor)) void set_up_from_environment() {
  const char* number = getenv("TGC_FAIL_ALLOC");
  const char* path = getenv("TGC_FAIL_COUNT");
  if (!number || !path) return;
  failing_allocation = strtoull(number, nullptr, 10);
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof *count) != 0) return;
  void* shared = mmap(nullptr, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (shared != MAP_FAILED) count = static_cast<std::atomic<uint64_t>*>(shared);
}

bool should_fail() {
  if (!count || count->fetch_add(1) + 1 != failing_allocation) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {
void* malloc(size_t size) { return should_fail() ? nullptr : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return should_fail() ? nullptr : __libc_calloc(n, size); }
void* realloc(void* old, size_t size) { return size && should_fail() ? nullptr : __libc_realloc(old, size); }
void* memalign(size_t to, size_t size) { return should_fail() ? nullptr : __libc_memalign(to, size); }
void* aligned_alloc(size_t to, size_t size) { return should_fail() ? nullptr : __libc_memalign(to, size); }
int posix_memalign(void** out, size_t to, size_t size) {
  if (should_fail()) return ENOMEM;
  *out = __libc_memalign(to, size);
  return *out ? 0 : ENOMEM;
}
}
