#include "lib/recordings/recorded_stage_list.h"

#include <algorithm>

#include "lib/compilation/pipeline.h"
#include "lib/driver/source.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc {
namespace {

// Adds the stages of `pipeline` to `list`. A new stage comes after the stage that precedes it in the pipeline.
Status add(RecordedStageList& list, Pipeline& pipeline) {
  using Kind = StageRow::Kind;
  auto stages = pipeline.stages();
  if (!stages) return stages.diag();
  std::vector<ListedStage> own;  // the stages of this pipeline, each once
  for (const Pipeline::Stage& s : *stages) {
    if (s.row->kind == Kind::Ast) continue;
    const bool is_kernel = s.row->kind == Kind::Kernel && !s.changes_graph;  // of a schedule
    const std::string name(is_kernel ? "kernels" : s.row->name);
    auto known = std::ranges::find(own, name, &ListedStage::name);
    if (known == own.end())
      known = own.insert(own.end(), {name, std::string(is_kernel ? "tensor" : s.row->level())});
    if (s.changes_graph) known->changed = (known->changed && *known->changed) || *s.changes_graph;
  }
  size_t next = 0;  // the position in `list` after the previous stage of the pipeline
  for (const ListedStage& s : own) {
    auto& listed = list.stages;
    auto known = std::ranges::find(listed, s.name, &ListedStage::name);
    if (known == listed.end()) {
      known = listed.insert(listed.begin() + long(next), s);
      known->changed = s.changed ? std::optional<size_t>(0) : std::nullopt;
    }
    known->records++;
    if (s.changed) known->changed = known->changed.value_or(0) + *s.changed;
    next = size_t(known - listed.begin()) + 1;
  }
  list.records++;
  return Unit{};
}

}  // namespace

std::string RecordedStageList::text() const {
  std::vector<std::vector<std::string>> cells{{"stage", "slug", "alias", "level", "records", "changed"}};
  for (const ListedStage& s : stages)
    cells.push_back({s.name, slug_of_stage(s.name), std::string(alias_of_recorded(s.name)), s.level,
                     std::to_string(s.records), s.changed ? std::to_string(*s.changed) : "-"});
  return (producer.empty() ? "" : producer + ", ") + counted(records, "record") + "\n" + table(cells, "llllrr");
}

std::string RecordedStageList::json() const {
  return json_object([&](JsonWriter& json) {
    if (!producer.empty()) json.member("producer", producer);
    json.member("records", records).key("stages").array([&] {
      for (const ListedStage& s : stages)
        json.line().object([&] {
          json.member("name", s.name).member("alias", alias_of_recorded(s.name));
          json.member("slug", slug_of_stage(s.name)).member("level", s.level).member("records", s.records);
          if (s.changed) json.member("changed", *s.changed);
        });
    });
  }) + "\n";
}

Result<RecordedStageList> list_recorded_stages(const Session& session, const std::string& spec) {
  RecordedStageList out;
  Session as_recorded = session;
  as_recorded.over.recorded = true;
  auto status = for_each_pipeline(as_recorded, spec, "", [&](Pipeline& pipeline) {
    out.producer = pipeline.producer();
    return add(out, pipeline);
  });
  if (!status) return status.diag();
  return out;
}

}  // namespace tgc
