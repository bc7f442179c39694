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
class LeaveOut : public RewriteOverride {
 public:
  LeaveOut(Graph& graph, uint64_t number) : inner_(rewrite_override_of(graph)), left_(number) {
    set_rewrite_override(graph, this);
  }
  UOp choose_result(const RuleHit& hit, UOp before, UOp after) override {
    if (inner_) after = inner_->choose_result(hit, before, after);
    return --left_ ? after : UOp();
  }

 private:
  RewriteOverride* const inner_;
  uint64_t left_;
};

Result<Compilation> begin_again(const Compilation& c) {
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
  // `left_out`: the number of the rewrite to suppress; 0: none.
  explicit NativePipeline(Compilation compilation, uint64_t left_out = 0)
      : begun_(std::move(compilation)), left_out_(left_out) {
    if (left_out_) leave_out_.push_back(std::make_unique<LeaveOut>(begun_.graph(), left_out_));
  }

  const InputGraph& input() const override { return begun_.input_graph(); }
  std::string producer() const override { return "tgc"; }
  std::string target() const override { return begun_.is_tensor_graph() ? "" : begun_.target().name(); }
  std::string_view kind() const override { return "native"; }
  const StageRow* input_stage() const override { return begun_.input_stage(); }
  bool has_ability(Ability ability) const override { return ability != Ability::Recording; }

  Result<std::vector<Stage>> stages() override {
    if (auto made = rows(); !made) return made.diag();
    std::vector<Stage> out{{&get_stage_row(StageRow::Kind::Ast)}};
    for (const Row& row : rows_)
      out.push_back({row.stage, row.stage->is_graph_stage() ? std::optional(row.changes_graph()) : std::nullopt});
    if (begun_.is_tensor_graph()) out.push_back({&get_stage_row(StageRow::Kind::Schedule)});
    else for (OutputKind kind : {OutputKind::Source, OutputKind::LaunchFacts}) out.push_back({&get_stage_row(kind)});
    return out;
  }

  Result<std::span<const Row>> rows() override {
    if (!ran_)
      if (auto status = run(); !status) return status.diag();
    return std::span<const Row>(rows_);
  }
  UOp ast() const override { return ran_->ast(); }

  Result<ImportedGraph> imported_graph(const Row& row) override {
    if (!row.result && row.list.empty())
      return row.error ? *row.error : Diag{"the stage '" + std::string(row.stage->name) + "' failed"};
    return ImportedGraph{borrow_graph(ran_->graph()), row.list.empty() ? row.result : row.list.back(), row.list, {}};
  }

  Result<std::vector<UOp>> graphs(StageSelection& stages) override {
    auto wanted = selected_rows(stages);
    if (!wanted) return wanted.diag();
    std::vector<UOp> out;
    if (stages.select_rows(is_traced)->has_row(get_stage_row(StageRow::Kind::Ast))) out.push_back(ast());
    for (const Row* row : *wanted)
      if (row->result && row->list.empty() && row->changes_graph()) out.push_back(row->result);
    return out;
  }
  Result<std::vector<const Rewrite*>> rewrites(StageSelection& stages) override {
    auto wanted = selected_rows(stages);
    if (!wanted) return wanted.diag();
    std::vector<const Rewrite*> out;
    for (const Row* row : *wanted)
      for (const Rewrite& r : row->rewrites) out.push_back(&r);
    return out;
  }

  Result<SidesImporter::ImportedSides> rewrite_sides(const Rewrite& r) override {
    return SidesImporter::ImportedSides{{{r.before, r.after}}, 0};
  }
  Graph& sides_graph() override { return ran_->graph(); }

  UOp replay_rewrites(const Row& row, size_t count, bool bottom_up) override {
    for (const TopLevelRewrite& top : log_.top_rewrites()) {
      if (top.stage != row.stage || top.bottom_up != bottom_up) continue;
      if (count > top.application_indices.size()) {
        count -= top.application_indices.size();
        continue;
      }
      std::vector<std::pair<UOp, UOp>> first;
      for (size_t i : std::span(top.application_indices).first(count))
        first.emplace_back(log_.all_rewrites()[i].before, log_.all_rewrites()[i].after);
      auto made = catch_failures([&] { return apply_rewrites(top.input, top.bottom_up, first, top.gated_nodes); });
      return made ? *made : UOp();
    }
    return row.result;
  }

  Result<std::unique_ptr<Pipeline>> omit_rewrite(const Rewrite& r) override {
    auto copy = begin_again(begun_);
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
    auto c = unused();
    return c ? make_dump_texts(**c, own) : Result<std::vector<DumpText>>(c.diag());
  }
  Result<std::string> source() override {
    auto c = unused();
    return c ? (*c)->source() : Result<std::string>(c.diag());
  }

  Status trace_stages(TraceConsumer& to, StageSelection& stages, const LaterRelease*) override {
    TraceObserver stage_observer(to);
    return watched(stage_observer, stages);
  }
  Status count_rules(RuleStats& to, StageSelection& stages) override {
    StatsObserver stage_observer([](const StageRow&) { return true; }, to);
    return watched(stage_observer, stages);
  }

  Result<Compilation> compilation() override { return copied(); }

  Result<std::vector<size_t>> kernel_numbers() override {
    if (auto status = schedule(); !status) return status.diag();
    return ran_->kernel_numbers();
  }
  Result<std::unique_ptr<Pipeline>> kernel(size_t number) override {
    if (auto status = schedule(); !status) return status.diag();
    auto kernel = ran_->kernel(number);
    return kernel ? Result(make_native_pipeline(std::move(*kernel))) : kernel.diag();
  }

 private:
  Result<Compilation> copied() {
    auto copy = begin_again(begun_);
    if (copy && left_out_) leave_out_.push_back(std::make_unique<LeaveOut>(copy->graph(), left_out_));
    return copy;
  }
  // Returns a compilation of the input that has run no stage.
  Result<Compilation*> unused() {
    if (!std::exchange(is_used_, true)) return &begun_;
    auto copy = copied();
    if (!copy) return copy.diag();
    copies_.push_back(std::move(*copy));
    return &copies_.back();
  }
  Status schedule() {
    if (auto status = rows(); !status) return status.diag();
    auto& made = ran_->schedule();
    return made ? Status(Unit{}) : Status(made.diag());
  }

  Result<std::vector<const Row*>> selected_rows(StageSelection& stages) {
    auto selected = stages.select_rows(is_traced);
    if (!selected) return selected.diag();
    if (auto made = rows(); !made) return made.diag();
    std::vector<const Row*> out;
    for (const Row& row : rows_)
      if (selected->has_row(*row.stage) || (selected->selects_changed_rows && row.list.empty() && row.changes_graph()))
        out.push_back(&row);
    return out;
  }
  Status watched(StageObserver& stage_observer, StageSelection& stages) {
    auto selected = stages.select_rows(is_traced);
    if (!selected) return selected.diag();
    SelectedStageObserver some(std::move(*selected), stage_observer);
    auto c = unused();
    return c ? run_with_observer(**c, some) : Status(c.diag());
  }

  Status run() {
    auto c = unused();
    if (!c) return c.diag();
    ran_ = *c;
    if (const InputGraph& in = ran_->input_graph(); !in.list.empty()) {
      rows_.push_back(
          {.stage = &get_stage_row(OutputKind::List), .input = in.root, .result = in.root, .list = in.list});
      return Unit{};
    }
    ScopedObserver watch(*ran_, log_);
    std::optional<Diag> failure;
    while (const StageRow* next = ran_->next_row()) {
      if (!next->is_graph_stage() && !next->is(OutputKind::List)) break;
      if (auto step = ran_->run_step(); !step) failure = step.diag();
    }
    std::span<const Rewrite> rest = log_.all_rewrites();
    for (const StageRun& run : log_.stage_runs()) {
      size_t n = 0;
      while (n < rest.size() && rest[n].stage == run.row) n++;
      Row row{.stage = run.row, .input = run.input, .result = run.result, .rewrites = rest.first(n)};
      if (!run.result) row.error = failure;
      if (run.row->is(OutputKind::List) && run.result) row.list = *ran_->list();
      rows_.push_back(std::move(row));
      rest = rest.subspan(n);
    }
    return Unit{};
  }

  std::vector<std::unique_ptr<LeaveOut>> leave_out_;  // one per compilation, if left_out_; outlives begun_ and copies_
  Compilation begun_;
  std::deque<Compilation> copies_;
  const uint64_t left_out_;
  bool is_used_ = false;
  Compilation* ran_ = nullptr;
  RewriteLog log_;
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<Pipeline> make_native_pipeline(Compilation compilation) {
  return std::make_unique<NativePipeline>(std::move(compilation));
}

}  // namespace tgc
