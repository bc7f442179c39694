// Decodes samples of NVIDIA GPUs (PMA): packets of 32 bytes with a header and up to 28 bytes of samples of one TPC.
// Mirrors tinygrad's extra/nv_pma/decode.py. No such profile was at hand: tests use packets made for them.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace tgc::profile {

struct PmaSample {
  uint64_t pc = 0;    // offset in the kernel's code
  uint32_t tpc = 0;   // number of the TPC: gpc, tpc and sm below
  uint8_t warp = 0;
  std::string_view reason;  // why the warp did not issue, as CUPTI names it: "MEMORY_DEPENDENCY"; "NONE": it issued
  bool is_active = false;

  uint32_t gpc() const { return tpc >> 5; }
  uint32_t tpc_of_gpc() const { return tpc >> 1 & 15; }
  uint32_t sm() const { return tpc & 1; }
};

// Decodes the samples. `sm_version` decides their size: 8 bytes before Blackwell (0xa04), then 9.
std::vector<PmaSample> decode_pma(std::span<const uint8_t> blob, int64_t sm_version);

// Samples by address, then by stall reason.
using PmaCounts = std::map<uint64_t, std::map<std::string_view, uint64_t>>;
PmaCounts count_samples(std::span<const PmaSample> samples);

}  // namespace tgc::profile
