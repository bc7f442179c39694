#include "lib/driver/graph_reader.h"

#include <utility>

#include "lib/compilation/stage_rows.h"
#include "lib/compile/llvm_fault.h"
#include "lib/driver/recorded_facts.h"
#include "lib/model/model.h"
#include "lib/model/realize.h"
#include "lib/records/graph_texts.h"
#include "lib/records/recorded_stages.h"
#include "lib/records/repro.h"
#include "lib/rewrite/fault.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

// Returns the recorded text after `stage`, or of the AST if `stage` is empty, as a view of `record`. `stage` is the
// record's name of the stage, its slug, or tgc's alias.
Result<std::string_view> stage_text(const GoldenRecord& record, std::string_view stage, const std::string& file) {
  const RecordedStageTexts stages(record);
  const RecordedStage* found = stages.find_stage(stage.empty() ? "ast" : stage);
  const StageRow* row = found ? nullptr : find_stage_row(stage);
  if (row) found = stages.find_stage(row->name);
  else if (!found) return unknown_stage_error(stage);
  using enum RecordedStage::Kind;
  if (!found || (found->kind != Ast && found->kind != Stage))
    return Diag{.message = "the record has no stage '" + std::string(stage) + "'", .file = file};
  if (found->text) return *found->text;
  return Diag{.message = "tinygrad could not print the graph after '" + found->name + "'", .file = file};
}

// Sets the seeded fault `text`, which a repro bundle names ("": none), for this thread. A fault that the environment
// sets takes precedence.
Status set_seeded_fault(const std::string& text) {
  set_fault_of_thread(std::nullopt), set_llvm_fault_of_thread(std::nullopt);
  auto asked = fault_of_environment();
  if (text.empty() || !asked || *asked) return Unit{};
  auto fault = parse_fault(text);
  if (!fault) return fault.diag();
  set_fault_of_thread(std::move(*fault));
  auto in_llvm = fault_of_environment(FaultSpec::Kind::Llvm);
  if (in_llvm && *in_llvm) set_llvm_fault_of_thread((*in_llvm)->rule);
  return Unit{};
}

// Returns the id of a record if `line` begins with {"id":"...; else an empty text.
std::string_view leading_record_id(std::string_view line) {
  for (std::string_view part : {"{", "\"id\"", ":", "\""}) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.starts_with(part)) return {};
    line.remove_prefix(part.size());
  }
  return line.substr(0, std::min(line.find_first_of("\"\\"), line.size()));
}

// Reads the records of a golden file, or those that FILE#ID or --kernel names. With both, reads kernel N of the
// schedule in the record.
class RecordReader : public GraphReader {
 public:
  RecordReader(const Session& session, const InputName& name, const std::string& kernel, GoldenReader records)
      : GraphReader(session, name, kernel), records_(std::move(records)) {}

  const GoldenHeader* header() const override { return &records_.header(); }

  Result<std::optional<InputGraph>> next_graph() override {
    GoldenLine line;
    while (!is_done_) {
      auto more = records_.next_line(line);
      if (!more) return more.diag();
      if (!*more) {
        if (records_.truncation_error()) session_.send_warning(*records_.truncation_error());
        report_runtime_kernels();
        break;
      }
      auto record = record_if_selected(line, next_number_++);
      if (!record) return record.diag();
      if (!*record) continue;
      report_runtime_kernels();
      auto graph = read_record(std::make_shared<const GoldenRecord>(std::move(**record)));
      if (!graph) return graph.diag();
      return std::optional(std::move(*graph));
    }
    if (!first_match_number_ && !skipped_target_.empty())
      return Diag{.message = "no record has the target '" + session_.overrides.target + "'",
                  .file = input_name_.display_name(),
                  .expected = "a target of the records, for example " + skipped_target_};
    if (first_match_number_ || wanted_id_.empty()) return std::optional<InputGraph>();
    return Diag{.message = "no record '" + wanted_id_ + "'",
                .file = input_name_.display_name(),
                .expected = wanted_number_ ? "a number below " + std::to_string(next_number_) : suggest_ids()};
  }

