#include "apps/fuzz/seeds.h"

#include <algorithm>
#include <filesystem>

#include "lib/compare/replay.h"
#include "lib/records/recorded_stages.h"
#include "lib/uop/copy.h"

namespace tgc::fuzz {
namespace {

using Seeds = std::array<std::vector<Seed>, 4>;

void add_record(Seeds& seeds, const GoldenHeader& header, const GoldenRecord& record) {
  Seed seed{.text = record.ast, .name = record.id, .target = record.target, .settings = settings_of(header, record)};
  const bool tensor = header.level == "tensor";
  seeds[size_t(tensor ? GraphKind::tensor : GraphKind::kernel)].push_back(seed);
  for (const RecordedStage& stage : RecordedStages(record)) {
    if (tensor || stage.kind != RecordedStage::Kind::Stage || stage.same || !stage.text) continue;
    seed.text = *stage.text, seed.stage = stage.name;
    seeds[size_t(GraphKind::stage)].push_back(seed);
  }
  if (!record.linear) return;
  seed.kind = InputKind::Uops, seed.text = *record.linear, seed.stage = "linear";
  seeds[size_t(GraphKind::list)].push_back(seed);
}

Seeds read_seeds() {
  Seeds out;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TGC_SOURCE_DIR "/testdata/golden"))
    if (entry.path().extension() == ".gz") paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    auto reader = GoldenReader::open(path);
    must(reader.ok(), path + " cannot be read");
    for (;;) {
      auto record = reader->next();
      must(record.ok(), path + " cannot be read");
      if (!*record) break;
      add_record(out, reader->header(), **record);
    }
    must(!reader->cut(), path + " is cut short");
  }
  return out;
}

}  // namespace

std::span<const Seed> seeds_of(GraphKind kind) {
  static const Seeds seeds = read_seeds();
  return seeds[size_t(kind)];
}

InputGraph load_seed(const Seed& seed) {
  auto loaded = load_recorded(seed.settings, seed.kind, seed.text, seed.name);
  must(loaded.ok(), "a seed does not load: " + (loaded.ok() ? "" : loaded.diag().text()));
  loaded->info = {.name = seed.name, .stage = seed.stage, .target = seed.target, .settings = seed.settings};
  return std::move(*loaded);
}

UOp copy_seed(const Seed& seed, Graph& into) {
  InputGraph loaded = load_seed(seed);
  return copy_into(into, loaded.root);
}

}  // namespace tgc::fuzz
