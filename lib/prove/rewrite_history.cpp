#include "lib/prove/rewrite_history.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "lib/compilation/pipeline.h"
#include "lib/import/import_sides.h"
#include "lib/prove/gaps.h"
#include "lib/rewrite/apply_rewrites.h"
#include "lib/text/repr.h"
#include "lib/trace/trace_file.h"
#include "lib/uop/graph.h"
#include "lib/validate/side_expressions.h"

namespace tgc {

namespace {

VisitOrder visit_order(RewriteOrder order, bool is_substitution) {
  switch (order) {
    case RewriteOrder::SourcesFirst: return VisitOrder::SourcesFirst;
    case RewriteOrder::NodeFirst: return VisitOrder::NodeFirst;
    case RewriteOrder::NodeOnce: return VisitOrder::NodeOnce;
    case RewriteOrder::Once: return VisitOrder::Once;
    case RewriteOrder::Groups: return is_substitution ? VisitOrder::NodeFirst : VisitOrder::SourcesFirst;
    case RewriteOrder::GroupsOnce: return is_substitution ? VisitOrder::NodeOnce : VisitOrder::SourcesFirst;
  }
  return VisitOrder::SourcesFirst;
}

// Finds, for a node, the left side of a rewrite that differs from the node in the dtype alone.
class Retyper {
 public:
  Retyper(std::span<const ReplayedRewrite> rewrites, std::vector<RewriteSides>* made) : retyped_pairs_(made) {
    for (const ReplayedRewrite& r : rewrites)
      if (r.before.num_src()) left_sides_by_source_[r.before.src(0)].push_back(r.before);
  }

  UOp operator()(UOp u) {
    auto it = left_sides_by_source_.find(u.src(0));
    if (it == left_sides_by_source_.end()) return u;
    for (UOp to : it->second) {
      const bool is_alike = to.op() == u.op() && to.arg() == u.arg() && to.tag() == u.tag() &&
                            std::ranges::equal(to.src(), u.src());
      if (!is_alike || !(may_change_dtype(u.dtype(), to.dtype()) || may_change_dtype(to.dtype(), u.dtype()))) continue;
      if (retyped_pairs_) retyped_pairs_->push_back({u, to});
      return to;
    }
    return u;
  }

 private:
  // Returns true if a node may change between dtype `d` and the weak dtype `weak`, because the import computes the same
  // for both: it imports a weak float as float32, and compares weak with signed integers as numbers without a width.
  static bool may_change_dtype(DType d, DType weak) {
    if (weak == weakfloat()) return d == dtypes::float32;
    return weak == weakint() && dtypes::is_int(d) && !dtypes::is_unsigned(d);
  }

  std::unordered_map<UOp, std::vector<UOp>> left_sides_by_source_;
  std::vector<RewriteSides>* const retyped_pairs_;
};

}  // namespace

UOp replay_rewrites(UOp root, std::span<const ReplayedRewrite> rewrites, RewriteOrder order,
                    std::vector<RewriteSides>* retyped) {
  Retyper retyper(rewrites, retyped);
  const bool has_groups = order == RewriteOrder::Groups || order == RewriteOrder::GroupsOnce;
  UOp graph = root;
  for (size_t i = 0; graph && i < rewrites.size();) {
    std::unordered_map<UOp, UOp> all;
    const std::string_view group = rewrites[i].group;
    for (; i < rewrites.size(); i++) {
      const ReplayedRewrite& r = rewrites[i];
      // a second replacement of the same node belongs to another substitution
      if (has_groups && (r.group != group || (!group.empty() && all.contains(r.before)))) break;
      all[r.before] = r.after;
    }
    graph = apply_rewrites(graph, all, visit_order(order, !group.empty()), nullptr, std::ref(retyper));
  }
  return graph;
}

namespace {

class NativeHistory : public RewriteHistory {
 public:
  explicit NativeHistory(Compilation compilation) : compilation_(std::move(compilation)) {
    compilation_.set_stage_observer(&application_log_);
    auto& list = compilation_.list();
    compilation_.set_stage_observer(nullptr);
    if (!list) throw Failure(list.diag());
    uninstrumented_.emplace(compilation_.graph());
    rule_applications_ = application_log_.all_rewrites();
    for (const StageRun& run : application_log_.stage_runs())
      history_stages_.push_back({.name = run.row->name, .input = run.input, .result = run.result});
    for (const TopLevelRewrite& top : application_log_.top_rewrites()) {
      if (const size_t stage = stage_index_of_row(top.stage); stage != SIZE_MAX)
        history_stages_[stage].graph_rewrites.push_back(graph_rewrites_.size());
      graph_rewrites_.push_back(top);
    }
    for (const Rewrite& a : rule_applications_) {
      stage_indices_.push_back(stage_index_of_row(a.stage));
      rewrite_places_.push_back({.stage_number = stage_indices_.back(),
                         .stage = a.stage ? a.stage->name : std::string_view("before the stages"),
                         .rule = a.rule->name,
                         .branch = a.branch ? a.branch : std::string_view(),
                         .file = short_file_name(*a.rule),
                         .line = a.rule->line,
                         .rule_rewrite_number = a.number_in_stage});
    }
  }