 private:
  // Returns the record on `line`, number `number` of the file; nullopt if next_graph() skips this record.
  Result<std::optional<GoldenRecord>> record_if_selected(const GoldenLine& line, size_t number) {
    const std::optional<GoldenRecord> none;
    const bool by_id = !wanted_number_ && !wanted_id_.empty();
    if (wanted_number_ ? number != *wanted_number_ : by_id && !may_be_wanted(line)) {
      // keep the id for the error message if no record matches
      if (auto id = leading_record_id(line.text); !id.empty() && !first_match_number_) other_ids_.emplace_back(id);
      return none;
    }
    auto record = parse_golden_record(line, records_.path());
    if (!record) return record.diag();
    if (by_id && !is_wanted(*record)) {
      if (record->id == wanted_name_) other_ids_.push_back(record->id + "@" + record->target);
      return none;
    }
    if (first_match_number_ && !has_reported_duplicates_ && !wanted_id_.empty()) {
      session_.report_note("several records of " + input_name_.display_name() + " are called '" + wanted_id_ +
                           "', numbers " + std::to_string(*first_match_number_) + " and " + std::to_string(number) +
                           " the first: each is taken; FILE#ID@TARGET or FILE --kernel=N takes one");
      has_reported_duplicates_ = true;
    }
    if (!session_.compiler()->accepts_record(*record, records_.header().producer)) {
      skipped_target_ = record->target;
      return none;
    }
    if (!first_match_number_) first_match_number_ = number;
    is_done_ = wanted_number_.has_value();
    if (accepts_runtime_kernels || !is_runtime_kernel(*record, records_.header().producer))
      return std::optional(std::move(*record));
    if (!wanted_id_.empty())
      return Diag{.message = "'" + record->id +
                             "' is a kernel of tinygrad's runtime, which waits for other threads "
                             "or calls addresses in arrays, so tgc does not run it",
                  .file = input_name_.display_name(),
                  .expected = "a kernel of a schedule"};
    num_runtime_kernels_++;
    return none;
  }

  // wanted_id_ is the id of the record or the name of the kernel's function: `tgc records` lists both.
  bool is_wanted(const GoldenRecord& r) const {
    return is_name_of_record(wanted_id_, r.id, r.target) ||
           (r.program && is_name_of_record(wanted_id_, r.program->function_name, r.target));
  }
  bool may_be_wanted(const GoldenLine& line) const {
    return may_name_record(wanted_id_, line) || line.text.find("\"" + wanted_name_ + "\"") != line.text.npos;
  }

  // Reports the number of skipped kernels of tinygrad's runtime since the last report.
  void report_runtime_kernels() {
    if (num_runtime_kernels_)
      session_.report_note(count_text(num_runtime_kernels_, "kernel") + " of tinygrad's runtime skipped");
    num_runtime_kernels_ = 0;
  }

  // Suggests the same id with other targets, or similar ids; if there are none, the first ids of the file.
  std::string suggest_ids() const {
    if (other_ids_.empty()) return "the id of a record";
    std::vector<std::string_view> ids(other_ids_.begin(), other_ids_.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::string same;
    for (std::string_view id : ids)
      if (id.starts_with(wanted_id_.substr(0, wanted_id_.rfind('@') + 1)))
        same.append(same.empty() ? "" : " or ").append(id);
    if (wanted_id_.find('@') != wanted_id_.npos && !same.empty()) return same;
    if (std::string near = nearest_names_text(wanted_id_, ids); !near.empty())
      return near + ", or another of the " + std::to_string(ids.size()) + " ids that `tgc records` lists";
    constexpr size_t kShown = 5;
    std::string out = "one of the " + std::to_string(ids.size()) + " ids that `tgc records` lists: ";
    for (size_t i = 0; i < std::min(ids.size(), kShown); i++) out.append(i ? ", " : "").append(ids[i]);
    return out + (ids.size() > kShown ? ", ..." : "");
  }

  Result<InputGraph> read_record(std::shared_ptr<const GoldenRecord> record) {
    const bool is_kernel_of_record = !input_name_.id.empty() && !kernel_name_.empty();
    std::string file = records_.path() + "#" + record->id;
    std::string name = record->id;
    Result<std::string_view> text = std::string_view(record->ast);
    if (is_kernel_of_record) {
      auto n = parse_number<size_t>(kernel_name_);
      if (!n || *n >= record->kernels.size())
        return Diag{.message = "record '" + record->id + "' has no kernel '" + kernel_name_ + "'",
                    .file = input_name_.display_name(),
                    .expected = record->kernels.empty() ? "a tensor record"
                                                        : "0 to " + std::to_string(record->kernels.size() - 1)};
      text = std::string_view(record->kernels[*n].ast);
      name += "." + kernel_name_;
    } else {
      text = stage_text(*record, session_.overrides.start_stage, file);
    }
    if (!text) return text.diag();
    const GoldenHeader& header = records_.header();
    // in a recording of tensor graphs, even a graph of constants alone is a tensor graph
    auto graph = read_text(detect_input_kind(*text), *text, file, settings_of(header, *record), header.producer,
                           header.level == "tensor" && !is_kernel_of_record);
    if (!graph) return graph;
    graph->info.name = name, graph->info.target = record->target;
    graph->user_operation = methods_text(
        is_kernel_of_record ? record->kernels[*parse_number<size_t>(kernel_name_)].metadata : record->metadata);
    graph->record = std::move(record);
    return graph;
  }

  GoldenReader records_;
  const std::string wanted_id_ = !input_name_.id.empty() ? input_name_.id : kernel_name_;  // empty: all records
  const std::string wanted_name_ = wanted_id_.substr(0, wanted_id_.rfind('@'));       // without the target
  const std::optional<size_t> wanted_number_ =
      input_name_.id.empty() ? parse_number<size_t>(kernel_name_) : std::nullopt;
  size_t next_number_ = 0;                   // records read so far
  std::vector<std::string> other_ids_;  // for the error if no record matches
  std::optional<size_t> first_match_number_;
  bool is_done_ = false, has_reported_duplicates_ = false;
  std::string skipped_target_;          // of a record that was skipped because of --target
  size_t num_runtime_kernels_ = 0;          // skipped since the last note
};

class TextReader : public GraphReader {
 public:
  TextReader(const Session& session, const InputName& name, const std::string& kernel, InputKind kind, std::string text)
      : GraphReader(session, name, kernel), input_kind_(kind), text_(std::move(text)) {
    if (kind != InputKind::Json && kind != InputKind::Repro) texts_ = find_graph_texts(text_);
    if (texts_.has_other_lines && !texts_.graph_texts.empty())
      session.report_note(count_text(texts_.graph_texts.size(), "graph") + " found in " + input_name_.display_name() +
                          "; other lines skipped");
  }

