// Reads profile.pkl, the events that tinygrad 0.12.0 to 0.14.0 store with PROFILE=1 or VIZ. No code in the file is
// executed.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/pickle.h"

namespace tgc::profile {

// Here and below, views point into ProfileTrace::pickle.
struct GpuProgram {
  std::string_view device, name, elf_bytes;  // `elf_bytes`: empty if the event has none
  uint64_t code_base_address = 0;
  // number by which other events refer to the program; nullopt: they refer to it by its name
  std::optional<int64_t> program_tag;
};

// A run of a kernel that has thread traces or counters.
struct KernelRun {
  std::string name;  // "E_3" for the first run of E_3, "E_3 n2" for the second
  std::string kernel;
  std::string_view device;
  std::string arch;                  // "gfx1100"; empty: unknown
  const GpuProgram* program = nullptr;  // null if the file does not have the program
  std::optional<double> seconds;     // on the device's timeline; nullopt: not recorded
  std::vector<size_t> sqtt_events;          // indices in ProfileTrace::sqtt_events
};

// The thread trace of one shader engine.
struct SqttEvent {
  size_t run_index = 0;  // the run: index in ProfileTrace::runs
  int64_t se = 0;
  bool has_instruction_packets = false;
  std::string_view blob;
  std::vector<uint64_t> active_lanes;  // by instruction, summed over executions; empty unless the GPU is emulated
};

// A hardware counter in a run, with a value for each XCC, instance, shader engine, shader array and workgroup processor
// (wgp).
struct CounterSample {
  size_t run_index = 0;                                   // the run: index in ProfileTrace::runs
  std::string_view name, block;                        // of the counter, and of its hardware block
  int64_t xcc = 0, inst = 0, se = 0, sa = 0, wgp = 0;
  std::vector<uint64_t> values;  // the index of `wgp` changes fastest
  uint64_t sum_of_counter_values() const;
};

// The samples of an NVIDIA GPU (pma.h).
struct PmaEvent {
  std::string kernel;
  std::string_view device, blob;
  int64_t sm_version = 0;
};

// Times are in microseconds on the host's clock.
struct RangeEvent {
  std::string_view device;
  std::string name;
  double begin = 0, end = 0;
  std::optional<double> bytes;  // copied bytes; nullopt: not recorded
  bool is_copy = false;
  bool is_graph = false;  // a kernel of a device graph
};
// An event without a duration: "alloc" and "free" of a buffer, "exec" of a kernel, "marker" and so on.
struct PointEvent {
  std::string_view device, name;
  double time_us = 0;
  PickleValue key, arg;
};

struct ProfileTrace {
  std::unique_ptr<Pickle> pickle;
  std::string release;  // a tinygrad release that writes files of this form, such as "0.13.0"
  std::vector<std::string> damage_notes;
  std::string emulator;  // "tgc 0.4.0" if an emulated GPU wrote the profile
  std::vector<std::unique_ptr<GpuProgram>> programs;
  std::vector<KernelRun> runs;
  std::vector<SqttEvent> sqtt_events;
  std::vector<CounterSample> counter_samples;
  std::vector<PmaEvent> pma_events;
  std::vector<RangeEvent> range_events;
  std::vector<PointEvent> point_events;
  std::map<std::string, std::string, std::less<>> archs;
  std::map<std::string, PickleValue, std::less<>> kernel_asts;  // UOps by the names of the kernels' functions
};

// Reads a profile, and leaves out damaged and unknown events (ProfileTrace::damage_notes). Fails if the file cannot be
// read as a profile.
Result<ProfileTrace> read_trace(const std::string& path);
Result<ProfileTrace> parse_trace(std::string bytes);  // as read_trace(), but also fails if the pickle itself is damaged
// Reads the events before the damage in a profile that parse_trace() refuses with the error `why`. Fails if none can be
// read.
Result<ProfileTrace> parse_damaged_trace(std::string_view bytes, const Diag& why);

// Returns true for the first bytes of a pickle of the protocols 2 to 5.
bool looks_like_pickle(std::string_view bytes);

}  // namespace tgc::profile
