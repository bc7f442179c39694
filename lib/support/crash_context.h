// Records what each thread works on (its context), for crash handlers.
#pragma once
#include <string_view>

namespace tgc {

// Until this object is destroyed, the calling thread's context is `work`, cut to kMaxContextBytes bytes. Contexts nest.
class CrashContext {
 public:
  static constexpr size_t kMaxContextBytes = 1000;
  explicit CrashContext(std::string_view work);
  CrashContext(const CrashContext&) = delete;
  ~CrashContext();

 private:
  friend std::string_view current_crash_context();

  const CrashContext* outer_context_;
  size_t text_size_;
  char text_[kMaxContextBytes];
};

// Returns the calling thread's context; "" if none is set. Safe to call in a signal handler.
std::string_view current_crash_context();

}  // namespace tgc
