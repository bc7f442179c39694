#include <algorithm>
#include <unordered_map>

#include "lib/compilation/fusion.h"
#include "lib/compilation/pipeline.h"
#include "lib/compilation/recorded_rewrites.h"
#include "lib/compilation/stage_rows.h"
#include "lib/live/tinygrad_process.h"
#include "lib/rewrite/apply_rewrites.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

class RecordedPipeline : public Pipeline {
 public:
  RecordedPipeline(InputGraph in, RecompileFunction again, KernelCompileFunction kernel)
      : input_(std::move(in)), recompile_(std::move(again)), compile_kernel_(std::move(kernel)),
        sides_importer_(settings()) {
    if (input_.record && input_.info.name == input_.record->id) record_ = input_.record.get();
  }

  const InputGraph& input() const override { return input_; }
  std::string producer() const override { return producer_of_graph(input_); }
  std::string target() const override { return record_ ? record_->target : input_.info.target; }
  std::string_view kind() const override { return recompile_ ? "live" : "recorded"; }
  bool has_ability(Ability ability) const override {
    switch (ability) {
      case Ability::Rewrites: return record_ && !record_->rewrites_json.empty();
      case Ability::LeaveOut: return bool(recompile_);
      case Ability::Specification: return is_native_release();
      case Ability::Recording: return record_;
      case Ability::Reasons: return record_ && record_->target.empty();
      case Ability::Compile:
      case Ability::Attempts: return false;
    }
    return false;
  }

  Result<std::vector<Stage>> stages() override {
    const RecordedStageTexts recorded = recorded_stages_of_input(input_);
    std::vector<Stage> out;
    for (size_t i = 0; i < recorded.size(); i++) {
      const bool is_stage = recorded[i].kind == RecordedStage::Kind::Stage;
      out.push_back({&recorded_stage_row(row_kind_of(recorded[i]), recorded[i].name, i),
                     is_stage ? std::optional(recorded.is_changed(i)) : std::nullopt});
    }
    return out;
  }

  Result<std::span<const StageData>> rows() override {
    if (!graph_)
      if (auto done = catch_failures([&] { return read_record(), true; }); !done) return done.diag();
    return std::span<const StageData>(rows_);
  }
  UOp ast() const override { return ast_; }

  Result<ImportedGraph> imported_graph(const StageData& row) override {
    const UOp root = row.list.empty() ? row.result : row.list.back();
    if (!root) return Diag{"tinygrad could not print the graph after '" + std::string(row.stage->name) + "'"};
    if (!graph_->is_foreign()) return ImportedGraph{graph_, root, row.list, {}};
    return import_graph(root, row.list, settings());
  }

  Result<std::vector<UOp>> graphs(StageSelection& stages) override {
    const RecordedStageTexts recorded = recorded_stages_of_input(input_);
    auto wanted = stages.select_recorded_stages(recorded);
    if (!wanted) return wanted.diag();
    if (auto status = rows(); !status) return status.diag();
    std::vector<UOp> out;
    for (size_t i = 0; i < recorded.size(); i++) {
      const RecordedStage& s = recorded[i];
      if (!(*wanted)[i] || !s.text || s.is_unchanged) continue;
      if (s.kind == RecordedStage::Kind::Ast) out.push_back(ast_);
      if (s.kind == RecordedStage::Kind::Stage) out.push_back(rows_[i - 1].result);
      if (s.kind != RecordedStage::Kind::Kernel) continue;
      auto kernel = parse_stage_text(*graph_, *s.text, s.name, detect_input_kind(*s.text));
      if (!kernel) return kernel.diag();
      out.push_back(kernel->root);
    }
    return out;
  }
  Result<std::vector<const Rewrite*>> rewrites(StageSelection& stages) override {
    if (!has_ability(Ability::Rewrites)) return missing_ability_error(Ability::Rewrites);
    auto wanted = stages.select_recorded_stages(RecordedStageTexts(*record_));
    if (!wanted) return wanted.diag();
    if (auto status = rows(); !status) return status.diag();
    std::vector<const Rewrite*> out;
    for (const Rewrite& r : rewrites_)
      if (r.stage ? (*wanted)[r.stage->position_in_level] : stages.is_empty()) out.push_back(&r);
    return out;
  }

