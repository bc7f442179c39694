#include "lib/support/deep_stack.h"

#include <pthread.h>

#include <cstdint>
#include <exception>

#include "lib/support/result.h"
#include "lib/support/sanitized.h"

namespace tgc {
namespace {

// Sanitizers add red zones around local variables, which can make frames ten times as large.
constexpr size_t kFrames = kIsSanitized ? 10 : 1;
constexpr size_t kReserve = kFrames * (size_t(96) << 10), kNewStack = size_t(16) << 20;

uintptr_t stack_begin() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
  }
  return reinterpret_cast<uintptr_t>(begin);
}

struct CallOnThread {
  const std::function<void()>& work;
  std::exception_ptr exception;

  static void* run(void* self) {
    auto& call = *static_cast<CallOnThread*>(self);
    try {
      call.work();
    } catch (...) {
      call.exception = std::current_exception();
    }
    return nullptr;
  }
};

}  // namespace

bool is_stack_short() {
  thread_local const uintptr_t begin = stack_begin();
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < begin + kReserve;
}

void run_on_new_stack(const std::function<void()>& work) {
  CallOnThread call{work, nullptr};
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kNewStack);
  int error = pthread_create(&thread, &attributes, CallOnThread::run, &call);
  pthread_attr_destroy(&attributes);
  if (error) throw Failure("out of memory: the input is nested too deeply");
  pthread_join(thread, nullptr);
  if (call.exception) std::rethrow_exception(call.exception);
}

}  // namespace tgc
