#include "lib/emulate/driver.h"

#include <unistd.h>
#include <ctime>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace tgc::emulate {
namespace {

std::atomic<uint64_t> launches, faults;

// Prints the number of launches and of faults when the process ends. The emulator prints it because `tgc emulate
// --race` replaces its own process by the program.
void report_races() {
  if (launches + faults == 0) return;
  const std::string found = faults ? std::to_string(faults) + " faults" : "no race";
  std::fprintf(stderr, "tgc: %s in %llu launches\n", found.c_str(), (unsigned long long)(launches + faults));
}

uint64_t physical_bytes() { return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)); }

}  // namespace

EmulatedDriver::EmulatedDriver(std::string prefix, std::span<const ErrorText> errors)
    : setting_prefix_(std::move(prefix)), error_table_(errors), memory_(physical_bytes() / 2) {
  if (const char* race = setting_value("_RACE"); race && std::strcmp(race, "report") == 0) std::atexit(report_races);
  const char* threads = setting_value("_THREADS");
  num_host_threads_ =
      threads ? std::clamp(unsigned(std::atoi(threads)), 1u, 256u) : std::max(1u, std::thread::hardware_concurrency());
}

const char* EmulatedDriver::setting_value(const char* name) const {
  return std::getenv((setting_prefix_ + name).c_str());
}

bool EmulatedDriver::has_setting(const char* name) const {
  const char* value = setting_value(name);
  return value && *value && std::strcmp(value, "0") != 0;
}

const ErrorText* EmulatedDriver::find_error(int code) const {
  auto found = std::ranges::find(error_table_, code, &ErrorText::code);
  return found == error_table_.end() ? nullptr : &*found;
}

const char* EmulatedDriver::error_name(int code) const {
  const ErrorText* e = find_error(code);
  return e ? e->name : nullptr;
}

int EmulatedDriver::set_error(int code, std::string text) {
  constexpr size_t kMostTexts = 1000;
  std::lock_guard lock(mutex_);
  const ErrorText* e = find_error(code);
  last_error_code_ = code;
  error_texts_.push_back(std::string(e ? e->text : "error") + ": " + text);
  if (error_texts_.size() > kMostTexts) error_texts_.pop_front();
  return code;
}

const char* EmulatedDriver::text_of_error(int code) {
  std::lock_guard lock(mutex_);
  if (code != kSuccess && code == last_error_code_) return error_texts_.back().c_str();
  const ErrorText* e = find_error(code);
  return e ? e->text : nullptr;
}

int EmulatedDriver::check_range(const char* function, uint64_t at, size_t bytes) {
  if (memory_.contains(at, bytes)) return kSuccess;
  return set_error(kInvalidValue, std::string(function) + ": " + std::to_string(bytes) + " bytes at " + hex_text(at) +
                                      " are not all allocated");
}

int EmulatedDriver::check_processor() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return set_error(kNotSupported, "the emulator needs a processor with AVX2 and FMA");
#endif
  return kSuccess;
}

int EmulatedDriver::check_launch_size(const Dim3& grid, const Dim3& block, const LaunchLimits& most) {
  for (size_t n = 0; n < 3; n++) {
    if (grid[n] == 0) return set_error(kInvalidValue, "the grid is empty");
    if (grid[n] > most.grid[n]) return set_error(kInvalidValue, "the grid is too large");
  }
  bool fits = num_positions(block) > 0 && num_positions(block) <= most.threads;
  for (size_t n = 0; n < 3; n++) fits = fits && block[n] <= most.block[n];
  return fits ? kSuccess : set_error(kInvalidValue, "a block of " + std::to_string(num_positions(block)) + " threads");
}

int EmulatedDriver::read_extra_options(void** extra, const void* end, ArgumentBlock& to) {
  constexpr size_t kPointer = 1, kBytes = 2;
  for (; extra && *extra != end; extra += 2) {
    size_t what = reinterpret_cast<size_t>(*extra);
    if (what == kPointer) to.data = extra[1];
    else if (what == kBytes) to.bytes = *static_cast<size_t*>(extra[1]);
    else return set_error(kInvalidValue, "an unknown entry in the launch's extra options");
  }
  return kSuccess;
}

int EmulatedDriver::run_kernel(const std::string& kernel, uint64_t num_block_threads,
                               const std::function<std::optional<KernelFault>(uint64_t& executed)>& launch) {
  auto begin = std::chrono::steady_clock::now();
  std::clock_t begin_work = std::clock();
  uint64_t executed = 0;
  std::optional<KernelFault> fault = launch(executed);
  (fault ? faults : launches)++;
  if (fault) return set_error(fault->code, fault->text);
  double work = std::max(double(std::clock() - begin_work), 1.0) / CLOCKS_PER_SEC;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (has_setting("_SPEED"))
    std::fprintf(stderr,
                 "%s: %llu instructions of threads in %.6f s, %.6f s of processors: %.0f million a second and core, "
                 "blocks of %llu threads\n",
                 kernel.c_str(), (unsigned long long)executed, seconds, work, double(executed) / work / 1e6,
                 (unsigned long long)num_block_threads);
  return kSuccess;
}

}  // namespace tgc::emulate