  Result<SidesImporter::ImportedSides> rewrite_sides(const Rewrite& r) override {
    if (!graph_->is_foreign()) return SidesImporter::ImportedSides{{{r.before, r.after}}, 0};
    return sides_importer_.import(r.before, r.after);
  }
  Graph& sides_graph() override { return graph_->is_foreign() ? sides_importer_.graph() : *graph_; }

  UOp replay_rewrites(const StageData& row, size_t count, bool bottom_up) override {
    std::unordered_map<UOp, UOp> rewrites;
    for (const Rewrite* r : row.own_rewrites()) {
      if (count-- == 0) break;
      rewrites[r->before] = r->after;
    }
    return apply_rewrites(row.input, rewrites, bottom_up);
  }

  Result<std::unique_ptr<Pipeline>> pipeline_without_rewrite(const Rewrite& r) override {
    if (!recompile_) return missing_ability_error(Ability::LeaveOut);
    const auto stage = r.stage ? std::optional(r.stage->position_in_level - 1) : std::nullopt;
    return recompile_(input_, {r.source_location, size_t(stage ? r.number_in_stage : r.rewrite_number), stage});
  }

  Result<std::vector<DumpText>> texts(StageSelection& stages, const DumpPlan& plan) override {
    const RecordedStageTexts recorded = recorded_stages_of_input(input_);
    auto wanted = stages.is_empty() ? select_only_ast(recorded) : stages.select_recorded_stages(recorded);
    if (!wanted) return wanted.diag();
    std::vector<DumpText> out;
    if (plan.explains_fusion) {
      if (!record_->kernels.empty())
        out.push_back(
            {input_.info.name, &get_stage_row(StageRow::Kind::Schedule), "txt", recorded_fusion_text(*record_)});
      return out;
    }
    for (size_t i = 0; i < recorded.size(); i++) {
      const RecordedStage& s = recorded[i];
      if (!(*wanted)[i] || !s.text) continue;
      const bool has_nodes = s.is_graph() || s.name == kLinear;
      GraphFormat format = plan.format.value_or(s.is_graph() ? GraphFormat::Pyrender : GraphFormat::Uops);
      auto text = has_nodes ? stage_text(s, plan) : Result(std::string(*s.text));
      if (has_nodes && text && plan.is_self_describing && !plan.format && !is_readable(*text)) {
        DumpPlan as_json = plan;  // tgc must be able to read a file that it writes
        as_json.format = format = GraphFormat::Json;
        text = stage_text(s, as_json);
      }
      if (!text) return text.diag();
      if (!text->ends_with('\n')) *text += '\n';
      const StageRow& row = recorded_stage_row(row_kind_of(s), s.name, i);
      out.push_back({input_.info.name, &row, std::string(has_nodes ? file_extension_of(format) : row.extension),
                     std::move(*text)});
    }
    for (const StageRow& row : stage_rows()) {
      const std::string word = row.is(OutputKind::Compiled) ? stages.word_for_row(row) : "";
      if (word.empty() || !record_ || record_->target.empty()) continue;
      stages.mark_matched_word(word);
      auto outputs = KernelOutputs::make_recorded_outputs(*record_, settings(), plan.compile_options);
      if (!outputs) return outputs.diag();
      auto text = row.output->make_output(*outputs);
      if (!text) return text.diag();
      if (!row.output->is_binary && !text->ends_with('\n')) *text += '\n';
      out.push_back({input_.info.name, &row, std::string(row.extension), std::move(*text)});
    }
    return out;
  }

  Result<std::string> source() override {
    if (!record_) return Diag{.message = "a graph of " + producer() + " has no source", .file = input_.file,
                              .expected = "a recording, or --native"};
    if (record_->source) return *record_->source;
    return Diag{record_->source_error.value_or(record_->error.value_or("no source was recorded"))};
  }

