// Prints kernels as tinygrad's environment variables DEBUG and DEBUG_LINEARIZE demand, and checks bounds if
// IGNORE_OOB=0. Each level of DEBUG adds a text:
//
//   DEBUG=1  one line per schedule of several kernels   (DEBUG=3: of any schedule)
//   DEBUG=2  one line per kernel (run: with its time)   DEBUG=5  the AST, as pyrender text
//   DEBUG=3  the list of optimizations                  DEBUG=6  the linear list, as print_uops shows it
//   DEBUG=4  the source                                 DEBUG=7  the machine code, disassembled
#pragma once
#include <optional>
#include <string>

#include "lib/driver/session.h"
#include "lib/execute/lower.h"
#include "lib/run/run_report.h"
#include "passes/program.h"

namespace tgc {

class DebugPrints : public ExecuteObserver {
 public:
  DebugPrints(const Session& session, const Settings& settings) : session_(session), settings_(settings) {}

  // Returns whether a setting demands texts or checks of kernels.
  bool observes_kernels() const override;

  // Prints the kernel or the schedule as the settings demand, for commands that compile but do not run it. Ignores
  // linear lists. Fails, for example, if a stage fails or, with IGNORE_OOB=0, if an access may be out of bounds.
  Status print_compilation(Compilation& compilation);

  void on_progress(const std::string& what) override { session_.report_progress(what); }
  // If DEBUG demands it, prints "scheduled    3 kernels in     1.20 ms | CACHE MISS 1234abcd | 512 uops in cache".
  void on_schedule_made(const TensorJob& job, const Schedule& schedule, double seconds) override;
  bool should_time_kernels() const override { return settings_.DEBUG >= 2; }
  void on_kernel_begin(UOp ast) override;
  Status on_kernel_lowered(UOp sink, KernelOutputs& outputs) override {
    return print_lowered_kernel(sink, outputs, true);
  }
  void on_kernel_run(const ProgramInfo& info, const Target& target, double bytes,
                     std::span<const double> seconds) override;

 private:
  Status print_lowered_kernel(UOp sink, KernelOutputs& outputs, bool runs);
  void print_text(std::string text) const;
  void show_schedule(size_t kernels, double seconds, const std::string& key, size_t nodes) const;
  void show_kernel(const ProgramInfo& info, const std::string& device, double mem_used, std::optional<KernelTime> time);
  void show_assembly(KernelOutputs& outputs) const;
  Status prove_bounds_of(const std::vector<UOp>& list) const;

  const Session& session_;
  Settings settings_;
  double total_seconds_ = 0;
};

}  // namespace tgc
