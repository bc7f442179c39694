// A launch of a kernel: its blocks, spread over the host's threads, and what is checked while they run.
#pragma once
#include <array>
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
  Triple grid{1, 1, 1}, block{1, 1, 1};  // blocks, and threads of one
  uint64_t dynamic_shared = 0;
  std::vector<std::byte> parameters;
  std::vector<Range> ranges;  // the memory that there is
  bool check_races = false;
  unsigned host_threads = 1;
  uint64_t most_jumps = UINT64_MAX;  // of a warp

  uint32_t threads() const { return uint32_t(volume(block)); }
};

struct Block {
  const Launch* launch = nullptr;
  Triple id{};
  bool is_packed = false;  // a warp holds several blocks
  std::vector<std::byte> shared, local;
  std::vector<uint8_t> stored;     // of shared memory: which bytes were ever stored
  std::unique_ptr<Races> races;    // when asked for
  RecentRanges recent;
};

// The fault is the first, in the order of blocks. `executed` counts instructions of threads.
std::optional<Fault> run_launch(const Launch& launch, uint64_t& executed);

// Runs a warp until it is done or at a barrier. Throws Fault.
void run_warp(Warp& w, const Code& code);

// "thread (3,0,0) of block (1,0,0)"
std::string name_thread(const Block& block, uint32_t thread);
[[noreturn]] void raise(const Warp& w, const Op& o, int lane, int code, const std::string& what);

}  // namespace tgc::ptx
