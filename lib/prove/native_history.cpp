// The rewrites of tgc's own pipeline.
#include <algorithm>

#include "lib/prove/rewrite_history.h"
#include "lib/trace/trace_file.h"
#include "lib/validate/side_expressions.h"

namespace tgc {
namespace {

class NativeHistory : public RewriteHistory {
 public:
  explicit NativeHistory(Compilation compilation) : c_(std::move(compilation)) {
    c_.watch(&log_);
    auto& list = c_.list();
    c_.watch(nullptr);
    if (!list) throw Failure(list.diag());
    uninstrumented_.emplace(c_.graph());
    list_ = log_.list();
    for (const StageRun& run : log_.stages())
      stages_.push_back({.name = run.row->name, .input = run.input, .result = run.result});
    for (const TopRewrite& top : log_.rewrites()) {
      if (const size_t stage = number_of(top.stage); stage != SIZE_MAX) stages_[stage].tops.push_back(tops_.size());
      tops_.push_back(top);
    }
    for (const Application& a : list_) {
      stage_of_.push_back(number_of(a.stage));
      places_.push_back({.stage_number = stage_of_.back(),
                         .stage = a.stage ? a.stage->name : std::string_view("before the stages"),
                         .rule = a.rule->name,
                         .branch = a.branch ? a.branch : std::string_view(),
                         .file = short_file(*a.rule),
                         .line = a.rule->line,
                         .number = a.in_stage});
    }
  }

  UOp ast() override { return c_.ast(); }
  UOp imported(UOp graph) override { return graph; }
  Result<SidePairs> import(const Sides& s) override { return SidePairs{s}; }
  Graph& graph() override { return c_.graph(); }
  std::vector<Sides> sides(std::vector<size_t>& wrong) override { return sides_of_applications(c_, list_, wrong); }

  UOp replay(const HistoryStage& stage, size_t count) override {
    for (size_t number : stage.tops) {
      const size_t own = tops_[number].applications.size();
      if (count <= own) return count ? replay(tops_[number], count) : tops_[number].input;
      count -= own;
    }
    return {};
  }

  std::vector<std::pair<UOp, UOp>> links(const HistoryStage& stage) override {
    std::vector<std::pair<UOp, UOp>> out;
    UOp last = stage.input;
    for (size_t number : stage.tops) {
      const TopRewrite& top = tops_[number];
      if (!top.input.is(stage.input.op())) continue;  // the stage is a function that rewrites a part of the graph
      out.emplace_back(last, top.input);
      last = top.applications.empty() ? top.input : replay(top, top.applications.size());
    }
    out.emplace_back(last, stage.result);
    return out;
  }

 private:
  UOp replay(const TopRewrite& top, size_t count) const {
    std::vector<std::pair<UOp, UOp>> first;
    for (size_t k : std::span(top.applications).first(count)) first.emplace_back(list_[k].before, list_[k].after);
    auto made = catch_failures([&] { return apply_rewrites(top.input, top.bottom_up, first, top.gates); });
    return made ? *made : UOp();
  }
  size_t number_of(const StageRow* row) const {
    const auto& all = log_.stages();
    auto run = std::ranges::find(all, row, &StageRun::row);
    return row && run != all.end() ? size_t(run - all.begin()) : SIZE_MAX;
  }

  Compilation c_;
  ApplicationLog log_;
  std::optional<UninstrumentedScope> uninstrumented_;
};

}  // namespace

bool RewriteHistory::is_part_of(size_t part, size_t whole) const {
  if (stage_of_[part] != stage_of_[whole] || list_[part].depth <= list_[whole].depth) return false;
  return list_[part].made_from >= list_[whole].made_from;
}

std::unique_ptr<RewriteHistory> native_history(Compilation compilation) {
  return std::make_unique<NativeHistory>(std::move(compilation));
}

}  // namespace tgc
