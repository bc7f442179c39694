// Constants that say whether this build has AddressSanitizer or ThreadSanitizer. Tests that cannot work with sanitizers
// (limits on address space, SIGFPE, constant resident memory, timing) skip themselves with a message.
#pragma once

namespace tgc {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

// True with ThreadSanitizer. Its runtime aborts at 65,536 stack frames, delays signals, needs more stack and file space
// than small limits allow, and mistakes a second thread of a forked process for the first.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kThreadSanitized = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadSanitized = false;
#endif

}  // namespace tgc
