// Recursion as deep as an input asks for: where little is left of the stack, the work goes on on a new one, whatever
// `ulimit -s` says. A recursive function asks every kStackCheck levels; in between nothing is spent.
#pragma once
#include <functional>
#include <optional>
#include <type_traits>

namespace tgc {

inline constexpr int kStackCheck = 32;  // levels, of at most a kilobyte or two each

// Whether less of this thread's stack is left than kStackCheck levels and what they call may need.
bool stack_is_short();
// Runs `work` on a stack of its own and waits for it; what it throws is thrown here. Throws Failure when the system
// gives no stack.
void run_on_new_stack(const std::function<void()>& work);

// What `work` returns.
template <class Work>
auto with_stack(Work&& work) -> decltype(work()) {
  if (!stack_is_short()) return work();
  if constexpr (std::is_void_v<decltype(work())>) {
    run_on_new_stack([&] { work(); });
  } else {
    std::optional<decltype(work())> result;
    run_on_new_stack([&] { result.emplace(work()); });
    return std::move(*result);
  }
}

}  // namespace tgc
