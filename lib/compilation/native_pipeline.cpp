#include <deque>
#include <utility>

#include "lib/compilation/pipeline.h"
#include "lib/compilation/replay_rewrites.h"
#include "lib/compilation/watchers.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool is_traced(const StageRow& row) { return has_rewrites(row) && (!row.output || row.is(OutputKind::List)); }

// Suppresses rewrite number `number` (from 1) of a compilation, as if its rule had not matched.
class RewriteSuppressor : public RewriteOverride {
 public:
  RewriteSuppressor(Graph& graph, uint64_t number)
      : inner_override_(rewrite_override_of(graph)), num_rewrites_left_(number) {
    set_rewrite_override(graph, this);
  }
  UOp choose_result(const RuleHit& hit, UOp before, UOp after) override {
    if (inner_override_) after = inner_override_->choose_result(hit, before, after);
    return --num_rewrites_left_ ? after : UOp();
  }

 private:
  RewriteOverride* const inner_override_;
  uint64_t num_rewrites_left_;
};

Result<Compilation> restart_compilation(const Compilation& c) {
  const InputGraph& in = c.input_graph();
  if (!in.list.empty()) return Diag{.message = "a linear list has no stages before it", .file = in.file};
  InputGraph copy{.graph = std::make_shared<Graph>(in.graph->settings()),
                  .info = in.info,
                  .is_tensor_graph = in.is_tensor_graph,
                  .user_operation = in.user_operation,
                  .file = in.file,
                  .record = in.record};
  copy.root = copy_into(*copy.graph, in.root);
  return Compilation::begin(std::move(copy), c.spec());
}

class NativePipeline : public Pipeline {
 public:
  // `left_out` is the number of the rewrite to suppress, or 0 for none.
  explicit NativePipeline(Compilation compilation, uint64_t left_out = 0)
      : compilation_(std::move(compilation)), suppressed_rewrite_number_(left_out) {
    if (suppressed_rewrite_number_)
      suppressors_.push_back(std::make_unique<RewriteSuppressor>(compilation_.graph(), suppressed_rewrite_number_));
  }

  const InputGraph& input() const override { return compilation_.input_graph(); }
  std::string producer() const override { return "tgc"; }
  std::string target() const override { return compilation_.is_tensor_graph() ? "" : compilation_.target().name(); }
  std::string_view kind() const override { return "native"; }
  const StageRow* input_stage() const override { return compilation_.input_stage(); }
  bool has_ability(Ability ability) const override { return ability != Ability::Recording; }

  Result<std::vector<Stage>> stages() override {
    if (auto made = rows(); !made) return made.diag();
    std::vector<Stage> out{{&get_stage_row(StageRow::Kind::Ast)}};
    for (const StageData& row : rows_)
      out.push_back({row.stage, row.stage->is_graph_stage() ? std::optional(row.changes_graph()) : std::nullopt});
    if (compilation_.is_tensor_graph()) out.push_back({&get_stage_row(StageRow::Kind::Schedule)});
    else for (OutputKind kind : {OutputKind::Source, OutputKind::LaunchFacts}) out.push_back({&get_stage_row(kind)});
    return out;
  }

  Result<std::span<const StageData>> rows() override {
    if (!executed_compilation_)
      if (auto status = run_all_stages(); !status) return status.diag();
    return std::span<const StageData>(rows_);
  }
  UOp ast() const override { return executed_compilation_->ast(); }

  Result<ImportedGraph> imported_graph(const StageData& row) override {
    if (!row.result && row.list.empty())
      return row.error ? *row.error : Diag{"the stage '" + std::string(row.stage->name) + "' failed"};
    return ImportedGraph{
        borrow_graph(executed_compilation_->graph()), row.list.empty() ? row.result : row.list.back(), row.list, {}};
  }

  Result<std::vector<UOp>> graphs(StageSelection& stages) override {
    auto wanted = selected_rows(stages);
    if (!wanted) return wanted.diag();
    std::vector<UOp> out;
    if (stages.select_rows(is_traced)->has_row(get_stage_row(StageRow::Kind::Ast))) out.push_back(ast());
    for (const StageData* row : *wanted)
      if (row->result && row->list.empty() && row->changes_graph()) out.push_back(row->result);
    return out;
  }
  Result<std::vector<const Rewrite*>> rewrites(StageSelection& stages) override {
    auto wanted = selected_rows(stages);
    if (!wanted) return wanted.diag();
    std::vector<const Rewrite*> out;
    for (const StageData* row : *wanted)
      for (const Rewrite& r : row->rewrites) out.push_back(&r);
    return out;
  }

  Result<SidesImporter::ImportedSides> rewrite_sides(const Rewrite& r) override {
    return SidesImporter::ImportedSides{{{r.before, r.after}}, 0};
  }
  Graph& sides_graph() override { return executed_compilation_->graph(); }

  UOp replay_rewrites(const StageData& row, size_t count, bool bottom_up) override {
    for (const TopLevelRewrite& top : rewrite_log_.top_rewrites()) {
      if (top.stage != row.stage || top.bottom_up != bottom_up) continue;
      if (count > top.application_indices.size()) {
        count -= top.application_indices.size();
        continue;
      }
      std::vector<std::pair<UOp, UOp>> first;
      for (size_t i : std::span(top.application_indices).first(count))
        first.emplace_back(rewrite_log_.all_rewrites()[i].before, rewrite_log_.all_rewrites()[i].after);
      auto made = catch_failures([&] { return apply_rewrites(top.input, top.bottom_up, first, top.gated_nodes); });
      return made ? *made : UOp();
    }
    return row.result;
  }

