#include "lib/compilation/input_graph.h"

#include "lib/import/upgrade.h"
#include "lib/target/target.h"

namespace tgc {

Diag InputGraph::diag_at(UOp node, std::string message) const {
  return tgc::diag_at(text, offset_of_node(read_report.places, node.id()), file, std::move(message), "");
}

static bool is_in_kernel_memory(UOp u) {
  const Arg space = u.arg().kind() == Arg::Kind::Record ? import::field_of_record(u.arg(), "addrspace") : Arg();
  return space == Arg(AddrSpace::LOCAL) || space == Arg(AddrSpace::REG);
}

bool looks_like_tensor_graph(UOp root) {
  if (root.is(Op::CALL)) return true;
  if (root.graph().is_foreign()) {
    const bool has_arrays = op_in_backward_slice_with_self(root, {Op::PARAM, Op::DEFINE_GLOBAL});
    if (!has_arrays && op_in_backward_slice_with_self(root, ops::Movement)) return true;
    for (UOp u : toposort(root))
      if (u.is(Op::BUFFER) && is_in_kernel_memory(u)) return false;
  }
  return !op_in_backward_slice_with_self(root, {Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL, Op::DEFINE_REG, Op::SPECIAL}) &&
         op_in_backward_slice_with_self(root, {Op::BUFFER, Op::DEVICE, Op::UNIQUE, Op::LUNIQUE, Op::KERNEL});
}

namespace {

// Returns true for the graph of a tensor's value, which `print(t.uop)` prints without a SINK.
bool is_tensor_value(const InputGraph& in) {
  return in.is_tensor_graph && in.list.empty() && in.info.stage.empty() && !in.root.is(Op::SINK) &&
         in.root.dtype() != dtypes::void_;
}

}  // namespace

Result<InputGraph> load_graph_text(const Settings& settings, InputKind kind, std::string_view text,
                                   const std::string& file, bool take_malformed, std::string_view producer) {
  InputGraph out;
  out.read_report.accepts_malformed_graphs = take_malformed;
  if (release_of(producer) != Release::v0_12) out.read_report.producer = producer;
  out.graph = std::make_unique<Graph>(settings);
  auto read = read_graph(*out.graph, kind, text, file, &out.read_report);
  if (!read) return read.diag();
  out.root = read->root;
  out.list = std::move(read->list);
  out.info = std::move(read->info);
  if (producer.starts_with(out.info.producer + " at ")) out.info.producer = producer;
  out.read_report.producer = {};  // the caller's string may be destroyed before `out`
  out.text = text;
  out.file = file;
  out.is_tensor_graph = looks_like_tensor_graph(out.root);
  if (is_tensor_value(out) && !take_malformed) out.root = out.graph->sink({out.root});
  return out;
}

std::string target_of_device(std::string_view device, const Settings& settings) {
  std::string name(device.substr(0, device.find(':')));
  return parse_target(name, settings) ? name : "CPU";
}

const ImportFacts& import_facts_of_input(const InputGraph& in) { return in.graph->extension<ImportFacts>(); }

std::string producer_of_graph(const InputGraph& in) {
  if (is_imported(in)) return import_facts_of_input(in).producer;
  if (!in.info.producer.empty()) return in.info.producer;
  const Release release = in.graph->release();
  return release == Release::v0_12 ? "tinygrad 0.12.0" : "tinygrad " + std::string(name_of(release));
}

bool runs_threads_in_turn(const InputGraph& in) { return release_of(producer_of_graph(in)) >= Release::v0_14; }

InputGraph import_input(InputGraph in, const Settings& settings) {
  const std::string producer = producer_of_graph(in);
  NonImportableNode why;
  auto imported = import_graph(in.root, in.list, settings, &why);
  if (!imported) {
    auto& refused = in.graph->extension<ImportFacts>().import_error;
    refused = why.node ? in.diag_at(why.node, imported.diag().message + ", in " + producer) : imported.diag();
    return in;
  }
  NodePlaces places;
  for (uint32_t id = 0; id < imported->graph->size(); id++)
    if (UOp original = imported->origins->original_of_node(imported->graph->at(id)))
      places.push_back({id, offset_of_node(in.read_report.places, original.id())});
  imported->graph->extension<ImportFacts>() = {std::move(in.graph), producer, std::move(imported->origins)};
  in.graph = std::move(imported->graph);
  in.root = imported->root, in.list = std::move(imported->list);
  in.read_report.places = std::move(places);
  in.info.stage.clear(), in.info.target = supported_target(in.info.target, settings);
  return in;
}

std::string supported_target(std::string_view target, const Settings& settings) {
  if (target.starts_with("QCOM:CL")) return "CL:CL";
  for (;;) {
    if (parse_recorded_target(target, settings)) return std::string(target);
    const size_t colon = target.rfind(':');
    if (colon == target.npos) return "";
    target = target.substr(0, colon);
  }
}

std::string target_of_record(const InputGraph& in, std::string_view recorded) {
  return is_imported(in) ? supported_target(recorded, in.graph->settings()) : std::string(recorded);
}

}  // namespace tgc