  Status trace_stages(TraceConsumer& to, StageSelection& stages, const LaterRelease* later) override {
    if (!has_ability(Ability::Rewrites)) return missing_ability_error(Ability::Rewrites);
    const RecordedStageTexts recorded(*record_);
    auto wanted = stages.select_recorded_stages(recorded);
    if (!wanted) return wanted.diag();
    if (auto status = rows(); !status) return status.diag();
    std::vector<Rewrite> rewrites = rewrites_;  // copies, in which `later` renames nodes
    std::vector<StageData> rows = rows_;
    UOp ast = ast_;
    if (later) rename_for_release(*later, rewrites, rows, ast);
    RecordedTraceSender trace(*graph_, to);
    trace.assign_node_numbers(ast);
    to.begin_kernel(record_->id, record_->target, ast);
    if (!input_.user_operation.empty()) to.user_operation(input_.user_operation);
    const auto of_stages = split_by_stage(*record_, rewrites);
    const auto end = size_t(std::find(wanted->rbegin(), wanted->rend(), true).base() - wanted->begin());
    for (size_t i = 0; i < of_stages.size() && i + 1 < end; i++) {
      const StageData& row = rows[i];
      const std::string name(row.stage->name);
      trace.send_stage(later ? later->stage_name(name) : name, row.input, row.result ? row.result : row.input,
                       of_stages[i], (*wanted)[i + 1]);
    }
    to.end_kernel();
    return Unit{};
  }

  Result<std::vector<size_t>> kernel_numbers() override {
    std::vector<size_t> out;
    for (size_t i = 0; record_ && i < record_->kernels.size(); i++)
      if (!record_->kernels[i].ast.empty()) out.push_back(i);
    return out;
  }
  Result<std::unique_ptr<Pipeline>> kernel(size_t number) override {
    if (!record_ || number >= record_->kernels.size())
      return Diag{.message = "the schedule has no kernel '" + std::to_string(number) + "'", .file = input_.file};
    if (compile_kernel_) return compile_kernel_(input_, number);
    const GoldenKernel& kernel = record_->kernels[number];
    auto out = load_graph_text(settings(), detect_input_kind(kernel.ast), kernel.ast, input_.file, true, producer());
    if (!out) return out.diag();
    out->info.name = record_->id + "." + std::to_string(number), out->record = input_.record;
    out->user_operation = methods_text(kernel.metadata);
    return make_recorded_pipeline(std::move(*out));
  }

 private:
  static constexpr std::string_view kLinear = "linear";

  const Settings& settings() const { return input_.graph->settings(); }
  bool is_native_release() const { return release_of(producer()) == Release::v0_12; }
  static Result<std::vector<bool>> select_only_ast(const RecordedStageTexts& recorded) {
    std::vector<bool> out(recorded.size());
    out[0] = true;
    return out;
  }
  StageRow::Kind row_kind_of(const RecordedStage& s) const {
    if (s.kind == RecordedStage::Kind::Ast) return StageRow::Kind::Ast;
    if (s.kind == RecordedStage::Kind::Output) return StageRow::Kind::Output;
    return s.kind == RecordedStage::Kind::Stage && record_ && record_->target.empty() ? StageRow::Kind::Tensor
                                                                      : StageRow::Kind::Kernel;
  }

  Result<GraphFile> parse_stage_text(Graph& graph, std::string_view text, const std::string& name,
                                     InputKind kind) const {
    const std::string by = producer();
    GraphReadReport report{.accepts_malformed_graphs = true, .producer = by};
    return read_graph(graph, kind, text, input_.file + " (" + name + ")", &report);
  }

  static bool is_readable(std::string_view text) {
    Graph graph;
    GraphReadReport report{.accepts_malformed_graphs = true};
    return read_graph(graph, detect_input_kind(text), text, "", &report).ok();
  }

