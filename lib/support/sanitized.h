// Whether AddressSanitizer and UndefinedBehaviorSanitizer are in this build: tests of what they take away (address
// space, SIGFPE, flat resident memory) are skipped there and say so.
#pragma once

namespace tgc {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tgc
