#include "lib/run/candidate.h"

#include "lib/compilation/input_graph.h"
#include "lib/driver/failure_collector.h"
#include "lib/driver/recorded_facts.h"
#include "lib/execute/sanitized.h"
#include "lib/records/repro.h"
#include "lib/run/recorded_source.h"
#include "lib/run/run_stages.h"
#include "lib/runtime/emulated.h"
#include "lib/support/deadline.h"
#include "lib/target/target.h"
#include "lib/text/print_uops.h"

namespace tgc {

KernelGraph make_kernel_graph(const Session& session, const InputGraph& in) {
  return {.root = in.root, .stage = in.info.stage, .linear_list = in.list, .opts = session.overrides.opts};
}

Status RunCandidate::check_input() const {
  const auto& refused = import_facts_of_input(input_).import_error;
  return refused ? Status(*refused) : Status(Unit{});
}

Result<Placement> RunCandidate::choose_place(const std::string& device) const {
  const Settings& settings = input_.graph->settings();
  const std::string& asked = session_.overrides.target;
  const bool is_bundles = input_.read_report.repro && device == input_.read_report.repro->device;
  if (is_bundles && asked.empty() && (device == "REF" || device.starts_with("plugin:")))
    return choose_placement(device, input_.info.target, settings, parse_recorded_target);
  if (!device.empty()) return choose_placement(device, asked, settings);
  const std::string tensors_on = input_.info.target.empty() ? recorded_device(input_) : "";
  if (asked.empty() && !tensors_on.empty() && can_run_here(tensors_on) && !settings.IMAGE)
    return choose_placement("", tensors_on, settings);
  if (!asked.empty() || input_.info.target.empty())
    return choose_placement("", session_.default_target(), settings);
  bool runs_there = can_run_here(input_.info.target) && !settings.IMAGE;  // with IMAGE set, only REF can run kernels
  return choose_placement(runs_there ? "" : "REF", input_.info.target, settings, parse_recorded_target);
}

Result<ExecutionResult> RunCandidate::run_executable(Executable& kernel, Placement& place, const Arrays& inputs,
                                                     const VariableValues& variables, const DeviceOptions& device,
                                                     const ExecuteOptions& options) const {
  return device.should_use_sanitizer ? execute_with_sanitizer(kernel, inputs, variables, options)
                         : execute_kernel(kernel, *place.device, inputs, variables, options);
}

namespace {

class NativeCandidate : public RunCandidate {
 public:
  NativeCandidate(const Session& session, const InputGraph& in) : RunCandidate(session, in) {}

  std::optional<Diag> refusal(Placement& place) override {
    if (!input_.list.empty() || !place.target) return std::nullopt;
    compilation_ = compile_copy(session_, input_, place.target->name(), input_.graph->settings()).value_or_throw();
    auto& made = compilation_->list();
    if (!made && is_out_of_time(made.diag())) throw Failure(made.diag());
    if (!made) return made.diag();
    if (place.is_ref) return std::nullopt;
    auto& source = compilation_->source();
    return source ? std::nullopt : std::optional(source.diag());
  }

  Result<Executable> prepare_executable(Placement& place, const LowerOptions& options) override {
    if (place.target && !place.is_ref)
      if (auto status = check_dtypes(*place.target); !status) return status.diag();
    if (!compilation_) return make_executable(make_kernel_graph(session_, input_), place, options);
    const std::vector<UOp>& lowered = *compilation_->list();
    return place.is_ref ? Executable::make_for_ref(lowered)
                        : Executable::make_for_device(lowered, *place.target, *place.device);
  }

 private:
  // Fails for an FP8 dtype that tinygrad 0.12's renderer for `target` lacks.
  Status check_dtypes(const Target& target) const {
    for (UOp u : input_.list.empty() ? toposort(input_.root) : input_.list)
      if (dtypes::fp8s.contains(u.dtype()) && !is_dtype_supported(u.dtype().scalar(), target))
        return Diag{.message = "tgc's own pipeline has no " + std::string(u.dtype().repr()) + " on " + target.name(),
                    .expected = "--device=REF, or --target=CUDA:CUDA:sm_89 with --emulate"};
    return Unit{};
  }

  std::optional<Compilation> compilation_;
};

class RecordedListCandidate : public NativeCandidate {
 public:
  using NativeCandidate::NativeCandidate;

