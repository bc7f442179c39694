// A model or a tensor graph of which no kernel was miscompiled: whether its schedule is wrong, and the rewrite of the
// tensor stages that makes it so.
#pragma once
#include <functional>

#include "lib/bisect/failure_repro.h"
#include "lib/run/run_model.h"

namespace tgc {

// The whole of it, run as it is told.
using WholeRun = std::function<ModelReport(const RunOptions&)>;

// Whether its results are those that are expected, and those that it has with a kernel for each operation. Only what
// is right when nothing is fused can be the schedule's fault: the verdict is then Schedule. The rewrite is named by a
// look, as of kernels, at both sides of each (lib/validate/tensor_element.h): when the results are right without it, or when
// its sides alone differ. Else rules are left out one by one, for half a minute; that it is right without one is said,
// but accuses none: whatever comes later is then another, too.
class ScheduleCheck {
 public:
  // They outlive this.
  ScheduleCheck(const Session& session, const RunOptions& spec, const WholeRun& run, BisectReport& report);

  // Of `model`, which ran to its end.
  void check(const ModelReport& model, size_t kernels);
  // Of one that could not be scheduled, or run: whether a rewrite is to blame for that.
  bool check_error(const std::string& error);
  // A kernel of it cannot be right, however it is compiled: what it does.
  void check(const std::string& wrong_itself);

 private:
  bool is_expected() const { return !plain_.compare.expect.empty(); }
  RunOptions unfused_spec() const;
  bool run_unfused();
  bool blame_schedule(bool has_reference);

  const Session& session_;
  RunOptions plain_;
  const WholeRun& run_;
  BisectReport& report_;
  ModelReport unfused_;
};

}  // namespace tgc
