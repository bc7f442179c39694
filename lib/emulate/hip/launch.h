// A launch of a kernel: its groups, spread over the host's threads, and what is checked while they run.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/emulate/hip/code.h"
#include "lib/emulate/races.h"

namespace tgc::hip {

struct Launch {
  const Code* code = nullptr;
  Triple grid{1, 1, 1}, block{1, 1, 1};  // groups, and threads of one
  uint64_t dynamic_group_bytes = 0;
  std::vector<std::byte> arguments;
  std::vector<Range> ranges;  // the memory that there is, sorted; the arguments are added
  bool check_races = false;
  unsigned host_threads = 1;
  uint64_t most_jumps = UINT64_MAX;  // of a wave

  uint32_t threads() const { return uint32_t(volume(block)); }
};

struct Group {
  const Launch* launch = nullptr;
  Triple id{};
  std::vector<std::byte> memory;   // of the group (LDS)
  std::vector<uint8_t> stored;     // which of its bytes were ever stored
  std::unique_ptr<Races> races;    // when asked for
  RecentRanges recent;
};

// The fault is the first, in the order of groups. `executed` counts instructions: a vector instruction as many times as
// it has active lanes.
std::optional<Fault> run_launch(const Launch& launch, uint64_t& executed);

// Runs a wave until it is done or at a barrier. Throws Fault.
void run_wave(Wave& w);

// Bits of the MODE register: rounding of f32 and of the others, denormals likewise. The host has one mode for all.
void set_float_mode(uint32_t mode);

// "thread (3,0,0) of block (1,0,0)"
std::string name_thread(const Group& group, uint32_t thread);
[[noreturn]] void raise(const Wave& w, const Op& o, uint32_t lane, int code, const std::string& what);

}  // namespace tgc::hip
