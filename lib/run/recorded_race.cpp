#include "lib/run/recorded_race.h"

#include <algorithm>

namespace tgc {

std::optional<LocalRace> find_recorded_race(Pipeline& pipeline) {
  const GoldenRecord* record = pipeline.input().record.get();
  if (!record || !record->linear || record->linear->find("LOCAL") == std::string::npos) return std::nullopt;
  auto rows = pipeline.rows();
  if (!rows) return std::nullopt;
  const bool adds_barriers = std::ranges::count(record->stages, kBarrierStageName, &GoldenStage::name) > 0;
  for (const Pipeline::StageData& row : *rows) {
    if (row.list.empty()) continue;
    auto imported = pipeline.imported_graph(row);
    auto race = imported ? find_local_race(imported->list) : std::nullopt;
    if (race && (adds_barriers || !race->is_load_first)) return race;
  }
  return std::nullopt;
}

}  // namespace tgc
