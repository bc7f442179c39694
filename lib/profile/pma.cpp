#include "lib/profile/pma.h"

#include <algorithm>
#include <array>

namespace tgc::profile {
namespace {

constexpr size_t kPacket = 32, kHeader = 4, kHeaderBytes = 4, kMostBytes = 28;
constexpr int64_t kBlackwell = 0xa04;

std::string_view pre_blackwell_reason(uint32_t key) {
  switch (key) {
    case 1: case 15: return "MEMORY_THROTTLE";
    case 2: return "CONSTANT_MEMORY";
    case 3: return "SYNC";
    case 6: case 11: return "INST_FETCH";
    case 7: case 10: return "EXEC_DEPENDENCY";
    case 9: return "MEMORY_DEPENDENCY";
    case 12: return "PIPE_BUSY";
    case 18: return "NONE";
    default: return "OTHER";
  }
}

std::string_view blackwell_reason(uint32_t key) {
  switch (key) {
    case 0x01: case 0x0e: return "MEMORY_THROTTLE";
    case 0x02: return "SYNC";
    case 0x05: case 0x0a: return "INST_FETCH";
    case 0x06: case 0x09: return "EXEC_DEPENDENCY";
    case 0x08: return "MEMORY_DEPENDENCY";
    case 0x0b: case 0x0f: return "PIPE_BUSY";
    case 0x11: return "NONE";
    default: return "OTHER";
  }
}

uint64_t extract_bits(uint64_t value, uint32_t low, uint32_t count) {
  return value >> low & ((uint64_t(1) << count) - 1);
}

PmaSample decode_sample(const uint8_t* bytes, bool is_blackwell) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < 8; i++) bits |= uint64_t(bytes[i]) << 8 * i;
  if (!is_blackwell)
    return {.pc = extract_bits(bits, 0, 45) << 4,
            .warp = uint8_t(extract_bits(bits, 50, 6)),
            .reason = pre_blackwell_reason(uint32_t(extract_bits(bits, 45, 5))),
            .is_active = extract_bits(bits, 62, 1) != 0};
  uint8_t last = bytes[8];
  return {.pc = extract_bits(bits, 8, 53) << 4,
          .warp = uint8_t(extract_bits(bits, 6, 2) << 4 | last >> 4),
          .reason = blackwell_reason(uint32_t(extract_bits(bits, 0, 6))),
          .is_active = (last >> 3 & 1) != 0};
}

}  // namespace

std::vector<PmaSample> decode_pma(std::span<const uint8_t> blob, int64_t sm_version) {
  bool is_blackwell = sm_version >= kBlackwell;
  const size_t size = is_blackwell ? 9 : 8;
  struct PendingSample {
    std::array<uint8_t, 9> bytes{};
    size_t count = 0;
  };
  std::map<uint32_t, PendingSample> pending;  // by TPC: the bytes of a sample that the TPC's next packet continues
  std::vector<PmaSample> out;
  for (size_t at = 0; at + kPacket <= blob.size(); at += kPacket) {
    const uint8_t* packet = blob.data() + at;
    uint32_t header = 0;
    for (uint32_t i = 0; i < kHeaderBytes; i++) header |= uint32_t(packet[kHeader + i]) << 8 * i;
    uint32_t tpc = (header >> 8 & 0xff) | (header >> 25 & 7) << 8;
    PendingSample& p = pending[tpc];
    if (header >> 28 & 1) p.count = 0;  // samples were dropped
    size_t bytes = std::min<size_t>(header & 31, kMostBytes);
    for (size_t i = 0; i < bytes; i++) {
      p.bytes[p.count++] = packet[i < kHeader ? i : i + kHeaderBytes];
      if (p.count < size) continue;
      p.count = 0;
      out.push_back(decode_sample(p.bytes.data(), is_blackwell));
      out.back().tpc = tpc;
    }
  }
  return out;
}

PmaCounts count_samples(std::span<const PmaSample> samples) {
  PmaCounts out;
  for (const PmaSample& s : samples) out[s.pc][s.reason]++;
  return out;
}

}  // namespace tgc::profile
