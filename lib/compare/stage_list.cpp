#include "lib/compare/stage_list.h"

#include <unordered_map>

#include "lib/compilation/pipeline.h"
#include "lib/compilation/stage_rows.h"
#include "lib/driver/source.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc {

namespace {

using StagesByName = std::unordered_map<std::string, std::list<ListedStage>::iterator>;

// A new stage is inserted after the stage that precedes it in the pipeline.
Status add_pipeline_stages(RecordedStageList& list, StagesByName& listed, Pipeline& pipeline) {
  using Kind = StageRow::Kind;
  auto stages = pipeline.stages();
  if (!stages) return stages.diag();
  std::list<ListedStage> own;  // the pipeline's stages, each once
  StagesByName own_by_name;
  for (const Pipeline::Stage& s : *stages) {
    if (s.row->kind == Kind::Ast) continue;
    const bool is_kernel = s.row->kind == Kind::Kernel && !s.changes_graph;  // a kernel of a schedule
    const std::string name(is_kernel ? "kernels" : s.row->name);
    auto [known, is_new] = own_by_name.try_emplace(name);
    if (is_new) known->second = own.insert(own.end(), {name, std::string(is_kernel ? "tensor" : s.row->level())});
    if (auto& changed = known->second->num_changed; s.changes_graph)
      changed = (changed && *changed) || *s.changes_graph;
  }
  auto next = list.stages.begin();  // position to insert a new stage: after the pipeline's previous stage
  for (const ListedStage& s : own) {
    auto [known, is_new] = listed.try_emplace(s.name);
    if (is_new) {
      known->second = list.stages.insert(next, s);
      known->second->num_changed = s.num_changed ? std::optional<size_t>(0) : std::nullopt;
    }
    ListedStage& stage = *known->second;
    stage.num_records++;
    if (s.num_changed) stage.num_changed = stage.num_changed.value_or(0) + *s.num_changed;
    next = std::next(known->second);
  }
  list.num_records++;
  return Unit{};
}

// Returns "" for an unknown stage.
std::string_view describe_stage(std::string_view name) {
  if (auto purpose = purpose_of_stage(name); !purpose.empty()) return purpose;
  const StageRow* own = find_stage_row(name);
  return own ? own->help_text : "";
}

}  // namespace

std::string RecordedStageList::text() const {
  std::vector<std::vector<std::string>> cells{
      {"stage", "slug", "alias", "level", "records", "changed", "what it does"}};
  for (const ListedStage& s : stages)
    cells.push_back({s.name, slug_of_stage(s.name), std::string(alias_of_recorded_stage(s.name)), s.level,
                     std::to_string(s.num_records), s.num_changed ? std::to_string(*s.num_changed) : "-",
                     std::string(describe_stage(s.name))});
  return (producer.empty() ? "" : producer + ", ") + count_text(num_records, "record") + "\n" +
         table_text(cells, "llllrrl");
}

std::string RecordedStageList::json() const {
  return json_object([&](JsonWriter& json) {
    if (!producer.empty()) json.member("producer", producer);
    json.member("records", num_records).key("stages").array([&] {
      for (const ListedStage& s : stages)
        json.start_line().object([&] {
          json.member("name", s.name).member("alias", alias_of_recorded_stage(s.name));
          json.member("slug", slug_of_stage(s.name)).member("level", s.level).member("records", s.num_records);
          if (s.num_changed) json.member("changed", *s.num_changed);
          json.member("purpose", describe_stage(s.name));
        });
    });
  }) + "\n";
}

Result<RecordedStageList> list_recorded_stages(const Session& session, const std::string& spec) {
  RecordedStageList out;
  StagesByName listed;
  Session as_recorded = session;
  as_recorded.overrides.uses_recorded_pipeline = true;
  auto status = for_each_pipeline(as_recorded, spec, "", [&](Pipeline& pipeline) {
    out.producer = pipeline.producer();
    return add_pipeline_stages(out, listed, pipeline);
  });
  if (!status) return status.diag();
  return out;
}

namespace {

struct StageListRow {
  const StageRow* stage;
  bool is_bottom_up;
  std::optional<size_t> num_rules;  // nullopt if the stage has no rule set
};

std::vector<StageListRow> stage_list_rows() {
  std::vector<StageListRow> out;
  Graph graph;
  auto target = parse_target("CPU", graph.settings());
  for (const StageRow& s : stage_rows()) {
    if (s.kind == StageRow::Kind::Ast) continue;
    StageListRow row{&s, false, {}};
    if (const RuleSet* rules = target ? rules_of_row(s, *target, graph) : nullptr)
      row.num_rules = rules->rules().size();
    row.is_bottom_up = row.num_rules && ((s.tensor && s.tensor->bottom_up) || (s.kernel && s.kernel->bottom_up));
    out.push_back(row);
  }
  return out;
}

std::string pad_count(const std::string& n) { return std::string(n.size() < 5 ? 5 - n.size() : 0, ' ') + n; }

}  // namespace

std::string stage_list_json() {
  return json_text([&](JsonWriter& json) {
    json.array([&] {
      for (const StageListRow& r : stage_list_rows())
        json.start_line().object([&] {
          json.member("name", r.stage->name).member("alias", r.stage->alias).member("slug", r.stage->slug);
          json.member("level", r.stage->level()).member("rules", r.num_rules).member("bottom_up", r.is_bottom_up);
          json.member("purpose", r.stage->help_text);
        });
      json.start_line();
    });
  });
}

std::string stage_list_text() {
  std::vector<std::vector<std::string>> cells{{"stage", "alias", "level", "rules", "what it does"}};
  for (const StageListRow& r : stage_list_rows())
    cells.push_back({std::string(r.stage->name), std::string(r.stage->alias), std::string(r.stage->level()),
                     r.num_rules ? pad_count(std::to_string(*r.num_rules)) : "    -",
                     std::string(r.stage->help_text) + (r.is_bottom_up ? "; bottom-up" : "")});
  return table_text(cells);
}

}  // namespace tgc