  UOp ast() override { return compilation_.ast(); }
  UOp imported_graph(UOp graph) override { return graph; }
  Result<SidePairs> import_sides(const RewriteSides& s) override { return SidePairs{s}; }
  Graph& graph() override { return compilation_.graph(); }
  std::vector<RewriteSides> all_rewrite_sides(std::vector<size_t>& wrong) override {
    return sides_of_applications(compilation_, rule_applications_, wrong);
  }

  UOp replay_stage(const HistoryStage& stage, size_t count) override {
    for (size_t number : stage.graph_rewrites) {
      const size_t own = graph_rewrites_[number].application_indices.size();
      if (count <= own) return count ? replay(graph_rewrites_[number], count) : graph_rewrites_[number].input;
      count -= own;
    }
    return {};
  }

  std::vector<std::pair<UOp, UOp>> find_corresponding_nodes(const HistoryStage& stage) override {
    std::vector<std::pair<UOp, UOp>> out;
    UOp last = stage.input;
    for (size_t number : stage.graph_rewrites) {
      const TopLevelRewrite& top = graph_rewrites_[number];
      if (!top.input.is(stage.input.op())) continue;  // skip a function's graph rewrite of a part of the graph
      out.emplace_back(last, top.input);
      last = top.application_indices.empty() ? top.input : replay(top, top.application_indices.size());
    }
    out.emplace_back(last, stage.result);
    return out;
  }

 private:
  UOp replay(const TopLevelRewrite& top, size_t count) const {
    std::vector<std::pair<UOp, UOp>> first;
    for (size_t k : std::span(top.application_indices).first(count))
      first.emplace_back(rule_applications_[k].before, rule_applications_[k].after);
    auto made = catch_failures([&] { return apply_rewrites(top.input, top.bottom_up, first, top.gated_nodes); });
    return made ? *made : UOp();
  }
  size_t stage_index_of_row(const StageRow* row) const {
    const auto& all = application_log_.stage_runs();
    auto run = std::ranges::find(all, row, &StageRun::row);
    return row && run != all.end() ? size_t(run - all.begin()) : SIZE_MAX;
  }

  Compilation compilation_;
  RewriteLog application_log_;
  std::optional<UninstrumentedScope> uninstrumented_;
};

}  // namespace

bool RewriteHistory::is_part_of(size_t part, size_t whole) const {
  if (stage_indices_[part] != stage_indices_[whole] ||
      rule_applications_[part].depth <= rule_applications_[whole].depth)
    return false;
  return rule_applications_[part].num_nodes_before >= rule_applications_[whole].num_nodes_before;
}

std::unique_ptr<RewriteHistory> make_native_history(Compilation compilation) {
  return std::make_unique<NativeHistory>(std::move(compilation));
}

namespace {

using StageData = Pipeline::StageData;

// Returns true for a substitution, whose replacement another rule or the stage chose. tinygrad substitutes by a rule of
// ops.py, or in a stage that is a function. A rewrite of a loop that is not expanded counts as a substitution, too.
bool is_substitution(const StageData& row, const Rewrite& m) {
  const bool is_of_stage = row.recorded_stage && !row.recorded_stage->call_places.empty() &&
                           m.source_location == row.recorded_stage->call_places[0];
  return m.source_location.starts_with("uop/ops.py:") || is_of_stage ||
         (m.before.is(Op::RANGE) && !is_expanded_range(m.before));
}

UOp sink_of(UOp graph) { return graph && graph.is(Op::PROGRAM) && graph.num_src() ? graph.src(0) : graph; }

class RecordedHistory : public RewriteHistory {
 public:
  RecordedHistory(std::unique_ptr<Pipeline> pipeline, const Settings& settings)
      : pipeline_(std::move(pipeline)),
        stage_rows_(pipeline_->rows().value_or_throw()),
        importer_(settings),
        settings_(settings) {
    for (const StageData& row : stage_rows_) {
      if (!row.list.empty()) continue;
      history_stages_.push_back({.name = row.stage->name, .input = sink_of(row.input), .result = sink_of(row.result)});
      add_matches(row);
    }
  }

