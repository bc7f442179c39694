#include "lib/driver/import_input.h"

#include "lib/target/recorded_target.h"

namespace tgc {

Result<InputGraph> import_input(const Session& session, InputGraph in, bool is_record) {
  if (!in.graph->is_foreign()) return in;
  const Overrides& over = session.over;
  const bool is_ast = in.list.empty() && (in.info.stage.empty() || in.info.stage == "ast");
  const std::string producer = producer_of(in);
  if (over.native && !is_ast)
    return Diag{.message = "--native compiles an AST, and this graph of " + producer + " is after '" + in.info.stage +
                           "'",
                .file = in.file};
  if (!over.native && ((!over.target.empty() && !is_record) || !over.sets.empty() || !over.opts.empty()))
    return Diag{.message = "a kernel of " + producer + " runs in REF as it is",
                .file = in.file,
                .expected = "--native with --target, --set or --opts, to compile the kernel with tgc's own pipeline"};
  auto settings = session.settings_for();
  if (!settings) return settings.diag();
  NotImportable why;
  auto imported = import_graph(in.root, in.list, *settings, &why);
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
  in.info.stage.clear();
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
