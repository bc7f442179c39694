#pragma once
#include <string>
#include <string_view>

#include "lib/profile/profile.h"

namespace tgc {

// Returns the page of a hardware profile: `page_code`, the page without data, with the content at kDataPlaceholder
// (page.h) and, if it is large, also at the end of the body. `title` names the profile. Compresses with at most
// `num_jobs` threads; 0 means one for each processor. If `older` is not null, the page compares the runs with those of
// `older`.
std::string make_profile_page(std::string_view page_code, const profile::Profile& profile, const std::string& title,
                              unsigned num_jobs = 0, const profile::Profile* older = nullptr);

// Returns true if the INPUT's file begins like a profile.
bool is_profile_input(const std::string& input);
// Reads the profile `input`, "profile.pkl" or "profile.pkl#KERNEL", and returns its page. With #KERNEL, or if `with` is
// an INPUT with the profile's kernels, the page shows the source lines and UOps that find_sources() finds. If `with` is
// a profile, the page shows it, and compares it with `input`, the older one. Fails if a file cannot be read or lacks
// the KERNEL, and if find_sources() fails.
Result<std::string> read_profile_page(std::string_view page_code, const Session& session, const std::string& input,
                                      const std::string& with);

}  // namespace tgc
