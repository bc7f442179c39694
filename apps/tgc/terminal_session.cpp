#include <mutex>

#include "apps/tgc/options.h"
#include "apps/tgc/process.h"
#include "apps/tgc/terminal.h"
#include "lib/beam/found_opts.h"
#include "lib/beam/results.h"
#include "lib/driver/input_name.h"
#include "lib/driver/session.h"
#include "lib/run/repro_command.h"

namespace tgc {
namespace {

class TerminalEvents : public EventListener {
 public:
  void on_progress(std::string_view what) override {
    std::lock_guard lock(mutex_);
    progress_line().show(what);
  }
  void on_warning(const Diag& what) override {
    std::lock_guard lock(mutex_);
    show_warning(what);
  }
  void on_note(const std::string& what) override { on_debug("tgc: note: " + what + "\n"); }
  void on_debug(const std::string& text) override {
    std::lock_guard lock(mutex_);
    print_message(text);
  }
  bool has_colors() const override { return uses_color(2); }

 private:
  std::mutex mutex_;  // several threads may print notes, for example those of `bench --whole`
};

}  // namespace

Session make_terminal_session(unsigned num_jobs, const std::string& live) {
  static TerminalEvents events;
  unsigned threads = num_jobs ? num_jobs : unsigned(Settings().cpu_count());
  Session session{.num_jobs = threads, .events = &events, .cancel = &interrupt_request()};
  session.overrides.live_command = live, session.overrides.other_options = other_options();
  return require_value(session.start_live_pipeline()), session;
}

Session make_terminal_session(CompileOverrides overrides, unsigned num_jobs) {
  Session session = make_terminal_session(num_jobs, overrides.live_command);
  session.overrides = std::move(overrides), session.overrides.other_options = other_options();
  for (const std::string& idle : ignored_variables()) session.report_note(idle);
  return session;
}

void note_unchecked_schedules(const Session& session, const std::string& input, std::string_view command) {
  if (const std::string schedules_file = InputName::parse(input).schedules_file(); !schedules_file.empty())
    session.report_note("the kernels compute what their ASTs do; for the schedules that made the ASTs: tgc " +
                        std::string(command) + " " + quote_for_shell(schedules_file));
}

CompileOverrides install_beam_opts(CompileOverrides over) {
  auto beam = BeamSettings::extract_settings(over.settings_texts);
  if (!beam) return show_warning(beam.diag()), over;
  if (beam->BEAM < 1) return over;
  if (auto status = use_found_opts(BeamResults::default_path(), int64_t(beam->BEAM)); !status)
    show_warning(status.diag());
  return over;
}

}  // namespace tgc
