#include <sys/mman.h>
#include <new>
#include <utility>

#include "lib/emulate/metal/runner.h"

// Pushes the callee-saved registers on the current stack, stores the stack pointer in *from, and resumes the stack
// whose pointer is `to`. ucontext would make a system call for the signal mask on each switch.
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

thread_local GridRunner* running = nullptr;

}  // namespace

GridRunner& GridRunner::current_runner() { return *running; }

GridRunner::GridRunner(const KernelGrid& grid)
    : grid_(grid),
      memory_(grid.memory, grid.checks_races),
      num_group_threads_(grid.threads[0] * grid.threads[1] * grid.threads[2]),
      waiting_threads_(num_group_threads_) {}

std::optional<KernelFault> GridRunner::run() {
  GridRunner* outer = std::exchange(running, this);
  auto [nx, ny, nz] = grid_.groups;
  for (uint32_t z = 0; z < nz && !first_fault_; z++)
    for (uint32_t y = 0; y < ny && !first_fault_; y++)
      for (uint32_t x = 0; x < nx && !first_fault_; x++) run_group({x, y, z});
  running = outer;
  return std::move(first_fault_);
}

ThreadPosition GridRunner::position_of_thread(uint32_t thread) const {
  auto [x, y, z] = grid_.threads;
  return {group_id_, grid_.groups, {thread % x, thread / x % y, thread / x / y}, grid_.threads};
}

void GridRunner::fiber_body() { current_runner().run_threads(); }

// Runs on a fiber: starts threads until all threads of the group have started.
void GridRunner::run_threads() {
  for (;;) {
    for (; next_thread_ < num_group_threads_; num_ended_threads_++) {
      running_thread_ = next_thread_++;
      ThreadPosition position = position_of_thread(running_thread_);
      grid_.entry(grid_.arguments.data(), &position);
    }
    idle_fibers_.push_back(running_fiber_);
    running_fiber_->leave_fiber();
  }
}

void GridRunner::enter_fiber(Fiber* fiber) {
  running_fiber_ = fiber;
  running_stack_ = {.name = "", .begin = fiber->stack_begin(), .bytes = fiber->stack_bytes()};
  fiber->enter_fiber();
}

void GridRunner::resume_thread(uint32_t thread) {
  Fiber* fiber = waiting_threads_[thread].fiber;
  waiting_threads_[thread].fiber = nullptr;
  running_thread_ = thread;
  enter_fiber(fiber);
}

void GridRunner::run_group(const std::array<uint32_t, 3>& group) {
  group_id_ = group, next_thread_ = 0, num_ended_threads_ = 0;
  memory_.begin_group();
  do {
    while (next_thread_ < num_group_threads_ && !first_fault_) {
      if (idle_fibers_.empty()) idle_fibers_.push_back(&fibers_.emplace_back(fiber_body));
      Fiber* fiber = idle_fibers_.back();
      idle_fibers_.pop_back();
      enter_fiber(fiber);
    }
  } while (!first_fault_ && num_ended_threads_ < num_group_threads_ && resume_ready_threads());
}

// Resumes the SIMD groups in which all threads wait at a matrix product. If there is none, resumes all threads if all
// wait at one barrier. Returns false, with a fault set, if no thread can continue or if a thread fails.
bool GridRunner::resume_ready_threads() {
  bool multiplied = false;
  for (uint32_t first = 0; first + kSimdWidth <= num_group_threads_ && !first_fault_; first += kSimdWidth) {
    bool all = true;
    for (uint32_t t = first; t < first + kSimdWidth; t++)
      all &= waiting_threads_[t].fiber && waiting_threads_[t].fragments;
    if (!all) continue;
    multiplied = true;
    multiply_matrices(first);
    for (uint32_t t = first; t < first + kSimdWidth && !first_fault_; t++) resume_thread(t);
  }
  if (multiplied || first_fault_) return !first_fault_;
  uint32_t at_barrier = 0, held = num_group_threads_;
  uint64_t barrier = 0;
  bool same = true;
  for (uint32_t t = 0; t < num_group_threads_; t++) {
    const WaitingThread& w = waiting_threads_[t];
    if (!w.fiber) continue;
    if (held == num_group_threads_) held = t;
    if (w.fragments)
      return report_thread_fault(t, "calls a function of its SIMD group, which not all 32 threads reach"), false;
    same &= barrier == 0 || barrier == w.return_address;
    barrier = w.return_address, at_barrier++;
  }
  if (at_barrier < num_group_threads_)
    return report_thread_fault(held, "waits at a barrier that " + std::to_string(num_group_threads_ - at_barrier) +
                               " of the group's " + std::to_string(num_group_threads_) +
                               " threads never reach"),
           false;
  if (!same)
    return report_thread_fault(held, "waits at a barrier while other threads of the group wait at another"), false;
  memory_.pass_barrier();
  for (uint32_t t = 0; t < num_group_threads_ && !first_fault_; t++) resume_thread(t);
  return !first_fault_;
}

