// A Metal kernel's threads on one thread of the host. They run one after another, each as far as it comes: to its end,
// to a barrier, or to a function of its SIMD group, where it waits on a stack of its own. Threads that never wait need
// one stack in all. Every access of a kernel to memory is checked before it is done.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tgc::metal {

// As the code that lib/compile makes of a kernel has them (its library.cpp).
struct Position {
  std::array<uint32_t, 3> group, groups, thread, threads;
};
using Entry = void (*)(void* const* arguments, const Position* position);

// Memory that a kernel may access.
struct Range {
  std::string name;  // of the kernel's parameter
  uint64_t begin = 0, bytes = 0;
};

struct Grid {
  Entry entry = nullptr;  // runs one thread
  std::array<uint32_t, 3> groups{1, 1, 1}, threads{1, 1, 1};  // how many groups, how many threads each
  std::vector<void*> arguments;
  std::vector<Range> memory;
  bool check_races = false;  // two threads of a group at one address with no barrier between, one of them storing
};

// What a kernel did that it may not: nothing of it runs on.
struct Fault {
  std::string what;    // "reads 4 bytes 8 bytes after the end of data1 (32 bytes)"
  uint64_t at = 0;     // the address of the instruction behind the one that did it
  Position position;   // of the thread
  uint64_t other_at = 0;  // of a race: likewise of the other access; 0: none
  // With thread, group and lines, which `line_of` says of addresses; 0: not known.
  std::string text(const std::function<uint32_t(uint64_t)>& line_of) const;
};

std::string three_numbers(const std::array<uint32_t, 3>& n);  // "(1, 0, 0)"

inline constexpr uint32_t kSimdWidth = 32, kMostThreads = 1024;
inline constexpr uint64_t kMostThreadgroupBytes = 32 << 10;  // Apple's limit

// The first fault, if there is one. Throws std::bad_alloc.
std::optional<Fault> run_grid(const Grid& grid);

// What such code calls, by name: checks of accesses, barriers, threadgroup memory, SIMD groups.
std::map<std::string, void*, std::less<>> functions();

}  // namespace tgc::metal