  Result<std::unique_ptr<Pipeline>> pipeline_without_rewrite(const Rewrite& r) override {
    auto copy = restart_compilation(compilation_);
    if (!copy) return copy.diag();
    return std::unique_ptr<Pipeline>(std::make_unique<NativePipeline>(std::move(*copy), r.rewrite_number));
  }

  Result<std::vector<DumpText>> texts(StageSelection& stages, const DumpPlan& plan) override {
    auto selected = make_dump_plan(stages.list_text(), "");
    if (!selected) return selected.diag();
    if (!stages.is_empty()) (void)stages.select_rows([](const StageRow&) { return true; });
    DumpPlan own = plan;
    own.wanted_rows = selected->wanted_rows, own.dumps_changed_graphs = selected->dumps_changed_graphs,
    own.dumps_only_input = selected->dumps_only_input;
    auto c = take_unused_compilation();
    return c ? make_dump_texts(**c, own) : Result<std::vector<DumpText>>(c.diag());
  }
  Result<std::string> source() override {
    auto c = take_unused_compilation();
    return c ? (*c)->source() : Result<std::string>(c.diag());
  }

  Status trace_stages(TraceConsumer& to, StageSelection& stages, const LaterRelease*) override {
    TraceObserver stage_observer(to);
    return run_with_selected_observer(stage_observer, stages);
  }
  Status count_rules(RuleStats& to, StageSelection& stages) override {
    StatsObserver stage_observer([](const StageRow&) { return true; }, to);
    return run_with_selected_observer(stage_observer, stages);
  }

  Result<Compilation> compilation() override { return copy_compilation(); }

  Result<std::vector<size_t>> kernel_numbers() override {
    if (auto status = require_schedule(); !status) return status.diag();
    return executed_compilation_->kernel_numbers();
  }
  Result<std::unique_ptr<Pipeline>> kernel(size_t number) override {
    if (auto status = require_schedule(); !status) return status.diag();
    auto kernel = executed_compilation_->kernel(number);
    return kernel ? Result(make_native_pipeline(std::move(*kernel))) : kernel.diag();
  }

 private:
  Result<Compilation> copy_compilation() {
    auto copy = restart_compilation(compilation_);
    if (copy && suppressed_rewrite_number_)
      suppressors_.push_back(std::make_unique<RewriteSuppressor>(copy->graph(), suppressed_rewrite_number_));
    return copy;
  }
  // Returns a compilation of the input that has run no stage.
  Result<Compilation*> take_unused_compilation() {
    if (!std::exchange(is_compilation_used_, true)) return &compilation_;
    auto copy = copy_compilation();
    if (!copy) return copy.diag();
    compilation_copies_.push_back(std::move(*copy));
    return &compilation_copies_.back();
  }
  Status require_schedule() {
    if (auto status = rows(); !status) return status.diag();
    auto& made = executed_compilation_->schedule();
    return made ? Status(Unit{}) : Status(made.diag());
  }

  Result<std::vector<const StageData*>> selected_rows(StageSelection& stages) {
    auto selected = stages.select_rows(is_traced);
    if (!selected) return selected.diag();
    if (auto made = rows(); !made) return made.diag();
    std::vector<const StageData*> out;
    for (const StageData& row : rows_)
      if (selected->has_row(*row.stage) || (selected->selects_changed_rows && row.list.empty() && row.changes_graph()))
        out.push_back(&row);
    return out;
  }
  Status run_with_selected_observer(StageObserver& stage_observer, StageSelection& stages) {
    auto selected = stages.select_rows(is_traced);
    if (!selected) return selected.diag();
    SelectedStageObserver some(std::move(*selected), stage_observer);
    auto c = take_unused_compilation();
    return c ? run_with_observer(**c, some) : Status(c.diag());
  }

  Status run_all_stages() {
    auto c = take_unused_compilation();
    if (!c) return c.diag();
    executed_compilation_ = *c;
    if (const InputGraph& in = executed_compilation_->input_graph(); !in.list.empty()) {
      rows_.push_back(
          {.stage = &get_stage_row(OutputKind::List), .input = in.root, .result = in.root, .list = in.list});
      return Unit{};
    }
    ScopedObserver watch(*executed_compilation_, rewrite_log_);
    std::optional<Diag> failure;
    while (const StageRow* next = executed_compilation_->next_row()) {
      if (!next->is_graph_stage() && !next->is(OutputKind::List)) break;
      if (auto step = executed_compilation_->run_step(); !step) failure = step.diag();
    }
    std::span<const Rewrite> rest = rewrite_log_.all_rewrites();
    for (const StageRun& run : rewrite_log_.stage_runs()) {
      size_t n = 0;
      while (n < rest.size() && rest[n].stage == run.row) n++;
      StageData row{.stage = run.row, .input = run.input, .result = run.result, .rewrites = rest.first(n)};
      if (!run.result) row.error = failure;
      if (run.row->is(OutputKind::List) && run.result) row.list = *executed_compilation_->list();
      rows_.push_back(std::move(row));
      rest = rest.subspan(n);
    }
    return Unit{};
  }

  std::vector<std::unique_ptr<RewriteSuppressor>>
      suppressors_;  // one per compilation, if suppressed_rewrite_number_ is not 0; must outlive the compilations
  Compilation compilation_;
  std::deque<Compilation> compilation_copies_;
  const uint64_t suppressed_rewrite_number_;
  bool is_compilation_used_ = false;
  Compilation* executed_compilation_ = nullptr;
  RewriteLog rewrite_log_;
  std::vector<StageData> rows_;
};

}  // namespace

std::unique_ptr<Pipeline> make_native_pipeline(Compilation compilation) {
  return std::make_unique<NativePipeline>(std::move(compilation));
}

}  // namespace tgc
