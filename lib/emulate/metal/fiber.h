// Fibers: stacks that one host thread switches between. Code on a fiber must not throw or rely on destructors, because
// a fiber may be abandoned at any point.
#pragma once
#include <cstdint>

namespace tgc::metal {

class Fiber {
 public:
  // Allocates a stack with a guard area or throws bad_alloc. The first enter() calls `body`, which must not return.
  explicit Fiber(void (*body)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void enter();  // called on the host's stack: runs the fiber until it leaves
  void leave();  // called on the fiber: returns to the caller of enter()

  uint64_t stack_begin() const { return stack_; }
  uint64_t stack_bytes() const;

 private:
  uint64_t stack_ = 0;
  void *own_ = nullptr, *host_ = nullptr;  // saved stack pointers of the fiber and of the host
};

}  // namespace tgc::metal
