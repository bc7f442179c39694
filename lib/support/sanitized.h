// Whether sanitizers are in this build: tests of what they take away (address space, SIGFPE, flat resident memory,
// time) are skipped there and say so.
#pragma once

namespace tgc {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

// ThreadSanitizer alone: its runtime ends at 65,536 frames on a stack, keeps signals back, takes more of a stack and of
// files than small limits leave, and in processes that were forked takes a second thread for the first.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kThreadSanitized = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadSanitized = false;
#endif

}  // namespace tgc
