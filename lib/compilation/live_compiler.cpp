#include <algorithm>
#include <filesystem>

#include "lib/compilation/graph_compiler.h"
#include "lib/compilation/input_graph.h"
#include "lib/compilation/pipeline.h"
#include "lib/import/export.h"
#include "lib/import/upgrade.h"
#include "lib/live/tinygrad_process.h"
#include "lib/support/name_table.h"

namespace tgc {
namespace {

constexpr double kModelSeconds = 1800;  // time limit for a model, which tinygrad schedules, compiles and runs

using SettingValues = std::vector<std::pair<std::string, std::string>>;

std::optional<std::string> device_of_kernel(UOp ast) {
  for (UOp u : toposort(ast))
    if (const Arg device = import::field_of_record(u.arg(), "device"); u.is(Op::PARAM) && device.is_str())
      return std::string(device.text().substr(0, device.text().find(':')));
  return std::nullopt;
}

class LiveCompiler : public GraphCompiler {
 public:
  LiveCompiler(CompilerChoices choices, std::shared_ptr<TinygradPool> tinygrad)
      : GraphCompiler(std::move(choices)), tinygrad_(std::move(tinygrad)) {}

  // The running tinygrad applies --set.
  Result<Settings> merge_settings(const GoldenSettings& recorded, std::string_view producer) const override {
    auto settings = Settings::read_environment();
    if (settings && release_of(producer) == Release::v0_12)
      for (auto& [key, value] : recorded) (void)settings->set_value(key, value);
    return settings;
  }
  GoldenSettings settings_of_bundle(const InputGraph& in, std::string_view) const override { return in.info.settings; }

  Result<InputGraph> compile(InputGraph in, const std::string& kernel) const override {
    if (!kernel.empty() && !in.is_tensor_graph)
      if (auto status = check_kernel_option(in, kernel); !status) return status.diag();
    auto made = record_of_input(in);
    if (!made) return made.diag();
    made->line = in.record ? in.record->line : 0;
    if (made->metadata.empty() && in.record) made->metadata = in.record->metadata;
    auto out = graph_of_record(std::move(*made), in.file);
    if (!out) return out;
    out->read_report.repro = in.read_report.repro, out->info.settings = in.info.settings;
    return kernel.empty() || !in.is_tensor_graph ? std::move(out) : compile_schedule_kernel(*out, kernel);
  }

  bool can_compile(const InputGraph&) const override { return false; }

  Result<std::unique_ptr<Pipeline>> pipeline(InputGraph in) const override {
    auto self = std::static_pointer_cast<const LiveCompiler>(shared_from_this());
    auto pipeline_of = [self](Result<InputGraph> made) {
      return made ? self->pipeline(std::move(*made)) : Result<std::unique_ptr<Pipeline>>(made.diag());
    };
    auto again = [=](const InputGraph& before, const RuleMatch& left_out) {
      return pipeline_of(self->compile_without_match(before, left_out));
    };
    auto kernel = [=](const InputGraph& schedule, size_t number) {
      return pipeline_of(self->compile_schedule_kernel(schedule, std::to_string(number)));
    };
    return make_recorded_pipeline(std::move(in), again, kernel);
  }

  Result<GoldenRecord> record_of_input(const InputGraph& in) const override {
    auto question = make_question(in);
    return question ? tinygrad_->ask_process(*question) : Result<GoldenRecord>(question.diag());
  }

  Result<std::optional<std::vector<GoldenRecord>>> kernels_of_model(
      const std::string& path, const std::string& name, const std::map<std::string, int64_t>& sizes) const override {
    return catch_failures([&] {
      const CompileOverrides& over = choices_.overrides;
      if (!over.target.empty() && over.target != "CPU" && over.target != "CPU:CLANG")
        throw Failure("--live runs a model on the CPU, not on " + over.target);
      if (!over.weights_file.empty()) throw Failure("--weights is for tgc's own frontend, and --live has another");
      ModelQuestion question{.id = name, .path = std::filesystem::absolute(path).string(), .sizes = sizes};
      question.settings = settings_of_question({});
      tinygrad_->set_limit_seconds(kModelSeconds);
      return std::optional(std::move(tinygrad_->ask_process(question).value_or_throw()));
    });
  }

  std::string release_name() const override {
    auto& facts = tinygrad_->facts();
    return facts ? facts->producer.substr(facts->producer.find(' ') + 1) : "";
  }
  bool leaves_opts_to_tinygrad() const override { return true; }
  Status require_scheduler(const std::string& message) const override { return Diag{message}; }
  Status check_can_repeat(const std::string&) const override { return Unit{}; }
  bool prepare_for_device(const std::string& device, CompileOverrides& over) const override {
    if (over.target.empty() && device != "REF") over.target = device;
    return release_of(facts().producer) == Release::v0_12;
  }

 protected:
  GoldenSettings settings_to_record(const InputGraph& in, const GoldenSettings& recorded) const override {
    return recorded.empty() ? in.info.settings : recorded;
  }

 private:
  const TinygradFacts& facts() const { return tinygrad_->facts().value_or_throw(); }

