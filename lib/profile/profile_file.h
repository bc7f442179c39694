// Reads profile.pkl, the events that tinygrad 0.12.0 to 0.14.0 stores with PROFILE=1 or VIZ. Fields are found by name,
// because their number and order differ between releases. Nothing in the file is executed.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/pickle.h"

namespace tgc::profile {

// A kernel's binary. Here and below, views point into Trace::pickle.
struct Program {
  std::string_view device, name, elf_bytes;  // `elf_bytes` has the bytes of an ELF file; empty if the event has none
  uint64_t base_address = 0;                 // address on the device
  // the number by which other events name the program; nullopt: by its name
  std::optional<int64_t> program_tag;
};

// A run of a kernel that has hardware events.
struct KernelRun {
  std::string name;    // name of the run: "E_3" for the first run of E_3, "E_3 n2" for the second
  std::string kernel;  // name of the kernel: "E_3" for both
  std::string_view device;
  std::string arch;                  // such as "gfx1100"; empty if the file does not have it
  const Program* program = nullptr;  // null if the file does not have the binary
  std::optional<double> seconds;     // time of the run on the device's timeline; nullopt: not recorded
  std::vector<size_t> sqtt;          // the run's traces: indices in Trace::sqtt
};

// The thread trace of one shader engine.
struct SqttEvent {
  size_t kernel = 0;                     // the run: index in Trace::kernels
  int64_t se = 0;                        // number of the shader engine
  bool has_instruction_packets = false;  // true if the trace has packets of instructions
  std::string_view blob;
  std::vector<uint64_t> active_lanes;  // by instruction, summed over all executions; empty unless the GPU was emulated
};

// The values of a hardware counter in a run: one for each XCC, instance, shader engine, shader array and workgroup
// processor (wgp).
struct CounterSample {
  size_t kernel = 0;                                   // the run: index in Trace::kernels
  std::string_view name, block;                        // of the counter, and of the hardware block that has it
  int64_t xcc = 0, inst = 0, se = 0, sa = 0, wgp = 0;  // the number of each
  std::vector<uint64_t> values;                        // the index of `wgp` changes fastest, that of `xcc` slowest
  uint64_t sum_of_values() const;
};

// The samples of an NVIDIA GPU during a kernel, as pma.h decodes them.
struct PmaEvent {
  std::string kernel;
  std::string_view device, blob;
  int64_t sm_version = 0;
};

// An activity of a device or the host from `begin` to `end`, in microseconds on the host's clock.
struct RangeEvent {
  std::string_view device;
  std::string name;
  double begin = 0, end = 0;
  std::optional<double> bytes;  // number of bytes that were copied; nullopt: no copy, or not recorded
  bool is_copy = false;
  bool is_graph = false;        // true for a kernel that ran as a part of a device graph
};
// An event at one time, in microseconds, such as "alloc" and "free" of a buffer, "exec" of a kernel, or "marker".
struct PointEvent {
  std::string_view device, name;
  double time_us = 0;
  PickleValue key, arg;
};

struct Trace {
  std::unique_ptr<Pickle> pickle;
  std::string release;  // the tinygrad release that writes files of this form, such as "0.13.0"
  std::vector<std::string> damage_notes;  // what is lost of a damaged file; empty if nothing is
  std::string emulator;  // "tgc 0.4.0" if an emulated GPU wrote the profile; its cycles count packets. Else empty
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<KernelRun> kernels;
  std::vector<SqttEvent> sqtt;
  std::vector<CounterSample> counter_samples;
  std::vector<PmaEvent> pma_events;
  std::vector<RangeEvent> range_events;
  std::vector<PointEvent> point_events;
  std::map<std::string, std::string, std::less<>> archs;  // by device: its architecture
  std::map<std::string, PickleValue, std::less<>> asts;   // by name of a kernel's function: its AST, a UOp
};

// Reads a profile. If the file is damaged, or has events that tgc does not know, reads the other events, and says in
// Trace::damage_notes what is lost. Errors: the file cannot be read or is too large; standard input is damaged; no
// event can be read.
Result<Trace> read_trace(const std::string& path);
Result<Trace> parse_trace(std::string bytes);  // as read_trace(), but also fails if the pickle itself is damaged
// Reads the events before the damage in a profile that parse_trace() refuses with the error `why`. Fails if there are
// none.
Result<Trace> parse_damaged_trace(std::string_view bytes, const Diag& why);

// Returns true if the bytes begin as those of a pickle of the protocols 2 to 5 do.
bool looks_like_pickle(std::string_view bytes);

}  // namespace tgc::profile
