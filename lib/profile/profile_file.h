// Reads profile.pkl, the events that tinygrad stores with PROFILE=1 or VIZ, as written by 0.12.0 to 0.14.0 and between.
// Fields are found by name, because their number and order differ between releases. Nothing in the file is executed.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/pickle.h"

namespace tgc::profile {

// A kernel's binary. Views point into the pickle.
struct Program {
  std::string_view device, name, lib;  // lib: the bytes of an ELF file; empty if the event has none
  uint64_t base = 0;                   // address on the device
  std::optional<int64_t> tag;
};

// A run of a kernel that has hardware events.
struct KernelRun {
  std::string name;    // "E_3", its second run "E_3 n2"
  std::string kernel;  // "E_3" for both
  std::string_view device;
  std::string arch;  // "gfx1100"; empty if the file does not say
  const Program* program = nullptr;
  std::optional<double> seconds;   // by the host's timeline
  std::vector<size_t> sqtt;        // the kernel's traces: indices in Trace::sqtt
};

struct SqttEvent {
  size_t kernel = 0;  // index in Trace::kernels
  int64_t se = 0;     // shader engine
  bool itrace = false;  // whether the trace has instructions
  std::string_view blob;
};

// A hardware counter, read once per XCC, instance, shader engine, shader array and workgroup processor, in this order.
struct CounterSample {
  size_t kernel = 0;
  std::string_view name, block;
  int64_t xcc = 0, inst = 0, se = 0, sa = 0, wgp = 0;
  std::vector<uint64_t> values;
  uint64_t sum() const;
};

struct PmaEvent {  // samples of an NVIDIA GPU
  std::string kernel;
  std::string_view device, blob;
  int64_t sm_version = 0;
};

// Times are microseconds on the host's clock.
struct RangeEvent {
  std::string_view device;
  std::string name;
  double begin = 0, end = 0;
  std::optional<double> bytes;  // bytes of a copy; not every release records them
  bool is_copy = false;
  bool is_graph = false;        // a kernel of a graph
};
struct PointEvent {
  std::string_view device, name;
  double time = 0;
  PickleValue key, arg;
};

struct Trace {
  std::unique_ptr<Pickle> pickle;
  std::string release;  // the tinygrad releases that write files of this form: "0.13.0"
  std::vector<std::string> damage;  // what is lost of a damaged file; empty: nothing
  std::string emulator;  // "tgc 0.4.0" if an emulated GPU wrote the profile, whose cycles count packets; else empty
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<KernelRun> kernels;
  std::vector<SqttEvent> sqtt;
  std::vector<CounterSample> counters;
  std::vector<PmaEvent> pma;
  std::vector<RangeEvent> ranges;
  std::vector<PointEvent> points;
  std::map<std::string, std::string, std::less<>> archs;  // by device
  std::map<std::string, PickleValue, std::less<>> asts;   // UOps, by the name of the kernel's function
};

// Reads a profile. Of a damaged one, and of one with events that this tgc does not know, reads the other events, and
// says in Trace::damage what is lost. Fails if no event is left.
Result<Trace> read_trace(const std::string& path);
Result<Trace> parse_trace(std::string bytes);
// Reads what is left of a profile that parse_trace() refuses because of `why`.
Result<Trace> parse_damaged_trace(std::string_view bytes, const Diag& why);

// Returns true if a pickle begins as a profile does: for the detection of an input's format.
bool looks_like_pickle(std::string_view bytes);

}  // namespace tgc::profile
