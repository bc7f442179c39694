// What `tgc run` shows while kernels run: a line of progress, and what DEBUG prints (habits.h).
#pragma once
#include "apps/tgc/habits.h"
#include "apps/tgc/terminal.h"
#include "lib/execute/observer.h"
#include "lib/support/sha256.h"
#include "passes/tensor/sched_cache.h"

namespace tgc {

class RunObserver : public ExecuteObserver {
 public:
  RunObserver(const Settings& settings, Progress* progress) : settings_(settings), progress_(progress) {}

  void progress(const std::string& what) override {
    if (progress_) progress_->show(what);
  }
  void scheduled(const TensorJob& job, const Schedule& schedule, double seconds) override {
    if (settings_.DEBUG >= 1) show_schedule(settings_, schedule.items.size(), seconds, to_hex(sched_cache_key(job.keyed)), job.graph.size());
  }
  bool watches_kernels() const override { return has_habits(settings_); }
  bool times_kernels() const override { return settings_.DEBUG >= 2; }
  void kernel_begins(UOp ast) override { show_ast(settings_, ast); }
  Status kernel_lowered(UOp sink, KernelOutputs& outputs) override { return show_compiled(settings_, sink, outputs, true); }
  void kernel_ran(const ProgramInfo& info, const Target& target, double bytes, std::span<const double> seconds) override {
    for (double s : seconds) seconds_in_all_ += s;
    std::optional<KernelTime> time;
    if (!seconds.empty()) time = {seconds.back(), seconds_in_all_};
    show_kernel(settings_, info, target.device, bytes, time);
  }

 private:
  Settings settings_;
  Progress* progress_;
  double seconds_in_all_ = 0;
};

}  // namespace tgc
