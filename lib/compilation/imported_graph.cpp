#include "lib/compilation/imported_graph.h"

#include "lib/target/recorded_target.h"

namespace tgc {

const ImportedFrom& imported_from(const InputGraph& in) { return in.graph->extension<ImportedFrom>(); }

std::string producer_of(const InputGraph& in) {
  if (is_imported(in)) return imported_from(in).producer;
  if (!in.info.producer.empty()) return in.info.producer;
  const Release release = in.graph->release();
  return release == Release::v0_12 ? "tinygrad 0.12.0" : "tinygrad " + std::string(name_of(release));
}

InputGraph import_input(InputGraph in, const Settings& settings) {
  const std::string producer = producer_of(in);
  NotImportable why;
  auto imported = import_graph(in.root, in.list, settings, &why);
  if (!imported) {
    auto& refused = in.graph->extension<ImportedFrom>().refused;
    refused = why.node ? in.diag_at(why.node, imported.diag().message + ", in " + producer) : imported.diag();
    return in;
  }
  Places places;
  for (uint32_t id = 0; id < imported->graph->size(); id++)
    if (UOp original = imported->origins->of(imported->graph->at(id)))
      places.push_back({id, place_of(in.report.places, original.id())});
  imported->graph->extension<ImportedFrom>() = {std::move(in.graph), producer, std::move(imported->origins)};
  in.graph = std::move(imported->graph);
  in.root = imported->root, in.list = std::move(imported->list);
  in.report.places = std::move(places);
  in.info.stage.clear(), in.info.target = known_target(in.info.target, settings);
  return in;
}

std::string known_target(std::string_view target, const Settings& settings) {
  if (target.starts_with("QCOM:CL")) return "CL:CL";  // QCOM's kernels are OpenCL C
  for (;;) {
    if (recorded_target(target, settings)) return std::string(target);
    const size_t colon = target.rfind(':');
    if (colon == target.npos) return "";
    target = target.substr(0, colon);
  }
}

std::string target_of_record(const InputGraph& in, std::string_view recorded) {
  return is_imported(in) ? known_target(recorded, in.graph->settings()) : std::string(recorded);
}

}  // namespace tgc
