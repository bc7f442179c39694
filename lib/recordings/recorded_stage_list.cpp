#include "lib/recordings/recorded_stage_list.h"

#include <algorithm>

#include "lib/driver/named_records.h"
#include "lib/recordings/recorded_selection.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc {
namespace {

// Adds the stages of `record` to `list`. A new stage comes after the stage that precedes it in the record.
void add(RecordedStageList& list, const GoldenRecord& record) {
  using enum RecordedStage::Kind;
  std::vector<ListedStage> own;  // the stages of this record, each once
  const RecordedStages recorded(record);
  for (size_t i = 0; i < recorded.size(); i++) {
    const RecordedStage& s = recorded[i];
    if (s.kind == Ast) continue;
    const std::string name = s.kind == Kernel ? "kernels" : s.name;
    auto known = std::ranges::find(own, name, &ListedStage::name);
    if (known == own.end())
      known = own.insert(own.end(), {name, s.kind == Output ? "program" : record.target.empty() ? "tensor" : "kernel"});
    if (s.kind == Stage) known->changed = (known->changed && *known->changed) || recorded.is_changed(i);
  }
  size_t next = 0;  // the position in `list` after the previous stage of the record
  for (const ListedStage& s : own) {
    auto& stages = list.stages;
    auto known = std::ranges::find(stages, s.name, &ListedStage::name);
    if (known == stages.end()) {
      known = stages.insert(stages.begin() + long(next), s);
      known->changed = s.changed ? std::optional<size_t>(0) : std::nullopt;
    }
    known->records++;
    if (s.changed) known->changed = known->changed.value_or(0) + *s.changed;
    next = size_t(known - stages.begin()) + 1;
  }
  list.records++;
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
  const InputName name = InputName::parse(spec);
  auto records = NamedRecords::open(name);
  if (!records) return records.diag();
  const GoldenReader& file = records->file();
  RecordedStageList out{.producer = file.header().producer, .stages = {}};
  for (GoldenLine line;;) {
    auto more = records->next_line(line);
    if (!more) return more.diag();
    if (session.cancelled()) return Diag{"cancelled"};
    if (!*more) break;
    auto record = parse_golden_record(line, name.shown());
    if (!record) return record.diag();
    add(out, *record);
  }
  if (file.cut()) session.warn(*file.cut());
  if (!out.records)
    return Diag{.message = name.id.empty() ? "the recording has no records" : "no record has the id '" + name.id + "'",
                .file = name.shown()};
  return out;
}

}  // namespace tgc
