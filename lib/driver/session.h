// Session: what a front end fixes once, and hands to every verb of lib/session. The settings, the target and the opts
// of a graph are derived from it for each graph anew, so that nothing is carried over from the graph before.
#pragma once
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/support/clocks.h"

namespace tgc {

// What the user asks for over what an input says of itself. Empty: as the input says.
struct Overrides {
  std::string target;              // DEVICE[:RENDERER[:ARCH]]
  std::vector<std::string> sets;   // KEY=VALUE each, by tinygrad's names
  std::string opts;                // the optimizer's list, "[Opt(...), ...]"
  // the graph is the result of that stage; of a golden record, that stage's graph is taken
  std::string from;
  std::vector<std::string> sizes;  // NAME=SIZE each: of a model's symbolic dimensions
  std::string weights;             // a file of tensors for a model's initializers
};

// Where a verb tells of what goes on besides its result. Every default does nothing. A verb with several jobs calls it
// from any of their threads; two calls at once are possible, but not two of progress().
class Events {
 public:
  virtual ~Events() = default;
  virtual void progress(std::string_view /*what*/) {}      // "412 records, 412 identical"
  virtual void warning(const Diag& /*what*/) {}            // something the user should know, and that is no error
  virtual void note(const std::string& /*what*/) {}        // something that is worth knowing
  virtual void debug(const std::string& /*text*/) {}       // what DEBUG prints, with a line end
  virtual bool color() const { return false; }             // whether those texts may have colours
};

// A request to stop, from any thread or a signal handler. Verbs over many graphs look at it between two graphs; bisect
// and reduce between two tries.
class Cancel {
 public:
  Cancel() = default;
  // Of a part of what `whole` (null: nobody) may stop, for that many seconds from now on: by the clock; or of the
  // processor, as the thread that makes this and alone asks it spends them, whatever else the machine does, and by the
  // clock ten times as many, for what others do for that thread.
  enum class By : uint8_t { Wall, Thread };
  Cancel(const Cancel* whole, double seconds, By by = By::Wall)
      : whole_(whole),
        end_(Clock::now() + std::chrono::milliseconds(int64_t((by == By::Thread ? 10'000 : 1000) * seconds))),
        thread_end_(by == By::Thread ? thread_seconds() + seconds : INFINITY) {}

  void request() { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const {
    return requested_.load(std::memory_order_relaxed) || (whole_ && whole_->requested()) ||
           Clock::now() > end_ || (thread_end_ < INFINITY && thread_seconds() > thread_end_);
  }

 private:
  std::atomic<bool> requested_{false};
  const Cancel* whole_ = nullptr;
  Clock::time_point end_ = Clock::time_point::max();
  double thread_end_ = INFINITY;  // thread_seconds() by then; infinite: only the clock counts
};

struct Session {
  Overrides over = {};
  unsigned jobs = 1;           // threads
  CompileOptions compile = {};
  Events* events = nullptr;    // null: nobody listens
  Cancel* cancel = nullptr;

  // The settings of a graph: tinygrad's defaults, the environment, what the input says it was made with, --set; each
  // over those before.
  Result<Settings> settings_for(const std::map<std::string, std::string>& recorded = {}) const;
  // The target of a graph that says none itself: the override, else what the environment asks for (DEV=NAME, NAME=1,
  // ...), else CPU.
  std::string default_target() const;
  // What its target is: the override, else the input's own, else the default; of a tensor graph it stays empty when
  // neither says.
  std::string target_for(const InputGraph& in) const;
  // All that a Compilation of it needs. An error: a target that there is not.
  Result<JobSpec> job_for(const InputGraph& in) const;
  // Compilation::begin with that.
  Result<Compilation> begin(InputGraph in) const;

  void progress(std::string_view what) const { if (events) events->progress(what); }
  void warn(const Diag& what) const { if (events) events->warning(what); }
  void note(const std::string& what) const { if (events) events->note(what); }
  bool cancelled() const { return cancel && cancel->requested(); }
  // The same as a callback, which this session outlives.
  std::function<bool()> stop() const { return [this] { return cancelled(); }; }
};

}  // namespace tgc
