#include "lib/emulate/metal/fiber.h"

#include <sys/mman.h>

#include <new>

// Pushes the callee-saved registers on the current stack, stores the stack pointer in *from, and resumes the stack
// whose pointer is `to`. Used instead of ucontext, which makes a system call for the signal mask on each switch.
extern "C" void tgc_metal_switch(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
.text
.globl tgc_metal_switch
.hidden tgc_metal_switch
.type tgc_metal_switch, @function
tgc_metal_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tgc_metal_switch, .-tgc_metal_switch
)");
// kKept: words in a saved frame; kReturn: index of the frame's return address; kBefore: words above the first frame
constexpr size_t kKept = 7, kReturn = 6, kBefore = 1;
#elif defined(__aarch64__)
asm(R"(
.text
.globl tgc_metal_switch
.hidden tgc_metal_switch
.type tgc_metal_switch, %function
tgc_metal_switch:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size tgc_metal_switch, .-tgc_metal_switch
)");
constexpr size_t kKept = 20, kReturn = 11, kBefore = 0;
#endif

namespace tgc::metal {
namespace {

constexpr size_t kStack = 256 << 10, kGuard = 64 << 10;

}  // namespace

Fiber::Fiber(void (*body)()) {
  void* p = mmap(nullptr, kGuard + kStack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  stack_ = reinterpret_cast<uint64_t>(p) + kGuard;
  if (mprotect(reinterpret_cast<void*>(stack_), kStack, PROT_READ | PROT_WRITE) != 0) {
    munmap(p, kGuard + kStack);
    throw std::bad_alloc();
  }
  // lay out the stack as tgc_metal_switch leaves it, so that the first switch to the fiber returns into `body`
  void** at = reinterpret_cast<void**>(stack_ + kStack) - kBefore - kKept;
  own_ = at;
  at[kReturn] = reinterpret_cast<void*>(body);
}

Fiber::~Fiber() { munmap(reinterpret_cast<void*>(stack_ - kGuard), kGuard + kStack); }

uint64_t Fiber::stack_bytes() const { return kStack; }
void Fiber::enter() { tgc_metal_switch(&host_, own_); }
void Fiber::leave() { tgc_metal_switch(&own_, host_); }

}  // namespace tgc::metal
