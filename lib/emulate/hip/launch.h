// Launches a kernel: runs its workgroups on the host's threads, with the checks that --emulate and --race make.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/emulate/hip/code.h"
#include "lib/emulate/hip/trace_log.h"
#include "lib/emulate/races.h"

namespace tgc::hip {

struct Launch {
  const Code* code = nullptr;
  Triple grid{1, 1, 1}, block{1, 1, 1};  // number of groups; threads per group
  uint64_t dynamic_group_bytes = 0;
  std::vector<std::byte> arguments;
  std::vector<Range> ranges;  // accessible global memory, sorted; run_launch adds the arguments
  bool check_races = false;
  unsigned host_threads = 1;
  uint64_t most_jumps = UINT64_MAX;  // limit of jumps per wave
  TraceLog* log = nullptr;  // where executed instructions are logged; then host_threads is 1

  uint32_t threads() const { return uint32_t(volume(block)); }
};

struct Group {
  const Launch* launch = nullptr;
  Triple id{};
  std::vector<std::byte> memory;   // LDS (shared memory)
  std::vector<uint8_t> stored;     // for each byte of `memory`, 1 if a thread has stored it
  std::unique_ptr<Races> races;    // null unless check_races is set
  RecentRanges recent;
};

// Runs all groups. Returns the fault of the lowest numbered failing group. Sets `executed` to the number of
// instructions, where a vector instruction counts once per active lane.
std::optional<Fault> run_launch(const Launch& launch, uint64_t& executed);

// Runs a wave until it ends or reaches a barrier. Throws Fault.
void run_wave(Wave& w);

// Sets the host's rounding and denormal modes from the f32 fields in the low 8 bits of the MODE register. Ignores the
// fields for f16 and f64, because the host has one mode for all types.
void set_float_mode(uint32_t mode);

// Returns "thread (3,0,0) of block (1,0,0)".
std::string name_thread(const Group& group, uint32_t thread);
// Throws a Fault with the text "KERNEL, INSTRUCTION: THREAD `what`", where THREAD is the thread of `lane`.
[[noreturn]] void raise(const Wave& w, const Op& o, uint32_t lane, int code, const std::string& what);

}  // namespace tgc::hip