  Result<std::string> stage_text(const RecordedStage& s, const DumpPlan& plan) const {
    const bool is_default = plan.format.value_or(s.is_graph() ? GraphFormat::Pyrender : GraphFormat::Uops) ==
                            (s.is_graph() ? GraphFormat::Pyrender : GraphFormat::Uops);
    GraphInfo info{
        .producer = input_.info.producer, .name = input_.info.name, .stage = s.name, .target = input_.info.target};
    if (!s.is_graph() && is_default) return (plan.is_self_describing ? text_header(info) : "") + std::string(*s.text);
    if (!input_.record && input_.list.empty()) {  // `input_` may have a SINK that the text does not have
      info.settings = input_.info.settings, info.stage = input_.info.stage;
      return write_graph(plan.format.value_or(GraphFormat::Pyrender), input_.root, info);
    }
    const bool is_pyrender = detect_input_kind(*s.text) == InputKind::Pyrender;
    if (is_default && is_pyrender && !plan.is_self_describing && is_native_release())
      return std::string(*s.text);  // exactly the text that tinygrad printed
    Graph graph(settings());
    auto read = parse_stage_text(graph, *s.text, s.name, detect_input_kind(*s.text));
    if (!read) return read.diag();
    info.settings = is_native_release() ? input_.info.settings : read->info.settings;
    if (s.kind == RecordedStage::Kind::Kernel) info.name += "." + s.name.substr(s.name.find(' ') + 1);
    const bool is_input = s.kind == RecordedStage::Kind::Ast || s.kind == RecordedStage::Kind::Kernel;
    if (is_input) info.stage = !input_.info.stage.empty() ? input_.info.stage : plan.is_self_describing ? "ast" : "";
    return read->list.empty() ? write_graph(plan.format.value_or(GraphFormat::Pyrender), read->root, info)
                              : write_list(plan.format.value_or(GraphFormat::Uops), read->list, info);
  }

  void read_record() {
    graph_ = std::make_shared<Graph>(settings());
    auto parsed = [&](std::string_view text, const std::string& name, InputKind kind) {
      return std::move(parse_stage_text(*graph_, text, name, kind).value_or_throw());
    };
    const RecordedStageTexts recorded = recorded_stages_of_input(input_);
    GraphFile ast = parsed(*recorded[0].text, recorded[0].name, detect_input_kind(*recorded[0].text));
    UOp last = ast_ = ast.root;
    for (size_t i = 1; i < recorded.size(); i++) {
      const RecordedStage& s = recorded[i];
      if (s.kind != RecordedStage::Kind::Stage) continue;
      StageData row{.stage = &row_of_recorded_stage(*record_, i - 1),
                    .input = last,
                    .result = s.is_unchanged ? last : UOp(),
                    .recorded_stage = &record_->stages[i - 1]};
      if (!s.is_unchanged && s.text) row.result = parsed(*s.text, s.name, detect_input_kind(*s.text)).root;
      if (row.result) last = row.result;
      rows_.push_back(std::move(row));
    }
    if (!ast.list.empty() || (record_ && record_->linear)) {
      StageData row{.stage = &get_stage_row(OutputKind::List), .input = last};
      row.list = ast.list.empty() ? parsed(*record_->linear, "linear", InputKind::Uops).list : ast.list;
      rows_.push_back(std::move(row));
    }
    if (!record_) return;
    rewrites_ = std::move(read_rewrites(*graph_, *record_, producer(), input_.file).value_or_throw());
    const auto of_stages = split_by_stage(*record_, rewrites_);
    for (size_t i = 0; i < of_stages.size(); i++) {
      rows_[i].rewrites = of_stages[i];
      const auto first = size_t(of_stages[i].data() - rewrites_.data());
      mark_discarded(std::span(rewrites_).subspan(first, of_stages[i].size()), rows_[i].input, rows_[i].result);
    }
  }

  void rename_for_release(const LaterRelease& later, std::vector<Rewrite>& rewrites, std::vector<StageData>& rows,
                          UOp& ast) {
    graph_->set_release(later.release);
    std::vector<UOp*> all{&ast};
    for (StageData& row : rows)
      for (UOp* u : {&row.input, &row.result})
        if (*u) all.push_back(u);
    for (Rewrite& r : rewrites) all.push_back(&r.before), all.push_back(&r.after);
    later.rename_nodes(all);
  }

  InputGraph input_;
  RecompileFunction recompile_;
  KernelCompileFunction compile_kernel_;
  const GoldenRecord* record_ = nullptr;  // null if `input_` is not a whole record
  SidesImporter sides_importer_;
  std::shared_ptr<Graph> graph_;
  UOp ast_;
  std::vector<Rewrite> rewrites_;
  std::vector<StageData> rows_;
};

}  // namespace

std::unique_ptr<Pipeline> make_recorded_pipeline(InputGraph in, RecompileFunction again, KernelCompileFunction kernel) {
  return std::make_unique<RecordedPipeline>(std::move(in), std::move(again), std::move(kernel));
}

}  // namespace tgc
