#include "lib/compilation/graph_compiler.h"

#include "lib/compilation/input_graph.h"
#include "lib/compilation/pipeline.h"
#include "lib/compilation/stage_rows.h"
#include "lib/support/counted.h"
#include "lib/support/name_table.h"
#include "lib/support/version.h"
#include "lib/target/target.h"
#include "lib/text/pyrender.h"
#include "lib/uop/wellformed.h"

namespace tgc {

namespace {

bool is_misspelt_stage(const std::string& stage) {
  if (stage.empty() || find_stage_row(stage)) return false;
  std::vector<std::string_view> names;
  for (const StageRow& row : stage_rows()) names.push_back(row.name);
  return !nearest_names_text(stage, names).empty();
}

}  // namespace

std::string GraphCompiler::target_for_input(const InputGraph& in) const {
  if (!choices_.overrides.target.empty()) return choices_.overrides.target;
  if (!in.info.target.empty()) return in.info.target;
  return in.is_tensor_graph ? "" : choices_.default_target;
}

Result<CompilationSpec> GraphCompiler::spec_for_input(const InputGraph& in) const {
  const CompileOverrides& over = choices_.overrides;
  CompilationSpec job{.target = target_for_input(in), .opts = over.opts, .compile_options = choices_.compile_options};
  auto* parse = over.target.empty() ? parse_recorded_target : parse_target;
  if (!job.target.empty())
    if (auto target = parse(job.target, in.graph->settings()); !target) return target.diag();
  return job;
}

Result<Compilation> GraphCompiler::begin(InputGraph in) const {
  auto job = spec_for_input(in);
  if (!job) return job.diag();
  if (!choices_.overrides.target.empty()) in.info.target = choices_.overrides.target;
  return Compilation::begin(std::move(in), std::move(*job));
}

Result<InputGraph> GraphCompiler::finish_input(InputGraph in, const GoldenSettings& recorded) const {
  in.info.settings = settings_to_record(in, recorded);
  if (in.graph->is_foreign()) {
    auto status = check_foreign_graph(in);
    return status ? Result(std::move(in)) : status.diag();
  }
  if (is_misspelt_stage(in.info.stage)) {
    Diag diag = unknown_stage_error(in.info.stage);
    diag.file = in.file;
    return diag;
  }
  for (const std::string& note : in.read_report.notes) choices_.note(note);
  if (choices_.overrides.start_stage.empty() || !in.list.empty()) return in;
  const StageRow* row = find_stage_row(choices_.overrides.start_stage);
  if (!row) return unknown_stage_error(choices_.overrides.start_stage);
  in.info.stage = row->kind == StageRow::Kind::Ast ? "" : row->name;
  return in;
}

Result<InputGraph> GraphCompiler::import_kernel(InputGraph in) const {
  if (!in.graph->is_foreign()) return in;
  if (auto status = check_import(in); !status) return status.diag();
  auto settings = merge_settings({});
  return settings ? Result(import_input(std::move(in), *settings)) : settings.diag();
}

Result<InputGraph> GraphCompiler::import_if_wanted(InputGraph in) const {
  if (in.is_tensor_graph || !(choices_.overrides.imports_kernels || choices_.overrides.uses_native_pipeline)) return in;
  return import_kernel(std::move(in));
}

Result<InputGraph> GraphCompiler::graph_of_record(GoldenRecord record, const std::string& file) const {
  auto settings = merge_settings({});
  if (!settings) return settings.diag();
  auto out = load_graph_text(*settings, InputKind::Json, record.ast, file);
  if (!out) return out;
  out->info.name = record.id, out->info.target = record.target;
  out->user_operation = methods_text(record.metadata);
  out->record = std::make_shared<const GoldenRecord>(std::move(record));
  return import_if_wanted(std::move(*out));
}

Status GraphCompiler::check_kernel_option(const InputGraph& in, const std::string& kernel) {
  if (kernel == "0" || kernel == in.info.name) return Unit{};
  return Diag{.message = "the input has no kernel '" + kernel + "'", .file = in.file,
              .expected = "0 or " + in.info.name};
}

namespace {

class NativeCompiler : public GraphCompiler {
 public:
  using GraphCompiler::GraphCompiler;

