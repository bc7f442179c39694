// Decodes the samples of NVIDIA GPUs (PMA). Mirrors tinygrad's extra/nv_pma/decode.py. Not tested with a real profile.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace tgc::profile {

struct PmaSample {
  uint64_t pc = 0;    // bytes from the beginning of the kernel's code
  uint32_t tpc = 0;   // contains gpc(), tpc_of_gpc() and sm()
  uint8_t warp = 0;
  std::string_view reason;  // as CUPTI names it ("MEMORY_DEPENDENCY"); "NONE" if the warp issued
  bool is_active = false;

  uint32_t gpc() const { return tpc >> 5; }
  uint32_t tpc_of_gpc() const { return tpc >> 1 & 15; }
  uint32_t sm() const { return tpc & 1; }
};

// Samples have 8 bytes if `sm_version` is less than 0xa04 (Blackwell), else 9.
std::vector<PmaSample> decode_pma(std::span<const uint8_t> blob, int64_t sm_version);

// Numbers of samples by address, then by stall reason.
using PmaCounts = std::map<uint64_t, std::map<std::string_view, uint64_t>>;
PmaCounts count_samples(std::span<const PmaSample> samples);

}  // namespace tgc::profile
