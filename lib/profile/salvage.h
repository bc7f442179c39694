// Reads the events of a damaged profile that lie before the damage.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/pickle.h"

namespace tgc::profile {

struct UndamagedList {
  Pickle pickle;
  // "the file is damaged behind byte 1234 of 5678 (WHY): 12 events before are read, the rest is lost"
  std::string damage_text;
};

// Returns as many complete items as possible of `bytes`, a damaged pickled list; nullopt if there are none.
// `is_allowed` says which classes the pickle may name.
std::optional<UndamagedList> read_undamaged_items(std::string_view bytes, Pickle::AllowedNameTest is_allowed,
                                                  const std::string& why);

}  // namespace tgc::profile
