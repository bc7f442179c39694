#include "apps/tgc/input.h"

#include <charconv>
#include <filesystem>
#include <fstream>

#include "apps/tgc/terminal.h"
#include "lib/model/model.h"
#include "lib/model/tensor_state.h"
#include "lib/text/input_file.h"
#include "passes/pipeline.h"

namespace tgc {
namespace {

// The number that `text` is; nullopt when it is a name.
std::optional<size_t> number_of(std::string_view text) {
  size_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

// A kernel works on DEFINE_GLOBALs, a tensor graph on BUFFERs and the like.
bool looks_like_tensor_graph(UOp root) {
  return !op_in_backward_slice_with_self(root, {Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL, Op::DEFINE_REG, Op::SPECIAL}) &&
         op_in_backward_slice_with_self(root, {Op::BUFFER, Op::DEVICE, Op::UNIQUE, Op::LUNIQUE, Op::KERNEL});
}

// Schedules the tensor graph `in`, which becomes its kernel number `kernel`.
Status pick_kernel(InputGraph& in, const std::string& kernel) {
  auto number = number_of(kernel);
  TensorJob job(*in.graph);
  auto schedule = make_schedule(job, in.root);
  if (!schedule) return schedule.diag();
  if (!number || *number >= schedule->items.size())
    return Diag{.message = "the schedule of '" + in.info.name + "' has no kernel '" + kernel + "'", .file = in.file,
                .expected = schedule->items.empty() ? "a graph with kernels" : "0 to " + std::to_string(schedule->items.size() - 1)};
  const ScheduleItem& item = schedule->items[*number];
  if (!item.ast.is(Op::SINK))
    return Diag{.message = "number " + kernel + " of the schedule is a " + std::string(name_of(item.ast.op())) + ", which is not compiled", .file = in.file,
                .expected = "the number of a kernel"};
  in.root = item.ast;
  in.is_tensor_graph = false;
  in.info.name += "." + kernel;
  in.info.stage.clear();
  if (in.info.target.empty()) in.info.target = target_of_device(schedule->buffers[item.buffers[0]].device, in.graph->settings());
  return Unit{};
}

std::string stem_of(const std::string& file) {
  std::string name = std::filesystem::path(file).filename().string();
  size_t dot = name.find('.', 1);
  return dot == name.npos ? name : name.substr(0, dot);
}

// NAME=SIZE each.
std::map<std::string, int64_t> parse_sizes(const std::vector<std::string>& texts) {
  std::map<std::string, int64_t> out;
  for (auto& text : texts) {
    size_t equals = text.find('=');
    auto size = equals == text.npos ? std::nullopt : number_of(text.substr(equals + 1));
    if (!size || equals == 0) throw Failure(Diag{.message = "--var takes NAME=SIZE, not '" + text + "'"});
    out[text.substr(0, equals)] = int64_t(*size);
  }
  return out;
}

}  // namespace

bool is_model_file(const std::string& path) {
  if (path == "-") return false;
  std::ifstream file(path, std::ios::binary);
  char head[16];
  file.read(head, sizeof head);
  return onnx::looks_like_model({head, size_t(file.gcount())});
}

std::string target_of_device(std::string_view device, const Settings& settings) {
  std::string name(device.substr(0, device.find(':')));
  return parse_target(name, settings) ? name : "CPU";
}

std::pair<std::string, std::string> split_spec(const std::string& spec) {
  size_t hash = spec.rfind('#');
  std::error_code error;
  if (hash == spec.npos || std::filesystem::exists(spec, error)) return {spec, ""};
  return {spec.substr(0, hash), spec.substr(hash + 1)};
}

Diag InputGraph::diag_at(UOp node, std::string message) const {
  return tgc::diag_at(text, place_of(report.places, node.id()), file, std::move(message), "");
}

Result<Input> Input::open(const std::string& spec, const std::string& kernel, const PipelineOptions& options) {
  Input input;
  std::tie(input.file_, input.id_) = split_spec(spec);
  input.kernel_ = kernel;
  input.options_ = &options;
  if (is_model_file(input.file_)) {
    auto model = Model::open(input.file_, options.weights);
    if (!model) return model.diag();
    input.kind_ = InputKind::Onnx;
    input.model_ = std::make_shared<const Model>(std::move(*model));
    return input;
  }
  auto lines = LineReader::open(input.file_);
  if (!lines) return lines.diag();
  std::string first;
  if (auto more = (*lines)->next(first); !more) return more.diag();
  input.kind_ = detect_kind(first);
  if (input.kind_ == InputKind::Golden) {
    auto records = GoldenReader::from(std::move(*lines), {first, 1}, input_name(input.file_));
    if (!records) return records.diag();
    input.records_ = std::move(*records);
    return input;
  }
  input.text_ = std::move(first) + ((*lines)->line_ended() ? "\n" : "");
  if (auto status = (*lines)->rest(input.text_); !status) return status.diag();
  if (input.text_.find_first_not_of(" \t\r\n") == std::string::npos)
    return Diag{.message = "the input is empty", .file = input_name(input.file_), .expected = "a graph"};
  input.kind_ = detect_kind(input.text_);
  if (input.kind_ == InputKind::Onnx) return Diag{.message = "this is an ONNX model", .file = input_name(input.file_), .expected = "the text of a graph"};
  if (!input.id_.empty())
    return Diag{.message = "'#" + input.id_ + "' picks a record, but this is " + std::string(name_of(input.kind_)), .file = input_name(input.file_), .expected = "golden records"};
  return input;
}

Result<InputGraph> Input::read_text(InputKind kind, std::string_view text, const std::string& file, const std::map<std::string, std::string>& recorded) {
  auto settings = options_->settings(recorded);
  if (!settings) return settings.diag();
  InputGraph out;
  out.graph = std::make_unique<Graph>(*settings);
  auto read = read_graph(*out.graph, kind, text, file, &out.report);
  if (!read) return read.diag();
  if (recorded.empty() && !read->info.settings.empty()) return read_text(kind, text, file, read->info.settings);  // with its own settings
  out.root = read->root;
  out.list = std::move(read->list);
  out.info = std::move(read->info);
  if (out.info.settings.empty()) out.info.settings = recorded;
  out.text = text;
  out.file = file;
  out.is_tensor_graph = looks_like_tensor_graph(out.root);
  return out;
}

Result<std::optional<InputGraph>> Input::next() {
  if (records_) return next_record();
  if (done_) return std::optional<InputGraph>();
  done_ = true;
  auto graph = model_ ? graph_of_model() : read_text(kind_, text_, input_name(file_), {});
  if (!graph) return graph.diag();
  if (graph->info.name.empty()) graph->info.name = file_ == "-" ? "kernel" : stem_of(file_);
  if (graph->is_tensor_graph && !kernel_.empty()) {
    auto status = pick_kernel(*graph, kernel_);
    if (!status) return status.diag();
    return std::optional(std::move(*graph));
  }
  if (!kernel_.empty() && kernel_ != "0" && kernel_ != graph->info.name)
    return Diag{.message = "the input has no kernel '" + kernel_ + "'", .file = input_name(file_), .expected = "0 or " + graph->info.name};
  return std::optional(std::move(*graph));
}

// A model's inputs are buffers whose values are not known.
Result<InputGraph> Input::graph_of_model() {
  return catch_failures([&] {
    InputGraph out;
    Settings settings = options_->settings().value_or_throw();
    std::string device = options_->resolve_target("CPU", settings).value_or_throw().device;
    out.graph = std::make_unique<Graph>(settings);
    tensor_state(*out.graph).device = device;
    std::map<std::string, Value> inputs;
    auto declared = std::move(model_->inputs(parse_sizes(options_->sizes)).value_or_throw());
    for (auto& input : declared) {
      if (input.type.kind == onnx::TypeProto::Kind::Optional) {
        inputs[input.name] = Value();
        continue;
      }
      if (!input.shape || input.dtype == dtypes::void_) throw Failure(Diag{.message = "the model's input '" + input.name + "' is no tensor of numbers of a known shape", .file = file_});
      inputs[input.name] = Tensor::buffer(*out.graph, *input.shape, input.dtype);
    }
    ModelOutputs outputs = model_->build(*out.graph, inputs).value_or_throw();
    std::vector<UOp> roots;
    for (size_t i = 0; i < outputs.values.size(); i++) {
      if (!outputs.values[i].is_tensor()) throw Failure(Diag{.message = "the model's output '" + outputs.names[i] + "' is no tensor of numbers", .file = file_});
      roots.push_back(outputs.values[i].tensor().contiguous().uop());
    }
    out.root = out.graph->sink(roots);
    out.is_tensor_graph = true;
    out.file = file_;
    return out;
  });
}

Result<std::optional<InputGraph>> Input::next_record() {
  auto wanted_number = id_.empty() && !kernel_.empty() ? number_of(kernel_) : std::nullopt;
  const std::string& wanted_id = !id_.empty() ? id_ : kernel_;
  GoldenLine line;
  while (!done_) {
    auto more = records_->next_line(line);
    if (!more) return more.diag();
    if (!*more) {
      if (records_->cut()) warn(*records_->cut());
      break;
    }
    size_t number = number_++;
    if (wanted_number ? number != *wanted_number : !wanted_id.empty() && line.text.find(wanted_id) == std::string::npos) continue;
    auto record = parse_golden_record(line, records_->path());
    if (!record) return record.diag();
    if (!wanted_number && !wanted_id.empty() && record->id != wanted_id) continue;
    found_ = true;
    done_ = wanted_number.has_value();
    auto graph = graph_of(*record);
    if (!graph) return graph.diag();
    return std::optional(std::move(*graph));
  }
  if (!found_ && !(wanted_id.empty() && !wanted_number))
    return Diag{.message = "no record '" + (wanted_number ? kernel_ : wanted_id) + "'", .file = input_name(file_),
                .expected = wanted_number ? "a number below " + std::to_string(number_) : "the id of a record"};
  return std::optional<InputGraph>();
}

Result<InputGraph> Input::graph_of(const GoldenRecord& record) {
  std::string place = records_->path() + "#" + record.id;
  const std::string* text = &record.ast;
  std::string name = record.id;
  if (!id_.empty() && !kernel_.empty()) {
    auto n = number_of(kernel_);
    if (!n || *n >= record.kernels.size())
      return Diag{.message = "record '" + record.id + "' has no kernel '" + kernel_ + "'", .file = input_name(file_),
                  .expected = record.kernels.empty() ? "a tensor record" : "0 to " + std::to_string(record.kernels.size() - 1)};
    text = &record.kernels[*n].ast;
    name += "." + kernel_;
  }
  auto graph = read_text(InputKind::Pyrender, *text, place, settings_of(records_->header(), record));
  if (!graph) return graph;
  graph->info.name = name;
  graph->info.target = record.target;
  return graph;
}

}  // namespace tgc
