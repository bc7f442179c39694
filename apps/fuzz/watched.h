// Runs inputs one after the other in a child process, and finds the input at which the process dies.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tgc::fuzz {

struct ProcessExit {
  uint64_t input_index = 0;  // the input at which the process died
  std::string exit_kind;     // such as "SIGSEGV", "a hang of over 20 s", "exit code 1"
  std::string last_output;
  // Returns a text that is equal for deaths of one cause, from `exit_kind` and the most informative line of
  // `last_output`.
  std::string cause_text() const;
};

// A T in memory that is shared with child processes. T must not contain pointers.
template <class T>
class SharedValue;
void* map_shared_bytes(size_t size);
template <class T>
class SharedValue {
 public:
  SharedValue() : shared_value_(new (map_shared_bytes(sizeof(T))) T()) {}
  T* operator->() { return shared_value_; }
  T& operator*() { return *shared_value_; }

 private:
  T* shared_value_;
};

// run_watched_inputs() calls body(first), ..., body(last - 1) in a child process while more() is true. Returns the next
// input to run and, if the child died, how. Limits per input: `limit_seconds` of CPU time, and ten times as much wall
// time.
struct WatchedInputsResult {
  uint64_t next_input_index = 0;
  std::optional<ProcessExit> process_exit = {};
};
WatchedInputsResult run_watched_inputs(
    uint64_t first, uint64_t last, int limit_seconds, const std::function<void(uint64_t)>& body,
    const std::function<bool()>& more = [] { return true; });

}  // namespace tgc::fuzz
