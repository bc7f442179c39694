// Finds threads of a workgroup that race for an element of shared memory, in a linear list.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

struct LocalRace {
  std::string memory;        // "local0"
  bool loads_first = false;  // one iteration of a loop loads what a later one stores; else, a load follows the store
  int64_t element = 0, first_thread = 0, second_thread = 0;
  // "thread 3 loads local0[5], which thread 5 stores, with no barrier in between"
  std::string text() const;
};

// Returns two accesses of one element by two threads with no BARRIER in between: a load after a store, or a store after
// a load of an earlier iteration. Nullopt if there are none, or if the elements depend on loaded values. Skips lists
// with loops that are nested too deep.
std::optional<LocalRace> find_local_race(std::span<const UOp> list);

}  // namespace tgc
