#pragma once
#include <optional>
#include <span>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

struct LocalRace {
  std::string memory;
  bool is_load_first = false;  // true: an iteration of a loop loads, a later one stores; false: a load follows a store
  int64_t element = 0, first_thread = 0, second_thread = 0;  // the threads in the order of their accesses
  std::string text() const;
};

// Returns two accesses to one element of shared memory by two threads with no BARRIER in between: a load after a store,
// or a store after a load in an earlier iteration; nullopt if none are found.
std::optional<LocalRace> find_local_race(std::span<const UOp> list);

}  // namespace tgc
