#include "lib/bench/peaks.h"

#include <algorithm>

#include "lib/execute/execution.h"
#include "lib/profile/report.h"
#include "lib/run/run_options.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

constexpr int kPeakRuns = 15;  // only the fastest run counts, because other programs may slow down a run
constexpr int kRounds = 20000;                  // iterations of the arithmetic kernel on a CPU
constexpr int kAccumulators = 10;               // enough to hide the latency of an addition
constexpr uint64_t kLargestSet = 128 << 20;     // bytes of a working set that is too large for a cache
constexpr double kLeastBytes = 16 << 20;        // a memory kernel moves about this number of bytes, or more
constexpr uint32_t kItems = 8192, kGroup = 64;  // work items of the arithmetic OpenCL kernel, and work items of a group
constexpr int kItemRounds = 256;                // iterations of the arithmetic kernel in a work item
constexpr int kItemFloats = 8;                  // floats in a vector of the OpenCL kernels
constexpr int kAdds = 100000;                   // additions in a chain; each needs the result of the one before
constexpr int kGroups = 65536;                  // empty work groups in a launch
// Cache lines that a kernel loads one after another: their number, the floats from one to the next, and how often all
// are loaded. kNearLines (128 KiB) are meant for the level 2 cache, kFarLines (1 MiB) for a larger one.
struct LineLoads {
  int num_lines, stride_floats, num_rounds;
};
constexpr LineLoads kNearLines{2048, 17 * 16, 32}, kFarLines{16384, 65 * 16, 4};

// Repeats the text for each accumulator, with the accumulator's number in place of @.
std::string repeat_per_accumulator(const std::string& text) {
  std::string out;
  for (int i = 0; i < kAccumulators; i++)
    for (char c : text) out += c == '@' ? std::to_string(i) : std::string(1, c);
  return out;
}

// The sources of the kernels. Their buffers are `out` and `in`.
struct PeakKernelSource {
  bool is_c_source = true;
  uint64_t num_floats = 0, threads = 1;
  int rounds = 1;      // repetitions of a memory kernel
  int width = 32;      // bytes of a vector in C

  std::string kernel_function(const std::string& body) const {
    if (!is_c_source) return "kernel void peak(global float* out, global float* in) {\n" + body + "}\n";
    const std::string v = std::to_string(width);
    return "typedef float v __attribute__((vector_size(" + v + "), aligned(4)));\n" +
           "void peak(float* restrict out, float* restrict in, int core_id) {\n" + body + "}\n";
  }
  std::string vector_type() const { return is_c_source ? "v" : "float8"; }

  std::string empty_kernel() const { return kernel_function("  out[0] = 0.0f;\n"); }
  std::string thread_index() const { return is_c_source ? "core_id" : "(int)get_global_id(0)"; }
  std::string addition_chain() const {
    return kernel_function("  float a = in[" + thread_index() + "], x = in[64];\n  for (int i = 0; i < " +
                           std::to_string(kAdds) + "; i++) a = a + x;\n  out[" + thread_index() + " * 64] = a;\n");
  }
  std::string line_load_kernel(const LineLoads& lines) const {
    std::string body = "  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;\n  for (int r = 0; r < " +
                       std::to_string(lines.num_rounds) + "; r++)\n" +
                       "    for (int i = 0; i < " + std::to_string(lines.num_lines) + "; i += 4) {\n";
    for (int i = 0; i < 4; i++) {
      const std::string n = std::to_string(i);
      body += "      s" + n + " += in[(i + " + n + ") * " + std::to_string(lines.stride_floats) + " + r % 16];\n";
    }
    return kernel_function(body + "    }\n  out[" + thread_index() + " * 64] = s0 + s1 + s2 + s3;\n");
  }
  std::string arithmetic_kernel() const {
    const std::string loaded = is_c_source ? "*(v*)(in + @ * 16)" : "vload8(@, in)";
    const std::string index = is_c_source ? "core_id * 1024" : "get_global_id(0)";
    std::string sum = "a0";
    for (int i = 1; i < kAccumulators; i++) sum += " + a" + std::to_string(i);
    return kernel_function(
        "  " + vector_type() + " x = " + (is_c_source ? "*(v*)(in + 512)" : "vload8(64, in)") +
        ", y = " + (is_c_source ? "*(v*)(in + 544)" : "vload8(68, in)") + ";\n" +
        repeat_per_accumulator("  " + vector_type() + " a@ = " + loaded + ";\n") + "  for (int i = 0; i < " +
        std::to_string(is_c_source ? kRounds : kItemRounds) + "; i++) {\n" +
        repeat_per_accumulator(is_c_source ? "    a@ = a@ * x + y;\n" : "    a@ = fma(a@, x, y);\n") + "  }\n  " +
        (is_c_source ? "*(v*)(out + " + index + ") = " + sum : "vstore8(" + sum + ", " + index + ", out)") + ";\n");
  }
  std::string memory_kernel(bool copies) const {
    const std::string count = std::to_string(num_floats), repeat = std::to_string(rounds);
    std::string body = "  float s = 0;\n";
    if (is_c_source) {
      const std::string part = std::to_string(num_floats / threads);
      const std::string at = "(v*)(in + core_id * " + part + " + i)";
      body = "  v s0 = {}, s1 = {}, s2 = {}, s3 = {};\n  for (int r = 0; r < " + repeat + "; r++)\n" +
             "    for (long i = 0; i < " + part + "; i += " + std::to_string(width) + ") {\n";
      for (int k = 0; k < 4; k++) {
        const std::string offset = std::to_string(k * width / 4), n = std::to_string(k);
        body +=
            copies ? "      ((v*)(out + core_id * " + part + " + i))[" + n + "] = (" + at + ")[" + n + "] + (float)r;\n"
                   : "      s" + n + " += (" + at + ")[" + n + "] * (float)r;\n";
      }
      return kernel_function(body + "    }\n" + (copies ? "" : "  *(v*)(out + core_id * 64) = s0 + s1 + s2 + s3;\n"));
    }
    // each work item copies a vector; further rounds are further work items
    return kernel_function("  uint i = get_global_id(0) % " + std::to_string(num_floats / kItemFloats) +
                           ";\n  vstore8(vload8(i, in) + 1.0f, i, out);\n");
  }
};

