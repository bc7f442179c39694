// The memory that a Metal kernel may access.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/emulate/metal/grid.h"
#include "lib/emulate/races.h"

namespace tgc::metal {

struct MemoryAccess {
  uint64_t address = 0;
  uint32_t bytes = 0;
  bool is_store = false;
};
using emulate::RaceDetector;

class GpuMemory {
 public:
  GpuMemory(const std::vector<MemoryRange>& ranges, bool check_races);

  // Returns threadgroup array number `number`, aligned to 16 bytes and allocated on first use; null if the kernel's
  // arrays exceed kMaxThreadgroupBytes in total.
  void* threadgroup_array(uint32_t number, uint64_t bytes, const char* name);

  void begin_group() { group_number_++, race_detector_.forget_accesses(); }
  void pass_barrier() { race_detector_.forget_accesses(); }

  // Returns true if one accessible range contains the whole access. is_watched(), first_unstored_byte() and
  // describe_address() then use this range.
  bool contains_access(const MemoryAccess& a) {
    if (!ranges_.empty() && ranges_[recent_range_].contains_access(a)) return true;
    return find_range(a);
  }
  // Returns true if first_unstored_byte() and race() must be called for the access.
  bool is_watched() const { return checks_races_ || ranges_[recent_range_].is_threadgroup; }
  // Records a store to threadgroup memory. For a load of threadgroup memory, returns the address of the first byte that
  // no thread of the group has stored, if any.
  std::optional<uint64_t> first_unstored_byte(const MemoryAccess& a);
  // Records the access and returns its race with an earlier one, if races are checked.
  std::optional<RaceDetector::DataRace> race(const MemoryAccess& a, uint32_t thread, uint32_t instruction);
  std::string describe_address(uint64_t address) const;  // returns text such as "data1 at byte 8"

  // Describes an access that no range contains: "8 bytes after the end of data1 (32 bytes)".
  std::string describe_out_of_range(const MemoryAccess& a) const;

 private:
  struct KnownRange {
    std::string name;
    uint64_t begin = 0, bytes = 0;
    bool is_threadgroup = false;
    std::vector<uint32_t> storing_groups = {};   // for each byte of threadgroup memory, the last group that stored it
    std::unique_ptr<uint8_t[]> allocation = {};

    bool contains_access(const MemoryAccess& a) const {
      return a.address - begin < bytes && bytes - (a.address - begin) >= a.bytes;
    }
  };
  bool find_range(const MemoryAccess& a);

  std::vector<KnownRange> ranges_;
  std::vector<size_t> threadgroup_ranges_;  // for each array number, index in ranges_ plus 1; 0: not allocated
  size_t recent_range_ = 0;
  uint64_t threadgroup_bytes_ = 0;
  uint32_t group_number_ = 0;
  bool checks_races_;
  RaceDetector race_detector_;
};

}  // namespace tgc::metal
