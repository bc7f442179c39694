// DEBUG printing: what tinygrad's environment variables print and check of a kernel, for every command that compiles
// (dump, run): DEBUG=1 to 7, DEBUG_LINEARIZE=1, IGNORE_OOB=0. The texts go to the session's events, which a terminal
// shows on standard error: standard output is the command's own.
//
//   DEBUG=1  a tensor graph's schedule
//   DEBUG=2  the kernel's line (run: with its time)     DEBUG=5  the AST, as pyrender text
//   DEBUG=3  the optimizer's list                       DEBUG=6  the linear list, as print_uops shows it
//   DEBUG=4  the source                                 DEBUG=7  the machine code, disassembled
#pragma once
#include <optional>
#include <string>

#include "lib/driver/session.h"
#include "lib/execute/observer.h"
#include "lib/run/kernel_line.h"
#include "passes/program.h"

namespace tgc {

// Prints for graphs with these settings. One object for one graph and its kernels.
class DebugPrints : public ExecuteObserver {
 public:
  DebugPrints(const Session& session, const Settings& settings) : session_(session), settings_(settings) {}

  // Whether a variable is set that wants to see kernels: they are then compiled whole, and one after another.
  bool watches_kernels() const override;

  // A compilation that is not run, after what was asked of it: the rest of its stages run, and it is printed. An access
  // that may lie outside its buffer (IGNORE_OOB=0) is an error, with a counterexample when there is one.
  Status compiled(Compilation& compilation);

  // ---- what the executor tells
  void progress(const std::string& what) override { session_.progress(what); }
  // "scheduled    3 kernels in     1.20 ms | CACHE MISS 1234abcd | 512 uops in cache"
  void scheduled(const TensorJob& job, const Schedule& schedule, double seconds) override;
  bool times_kernels() const override { return settings_.DEBUG >= 2; }
  void kernel_begins(UOp ast) override;
  Status kernel_lowered(UOp sink, KernelOutputs& outputs) override { return lowered(sink, outputs, true); }
  void kernel_ran(const ProgramInfo& info, const Target& target, double bytes,
                  std::span<const double> seconds) override;

 private:
  Status lowered(UOp sink, KernelOutputs& outputs, bool runs);
  void show(std::string text) const;
  void show_schedule(size_t kernels, double seconds, const std::string& key, size_t nodes) const;
  void show_kernel(const ProgramInfo& info, const std::string& device, double mem_used, std::optional<KernelTime> time);
  void show_assembly(KernelOutputs& outputs) const;
  Status prove(const std::vector<UOp>& list) const;

  const Session& session_;
  Settings settings_;
  double seconds_in_all_ = 0;
};

}  // namespace tgc
