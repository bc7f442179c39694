#include "lib/view/peaks.h"

#include "lib/run/run.h"

namespace tgc {
namespace {

constexpr int kPeakRuns = 5;
constexpr int64_t kCopied = 1 << 24, kComputed = 1 << 18;  // floats; the second fit into a cache
constexpr int kRounds = 128;                               // multiplications and additions for each element

// Returns pyrender's text of a kernel that loads v0, v1, ... from its inputs, and stores v, which `value` defines.
std::string kernel_text(int64_t count, int inputs, const std::string& value) {
  const std::string size = std::to_string(count);
  auto buffer = [&](int n) {
    return "UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(" + size + "), (), " + std::to_string(n) + ")";
  };
  std::string out = "i = UOp.range(" + size + ", 0, AxisType.LOOP)\n";
  for (int n = 0; n < inputs; n++) out += "v" + std::to_string(n) + " = " + buffer(n + 1) + ".index(i)\n";
  return out + value + "ast = " + buffer(0) + ".index(i, ptr=True).store(v).end(i).sink()\n";
}

// Returns the seconds of the fastest run.
double seconds_of(const Session& session, const std::string& device, const std::string& text, const char* name) {
  InputGraph in =
      load_text(session.settings_for().value_or_throw(), InputKind::Pyrender, text, name).value_or_throw();
  RunReport report = run_kernel(session, in, {.device = {.name = device, .timed_runs = kPeakRuns},
                                              .compare = {.reference = "none"}});
  if (!report.error.empty()) throw Failure(report.error);
  if (!report.bench) throw Failure(std::string(name) + ": the kernel is too slow to be timed");
  return report.bench->quantile(0);
}

}  // namespace

Result<Peaks> measure_peaks(const Session& session, const std::string& device) {
  return catch_failures([&] {
    std::string rounds = "v = v0\n";
    for (int i = 0; i < kRounds; i++) rounds += "v = v*v1+v2\n";
    Peaks out;
    out.bytes = 2.0 * sizeof(float) * kCopied /
                seconds_of(session, device, kernel_text(kCopied, 1, "v = v0\n"), "peak_of_memory");
    out.operations = 2.0 * kRounds * kComputed /
                     seconds_of(session, device, kernel_text(kComputed, 3, rounds), "peak_of_arithmetic");
    return out;
  });
}

}  // namespace tgc