  Result<Executable> prepare_executable(Placement& place, const LowerOptions& options) override {
    if (!input_.record || !input_.record->linear)
      return Diag{.message = "'" + input_.info.name + "' holds no recorded list", .file = input_.file,
                  .expected = "a kernel of golden records for --recorded"};
    auto read = read_uops(*input_.graph, *input_.record->linear, input_.file + " (linear)");
    if (!read) return read.diag();
    recorded_list_ = std::move(read->list);
    const bool is_same_target = place.target && !place.is_ref && place.target->name() == input_.info.target;
    is_source_run_ = is_same_target && has_recorded_source(input_);
    run_description_ =
        is_source_run_ ? "the recorded source, and the recorded list in REF" : "the recorded linear list";
    if (is_source_run_) return make_recorded_executable(input_, place, options.compile_seconds);
    KernelGraph kernel = make_kernel_graph(session_, input_);
    kernel.linear_list = recorded_list_;
    return make_executable(kernel, place, options);
  }
};

// Runs the recorded source on its device or, in REF, the recorded linear list or the last recorded graph that can be
// imported. A graph without any of these runs in REF as it is.
class ImportedCandidate : public RunCandidate {
 public:
  ImportedCandidate(const Session& session, const InputGraph& in) : RunCandidate(session, in) {}

  Status check_input() const override {
    auto status = RunCandidate::check_input();
    return status ? check_is_runnable(input_) : status;
  }

  Result<Placement> choose_place(const std::string& device) const override {
    const Settings& settings = input_.graph->settings();
    const bool has_source = has_recorded_source(input_) && !settings.IMAGE;
    if (device == "REF") return RunCandidate::choose_place(device);
    if (device.empty() && !(has_source && can_run_here(input_.info.target))) return make_ref_placement();
    if (has_source && input_.info.target.starts_with(device))
      return choose_placement("", input_.info.target, settings, parse_recorded_target);
    return Diag{.message = has_source ? "the kernel's source was recorded for " + input_.info.target
                                      : "a kernel of " + producer_of_graph(input_) + " runs in REF as it is",
                .expected = "--native, to compile the kernel with tgc's own pipeline for " + device};
  }

  std::optional<Diag> refusal(Placement& place) override {
    if (!input_.record || !place.target || !input_.record->error) return std::nullopt;
    return Diag{*input_.record->error};
  }

  Result<Executable> prepare_executable(Placement& place, const LowerOptions& options) override {
    if (input_.record && place.is_ref) choose_graph();
    return place.target ? make_recorded_executable(input_, place, options.compile_seconds)
                        : make_executable(make_kernel_graph(session_, input_), place, options);
  }

  Result<ExecutionResult> run_executable(Executable& kernel, Placement& place, const Arrays& inputs,
                                         const VariableValues& variables, const DeviceOptions& device,
                                         const ExecuteOptions& options) const override {
    if (!last_graph_) return RunCandidate::run_executable(kernel, place, inputs, variables, device, options);
    return run_recorded_graph(*last_graph_, input_.root, inputs, variables,
                              device.make_execute_options(make_ref_placement()));
  }

  std::optional<std::string> not_compared_reason() const override {
    return input_.record ? std::optional(not_compared_reason_) : std::nullopt;
  }

 private:
  void choose_graph() {
    auto last = last_recorded_graph(session_, input_);
    if (!last) {
      not_compared_reason_ = last.diag().text();
      return;
    }
    last_graph_ = std::move(*last);
    run_description_ =
        last_graph_->stage.empty() ? "the recorded list" : "the recorded graph after '" + last_graph_->stage + "'";
    if (const std::string& target = input_.info.target; !can_run_here(target))
      run_description_ += ", because " + target_label(target) + " does not work here" +
              (has_emulator(target) ? ", but --emulate emulates it" : "");
  }

  std::optional<LastRecordedGraph> last_graph_;
  std::string not_compared_reason_;  // why choose_graph() found no graph; else empty
};

}  // namespace

std::unique_ptr<RunCandidate> make_candidate(const Session& session, const InputGraph& in, bool recorded) {
  if (is_imported(in) && !session.overrides.uses_native_pipeline)
    return std::make_unique<ImportedCandidate>(session, in);
  if (recorded) return std::make_unique<RecordedListCandidate>(session, in);
  return std::make_unique<NativeCandidate>(session, in);
}

Result<Placement> placement_for(const Session& session, const std::string& device, const InputGraph& in) {
  return make_candidate(session, in)->choose_place(device);
}

}  // namespace tgc
