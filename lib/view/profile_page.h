// The page of a hardware profile: waves and units over time, instructions with their stalls, counters, kernels by time.
#pragma once
#include <string>
#include <string_view>

#include "lib/profile/profile.h"

namespace tgc {

// Returns `page_code`, the profile page without data, with kDataMark replaced by the content. `title` names the
// profile.
std::string profile_page(std::string_view page_code, const profile::Profile& profile, const std::string& title,
                         unsigned jobs = 0);

// Returns whether INPUT is a profile, by the file's first bytes.
bool is_profile_input(const std::string& input);
// Reads the profile INPUT, "profile.pkl" or "profile.pkl#KERNEL", and returns its page. `with`, an INPUT that has the
// kernels, adds their source lines and UOps; empty: none.
Result<std::string> profile_page_of(std::string_view page_code, const Session& session, const std::string& input,
                                    const std::string& with);

}  // namespace tgc
