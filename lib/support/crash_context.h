// Records what each thread works on (its context), for crash handlers.
#pragma once
#include <string_view>

namespace tgc {

// Until this object is destroyed, the calling thread's context is `work`, cut to kMaxBytes bytes. Contexts nest.
class CrashContext {
 public:
  static constexpr size_t kMaxBytes = 1000;
  explicit CrashContext(std::string_view work);
  CrashContext(const CrashContext&) = delete;
  ~CrashContext();

 private:
  friend std::string_view work_of_thread();

  const CrashContext* outer_context_;
  size_t size_;
  char text_[kMaxBytes];
};

// "" if none is set. Safe in a signal handler.
std::string_view work_of_thread();

}  // namespace tgc