  Result<Settings> merge_settings(const GoldenSettings& recorded, std::string_view producer) const override {
    auto settings = Settings::read_environment();
    if (!settings) return settings;
    if (release_of(producer) == Release::v0_12)
      for (auto& [key, value] : recorded)
        if (auto status = settings->set_value(key, value); !status) return status.diag();
    for (const std::string& s : choices_.overrides.settings_texts)
      if (auto status = settings->set_value(s); !status) return status.diag();
    return settings;
  }

  // Returns the settings other than DEBUG that differ from tinygrad's defaults; for the CPU, also CPU_COUNT, which
  // depends on the machine.
  GoldenSettings settings_of_bundle(const InputGraph& in, std::string_view device) const override {
    const Settings& settings = in.graph->settings();
    GoldenSettings out;
    for (const SettingInfo& s : all_settings())
      if (settings.*s.member != s.default_value && s.name != "DEBUG")
        out[std::string(s.name)] = std::to_string(settings.*s.member);
    if (device == "CPU") out["CPU_COUNT"] = std::to_string(settings.cpu_count());
    return out;
  }

  // If kernels are imported without --native, returns false for a kernel's record of another release whose target does
  // not begin with the parts that --target names: --target=CL:CL selects a record for CL:CL:cl_khr_fp16.
  bool accepts_record(const GoldenRecord& record, std::string_view producer) const override {
    const CompileOverrides& over = choices_.overrides;
    if (over.target.empty() || over.uses_native_pipeline || !over.imports_kernels || record.target.empty()) return true;
    return release_of(producer) == Release::v0_12 || (record.target + ":").starts_with(over.target + ":");
  }

  Result<InputGraph> compile(InputGraph in, const std::string& kernel) const override {
    if (kernel.empty()) return import_if_wanted(std::move(in));
    if (!in.is_tensor_graph) {
      auto status = check_kernel_option(in, kernel);
      return status ? import_if_wanted(std::move(in)) : status.diag();
    }
    auto job = spec_for_input(in);
    if (!job) return job.diag();
    if (auto malformed = first_malformed_below(in.root))
      return in.diag_at(malformed->node, malformed->message);
    const std::string file = in.file;
    auto whole = Compilation::begin(std::move(in), std::move(*job));
    if (!whole) return whole.diag();
    if (auto& schedule = whole->schedule(); !schedule) return schedule.diag();
    const auto number = parse_number<size_t>(kernel);
    auto made = number ? whole->kernel(*number)
                       : Diag{"'" + kernel + "' is no number of a kernel of '" + whole->name() + "'"};
    if (made) return std::move(*made).take_input();
    Diag diag = made.diag();
    diag.file = file;
    return diag;
  }

  bool can_compile(const InputGraph& in) const override {
    const bool is_own = !in.graph->is_foreign() && (!is_imported(in) || choices_.overrides.uses_native_pipeline);
    const bool has_stage = in.info.stage.empty() || find_stage_row(in.info.stage);
    return is_own && has_stage && !(choices_.overrides.uses_recorded_pipeline && in.record);
  }

  Result<std::unique_ptr<Pipeline>> pipeline(InputGraph in) const override {
    if (const auto& refused = import_facts_of_input(in).import_error;
        refused && choices_.overrides.uses_native_pipeline)
      return *refused;
    if (!can_compile(in)) return make_recorded_pipeline(std::move(in));
    auto begun = begin(std::move(in));
    return begun ? Result(make_native_pipeline(std::move(*begun))) : begun.diag();
  }