  std::string kernel_of_schedule() const override { return texts_.graph_texts.size() < 2 ? kernel_name_ : ""; }

  Result<std::optional<InputGraph>> next_graph() override {
    if (!texts_.graph_texts.empty()) return next_selected_graph();
    if (std::exchange(is_done_, true)) return std::optional<InputGraph>();
    auto graph = read_text(input_kind_, text_, input_name_.display_name());
    if (!graph) return graph.diag();
    if (graph->info.name.empty()) graph->info.name = input_name_.stem();
    if (graph->read_report.repro)
      if (auto status = set_seeded_fault(graph->read_report.repro->seeded_fault); !status) return status.diag();
    return std::optional(std::move(*graph));
  }

 private:
  Result<std::optional<InputGraph>> next_selected_graph() {
    const size_t count = texts_.graph_texts.size();
    while (next_number_ < count) {
      const GraphText& part = texts_.graph_texts[next_number_++];
      const std::string name =
          count == 1 ? input_name_.stem() : input_name_.stem() + "." + std::to_string(next_number_ - 1);
      const bool is_wanted =
          kernel_name_.empty() || kernel_name_ == std::to_string(next_number_ - 1) || kernel_name_ == name;
      if (count > 1 && !is_wanted) continue;  // in a text of one graph, --kernel picks a kernel of its schedule
      is_done_ = true;
      auto graph = read_text(part.kind, part.padded_text(text_), input_name_.display_name());
      if (!graph) return graph.diag();
      if (graph->info.name.empty()) graph->info.name = name;
      return std::optional(std::move(*graph));
    }
    if (is_done_ || kernel_name_.empty()) return std::optional<InputGraph>();
    return Diag{.message = "the input has no graph '" + kernel_name_ + "'",
                .file = input_name_.display_name(),
                .expected = "0 to " + std::to_string(count - 1)};
  }

  const InputKind input_kind_;
  const std::string text_;
  FoundGraphTexts texts_;  // empty if text_ as a whole is one graph
  size_t next_number_ = 0;   // graphs of texts_ that were read or skipped so far
  bool is_done_ = false;
};

// Builds the tensor graph of an ONNX model with tgc's frontend, or reads the kernels that a live pipeline makes of it.
class ModelReader : public GraphReader {
 public:
  ModelReader(const Session& session, const InputName& name, const std::string& kernel, OnnxModel model)
      : GraphReader(session, name, kernel), model_(std::move(model)) {}

  std::string kernel_of_schedule() const override { return kernel_name_; }
  bool is_compiled() const override { return kernels_.has_value(); }

  Result<std::optional<InputGraph>> next_graph() override {
    const auto compiler = session_.compiler();
    if (next_number_ == 0 && !kernels_) {
      auto sizes = parse_variables(session_.overrides.size_texts);
      if (!sizes) return sizes.diag();
      auto kernels = compiler->kernels_of_model(input_name_.file, input_name_.stem(), *sizes);
      if (!kernels) return kernels.diag();
      kernels_ = std::move(*kernels);
    }
    if (kernels_) return next_kernel(*compiler);
    if (next_number_++) return std::optional<InputGraph>();
    auto graph = build_graph_of_model();
    if (!graph) return graph.diag();
    if (graph->info.name.empty()) graph->info.name = input_name_.stem();
    return std::optional(std::move(*graph));
  }