  // Returns the recorded settings that this tinygrad has, overridden by --set. Throws Failure if a --set does not fit
  // this tinygrad, or if it does not start.
  SettingValues settings_of_question(const GoldenSettings& recorded) const {
    GoldenSettings out;
    for (auto& [name, value] : recorded)
      if (facts().settings.contains(name)) out[name] = value;
      else choices_.note("the recorded setting " + name + "=" + value + " has no effect: " + facts().producer +
                         " has no such setting");
    for (const std::string& text : choices_.overrides.settings_texts) {
      const size_t equals = std::min(text.find('='), text.size());
      const std::string name = text.substr(0, equals);
      if (equals == text.size()) throw Failure(Diag{.message = "--set takes KEY=VALUE, not '" + text + "'"});
      if (!facts().settings.contains(name)) {
        const std::vector<std::string_view> known(facts().settings.begin(), facts().settings.end());
        throw Failure(Diag{.message = facts().producer + " has no setting '" + name + "'",
                           .expected = nearest_names_text(name, known)});
      }
      out[name] = text.substr(equals + 1);
    }
    return {out.begin(), out.end()};
  }

  // Returns the target of `in`. To a kernel's target without an architecture, adds the recorded one or else the
  // device's default, if there is one.
  std::string target_of_question(const InputGraph& in) const {
    const std::string target = target_for_input(in), recorded = in.record ? in.record->target : in.info.target;
    if (in.is_tensor_graph || std::ranges::count(target, ':') > 1) return target;
    if (recorded.starts_with(target + ":")) return recorded;
    auto whole = parse_target(target, Settings());
    const bool has_arch = whole && !whole->arch.empty();
    return has_arch ? whole->name() : target;
  }

  Result<CompileQuestion> make_question(const InputGraph& in) const {
    return catch_failures([&] {
      const CompileOverrides& over = choices_.overrides;
      if (!over.start_stage.empty() || !in.list.empty() || !(in.info.stage.empty() || in.info.stage == "ast"))
        throw Failure(Diag{.message = "--live compiles an AST, and this graph is after '" +
                                      (over.start_stage.empty() ? in.info.stage : over.start_stage) + "'",
                           .file = in.file});
      if (over.uses_native_pipeline)
        throw Failure("--native and --live exclude each other: only one pipeline compiles");
      if (!over.opts.empty() && in.is_tensor_graph) throw Failure("--opts is for kernels, and this is a tensor graph");
      const Release from = in.graph->release(), to = release_of(facts().producer);
      if (from != to && in.is_tensor_graph)
        throw Failure(Diag{.message = "a tensor graph of tinygrad " + std::string(name_of(from)) + " is no input of " +
                                      facts().producer,
                           .file = in.file});
      CompileQuestion out{.id = in.info.name, .target = target_of_question(in), .is_tensor_graph = in.is_tensor_graph};
      out.is_live = true, out.records_rewrites = over.records_live_rewrites, out.opts = over.opts;
      out.settings = settings_of_question(in.info.settings);
      const ExportedGraph exported = std::move(ast_for_release(in.graph, in.root, to).value_or_throw());
      out.graph_json = graph_to_json(exported.root, {.producer = facts().producer});
      return out;
    });
  }

  // Compiles kernel number `kernel` of `schedule`, a graph with a record. Fails if there is no such kernel, if it
  // is a copy, or if it does not compile.
  Result<InputGraph> compile_schedule_kernel(const InputGraph& schedule, const std::string& kernel) const {
    return catch_failures([&] {
      const GoldenRecord& record = *schedule.record;
      size_t number = record.kernels.size();
      for (size_t i = 0; i < record.kernels.size(); i++)
        if (kernel == std::to_string(i)) number = i;
      if (number == record.kernels.size())
        throw Failure(Diag{.message = "the schedule has no kernel '" + kernel + "'",
                           .file = schedule.file,
                           .expected = record.error ? *record.error : "0 to " + std::to_string(int64_t(number) - 1)});
      const Settings settings = merge_settings({}, "").value_or_throw();
      auto in = load_graph_text(settings, InputKind::Json, record.kernels[number].ast, schedule.file).value_or_throw();
      if (in.root.is(Op::COPY)) throw Failure("kernel " + kernel + " of the schedule is a copy, which has no source");
      in.info.name = record.id + ".kernel-" + kernel;
      in.info.target = device_of_kernel(in.root).value_or(record.device);
      in.info.settings = schedule.info.settings, in.is_tensor_graph = false;
      return std::move(compile(std::move(in), "").value_or_throw());
    });
  }

  Result<InputGraph> compile_without_match(const InputGraph& in, const RuleMatch& match) const {
    const GoldenRecord& before = *in.record;
    CompileQuestion question{.id = before.id, .target = before.target, .graph_json = before.ast,
                             .is_tensor_graph = in.is_tensor_graph, .is_live = true, .excluded_match = match};
    for (auto& [name, value] : before.settings)
      if (value) question.settings.emplace_back(name, *value);
    auto record = tinygrad_->ask_process(question);
    if (!record) return record.diag();
    if (record->error && record->stages.empty()) return Diag{.message = *record->error, .file = in.file};
    record->line = before.line;
    return graph_of_record(std::move(*record), in.file);
  }

  const std::shared_ptr<TinygradPool> tinygrad_;
};

}  // namespace

std::shared_ptr<const GraphCompiler> make_live_compiler(CompilerChoices choices,
                                                        std::shared_ptr<TinygradPool> tinygrad) {
  return std::make_shared<LiveCompiler>(std::move(choices), std::move(tinygrad));
}

}  // namespace tgc
