#include "lib/view/gather.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "lib/bisect/bisect.h"
#include "lib/compilation/input_graph.h"
#include "lib/compilation/pipeline.h"
#include "lib/diff/run_diff.h"
#include "lib/driver/recorded_facts.h"
#include "lib/driver/source.h"
#include "lib/prove/prove_kernel.h"
#include "lib/records/read_graph.h"
#include "lib/run/run.h"
#include "lib/support/ordered_pool.h"
#include "lib/target/target.h"
#include "lib/text/json_scan.h"
#include "lib/trace/trace_file.h"
#include "lib/view/bundle_facts.h"
#include "lib/view/recorded_schedule.h"
#include "passes/program.h"

namespace tgc {
namespace {

constexpr int kTimedRuns = 5;

// Appends a recording of each kernel of a trace to `to`. The trace is read from a file, or made from a record.
class TraceGraphRecorder : public GraphRecorder {
 public:
  explicit TraceGraphRecorder(std::vector<RecordedGraph>& to) : recorded_graphs_(to) {}
  void end_kernel() override { recorded_graphs_.push_back(finish_graph(nullptr, text_options)); }
  void begin_kernel(std::string_view id, std::string_view target, UOp ast) override {
    GraphRecorder::begin_kernel(id, target, ast);
    const std::string release = producer_name(ast.graph().release());
    if (ast.graph().is_foreign() || !producer.empty()) set_producer(producer.empty() ? release : producer);
    if (!user_operation_text.empty()) user_operation(user_operation_text);
  }
  void begin_stage(std::string_view name, UOp input) override {
    GraphRecorder::begin_stage(name, input);
    auto at = call_places.find(name);
    call_place_ = at == call_places.end() ? "" : std::string_view(at->second);
  }
  void on_rule_applied(int depth, const TraceRule& r, UOp before, UOp after, TraceCost cost) override {
    // A stage may substitute nodes by a matcher of uop/ops.py. Then the line that calls the matcher says what is
    // substituted.
    const size_t colon = call_place_.rfind(':');
    if (depth > 0 || colon == call_place_.npos || !r.name.starts_with("uop/ops.py:"))
      return GraphRecorder::on_rule_applied(depth, r, before, after, cost);
    TraceRule named = r;
    named.line = uint32_t(std::strtoul(call_place_.data() + colon + 1, nullptr, 10));
    named.name = call_place_, named.file = call_place_.substr(0, colon), named.source = r.name;
    GraphRecorder::on_rule_applied(depth, named, before, after, cost);
  }

  std::map<std::string, std::string, std::less<>> call_places;  // by stage: the line of tinygrad that calls the stage
  std::string producer;                                   // if empty, the release of the graphs is shown
  std::string user_operation_text;  // the tensor methods; if empty, those that the trace names
  TextOptions text_options;

 private:
  std::vector<RecordedGraph>& recorded_graphs_;
  std::string_view call_place_;
};

// Converts recordings of two releases to the names of ops and stages of the later one, so that a renamed op is no
// difference.
struct LaterNames {
  RenameTable renames;
  std::string producer = {};  // the producer of the later release; if empty, nothing is renamed