  UOp ast() override { return imported_graph(pipeline_->ast()); }
  Graph& graph() override { return importer_.graph(); }

  UOp imported_graph(UOp graph) override {
    if (!graph) return {};
    auto [it, is_new] = imported_graphs_.try_emplace(graph.id());
    if (is_new)
      if (auto made = import_graph(graph, {}, settings_)) it->second = std::move(*made);
    return it->second.root;
  }

  std::span<const UOp> linear_list() override {
    for (const StageData& row : stage_rows_)
      if (!row.list.empty() && !list_graph_.graph)
        if (auto made = import_graph(row.list.back(), row.list, settings_)) list_graph_ = std::move(*made);
    return list_graph_.list;
  }

  Result<SidePairs> import_sides(const RewriteSides& s) override {
    SidePairs out;
    if (!s.before || !s.after) return out;
    if (has_all_indices(s.before, s.after)) return SidePairs{{s.before, s.before}};
    auto both = importer_.import(s.before, s.after);
    if (!both) return is_same_buffer(s) ? import_sources(s) : both.diag();
    for (auto [before, after] : both->pairs) out.push_back({before, after, both->tolerance});
    return out;
  }

  std::vector<RewriteSides> all_rewrite_sides(std::vector<size_t>&) override {
    return sides_of_recorded_rewrites(pipeline_->ast(), rule_applications_);
  }

  bool is_rewrite_used(size_t rewrite) override {
    const HistoryStage& stage = history_stages_[stage_indices_[rewrite]];
    if (!stage.result || stage.graph_rewrites.empty() || !rule_applications_[rewrite].substitution_target) return true;
    return !replay_plan_of(stage).skipped_calls.contains(rewrite_places_[rewrite].rule);
  }

  UOp replay_stage(const HistoryStage& stage, size_t count) override { return replay(stage, count, nullptr); }

  std::vector<std::pair<UOp, UOp>> find_corresponding_nodes(const HistoryStage& stage) override {
    std::vector<RewriteSides> retyped;
    std::vector<std::pair<UOp, UOp>> out{{replay(stage, SIZE_MAX, &retyped), stage.result}};
    for (const RewriteSides& s : retyped) out.emplace_back(s.before, s.after);
    return out;
  }

 private:
  UOp replay(const HistoryStage& stage, size_t count, std::vector<RewriteSides>* retyped) {
    if (stage.graph_rewrites.empty()) return count ? UOp() : stage.input;
    const std::vector<size_t>& own = graph_rewrites_[stage.graph_rewrites[0]].application_indices;
    std::vector<ReplayedRewrite> first;
    const ReplayPlan& plan = replay_plan_of(stage);
    for (size_t k : std::span(own).first(std::min(count, own.size())))
      if (!plan.skipped_calls.contains(rewrite_places_[k].rule))
        first.push_back({sink_of(rule_applications_[k].before), sink_of(rule_applications_[k].after),
                         rule_applications_[k].substitution_target ? rewrite_places_[k].rule : std::string_view()});
    return replay_rewrites(stage.input, first, plan.order, retyped);
  }

  // Adds the recorded matches of a stage to rule_applications_, with depths relative to the stage.
  void add_matches(const StageData& row) {
    if (row.rewrites.empty()) return;
    const size_t stage = history_stages_.size() - 1;
    // If the stage changed nothing, all matches are nested in rules that declined in the end.
    const int own = std::ranges::min_element(row.rewrites, {}, &Rewrite::depth)->depth - !row.changes_graph();
    TopLevelRewrite top{nullptr, sink_of(row.input), false, {}, {}};
    for (const Rewrite& m : row.rewrites) {
      UOp before = m.before, after = m.after;
      if (before.is(Op::PROGRAM) && after.is(Op::PROGRAM)) {  // a source (such as the list) is added to a PROGRAM
        if (!before.num_src() || !after.num_src() || before.src(0) == after.src(0)) continue;
        before = before.src(0), after = after.src(0);
      }
      if (m.depth == own) top.application_indices.push_back(rule_applications_.size());
      rule_applications_.push_back({.rewrite_number = rule_applications_.size() + 1,
                               .depth = m.depth - own,
                               .before = before,
                               .after = after,
                               .substitution_target = is_substitution(row, m) ? after : UOp()});
      rewrite_places_.push_back({.stage_number = stage, .stage = row.stage->name, .rule = m.source_location,
                         .rule_rewrite_number = ++rewrite_counts_[{stage, m.source_location}]});
      stage_indices_.push_back(stage);
    }
    history_stages_[stage].graph_rewrites.push_back(graph_rewrites_.size());
    graph_rewrites_.push_back(std::move(top));
  }

