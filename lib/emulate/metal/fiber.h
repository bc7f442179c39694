// Fibers: stacks that one thread of the host switches between. What runs on one is code without exceptions and without
// destructors, so that a fiber can be left for good anywhere.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tgc::metal {

class Fiber {
 public:
  // A stack, with a page that nobody may touch below it, on which `body` begins when it is first switched to. `body`
  // must not return. Throws std::bad_alloc.
  explicit Fiber(void (*body)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From the stack of the host, which goes on when the fiber leaves.
  void enter();
  // From the fiber back to where it was entered from.
  void leave();

  uint64_t stack_begin() const { return stack_; }
  uint64_t stack_bytes() const;

 private:
  uint64_t stack_ = 0;
  void *own_ = nullptr, *host_ = nullptr;  // where either stands
};

}  // namespace tgc::metal