  bool is_older(std::string_view by) const {
    return !producer.empty() && release_of(by) < release_of(producer);
  }
  std::optional<LaterRelease> find_later_release(const std::string& by) const {
    if (producer.empty()) return std::nullopt;
    auto rename = [this, older = is_older(by)](std::span<UOp* const> nodes) {
      renames.rename_graph({nodes.begin(), nodes.end()}, older);
    };
    auto stage_name = [this](const std::string& stage) { return renames.stage_after_renames(stage); };
    return LaterRelease{release_of(producer), stage_name, rename};
  }
  // Returns the producer `by` or its default and, if names were converted, the producer whose names are shown.
  std::string producer_text(const std::string& by) const {
    const std::string own = by.empty() ? "tinygrad 0.12.0" : by;
    return own + (is_older(by) ? ", by the names of " + producer : "");
  }
};

// Returns the producer of an INPUT's graphs. Returns "", which stands for 0.12.0, if the INPUT names no producer, and
// for standard input, folders, trace files, ONNX models and files that cannot be read.
std::string producer_of_input(const std::string& spec) {
  const Session session;
  std::error_code error;
  if (InputName::parse(spec).file == "-" || std::filesystem::is_directory(spec, error)) return {};
  if (is_trace_file(spec)) return {};
  auto source = GraphSource::open(session, spec);
  if (!source) return {};
  std::string producer = source->header() ? source->header()->producer : "";
  if (!source->header() && source->kind() != InputKind::Onnx)
    if (auto first = source->next_graph(); first && *first) producer = (*first)->info.producer;
  return producer;
}

LaterNames later_names(const std::string& a, const std::string& b) {
  const std::string in_a = producer_of_input(a), in_b = producer_of_input(b);
  const Release of_a = release_of(in_a), of_b = release_of(in_b);
  if (of_a == of_b) return {};
  return {RenameTable::for_releases(of_a, of_b), of_a < of_b ? in_b : in_a};
}

// Returns the tensor methods that made the graph. If they are unknown, returns those of all kernels in the record.
std::string user_operation_of_input(const InputGraph& in) {
  if (!in.record || !in.user_operation.empty()) return in.user_operation;
  std::vector<std::string> texts;
  for (const GoldenKernel& kernel : in.record->kernels) {
    std::string text = methods_text(kernel.metadata);
    if (!text.empty() && std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

// Returns the JSON member "texts" of a record's rewrites (the source lines of rules, by place); "" if it has none.
std::string rule_texts_of(const GoldenRecord& record) {
  std::string out;
  auto read = catch_failures([&] {
    JsonScanner in(record.rewrites_json);
    in.object([&](std::string_view key) {
      if (key != "texts") return (void)in.skip_any();
      out = in.skip_any();
    });
    return Unit{};
  });
  return read ? out : "";
}

Result<RecordedGraph> record_run(const CompileRun& run, const std::string& by, const std::string& user_operation,
                                 const LaterNames& names, TextOptions text_options) {
  Graph graph;
  std::string producer = by;
  // parse all stages before renaming, because renaming changes the Graph's release, which parsers read
  struct StageGraph {
    std::string stage;
    UOp root;
  };
  std::vector<StageGraph> steps;
  for (const StageText& t : run.texts) {
    if (t.stage.starts_with("kernel ")) continue;
    if (!t.is_graph) {
      text_options.recorded_texts.emplace_back(t.stage, t.text);
      continue;
    }
    GraphReadReport report{.accepts_malformed_graphs = true, .producer = run.producer};
    auto read = read_graph(graph, detect_input_kind(t.text), t.text, run.file, &report);
    if (!read) return read.diag();
    steps.push_back({names.renames.stage_after_renames(t.stage), read->root});
    if (producer.empty()) producer = read->info.producer;
  }
  if (steps.empty()) return Diag{.message = "the run has no graph", .file = run.file};
  if (const auto later = names.find_later_release(run.producer)) {
    graph.set_release(later->release);
    for (StageGraph& step : steps) step.root = names.renames.rename_graph(step.root, names.is_older(run.producer));
    producer = names.producer_text(run.producer);
  }
  GraphRecorder recorder;
  recorder.begin_kernel(run.id, run.target, steps[0].root);
  recorder.user_operation(user_operation);
  if (steps[0].stage != "ast") recorder.set_begin_stage(steps[0].stage);
  if (!producer.empty()) recorder.set_producer(producer);
  for (size_t i = 1; i < steps.size(); i++) {
    recorder.begin_stage(steps[i].stage, steps[i - 1].root);
    recorder.end_stage(steps[i].root);
  }
  return recorder.finish_graph(nullptr, text_options);
}

class ViewGatherer {
 public:
  ViewGatherer(const Session& session, const ViewRequest& request) : session_(session), request_(request) {}

  Result<ViewContent> run() {
    if (request_.should_prove_rewrites) proofs_.make_persistent();
    auto out = gather_content();
    if (request_.should_prove_rewrites) proofs_.write_answers();
    return out;
  }

 private:
  Result<ViewContent> gather_content() {
    content_.input_title = displayed_name(request_.input) +
                           (request_.other_input.empty() ? "" : " and " + displayed_name(request_.other_input));
    if (request_.other_input.empty()) {
      if (auto status = add_input(request_.input, false); !status) return status.diag();
      if (auto status = add_recorded_kernels(); !status) return status.diag();
      return std::move(content_);
    }
    later_names_ = later_names(request_.input, request_.other_input);
    content_.input_names = {displayed_name(request_.input), displayed_name(request_.other_input)};
    size_t first_of_b = 0;
    for (int side : {0, 1}) {
      size_t before = first_of_b = content_.graphs.size();
      if (auto status = add_input(side ? request_.other_input : request_.input, true); !status) return status.diag();
      for (size_t i = before; i < content_.graphs.size(); i++) content_.graphs[i].input_side_index = side;
    }
    for (size_t first : {size_t(0), first_of_b})
      if (first >= content_.graphs.size() || (first && first_of_b == 0))
        return Diag{.message = "the input has no graph", .file = first ? request_.other_input : request_.input};
    const RecordedGraph &a = content_.graphs[0], &b = content_.graphs[first_of_b];
    if (a.is_tensor_graph == b.is_tensor_graph) return std::move(content_);
    auto kind = [](const RecordedGraph& g) { return g.is_tensor_graph ? "a tensor graph" : "a kernel"; };
    return Diag{.message = "'" + a.name + "' is " + kind(a) + " and '" + b.name + "' " + kind(b),
                .expected = "two of a kind (the tensor graphs of a recording are shown with its kernels)"};
  }

  std::string displayed_name(const std::string& name) const {
    size_t slash = request_.should_strip_paths ? name.find_last_of('/') : std::string::npos;
    return slash == std::string::npos ? name : name.substr(slash + 1);
  }

  Status add_input(const std::string& name, bool as_recorded) {
    std::error_code error;
    if (std::filesystem::is_directory(name, error)) return add_folder(name);
    if (is_trace_file(name)) {
      TraceGraphRecorder graphs(content_.graphs);
      return read_trace(name, graphs);
    }
    if (as_recorded) {
      auto source = GraphSource::open(session_, name);
      if (!source) return source.diag();
      if (source->kind() == InputKind::Golden)
        return for_each_graph(session_, name, request_.kernel,
                              [&](const InputGraph& in) { return add_recorded_graph(in); });
    }
    return for_each_graph(session_, name, request_.kernel, [&](InputGraph in) { return add_graph(std::move(in)); });
  }

  Status add_folder(const std::string& path) {
    auto runs = runs_of_folder(path);
    if (!runs) return runs.diag();
    for (const CompileRun& run : *runs)
      if (auto status = add_run(run); !status) return status;
    return Unit{};
  }
  Status add_run(const CompileRun& run, const std::string& by = "", const std::string& why = "",
                 TextOptions text_options = {}) {
    auto graph = record_run(run, by, why, later_names_, std::move(text_options));
    if (!graph) return graph.diag();
    content_.graphs.push_back(std::move(*graph));
    return Unit{};
  }

  // Adds a graph that tgc cannot compile, such as one of another release, as it was recorded. If the request says so,
  // proves the rewrites of a kernel, and runs or bisects a kernel that can run.
  Status add_foreign_graph(const InputGraph& in) {
    if (auto status = add_recorded_graph(in); !status) return status;
    const Status compiled = check_is_runnable(in);
    if (!compiled) content_.graphs.back().error = compiled.diag().message;
    if (request_.should_prove_rewrites && !in.is_tensor_graph)
      content_.graphs.back().proof_json = proof_marks_json(*prove_recording(in, proofs_));
    if (!compiled || (!request_.should_run_kernels && !request_.should_bisect_kernels)) return Unit{};
    if (is_runtime_kernel(in))
      return session_.report_note("'" + in.info.name + "' is a kernel of tinygrad's runtime: it is shown, not run"),
             Unit{};
    if (in.is_tensor_graph && !request_.should_bisect_kernels)
      return Unit{};  // add_recorded_kernels() runs its kernels
    if (in.is_tensor_graph) return Diag{"a page bisects kernels only; `tgc bisect` searches schedules", in.file};
    Session imports = session_;
    imports.overrides.imports_kernels = true;
    auto imported = imports.compiler()->import_kernel(in);
    if (!imported) return imported.diag();
    if (auto& refused = import_facts_of_input(*imported).import_error) return *refused;
    imported->info.target = supported_target(in.info.target, imported->graph->settings());
    return add_requested_runs(imports, *imported, content_.graphs.back());
  }
  Status add_recorded_graph(const InputGraph& in) {
    if (auto status = add_stages(in); !status || !in.record) return status;
    RecordedGraph& graph = content_.graphs.back();
    graph.program = in.record->program;
    graph.is_runtime_kernel = is_runtime_kernel(in);
    if (!in.record->kernels.empty() && request_.other_input.empty()) {
      graph.schedule_json = recorded_schedule_json(*in.record);
      recorded_schedules_.push_back({content_.graphs.size() - 1, in});
    }
    return Unit{};
  }
  // Adds the kernels of recorded schedules, with all stages if they are in the recording beside the input
  // (NAME.jsonl.gz beside NAME.tensor.jsonl.gz), else only the AST. Equal kernels are added once.
  Status add_recorded_kernels() {
    if (recorded_schedules_.empty()) return Unit{};
    if (request_.should_prove_rewrites)
      session_.report_note("the proofs are those of the kernels; `tgc prove` decides the schedules");
    // maps a kernel's id, or its AST if it has no id, to pairs: the graph with a schedule, and the kernel's index in it
    std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> wanted;
    auto key = [](const GoldenKernel& k) { return k.id.empty() ? k.ast : k.id; };
    for (const auto& [graph, in] : recorded_schedules_)
      for (size_t i = 0; i < in.record->kernels.size(); i++)
        wanted[key(in.record->kernels[i])].emplace_back(int64_t(graph), int64_t(i));
    std::string kernels = InputName::parse(request_.input).file;
    const size_t suffix = kernels.rfind(".tensor.jsonl");
    std::error_code error;
    if (suffix != kernels.npos) kernels.erase(suffix, std::string_view(".tensor").size());
    if (suffix != kernels.npos && std::filesystem::exists(kernels, error)) {
      auto add_wanted = [&](const InputGraph& in) -> Status {
        auto at = wanted.find(in.info.name);
        if (at == wanted.end()) return Unit{};
        if (auto status = add_foreign_graph(in); !status) return status;
        place_in_schedule(at->second);
        wanted.erase(at);
        return Unit{};
      };
      if (auto status = for_each_graph(session_, kernels, "", add_wanted, true); !status) return status;
    }
    if (request_.should_run_kernels && content_.measuring_device.empty())
      return Diag{.message = "--run: no kernel of the schedule is recorded beside it", .file = request_.input,
                  .expected = "the recording of its kernels, '" + kernels + "'"};
    if (request_.should_run_kernels && !content_.measuring_device.starts_with("REF"))
      if (auto device_peaks = peaks_of_device(session_, content_.measuring_device, true))
        content_.device_peaks = *device_peaks;
    for (const auto& [graph, in] : recorded_schedules_)
      for (size_t i = 0; i < in.record->kernels.size(); i++) {
        const GoldenKernel& k = in.record->kernels[i];
        auto at = wanted.find(key(k));
        if (k.ast.empty() || at == wanted.end()) continue;
        CompileRun run{.id = k.id.empty() ? in.info.name + "." + std::to_string(i) : k.id,
                       .target = "",
                       .file = in.file, .texts = {{"ast", k.ast, true}}, .producer = in.info.producer};
        if (auto status = add_run(run, "", methods_text(k.metadata)); !status) return status;
        if (content_.graphs.back().is_tensor_graph) content_.graphs.pop_back();  // this item copies a buffer
        else place_in_schedule(at->second);
        wanted.erase(at);
      }
    return Unit{};
  }
  void place_in_schedule(const std::vector<std::pair<int64_t, int64_t>>& places) {
    RecordedGraph& graph = content_.graphs.back();
    graph.schedule_index = places[0].first;
    for (auto [schedule, number] : places)
      if (schedule == graph.schedule_index) graph.item_indices.push_back(number);
  }
  Status add_stages(const InputGraph& in) {
    CompileRun run{
        .id = in.info.name, .target = in.info.target, .file = in.file, .texts = {}, .producer = in.info.producer};
    const RecordedStageTexts recorded = recorded_stages_of_input(in);
    for (const RecordedStage& s : recorded)
      if (s.text) run.texts.push_back({s.name, std::string(*s.text), s.is_graph()});
    if (auto assembly = assembly_of(in)) run.texts.push_back({"asm", std::move(*assembly), false});
    TextOptions text_options{.methods_json = in.record ? in.record->methods_json : ""};
    if (!in.record || in.record->rewrites_json.empty() || recorded.size() == 1)
      return add_run(run, "", user_operation_of_input(in), std::move(text_options));
    TraceGraphRecorder graphs(content_.graphs);
    graphs.producer = later_names_.producer.empty() ? in.info.producer : later_names_.producer_text(in.info.producer);
    graphs.user_operation_text = user_operation_of_input(in), graphs.text_options = std::move(text_options);
    graphs.text_options.rule_sources = rule_texts_of(*in.record);
    for (const GoldenStage& stage : in.record->stages)
      graphs.call_places.try_emplace(later_names_.renames.stage_after_renames(stage.name), stage.first_call_place());
    for (const StageText& t : run.texts)
      if (!t.is_graph) graphs.text_options.recorded_texts.emplace_back(t.stage, t.text);
    StageSelection every;
    const auto later = later_names_.find_later_release(in.info.producer);
    return make_recorded_pipeline(in)->trace_stages(graphs, every, later ? &*later : nullptr);
  }
  // Returns nullopt if no assembly is wanted, no source is recorded, or it cannot be compiled.
  std::optional<std::string> assembly_of(const InputGraph& in) const {
    if (!request_.should_include_assembly || !in.record || !in.record->source) return std::nullopt;
    auto outputs = KernelOutputs::make_recorded_outputs(*in.record, in.graph->settings(), {.has_source_lines = true});
    if (!outputs) return std::nullopt;
    for (const StageRow& row : stage_rows()) {
      if (!row.is(OutputKind::Compiled) || row.name != "asm") continue;
      auto text = row.output->make_output(*outputs);
      return text ? std::optional(*text) : std::nullopt;
    }
    return std::nullopt;
  }

  Status add_graph(InputGraph in) {
    if (!session_.compiler()->can_compile(in)) return add_foreign_graph(in);
    if (in.record && !in.record->target.empty() && session_.overrides.target.empty() &&
        !parse_recorded_target(in.record->target, in.graph->settings()))
      return add_run(run_of_record(*in.record, {}, in.file),
                              "tinygrad 0.12.0, as it stands: tgc makes nothing for " + in.record->target);
    std::string bundle = in.read_report.repro ? bundle_facts(*in.read_report.repro, request_.should_strip_paths) : "";
    auto begun = session_.begin(std::move(in));
    if (!begun) return begun.diag();
    auto compilation = std::make_shared<Compilation>(std::move(*begun));
    RecordedGraph graph = record_with_program(*compilation, request_.should_include_assembly);
    graph.bundle_json = bundle;
    if (auto status = add_requested_runs(session_, compilation->input_graph(), graph); !status) return status;
    if (request_.should_prove_rewrites && !graph.is_tensor_graph) {
      auto again = session_.begin(compilation->input_graph());
      if (!again) return again.diag();
      graph.proof_json = proof_marks_json(*prove_kernel(std::move(*again), proofs_));
    }
    bool scheduled = graph.is_tensor_graph && graph.error.empty();
    content_.graphs.push_back(std::move(graph));
    return scheduled ? add_scheduled_kernels(compilation) : Unit{};
  }

  static RecordedGraph record_with_program(Compilation& c, bool assembly) {
    RecordedGraph graph = record_compilation(c, {.should_include_assembly = assembly});
    if (graph.error.empty() && !graph.is_tensor_graph)
      if (auto& list = c.list())
        if (auto info = make_program_info(*list)) graph.program = make_golden_program(*info);
    return graph;
  }
  // Call this after the graph is recorded, because a recording lacks nodes that exist before it begins.
  Status add_requested_runs(const Session& session, InputGraph in, RecordedGraph& graph) {
    if (!request_.should_run_kernels && !request_.should_bisect_kernels) return Unit{};
    RunOptions spec{{.name = request_.input, .kernel = request_.kernel}, {.name = request_.run_device}};
    if (request_.should_bisect_kernels) {
      if (graph.is_tensor_graph)
        return Diag{.message = "--bisect of '" + graph.name + "', a tensor graph", .expected = "a kernel"};
      BisectReport report = bisect(session, in, spec);
      if (!report.error.empty()) return Diag{.message = "--bisect: " + report.error};
      if (request_.should_strip_paths) report.repro_command.clear();
      graph.bisect_json = report.json();
    }
    if (!request_.should_run_kernels) return Unit{};
    spec.compare.reference_device = "none", spec.device.timed_runs = kTimedRuns;
    if (graph.is_tensor_graph) {
      ModelReport report = run_tensor_graph(session, in, spec);
      if (!report.error.empty()) return Diag{.message = "--run: " + report.error};
      content_.measuring_device = report.device;
      for (const TimedKernel& k : report.schedule_result.timed_kernels) {
        if (content_.item_seconds.size() <= k.item_index) content_.item_seconds.resize(k.item_index + 1);
        content_.item_seconds[k.item_index] = k.run_seconds;
      }
      if (report.device.starts_with("REF")) return Unit{};
      if (auto device_peaks = peaks_of_device(session, report.device, true)) content_.device_peaks = *device_peaks;
      return Unit{};
    }
    RunReport report = run_kernel(session, in, spec);
    if (!report.error.empty()) return Diag{.message = "--run: " + report.error};
    if (!report.timed_runs) return Diag{.message = "--run: the kernel is too slow to be timed"};
    content_.measuring_device = report.device;
    graph.measured_seconds = report.timed_runs->quantile(0);
    return Unit{};
  }
  Status add_scheduled_kernels(std::shared_ptr<Compilation> c) {
    if (content_.schedule_json.empty())
      if (auto schedule_json = c->schedule_as_json()) content_.schedule_json = *schedule_json;
    std::map<std::pair<uint32_t, std::string>, size_t> known;
    std::vector<std::vector<int64_t>> numbers;
    for (size_t number : c->kernel_numbers()) {
      auto key = std::pair(c->schedule()->items[number].ast.id(), c->kernel_target(number));
      auto [at, is_new] = known.try_emplace(key, numbers.size());
      if (is_new) numbers.emplace_back();
      numbers[at->second].push_back(int64_t(number));
    }
    auto made_of = [c, assembly = request_.should_include_assembly](size_t number) -> Result<RecordedGraph> {
      auto kernel = c->kernel(number);
      return kernel ? record_with_program(*kernel, assembly) : Result<RecordedGraph>(kernel.diag());
    };
    auto proven_of = [&](size_t number) -> Result<RecordedGraph> {
      auto graph = made_of(number);
      auto again = c->kernel(number);
      if (graph && again) graph->proof_json = proof_marks_json(*prove_kernel(std::move(*again), proofs_));
      return graph;
    };
    std::vector<Result<RecordedGraph>> made(numbers.size(), RecordedGraph());
    auto make = [&](size_t i) {
      size_t number = size_t(numbers[i][0]);
      if (request_.should_prove_rewrites) made[i] = proven_of(number);
      else if (!request_.should_compile_later) made[i] = made_of(number);
      else made[i] = RecordedGraph{.name = c->kernel_name(number), .target = c->kernel_target(number),
                                   .user_operation = c->kernel_user_operation(number),
                                   .num_nodes = toposort(c->schedule()->items[number].ast).size(),
                                   .compile_later = [made_of, number] { return made_of(number); }};
    };
    auto tell = [&](size_t i) {
      session_.report_progress(std::to_string(i + 1) + " of " + std::to_string(made.size()) + " kernels");
    };
    const unsigned num_jobs = request_.should_compile_later && !request_.should_prove_rewrites ? 1 : session_.num_jobs;
    if (auto status = parallel_for(made.size(), num_jobs, make, tell); !status) return status;
    for (size_t i = 0; i < made.size(); i++) {
      if (!made[i]) return made[i].diag();
      made[i]->item_indices = numbers[i];
      content_.graphs.push_back(std::move(*made[i]));
    }
    return Unit{};
  }

  const Session& session_;
  const ViewRequest& request_;
  LaterNames later_names_;
  ProofCache proofs_;
  ViewContent content_;
  std::vector<std::pair<size_t, InputGraph>> recorded_schedules_;
};

}  // namespace

Result<ViewContent> gather_view(const Session& session, const ViewRequest& request) {
  return ViewGatherer(session, request).run();
}

}  // namespace tgc
