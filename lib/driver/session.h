// Session: the user's overrides, the options of compilers, the number of threads, the receiver of messages, the cancel
// flag and the live pipeline. Also functions that read environment variables.
#pragma once
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compilation/graph_compiler.h"
#include "lib/support/deadline.h"
#include "lib/support/result.h"

namespace tgc {

// Receives the messages of an operation. Several threads may call the methods at the same time.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void on_progress(std::string_view /*what*/) {}  // such as "412 records, 412 identical"
  virtual void on_warning(const Diag& /*what*/) {}
  virtual void on_note(const std::string& /*what*/) {}
  virtual void on_debug(const std::string& /*text*/) {}   // the text of DEBUG, which ends with a newline
  virtual bool has_colors() const { return false; }
};

// A request to stop, made by any thread or a signal handler, which long operations check between their steps.
class CancelRequest {
 public:
  CancelRequest() = default;
  // Stops a part of an operation `seconds` after the construction, or when `whole` stops, the CancelRequest of the
  // whole operation (may be null). TimeKind::Wall counts wall-clock time. TimeKind::Thread counts the CPU time of the
  // constructing thread; only this thread may call is_cancel_requested(). Because that thread may also wait for other
  // processes, a TimeKind::Thread cancel also stops after 10 * `seconds` of wall-clock time.
  enum class TimeKind : uint8_t { Wall, Thread };
  CancelRequest(const CancelRequest* whole, double seconds, TimeKind kind = TimeKind::Wall)
      : outer_cancel_(whole),
        end_time_(Clock::now() +
                  std::chrono::milliseconds(int64_t((kind == TimeKind::Thread ? 10'000 : 1000) * seconds))),
        thread_end_seconds_(kind == TimeKind::Thread ? thread_seconds() + seconds : INFINITY) {}

  void request_cancel() { is_cancel_requested_.store(true, std::memory_order_relaxed); }
  bool is_cancel_requested() const {
    return is_cancel_requested_.load(std::memory_order_relaxed) ||
           (outer_cancel_ && outer_cancel_->is_cancel_requested()) || Clock::now() > end_time_ ||
           (thread_end_seconds_ < INFINITY && thread_seconds() > thread_end_seconds_);
  }

 private:
  std::atomic<bool> is_cancel_requested_{false};
  const CancelRequest* outer_cancel_ = nullptr;
  Clock::time_point end_time_ = Clock::time_point::max();
  double thread_end_seconds_ = INFINITY;  // the value of thread_seconds() at which to stop
};

struct Session {
  CompileOverrides overrides = {};
  unsigned num_jobs = 1;
  CompileOptions compile_options = {};
  EventListener* events = nullptr;  // null: messages are dropped
  CancelRequest* cancel = nullptr;
  std::shared_ptr<TinygradPool> tinygrad_pool = {};  // compiles all graphs; null: tgc compiles

  // Returns the live pipeline's compiler, if there is one, else tgc's own. It keeps a copy of `overrides`.
  std::shared_ptr<const GraphCompiler> compiler() const;
  // See GraphCompiler::merge_settings().
  Result<Settings> merge_settings(const std::map<std::string, std::string>& recorded = {}) const;
  // Starts the live pipeline that overrides.live_command names, if any. Fails if no tinygrad answers.
  Status start_live_pipeline();
  // Returns the target of a graph that names no target: the user's override, else target_of_environment(), else CPU.
  std::string default_target() const;
  // See GraphCompiler::target_for_input().
  std::string target_for_input(const InputGraph& in) const;
  // Fails for an unknown target.
  Result<CompilationSpec> spec_for_input(const InputGraph& in) const;
  // Returns the pipeline of `in`, a graph that a GraphSource returned: the live pipeline if the session has one; else
  // the native pipeline if tgc's own stages compile `in` (GraphCompiler::can_compile), or the recorded pipeline.
  Result<std::unique_ptr<Pipeline>> pipeline(InputGraph in) const;
  Result<Compilation> begin(InputGraph in) const;

  void report_progress(std::string_view what) const { if (events) events->on_progress(what); }
  void send_warning(const Diag& what) const { if (events) events->on_warning(what); }
  void report_note(const std::string& what) const { if (events) events->on_note(what); }
  bool is_cancelled() const { return cancel && cancel->is_cancel_requested(); }
  // The session must outlive the callback.
  std::function<bool()> cancel_check() const { return [this] { return is_cancelled(); }; }
};

// ---- environment variables that are not settings (lib/support/settings.h)

// Returns the target that the environment selects (device.py:_Device.DEFAULT): DEV=NAME or NAME=1 selects the device,
// and CPU_LLVM, CUDA_PTX, NV_PTX and AMD_LLVM its renderer. Returns "" if these variables select no device.
std::string target_of_environment();

// Returns a warning for each known environment variable, such as VIZ, that is set and not 0, but has no effect in tgc.
std::vector<std::string> ignored_variables();

// Fails if TGC_FAULT (lib/rewrite/fault.h) is set, but malformed, or has an unknown name.
Status check_fault_of_environment();
// See extract_fault_warnings().
std::vector<std::string> fault_warnings();

// Returns true if TRACK_MATCH_STATS is set and not 0. Then `tgc dump` prints the rules' match statistics when it ends.
bool should_track_match_stats();

}  // namespace tgc
