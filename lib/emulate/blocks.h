// Runs the blocks of a launch on host threads, for the CUDA and HIP emulators.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/emulate/fault.h"

namespace tgc::emulate {

// A size or a position in three dimensions. Linear numbers count along x first, then y, then z.
using Dim3 = std::array<uint32_t, 3>;
inline uint64_t num_positions(const Dim3& size) { return uint64_t(size[0]) * size[1] * size[2]; }
inline Dim3 position_of_number(uint64_t number, const Dim3& size) {
  return {uint32_t(number % size[0]), uint32_t(number / size[0] % size[1]), uint32_t(number / size[0] / size[1])};
}
// Returns a text such as "thread (3,0,0) of block (1,0,0)". `thread` is a linear number.
inline std::string thread_text(uint32_t thread, const Dim3& size, const Dim3& block) {
  auto text = [](const Dim3& t) {
    return "(" + std::to_string(t[0]) + "," + std::to_string(t[1]) + "," + std::to_string(t[2]) + ")";
  };
  return "thread " + text(position_of_number(thread, size)) + " of block " + text(block);
}

struct AlignedDeleter {
  void operator()(void* p) const { std::free(p); }
};
// Returns at least `bytes` zero bytes, aligned to 64 bytes. Throws bad_alloc.
template <class T>
std::unique_ptr<T, AlignedDeleter> allocate_zeroed_bytes(size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  void* p = std::aligned_alloc(64, bytes);
  if (!p) throw std::bad_alloc();
  return std::unique_ptr<T, AlignedDeleter>(static_cast<T*>(std::memset(p, 0, bytes)));
}

// Runs the warps of a block in turn, each up to its next barrier or its end, until all are done. Calls pass() when
// every warp waits at a barrier. If one warp has returned while another waits, calls refuse(done, waiting), which must
// throw.
template <class Warp, class Run, class Refuse, class Pass>
void run_warps_in_turn(std::vector<Warp>& warps, Run run, Refuse refuse, Pass pass) {
  for (;;) {
    const Warp *done = nullptr, *waiting = nullptr;
    for (Warp& w : warps) {
      if (w.state != Warp::Done) run(w);
      (w.state == Warp::Done ? done : waiting) = &w;
    }
    if (!waiting) return;
    if (done) refuse(*done, *waiting);
    pass();
  }
}

// Runs the groups of a launch (a group is one block, or several blocks packed in one warp) on host threads, until one
// fails. Returns the fault of the lowest numbered failing group; if no group fails, sets `executed` to the sum of
// Runner::num_executed_ops(). Each host thread constructs one Runner(launch), whose run(number) runs one group and may
// throw KernelFault.
template <class Runner, class Launch>
std::optional<KernelFault> run_blocks(const Launch& launch, uint64_t& executed) {
  constexpr uint64_t kKernelThreadsPerHostThread = 256;
  std::atomic<uint64_t> next_group = 0, total = 0;
  std::atomic<bool> must_stop = false;
  std::mutex mutex;
  std::optional<KernelFault> fault;
  uint64_t fault_group_number = UINT64_MAX;
  auto record_fault = [&](uint64_t group, KernelFault f) {
    std::lock_guard lock(mutex);
    if (group < fault_group_number || !fault) fault_group_number = group, fault = std::move(f);
    must_stop = true;
  };
  auto run_groups = [&] {
    uint64_t group = 0;
    try {
      Runner runner(launch);
      // groups are taken in ascending order, so all groups before a failing group run
      while (!must_stop && (group = next_group++) < runner.num_groups()) runner.run(group);
      total += runner.num_executed_ops();
    } catch (KernelFault& f) { record_fault(group, std::move(f)); } catch (const std::bad_alloc&) {
      record_fault(group, {kOutOfMemory, "out of host memory for the registers and memory of a block"});
    }
  };
  uint64_t num_useful_threads =
      num_positions(launch.grid) * num_positions(launch.block) / kKernelThreadsPerHostThread + 1;
  std::vector<std::thread> other_threads;
  for (uint64_t n = 1; n < std::min<uint64_t>(launch.num_host_threads, num_useful_threads); n++)
    other_threads.emplace_back(run_groups);
  run_groups();
  for (std::thread& t : other_threads) t.join();
  executed = total;
  return fault;
}

}  // namespace tgc::emulate
