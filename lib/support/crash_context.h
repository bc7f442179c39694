// Records what each thread works on (its context), for crash handlers.
#pragma once
#include <string_view>

namespace tgc {

// Sets the calling thread's context to `work`, cut to kMaxBytes bytes, until this object is destroyed. Contexts nest.
class CrashContext {
 public:
  static constexpr size_t kMaxBytes = 1000;
  explicit CrashContext(std::string_view work);
  CrashContext(const CrashContext&) = delete;
  ~CrashContext();

 private:
  friend std::string_view work_of_thread();

  const CrashContext* outer_;
  size_t size_;
  char text_[kMaxBytes];
};

// Returns the calling thread's context; "" if none is set. Safe in a signal handler.
std::string_view work_of_thread();

}  // namespace tgc