  Result<GoldenRecord> record_of_input(const InputGraph& in) const override {
    return Diag{.message = "no tinygrad makes a record of '" + in.info.name + "'", .file = in.file,
                .expected = "--live=PYTHON"};
  }
  Result<std::optional<std::vector<GoldenRecord>>> kernels_of_model(
      const std::string&, const std::string&, const std::map<std::string, int64_t>&) const override {
    return std::optional<std::vector<GoldenRecord>>();
  }

  std::string release_name() const override { return std::string(tinygrad_version()); }
  Status require_scheduler(const std::string&) const override { return Unit{}; }
  Status check_can_repeat(const std::string& by) const override {
    if (by == tinygrad_version()) return Unit{};
    return Diag{"tinygrad " + by + " failed so, which only --live=PYTHON can repeat"};
  }
  bool prepare_for_device(const std::string&, CompileOverrides&) const override { return false; }

 protected:
  // Returns the current values of the settings that were recorded with the graph, or that differ from their defaults
  // (except DEBUG). For a graph of another release, returns the settings that were read with it.
  GoldenSettings settings_to_record(const InputGraph& in, const GoldenSettings& recorded) const override {
    if (in.graph->is_foreign()) return in.info.settings;
    const Settings& now = in.graph->settings();
    GoldenSettings out = recorded;
    for (const SettingInfo& s : all_settings())
      if (recorded.contains(std::string(s.name)) || (now.*s.member != s.default_value && s.name != "DEBUG"))
        out[std::string(s.name)] = std::to_string(now.*s.member);
    return out;
  }

  Status check_foreign_graph(const InputGraph& in) const override {
    const CompileOverrides& over = choices_.overrides;
    if ((over.imports_kernels || over.uses_native_pipeline) && !in.is_tensor_graph) return Unit{};
    if (over.target.empty() && over.settings_texts.empty() && over.opts.empty()) return Unit{};
    Diag diag = foreign_graph_error(in.info.producer, in.file);
    diag.expected = "--live=PYTHON, or --native, or what was recorded, without --target, --set or --opts";
    return diag;
  }

  Status check_import(const InputGraph& in) const override {
    const CompileOverrides& over = choices_.overrides;
    const bool is_ast = in.list.empty() && (in.info.stage.empty() || in.info.stage == "ast");
    if (over.uses_native_pipeline && !is_ast)
      return Diag{.message = "--native compiles an AST, and this graph of " + producer_of_graph(in) + " is after '" +
                             in.info.stage + "'",
                  .file = in.file};
    if (over.uses_native_pipeline ||
        ((over.target.empty() || in.record) && over.settings_texts.empty() && over.opts.empty()))
      return Unit{};
    return Diag{.message = "a kernel of " + producer_of_graph(in) + " runs in REF as it is",
                .file = in.file,
                .expected = "--native with --target, --set or --opts, to compile the kernel with tgc's own pipeline"};
  }
};

}  // namespace

std::shared_ptr<const GraphCompiler> make_native_compiler(CompilerChoices choices) {
  return std::make_shared<NativeCompiler>(std::move(choices));
}

CompileQuestion question_about_graph(const InputGraph& graph) {
  CompileQuestion out{.id = graph.info.name, .target = graph.info.target, .is_tensor_graph = graph.is_tensor_graph};
  const Settings& settings = graph.graph->settings();
  for (const SettingInfo& s : all_settings())
    out.settings.emplace_back(s.name,
                              std::to_string(s.name == "CPU_COUNT" ? settings.cpu_count() : settings.*s.member));
  const StageRow* last = find_stage_row(graph.info.stage);
  for (const StageRow& row : stage_rows())
    if (last && row.kernel && &row <= last) out.finished_stages.emplace_back(row.name);
  out.graph_json = graph_to_json(graph.root, {});
  if (auto text = pyrender(graph.root)) out.ast = *text;
  return out;
}

}  // namespace tgc
