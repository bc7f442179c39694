#include "lib/support/crash_context.h"

#include <algorithm>
#include <cstring>

namespace tgc {
namespace {

thread_local const CrashContext* innermost = nullptr;

}  // namespace

CrashContext::CrashContext(std::string_view work)
    : outer_context_(innermost), text_size_(std::min(work.size(), kMaxContextBytes)) {
  std::memcpy(text_, work.data(), text_size_);
  innermost = this;
}
CrashContext::~CrashContext() { innermost = outer_context_; }

std::string_view current_crash_context() {
  return innermost ? std::string_view(innermost->text_, innermost->text_size_) : "";
}

}  // namespace tgc