class PeakMeter {
 public:
  // `units`: number of threads of the CPU, each of which is a compute unit of an OpenCL device of the CPU.
  PeakMeter(Placement place, PeakKernelSource kernels, double units)
      : placement_(std::move(place)), kernel_source_(kernels), num_units_(units) {}

  PeakRates measure_peaks(bool should_measure_only_rates) {
    PeakRates out{.source = kMeasuredPeaksSource};
    kernel_source_.num_floats = kItems * 2;
    if (!should_measure_only_rates) out.launch_seconds = kernel_seconds(kernel_source_.empty_kernel());
    const uint64_t all = kernel_source_.threads;
    for (int width : {32, 64}) {
      if (!kernel_source_.is_c_source && width > 32) break;
      kernel_source_.width = width;
      for (uint64_t threads : {all, uint64_t(1)}) {  // on a busy machine, one thread may beat all together
        kernel_source_.threads = threads;
        const double units = kernel_source_.is_c_source ? double(threads) : num_units_;
        const double each = 2.0 * kAccumulators * (kernel_source_.is_c_source ? double(kRounds) * width / 4 * units
                                                                 : double(kItemRounds) * kItems * kItemFloats);
        const double rate = each / kernel_seconds(kernel_source_.arithmetic_kernel()),
                     one = 2.0 * width / 4 * units / rate;
        out.operations_per_second = std::max(out.operations_per_second, rate);
        out.instruction_seconds = out.instruction_seconds > 0 ? std::min(out.instruction_seconds, one) : one;
        if (!kernel_source_.is_c_source) break;
      }
    }
    kernel_source_.threads = all;
    // measure the costs of an addition and a cache line on one unit while the others idle, that of a group on all units
    if (!should_measure_only_rates) measure_costs(out);
    for (uint64_t bytes : {uint64_t(24) << 10, uint64_t(512) << 10, uint64_t(8) << 20, kLargestSet}) {
      if (should_measure_only_rates && bytes < kLargestSet) continue;
      double rate = measure_memory_rate(bytes, true);
      if (kernel_source_.is_c_source) rate = std::max(rate, measure_memory_rate(bytes, false));
      if (kernel_source_.threads = 1; kernel_source_.is_c_source && all > 1 && bytes < uint64_t(1) << 20)
        rate = std::max(rate, measure_memory_rate(bytes, false));
      kernel_source_.threads = all;
      // a larger cache is never faster, but a busy machine may measure that it is
      if (!out.cache_rates.empty() && rate > out.cache_rates.back().bytes_per_second)
        for (PeakRates::CacheRate& smaller : out.cache_rates)
          smaller.bytes_per_second = std::max(smaller.bytes_per_second, rate);
      out.cache_rates.push_back({bytes * (kernel_source_.is_c_source ? kernel_source_.threads : 1), rate});
    }
    out.bytes_per_second = out.cache_rates.back().bytes_per_second;
    out.cache_rates.pop_back();
    return out;
  }

 private:
  double measure_memory_rate(uint64_t working_set, bool copies) {
    kernel_source_.width = 32;
    has_full_output_ = copies;
    const uint64_t step = 32 * 4 * std::max<uint64_t>(1, kernel_source_.threads);
    kernel_source_.num_floats = working_set * (kernel_source_.is_c_source ? kernel_source_.threads : 1) /
                                sizeof(float) / (copies ? 2 : 1) / step * step;
    const double bytes = double(kernel_source_.num_floats) * sizeof(float) * (copies ? 2 : 1);
    kernel_source_.rounds = int(std::max(1.0, kLeastBytes / bytes));
    const double items = double(kernel_source_.num_floats) / kItemFloats * kernel_source_.rounds;
    const std::string text = kernel_source_.memory_kernel(copies);
    const double taken =
        kernel_source_.is_c_source ? kernel_seconds(text) : kernel_seconds(text, int64_t(items / kGroup), kGroup);
    has_full_output_ = true;
    return bytes * kernel_source_.rounds / taken;
  }