  struct ReplayPlan {
    RewriteOrder order = kRewriteOrders[0];
    // The places of graph_rewrite() calls whose rewrites are skipped: these calls rewrite another graph, of which the
    // stage then uses a part.
    std::set<std::string_view> skipped_calls = {};
  };
  const ReplayPlan& replay_plan_of(const HistoryStage& stage) {
    auto [it, is_new] = replay_plans_.try_emplace(size_t(&stage - history_stages_.data()));
    if (!is_new || stage.graph_rewrites.empty()) return it->second;
    auto is_right = [&](ReplayPlan plan) {
      it->second = std::move(plan);
      const UOp given = replay_stage(stage, SIZE_MAX);
      return given && graph_difference(given, stage.result, 1).empty();  // graph_difference() ignores the SINK's arg
    };
    for (RewriteOrder order : kRewriteOrders)
      if (is_right({order})) return it->second;
    constexpr size_t kMostPlaces = 10;
    std::set<std::string_view> calls;
    for (size_t k : graph_rewrites_[stage.graph_rewrites[0]].application_indices)
      if (rule_applications_[k].substitution_target) calls.insert(rewrite_places_[k].rule);
    const std::vector<std::string_view> all(calls.begin(), calls.end());
    for (size_t set = 1; all.size() <= kMostPlaces && set < size_t(1) << all.size(); set++) {
      ReplayPlan plan{RewriteOrder::Groups};
      for (size_t i = 0; i < all.size(); i++)
        if (set >> i & 1) plan.skipped_calls.insert(all[i]);
      if (plan.skipped_calls.size() <= 3 && is_right(std::move(plan))) return it->second;
    }
    return it->second = {};
  }

  // Returns true if both sides are the same buffer, except for their sources.
  static bool is_same_buffer(const RewriteSides& s) {
    constexpr OpSet kBuffers = ops::Defines | OpSet{Op::PARAM, Op::BUFFER};
    return s.before.in(kBuffers) && s.before.op() == s.after.op() && s.before.dtype() == s.after.dtype() &&
           s.before.arg() == s.after.arg() && s.before.num_src() == s.after.num_src() && s.before.num_src() > 0;
  }
  Result<SidePairs> import_sources(const RewriteSides& s) {
    SidePairs out;
    for (size_t i = 0; i < s.before.num_src(); i++) {
      auto one = importer_.import(s.before.src(i), s.after.src(i));
      if (!one) return one.diag();
      if (one->pairs.empty()) return SidePairs();
      for (auto [before, after] : one->pairs) out.push_back({before, after, one->tolerance});
    }
    return out;
  }

  // Returns true if `after` is a vector of all indices of the loop `before`, in order.
  bool has_all_indices(UOp before, UOp after) {
    if (!is_expanded_range(before)) return false;
    auto loop = importer_.import(before, before), elements = importer_.import(after, after);
    if (!loop || loop->pairs.size() != 1 || !elements) return false;
    if (!py_equal(loop->pairs[0].first.vmax(), Const(int64_t(elements->pairs.size()) - 1))) return false;
    int64_t n = 0;
    return std::ranges::all_of(elements->pairs, [&](const std::pair<UOp, UOp>& p) {
      return p.first.is_const() && p.first.arg().is_int() && p.first.arg().as_int() == Int(n++);
    });
  }

  const std::unique_ptr<Pipeline> pipeline_;
  const std::span<const StageData> stage_rows_;
  SidesImporter importer_;
  const Settings settings_;
  std::unordered_map<uint32_t, ImportedGraph> imported_graphs_;
  ImportedGraph list_graph_;
  std::map<std::pair<size_t, std::string_view>, uint64_t> rewrite_counts_;
  std::map<size_t, ReplayPlan> replay_plans_;
};

}  // namespace

std::unique_ptr<RewriteHistory> make_recorded_history(const InputGraph& in) {
  auto pipeline = make_recorded_pipeline(in);
  pipeline->require_ability(Ability::Rewrites).value_or_throw();
  return std::make_unique<RecordedHistory>(std::move(pipeline), in.graph->settings());
}

}  // namespace tgc
