// Launches a kernel: runs its blocks on the host's threads, with the checks that --emulate and --race make.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/emulate/cuda/code.h"
#include "lib/emulate/races.h"

namespace tgc::ptx {

struct Launch {
  const Code* code = nullptr;
  Triple grid{1, 1, 1}, block{1, 1, 1};  // number of blocks; threads per block
  uint64_t dynamic_shared = 0;           // in bytes
  std::vector<std::byte> parameters;
  std::vector<Range> ranges;  // accessible global memory, sorted
  bool check_races = false;
  unsigned host_threads = 1;
  uint64_t most_jumps = UINT64_MAX;  // limit of jumps per warp

  uint32_t threads() const { return uint32_t(volume(block)); }
};

struct Block {
  const Launch* launch = nullptr;
  Triple id{};
  bool is_packed = false;  // true if a warp holds several blocks
  std::vector<std::byte> shared, local;
  std::vector<uint8_t> stored;     // for each byte of `shared`, 1 if a thread has stored it
  std::unique_ptr<Races> races;    // null unless check_races is set
  RecentRanges recent;
};

// Runs all blocks. Returns the fault of the lowest failing block. Sets `executed` to the sum of Warp::executed.
std::optional<Fault> run_launch(const Launch& launch, uint64_t& executed);

// Runs a warp until it ends or reaches a barrier. Throws Fault.
void run_warp(Warp& w, const Code& code);

// Returns "thread (3,0,0) of block (1,0,0)".
std::string name_thread(const Block& block, uint32_t thread);
// Throws a Fault with the text "KERNEL, INSTRUCTION: THREAD `what`", where THREAD is the thread of `lane`.
[[noreturn]] void raise(const Warp& w, const Op& o, int lane, int code, const std::string& what);

}  // namespace tgc::ptx
