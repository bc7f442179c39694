#include "lib/compile/llvm_engine/contain.h"

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>

#include <mutex>
#include <new>

namespace tgc {
namespace {

thread_local std::string fatal_message;

void keep_fatal_message(void*, const char* message, bool) { fatal_message = message; }

// Without this handler, LLVM aborts if memory runs out. It is installed before LLVM's first allocation.
[[noreturn]] void throw_bad_alloc(void*, const char*, bool) { throw std::bad_alloc(); }
__attribute__((constructor(101))) void install_bad_alloc_handler() {
  llvm::remove_bad_alloc_error_handler();  // another engine that shares this LLVM may have installed one
  llvm::install_bad_alloc_error_handler(throw_bad_alloc);
}

// Installs LLVM's handlers for signals and fatal errors only while LLVM works, because this process may have others.
class CrashHandlers {
 public:
  CrashHandlers() {
    std::lock_guard lock(mutex_);
    if (num_users_++) return;
    llvm::install_fatal_error_handler(keep_fatal_message);
    llvm::CrashRecoveryContext::Enable();
  }
  ~CrashHandlers() {
    std::lock_guard lock(mutex_);
    if (--num_users_) return;
    llvm::CrashRecoveryContext::Disable();
    llvm::remove_fatal_error_handler();
  }

 private:
  static inline std::mutex mutex_;
  static inline int num_users_ = 0;
};

}  // namespace

std::string run_contained_work(const std::function<void()>& work) {
  CrashHandlers handlers;
  fatal_message.clear();
  llvm::CrashRecoveryContext context;
  if (context.RunSafely([&] { work(); })) return {};
  return fatal_message.empty() ? "the compiler crashed" : fatal_message;
}

}  // namespace tgc