  void measure_costs(PeakRates& out) {
    kernel_source_.width = 32;
    out.addition_latency_seconds = kernel_seconds(kernel_source_.addition_chain(), 1, 1) / kAdds;
    auto line_seconds = [&](const LineLoads& lines) {
      kernel_source_.num_floats = uint64_t(lines.num_lines) * uint64_t(lines.stride_floats) + 64;
      return kernel_seconds(kernel_source_.line_load_kernel(lines), 1, 1) /
             (double(lines.num_lines) * lines.num_rounds);
    };
    out.near_load_seconds = line_seconds(kNearLines),
    out.far_load_seconds = std::max(out.near_load_seconds, line_seconds(kFarLines));
    kernel_source_.num_floats = kItems * 2;
    if (!kernel_source_.is_c_source)
      out.group_seconds = kernel_seconds(kernel_source_.empty_kernel(), kGroups, 1) * num_units_ / kGroups;
  }

  double kernel_seconds(const std::string& text) {
    return kernel_source_.is_c_source ? kernel_seconds(text, int64_t(kernel_source_.threads), 1)
                         : kernel_seconds(text, kItems / kGroup, kGroup);
  }
  double kernel_seconds(const std::string& text, int64_t groups, int64_t items) {
    const int64_t least = kItems * kItemFloats, size = std::max(int64_t(kernel_source_.num_floats), least);
    const int64_t written = has_full_output_ ? size : least;
    std::vector<BufferSpec> buffers{
        {.argument_number = 0, .dtype = dtypes::float32, .num_elements = written, .is_written = true},
        {.argument_number = 1, .dtype = dtypes::float32, .num_elements = size, .is_read = true}};
    ProgramInfo info{.name = "peak", .function_name = "peak"};
    info.global_size[0] = groups, info.local_size->at(0) = items;
    KernelSource source{"peak", "peak", placement_.target->name(), text};
    if (kernel_source_.is_c_source) source.num_variables_before_core = 0;
    Executable kernel = std::move(
        Executable::make_for_source(std::move(source), std::move(buffers), {}, std::move(info), *placement_.device)
            .value_or_throw());
    Arrays inputs =
        std::move(make_input_arrays(kernel.buffers(), {}, "", InputDistribution{.seed = 0, .floats = FloatKind::Unit})
                  .value_or_throw());
    ExecuteOptions options{.timeout_seconds = 60, .num_repeats = kPeakRuns};
    auto done = std::move(execute_kernel(kernel, *placement_.device, inputs, {}, options).value_or_throw());
    if (done.run_seconds.empty()) throw Failure("the device is too slow to measure its peak");
    return std::max(*std::ranges::min_element(done.run_seconds), 1e-9);
  }

  Placement placement_;
  PeakKernelSource kernel_source_;
  double num_units_;
  bool has_full_output_ = true;  // the output buffer is as large as the input buffer
};

}  // namespace

double PeakRates::rate_for_bytes(double working_set) const {
  for (const CacheRate& cache : cache_rates)
    if (working_set <= double(cache.working_set)) return cache.bytes_per_second;
  return bytes_per_second;
}

Result<PeakRates> peaks_of_device(const Session& session, const std::string& device, bool should_measure_only_rates) {
  return catch_failures([&] {
    const Settings settings = session.merge_settings().value_or_throw();
    const std::string name = device.substr(0, device.find(':'));
    if (name == "CPU" || name == "CL") {
      Placement place = std::move(choose_placement(name == "CPU" ? "CPU:CLANG" : "CL", "", settings).value_or_throw());
      PeakKernelSource kernels{.is_c_source = name == "CPU",
                               .threads = name == "CPU" ? uint64_t(settings.cpu_count()) : 1};
      return PeakMeter(std::move(place), kernels, double(settings.cpu_count()))
          .measure_peaks(should_measure_only_rates);
    }
    const std::string arch = device.substr(device.rfind(':') + 1);
    const profile::DevicePeakRates* peak = profile::find_device_peak(arch);
    if (!peak)
      throw Failure(Diag{.message = "the peak rates of " + device + " are not known",
                         .expected = "a CPU, an OpenCL device, or a GPU of lib/profile/roofline.cpp"});
    return PeakRates{.bytes_per_second = peak->bytes_per_second, .operations_per_second = peak->flops_per_second,
                 .source = "published for " + std::string(peak->card_name)};
  });
}

}  // namespace tgc