 private:
  Result<std::optional<InputGraph>> next_kernel(const GraphCompiler& compiler) {
    while (next_number_ < kernels_->size()) {
      GoldenRecord& record = (*kernels_)[next_number_++];
      if (!kernel_name_.empty() && kernel_name_ != std::to_string(next_number_ - 1) && kernel_name_ != record.id)
        continue;
      has_found_kernel_ = true;
      auto graph = compiler.graph_of_record(std::move(record), input_name_.file);
      return graph ? Result(std::optional(std::move(*graph))) : graph.diag();
    }
    if (has_found_kernel_ || kernel_name_.empty()) return std::optional<InputGraph>();
    return Diag{.message = "the model has no kernel '" + kernel_name_ + "'", .file = input_name_.display_name()};
  }

  // Each input of the model becomes a buffer, except optional inputs, which are absent.
  Result<InputGraph> build_graph_of_model() const {
    return catch_failures([&] {
      InputGraph out;
      Settings settings = session_.merge_settings().value_or_throw();
      std::string device = parse_target(session_.default_target(), settings).value_or_throw().device;
      out.graph = std::make_unique<Graph>(settings);
      shared_tensor_state(*out.graph).device = device;
      std::map<std::string, Value> inputs;
      auto declared =
          std::move(model_.inputs(parse_variables(session_.overrides.size_texts).value_or_throw()).value_or_throw());
      for (auto& input : declared) {
        if (input.type.kind == onnx::TypeProto::Kind::Optional) {
          inputs[input.name] = Value();
          continue;
        }
        if (!input.shape || input.dtype == dtypes::void_)
          throw Failure(
              Diag{.message = "the model's input '" + input.name + "' is no tensor of numbers of a known shape",
                   .file = input_name_.file});
        inputs[input.name] = Tensor::buffer(*out.graph, *input.shape, input.dtype);
      }
      ModelOutputs outputs = model_.build_graph(*out.graph, inputs).value_or_throw();
      std::vector<UOp> roots;
      for (size_t i = 0; i < outputs.values.size(); i++) {
        if (!outputs.values[i].is_tensor())
          throw Failure(Diag{.message = "the model's output '" + outputs.names[i] + "' is no tensor of numbers",
                             .file = input_name_.file});
        roots.push_back(outputs.values[i].tensor().contiguous().uop());
      }
      out.root = out.graph->sink(roots);
      for (NodeTensors& node : outputs.node_tensors)
        out.onnx_nodes.emplace_back(std::move(node.label), std::move(node.tensors));
      out.buffer_names = std::move(outputs.buffer_names);
      out.is_tensor_graph = true;
      out.file = input_name_.file;
      return out;
    });
  }

  const OnnxModel model_;
  // the kernels that a live pipeline made; nullopt if tgc's own frontend reads the model
  std::optional<std::vector<GoldenRecord>> kernels_;
  size_t next_number_ = 0;  // kernels that were returned or skipped, or graphs that were built, so far
  bool has_found_kernel_ = false;
};

}  // namespace

Result<InputGraph> GraphReader::read_text(InputKind kind, std::string_view text, const std::string& file,
                                          const std::map<std::string, std::string>& recorded, std::string_view producer,
                                          bool is_tensor_graph) const {
  if (recorded.empty())  // if the text names settings before the graph, read the graph under these settings
    if (auto named = read_graph_info(kind, text).settings; !named.empty())
      return read_text(kind, text, file, named, {}, is_tensor_graph);
  const auto compiler = session_.compiler();
  auto settings = compiler->merge_settings(recorded, producer);
  if (!settings) return settings.diag();
  auto out = load_graph_text(*settings, kind, text, file, accepts_malformed_graphs, producer);
  if (!out) return out;
  if (recorded.empty() && !out->info.settings.empty())  // settings came after the graph: read it again under them
    return read_text(kind, text, file, out->info.settings, {}, is_tensor_graph);
  if (is_tensor_graph) out->is_tensor_graph = true;
  return compiler->finish_input(std::move(*out), recorded);
}

std::unique_ptr<GraphReader> make_record_reader(const Session& session, const InputName& name,
                                                const std::string& kernel, GoldenReader records) {
  return std::make_unique<RecordReader>(session, name, kernel, std::move(records));
}
std::unique_ptr<GraphReader> make_text_reader(const Session& session, const InputName& name, const std::string& kernel,
                                              InputKind kind, std::string text) {
  return std::make_unique<TextReader>(session, name, kernel, kind, std::move(text));
}
std::unique_ptr<GraphReader> make_model_reader(const Session& session, const InputName& name, const std::string& kernel,
                                               OnnxModel model) {
  return std::make_unique<ModelReader>(session, name, kernel, std::move(model));
}

}  // namespace tgc
