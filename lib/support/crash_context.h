// Records what each thread works on, for crash handlers: `tgc fuzz` names the random graph on which tgc crashed.
#pragma once
#include <string_view>

namespace tgc {

// Sets the calling thread's context to the first kRoom bytes of `work` until this object is destroyed. Contexts do not
// nest: a second object replaces the context of the first, and its destructor leaves the thread without a context.
class CrashContext {
 public:
  static constexpr size_t kRoom = 1000;
  explicit CrashContext(std::string_view work);
  CrashContext(const CrashContext&) = delete;
  ~CrashContext();
};

// Returns the calling thread's context, or an empty text if none is set. Safe in a signal handler: allocates nothing.
std::string_view work_of_thread();

}  // namespace tgc
