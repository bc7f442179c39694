// Runs a Metal kernel, compiled for the host's CPU, on one host thread. The kernel's threads run one after another. A
// thread that waits at a barrier or a matrix product keeps its fiber; a thread that ends leaves its fiber to others.
// Memory accesses are checked first; those to the thread's own stack only for alignment.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tgc::metal {

// The layout must match the declaration in lib/compile/metal/library.cpp.
struct ThreadPosition {
  std::array<uint32_t, 3> group, groups, thread, threads;
};
using KernelFunction = void (*)(void* const* arguments, const ThreadPosition* position);

struct MemoryRange {
  std::string name;
  uint64_t begin = 0, bytes = 0;
};

struct KernelGrid {
  KernelFunction entry = nullptr;
  std::array<uint32_t, 3> groups{1, 1, 1}, threads{1, 1, 1};  // number of threadgroups; threads per group
  std::vector<void*> arguments;
  std::vector<MemoryRange> memory;
  bool checks_races = false;
};

struct KernelFault {
  std::string problem_text;  // such as "reads 4 bytes out of bounds, 8 bytes after the end of data1 (32 bytes)"
  uint64_t return_address = 0;  // return address of the call that failed, such as a check
  ThreadPosition position;
  uint64_t other_return_address = 0;  // for a race: return address of the other access's check; else 0
  // Returns the message. `line_of` maps an address to a source line, 0 if unknown.
  std::string text(const std::function<uint32_t(uint64_t)>& line_of) const;
};

std::string coordinates_text(const std::array<uint32_t, 3>& n);  // returns text such as "(1, 0, 0)"

inline constexpr uint32_t kSimdWidth = 32, kMaxGroupThreads = 1024;
inline constexpr uint64_t kMaxThreadgroupBytes = 32 << 10;   // Apple's limit

// Runs all threads of the grid. Returns the first fault, if any. Throws std::bad_alloc.
std::optional<KernelFault> run_grid(const KernelGrid& grid);

// Returns the functions that compiled kernels call, by symbol name.
std::map<std::string, void*, std::less<>> runtime_functions();

// A stack that one host thread switches to. Code on a fiber must not throw or rely on destructors, because a fiber may
// be abandoned at any point.
class Fiber {
 public:
  // Allocates a stack with a guard area or throws bad_alloc. The first enter_fiber() calls `body`, which must not
  // return.
  explicit Fiber(void (*body)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void enter_fiber();  // called on the host's stack: runs the fiber until it leaves
  void leave_fiber();  // called on the fiber: returns to the caller of enter_fiber()

  uint64_t stack_begin() const { return stack_address_; }
  uint64_t stack_bytes() const;

 private:
  uint64_t stack_address_ = 0;
  // saved stack pointers of the fiber and of the host
  void *fiber_stack_pointer_ = nullptr, *host_stack_pointer_ = nullptr;
};

}  // namespace tgc::metal
