// Makes the page of a hardware profile.
#pragma once
#include <string>
#include <string_view>

#include "lib/profile/profile.h"

namespace tgc {

// Returns the page: `page_code`, the page without data, with the content at kDataMark (page.h) and, if it is large,
// also at the end of the body. `title` names the profile. Compresses with at most `jobs` threads; 0: as many as the
// setting CPU_COUNT says. With `older`, the page compares the runs with those of an older profile.
std::string profile_page(std::string_view page_code, const profile::Profile& profile, const std::string& title,
                         unsigned jobs = 0, const profile::Profile* older = nullptr);

// Returns true if the first bytes of the INPUT's file are those of a profile.
bool is_profile_input(const std::string& input);
// Reads the profile `input`, "profile.pkl" or "profile.pkl#KERNEL", and returns its page. With #KERNEL, or if `with` is
// an INPUT that has the profile's kernels, the page shows source lines and UOps, if find_sources() finds them. If
// `with` is a profile, the page shows that profile, and compares it with `input`, the older one. Fails if a file cannot
// be read or lacks the KERNEL, and if find_sources() fails.
Result<std::string> profile_page_of(std::string_view page_code, const Session& session, const std::string& input,
                                    const std::string& with);

}  // namespace tgc
