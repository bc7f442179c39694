// Reads the events before the damage in a profile that is damaged or ends early.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/pickle.h"

namespace tgc::profile {

struct SalvagedList {
  Pickle pickle;       // a list of the items before the damage
  // "the file is damaged behind byte 1234 of 5678 (WHY): 12 events before are read, the rest is lost"
  std::string damage_text;
};

// Returns as many complete items as possible from the start of `bytes`, a pickle of a list that cannot be read because
// of `why`. Returns nullopt if there is no complete item. `is_allowed` says which classes the pickle may name.
std::optional<SalvagedList> salvage_list(std::string_view bytes, Pickle::IsAllowed is_allowed, const std::string& why);

}  // namespace tgc::profile
