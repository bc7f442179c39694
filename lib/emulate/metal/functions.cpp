// The functions that compiled kernels call. clang inserts access checks as ThreadSanitizer calls (__tsan_read4, ...).
#include "lib/emulate/metal/runner.h"

#include <cstring>

namespace tgc::metal {

void* GridRunner::threadgroup_array(uint32_t number, uint64_t bytes, const char* name, uint64_t at) {
  void* made = memory_.threadgroup_array(number, bytes, name);
  if (!made)
    report_fault("declares more threadgroup memory than " + std::to_string(kMaxThreadgroupBytes) + " bytes", at);
  return made;
}

void GridRunner::check_watched_access(const MemoryAccess& a, uint64_t at) {
  if (auto never = memory_.first_unstored_byte(a))
    report_fault("reads threadgroup memory that no thread of the group has stored, " + memory_.describe_address(*never),
                 at);
  uint64_t entry = reinterpret_cast<uint64_t>(grid_.entry);
  if (auto race = memory_.race(a, running_thread_, uint32_t(at - entry)))
    report_fault(std::string(a.is_store ? "stores" : "reads") + " what thread " +
                 coordinates_text(position_of_thread(race->earlier_access.thread).thread) +
                 (race->earlier_access.is_store() ? " stored" : " read") + " with no barrier between, " +
                 memory_.describe_address(race->address),
                 at, entry + uint64_t(int32_t(race->earlier_access.instruction)));
}

void GridRunner::report_access_fault(const MemoryAccess& a, uint64_t at) {
  std::string what = std::string(a.is_store ? "stores " : "reads ") + std::to_string(a.bytes) + " bytes ";
  bool inside = memory_.contains_access(a);
  report_fault(what + (inside ? "at an address that is no multiple of that"
                       : "out of bounds, " + memory_.describe_out_of_range(a)),
               at);
}

namespace {

#define TGC_HERE reinterpret_cast<uint64_t>(__builtin_return_address(0))

template <uint32_t kBytes, bool kStores, bool kAligned>
void check_kernel_access(uint64_t address) {
  GridRunner::current_runner().check_access({address, kBytes, kStores}, kAligned, TGC_HERE);
}

void* copy_checked_bytes(void* to, const void* from, uint64_t bytes) {
  if (!bytes) return to;
  GridRunner& r = GridRunner::current_runner();
  r.check_access({reinterpret_cast<uint64_t>(from), uint32_t(bytes), false}, false, TGC_HERE);
  r.check_access({reinterpret_cast<uint64_t>(to), uint32_t(bytes), true}, false, TGC_HERE);
  return std::memmove(to, from, bytes);
}
void* set_checked_bytes(void* to, int value, uint64_t bytes) {
  if (!bytes) return to;
  GridRunner::current_runner().check_access({reinterpret_cast<uint64_t>(to), uint32_t(bytes), true}, false, TGC_HERE);
  return std::memset(to, value, bytes);
}
void do_nothing() {}

void* threadgroup_array(uint32_t number, uint64_t bytes, const char* name) {
  return GridRunner::current_runner().threadgroup_array(number, bytes, name, TGC_HERE);
}
void barrier() { GridRunner::current_runner().wait_for_threads(nullptr, TGC_HERE); }
void multiply_fragments(MatrixFragments* fragments) {
  GridRunner::current_runner().wait_for_threads(fragments, TGC_HERE);
}

template <uint32_t kBytes>
void add_access_checks(std::map<std::string, void*, std::less<>>& to) {
  std::string n = std::to_string(kBytes);
  to["__tsan_read" + n] = reinterpret_cast<void*>(check_kernel_access<kBytes, false, true>);
  to["__tsan_write" + n] = reinterpret_cast<void*>(check_kernel_access<kBytes, true, true>);
  to["__tsan_unaligned_read" + n] = reinterpret_cast<void*>(check_kernel_access<kBytes, false, false>);
  to["__tsan_unaligned_write" + n] = reinterpret_cast<void*>(check_kernel_access<kBytes, true, false>);
}

}  // namespace

std::map<std::string, void*, std::less<>> runtime_functions() {
  std::map<std::string, void*, std::less<>> out{
      {"__tsan_init", reinterpret_cast<void*>(do_nothing)},
      {"__tsan_func_entry", reinterpret_cast<void*>(do_nothing)},
      {"__tsan_func_exit", reinterpret_cast<void*>(do_nothing)},
      {"__tsan_memcpy", reinterpret_cast<void*>(copy_checked_bytes)},
      {"__tsan_memmove", reinterpret_cast<void*>(copy_checked_bytes)},
      {"__tsan_memset", reinterpret_cast<void*>(set_checked_bytes)},
      {"tgc_metal_threadgroup", reinterpret_cast<void*>(threadgroup_array)},
      {"tgc_metal_barrier", reinterpret_cast<void*>(barrier)},
      {"tgc_metal_multiply", reinterpret_cast<void*>(multiply_fragments)}};
  add_access_checks<1>(out), add_access_checks<2>(out), add_access_checks<4>(out), add_access_checks<8>(out),
      add_access_checks<16>(out);
  return out;
}

}  // namespace tgc::metal