void GridRunner::wait_for_threads(MatrixFragments* fragments, uint64_t at) {
  uint32_t thread = running_thread_;
  waiting_threads_[thread] = {running_fiber_, fragments, at};
  running_fiber_->leave_fiber();
}

// Multiplies the 8x8 matrices of the SIMD group that begins at thread `first`. A lane holds two elements of a row, in
// adjacent columns; bits 0 and 3 of the lane number select the pair of columns, bits 1, 2 and 4 the row.
void GridRunner::multiply_matrices(uint32_t first) {
  auto lane_of = [](int row, int col) {
    return (col >> 1 & 1) | (row & 3) << 1 | (col >> 2 & 1) << 3 | (row >> 2) << 4;
  };
  float a[8][8], b[8][8];
  for (int row = 0; row < 8; row++)
    for (int col = 0; col < 8; col++) {
      const MatrixFragments& f = *waiting_threads_[first + uint32_t(lane_of(row, col))].fragments;
      a[row][col] = f.a[col & 1], b[row][col] = f.b[col & 1];
    }
  for (int row = 0; row < 8; row++)
    for (int col = 0; col < 8; col++) {
      MatrixFragments& f = *waiting_threads_[first + uint32_t(lane_of(row, col))].fragments;
      double sum = f.c[col & 1];
      for (int k = 0; k < 8; k++) sum += double(a[row][k]) * double(b[k][col]);
      f.d[col & 1] = float(sum);
    }
}

void GridRunner::report_thread_fault(uint32_t thread, std::string what) {
  first_fault_ = KernelFault{std::move(what), waiting_threads_[thread].return_address, position_of_thread(thread)};
}

void GridRunner::report_fault(std::string what, uint64_t at, uint64_t other_at) {
  first_fault_ = KernelFault{std::move(what), at, position_of_thread(running_thread_), other_at};
  running_fiber_->leave_fiber();  // does not return: nothing resumes this fiber after a fault
}

std::optional<KernelFault> run_grid(const KernelGrid& grid) { return GridRunner(grid).run(); }

std::string coordinates_text(const std::array<uint32_t, 3>& n) {
  return "(" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) + ")";
}

std::string KernelFault::text(const std::function<uint32_t(uint64_t)>& line_of) const {
  uint32_t line = line_of(return_address), other = other_return_address ? line_of(other_return_address) : 0;
  return problem_text + (line ? ", line " + std::to_string(line) : "") + ", thread " +
         coordinates_text(position.thread) + " of group " + coordinates_text(position.group) +
         (other ? "; the other access is in line " + std::to_string(other) : "");
}

namespace {

constexpr size_t kStack = 256 << 10, kGuard = 64 << 10;

}  // namespace

Fiber::Fiber(void (*body)()) {
  void* p = mmap(nullptr, kGuard + kStack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  stack_address_ = reinterpret_cast<uint64_t>(p) + kGuard;
  if (mprotect(reinterpret_cast<void*>(stack_address_), kStack, PROT_READ | PROT_WRITE) != 0) {
    munmap(p, kGuard + kStack);
    throw std::bad_alloc();
  }
  // lay out the stack as tgc_metal_switch leaves it, so that the first switch to the fiber returns into `body`
  void** at = reinterpret_cast<void**>(stack_address_ + kStack) - kBefore - kKept;
  fiber_stack_pointer_ = at;
  at[kReturn] = reinterpret_cast<void*>(body);
}

Fiber::~Fiber() { munmap(reinterpret_cast<void*>(stack_address_ - kGuard), kGuard + kStack); }

uint64_t Fiber::stack_bytes() const { return kStack; }
void Fiber::enter_fiber() { tgc_metal_switch(&host_stack_pointer_, fiber_stack_pointer_); }
void Fiber::leave_fiber() { tgc_metal_switch(&fiber_stack_pointer_, host_stack_pointer_); }

}  // namespace tgc::metal
