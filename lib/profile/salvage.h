// Reads what is left of a profile that is damaged or ends early.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/pickle.h"

namespace tgc::profile {

struct Salvaged {
  Pickle pickle;      // a list of the first items
  std::string damage;  // "the file is damaged at byte 1234 of 5678 (WHY): the events before are read, the rest is lost"
};

// Returns the longest list of whole items at the begin of `bytes`, a pickle of a list that cannot be read because of
// `why`. Empty: there is no whole item.
std::optional<Salvaged> salvage_list(std::string_view bytes, Pickle::IsAllowed is_allowed, const std::string& why);

}  // namespace tgc::profile
