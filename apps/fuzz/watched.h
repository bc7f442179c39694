// Inputs run in a process of their own, many one after the other, so that one that dies is known, and the next is run.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tgc::fuzz {

struct Died {
  uint64_t index = 0;     // of the input
  std::string how;        // "SIGSEGV", "a hang of over 20 s", "exit code 1"
  std::string report;     // what the process said last, a stack where there is one
  // What two deaths of one cause share: how, and the report's own line without its numbers.
  std::string cause() const;
};

// Memory that this process and those it watches share: a T without pointers, zeroed.
template <class T>
class SharedMemory;
void* shared_bytes(size_t size);
template <class T>
class SharedMemory {
 public:
  SharedMemory() : p_(new (shared_bytes(sizeof(T))) T()) {}
  T* operator->() { return p_; }
  T& operator*() { return *p_; }

 private:
  T* p_;  // mapped until the end
};

// Calls body(first), body(first + 1), ... before `last` in a child process, while more() holds. The index of the next
// input, or how the child died and of which. An input may take `limit_seconds` of the processor, and ten times that by
// the clock.
struct Watched {
  uint64_t next = 0;
  std::optional<Died> died = {};
};
Watched run_watched_inputs(uint64_t first, uint64_t last, int limit_seconds, const std::function<void(uint64_t)>& body,
                           const std::function<bool()>& more = [] { return true; });

}  // namespace tgc::fuzz
