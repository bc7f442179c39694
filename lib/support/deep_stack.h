// Lets a function recurse deeper than the thread's stack allows: when the stack is nearly full, the recursion continues
// on a new thread's stack. A recursive function calls call_with_stack every kStackCheckLevels levels.
#pragma once
#include <functional>
#include <optional>
#include <type_traits>

namespace tgc {

inline constexpr int kStackCheckLevels = 32;  // each recursion level may use up to about 2 KiB

// Returns true if the unused part of this thread's stack may be too small for kStackCheckLevels more levels.
bool is_stack_short();
// Throws what `work` throws, or a Failure if no thread can be created.
void run_on_new_stack(const std::function<void()>& work);

// Returns work(). Runs it on a new stack if this thread's stack is short.
template <class Work>
auto call_with_stack(Work&& work) -> decltype(work()) {
  if (!is_stack_short()) return work();
  if constexpr (std::is_void_v<decltype(work())>) {
    run_on_new_stack([&] { work(); });
  } else {
    std::optional<decltype(work())> result;
    run_on_new_stack([&] { result.emplace(work()); });
    return std::move(*result);
  }
}

}  // namespace tgc
