#include "lib/support/crash_context.h"

#include <algorithm>
#include <cstring>

namespace tgc {
namespace {

thread_local char text[CrashContext::kRoom];
thread_local size_t size = 0;

}  // namespace

CrashContext::CrashContext(std::string_view work) {
  size = 0;  // a signal handler that runs during the copy below must read an empty text, not a mixture
  const size_t kept = std::min(work.size(), kRoom);
  std::memcpy(text, work.data(), kept);
  size = kept;
}
CrashContext::~CrashContext() { size = 0; }

std::string_view work_of_thread() { return {text, size}; }

}  // namespace tgc
