#include "apps/tgc/options.h"

#include <CLI/CLI.hpp>
#include <mutex>

#include "apps/tgc/process.h"
#include "apps/tgc/terminal.h"
#include "lib/beam/found_opts.h"
#include "lib/beam/results.h"
#include "lib/driver/environment.h"
#include "lib/runtime/emulated.h"

namespace tgc {

void add_pipeline_options(CLI::App& command, Overrides& over, bool device_is_target) {
  auto* target =
      command
          .add_option(
              "--target", over.target,
              "what to compile for: DEVICE[:RENDERER[:ARCH]], for example CUDA:PTX:sm_80; default: the input's own, "
              "else CPU")
          ->type_name("TARGET");
  if (device_is_target)
    command.add_option("--device", over.target, "the same as --target")->type_name("TARGET")->excludes(target);
  command
      .add_option(
          "--set", over.sets,
          "a setting by tinygrad's name, for example NOOPT=1; the environment variable of that name is the fallback")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  command
      .add_option("--opts", over.opts,
                  "the optimizer's list, for example '[Opt(OptOps.UPCAST, 0, 4)]'; default: tinygrad's heuristic")
      ->type_name("LIST");
}

void add_weights_option(CLI::App& command, Overrides& over) {
  command
      .add_option("--weights", over.weights,
                  "a safetensors, npz or npy file with tensors for a model's initializers and inputs, by name")
      ->type_name("FILE");
}

void add_size_option(CLI::App& command, Overrides& over) {
  command.add_option("--var", over.sizes, "binds a symbolic size of a model")
      ->type_name("NAME=N")
      ->allow_extra_args(false)
      ->take_all();
}

void add_kernel_option(CLI::App& command, std::string& kernel) {
  command
      .add_option("--kernel", kernel,
                  "one of many: its number from 0, or its name; of a tensor graph, one of its kernels")
      ->type_name("N|NAME");
}

void add_repro_option(CLI::App& command, std::string& file) {
  command
      .add_option("--repro", file,
                  "of a failure: one file with the graph, the arrays and all else, an INPUT of every command; `tgc run "
                  "FILE` says whether it still happens (exit code 1) or not (0); {} as in --inputs")
      ->type_name("FILE");
}

void add_emulator_options(CLI::App& command) {
  auto take = [](Status status) {
    if (!status) throw CLI::ValidationError("--emulate", status.diag().text());
  };
  auto* emulate = command.add_flag_callback(
      "--emulate", [take] { take(use_emulators()); },
      "CUDA, AMD and METAL emulated: kernels run on the CPU, checked, machine code instruction by instruction");
  command
      .add_flag_callback("--race", watch_races,
                         "with --emulate: also threads that race for an address; on AMD, values used before their wait")
      ->needs(emulate);
}

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
  void note(const std::string& what) override { tell("tgc: note: " + what + "\n"); }
  void debug(const std::string& text) override { tell(text); }
  bool color() const override { return use_color(2); }

 private:
  void tell(const std::string& text) {
    std::lock_guard lock(mutex_);
    tgc::tell(text);
  }

  std::mutex mutex_;  // bench --whole reads files on several threads, and reading has notes
};

}  // namespace

Session terminal_session(unsigned jobs) {
  static TerminalEvents events;
  unsigned threads = jobs ? jobs : unsigned(Settings().cpu_count());
  return {.jobs = threads, .events = &events, .cancel = &cancel_by_interrupt()};
}

Session terminal_session(Overrides over, unsigned jobs) {
  Session session = terminal_session(jobs);
  session.over = std::move(over);
  for (const std::string& idle : ignored_variables()) session.note(idle);
  return session;
}

Overrides with_found_opts(Overrides over) {
  auto beam = BeamSettings::take(over.sets);
  if (!beam) return warn(beam.diag()), over;
  if (beam->BEAM < 1) return over;
  if (auto status = use_found_opts(BeamResults::default_path(), int64_t(beam->BEAM)); !status) warn(status.diag());
  return over;
}

}  // namespace tgc
