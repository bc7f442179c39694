// Sessions whose progress, warnings and notes go to the terminal.
#include <mutex>

#include "apps/tgc/options.h"
#include "apps/tgc/process.h"
#include "apps/tgc/terminal.h"
#include "lib/beam/found_opts.h"
#include "lib/beam/results.h"
#include "lib/driver/session.h"

namespace tgc {
namespace {

class TerminalEvents : public Events {
 public:
  void progress(std::string_view what) override {
    std::lock_guard lock(mutex_);
    progress_line().show(what);
  }
  void warning(const Diag& what) override {
    std::lock_guard lock(mutex_);
    warn(what);
  }
  void note(const std::string& what) override { debug("tgc: note: " + what + "\n"); }
  void debug(const std::string& text) override {
    std::lock_guard lock(mutex_);
    tell(text);
  }
  bool color() const override { return use_color(2); }

 private:
  std::mutex mutex_;  // needed because several threads of bench --whole print notes
};

}  // namespace

Session terminal_session(unsigned jobs, const std::string& live) {
  static TerminalEvents events;
  unsigned threads = jobs ? jobs : unsigned(Settings().cpu_count());
  Session session{.jobs = threads, .events = &events, .cancel = &cancel_by_interrupt()};
  session.over.live = live, session.over.other_options = other_options();
  return require(session.go_live()), session;
}

Session terminal_session(Overrides over, unsigned jobs) {
  Session session = terminal_session(jobs, over.live);
  session.over = std::move(over), session.over.other_options = other_options();
  for (const std::string& idle : ignored_variables()) session.note(idle);
  return session;
}

Overrides install_found_opts(Overrides over) {
  auto beam = BeamSettings::take(over.sets);
  if (!beam) return warn(beam.diag()), over;
  if (beam->BEAM < 1) return over;
  if (auto status = use_found_opts(BeamResults::default_path(), int64_t(beam->BEAM)); !status) warn(status.diag());
  return over;
}

}  // namespace tgc
