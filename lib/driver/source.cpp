#include "lib/driver/source.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "lib/compilation/pipeline.h"
#include "lib/compile/llvm_fault.h"
#include "lib/driver/runtime_kernel.h"
#include "lib/model/model.h"
#include "lib/model/tensor_state.h"
#include "lib/records/input_file.h"
#include "lib/records/recorded_stages.h"
#include "lib/records/repro.h"
#include "lib/rewrite/fault.h"
#include "lib/support/counted.h"
#include "lib/support/file_name.h"
#include "lib/support/open_input.h"

namespace tgc {
namespace {

Diag picks_no_record(const InputName& name, InputKind kind) {
  return {.message = "'#" + name.id + "' picks a record, but this is " + std::string(name_of(kind)),
          .file = name.shown(),
          .expected = "golden records"};
}

namespace fs = std::filesystem;

// Parses `text` as a number; nullopt if it is a name.
std::optional<size_t> number_of(std::string_view text) {
  size_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

// Returns the text of the recorded graph after `stage`, or of the AST if `stage` is empty, as a view of `record`.
// `stage` is the record's name of the stage, its slug, or tgc's alias.
Result<std::string_view> text_after(const GoldenRecord& record, std::string_view stage, const std::string& file) {
  const RecordedStages stages(record);
  const RecordedStage* found = stages.find(stage.empty() ? "ast" : stage);
  const StageRow* row = found ? nullptr : find_row(stage);
  if (row) found = stages.find(row->name);
  else if (!found) return unknown_stage(stage);
  using enum RecordedStage::Kind;
  if (!found || (found->kind != Ast && found->kind != Stage))
    return Diag{.message = "the record has no stage '" + std::string(stage) + "'", .file = file};
  if (found->text) return *found->text;
  return Diag{.message = "tinygrad could not print the graph after '" + found->name + "'", .file = file};
}

// Sets the fault (a seeded bug) that a repro bundle names, unless the environment sets another fault.
Status take_fault(const std::string& text) {
  set_fault_of_thread(std::nullopt), set_llvm_fault_of_thread(std::nullopt);
  auto asked = fault_of_environment();
  if (text.empty() || !asked || *asked) return Unit{};
  auto fault = parse_fault(text);
  if (!fault) return fault.diag();
  set_fault_of_thread(std::move(*fault));
  auto in_llvm = fault_of_environment(FaultSpec::In::Llvm);
  if (in_llvm && *in_llvm) set_llvm_fault_of_thread((*in_llvm)->rule);
  return Unit{};
}

}  // namespace

Result<bool> is_model_file(const std::string& path) {
  if (path == "-") return false;
  int file = open_input(path);
  if (file < 0) return false;  // not an error here, because the code that reads the file reports it
  char head[16];
  ssize_t size = ::read(file, head, sizeof head);
  ::close(file);
  std::error_code error;
  if (size < 0 && !fs::is_directory(path, error)) return Diag{.message = "cannot read", .file = path};
  return onnx::looks_like_model({head, size < 0 ? 0 : size_t(size)});
}

Result<Source> Source::open(const Session& session, const std::string& spec, const std::string& kernel) {
  auto out = open_any(session, spec, kernel);
  if (!out || out->model_) return out;
  if (!session.over.weights.empty())
    return Diag{.message = "--weights " + session.over.weights + " is for a model, and this is " +
                           std::string(name_of(out->kind_)),
                .file = out->name_.shown(),
                .expected = "an ONNX model; the arrays of a kernel are those of `tgc run --inputs`"};
  if (session.over.sizes.empty()) return out;
  return Diag{.message = "--var " + session.over.sizes[0] + " binds a size of a model, and this is " +
                         std::string(name_of(out->kind_)),
              .file = out->name_.shown(),
              .expected = "an ONNX model; `tgc run --var` binds a kernel's variables"};
}

Result<Source> Source::open_any(const Session& session, const std::string& spec, const std::string& kernel) {
  Source out(session);
  out.name_ = InputName::parse(spec);
  out.kernel_ = kernel;
  const std::string& file = out.name_.file;
  if (file == "-" && isatty(STDIN_FILENO)) session.note("reading a graph from the terminal; Ctrl-D ends it");
  auto is_model = is_model_file(file);
  if (!is_model) return is_model.diag();
  if (*is_model) {
    if (!out.name_.id.empty()) return picks_no_record(out.name_, InputKind::Onnx);
    auto model = Model::open(file, session.over.weights);
    if (!model) return model.diag();
    out.kind_ = InputKind::Onnx;
    out.model_ = std::make_shared<const Model>(std::move(*model));
    return out;
  }
  auto lines = LineReader::open(file);
  if (!lines) return lines.diag();
  std::string first, shown = out.name_.shown();
  if (auto more = (*lines)->next(first); !more) return more.diag();
  out.kind_ = detect_kind(first);
  if (out.kind_ == InputKind::Golden) {
    auto records = GoldenReader::from(std::move(*lines), {first, 1}, shown);
    if (!records) return records.diag();
    out.records_ = std::move(*records);
    return out;
  }
  out.text_ = std::move(first) + ((*lines)->line_ended() ? "\n" : "");
  if (auto status = (*lines)->rest(out.text_); !status) return status.diag();
  if (out.text_.find_first_not_of(" \t\r\n") == std::string::npos)
    return Diag{.message = "the input is empty", .file = shown, .expected = "a graph"};
  out.kind_ = detect_kind(out.text_);
  if (out.kind_ == InputKind::Onnx)
    return Diag{.message = "this is an ONNX model", .file = shown, .expected = "the text of a graph"};
  if (out.kind_ != InputKind::Json && out.kind_ != InputKind::Repro) out.texts_ = find_graph_texts(out.text_);
  if (out.texts_.others && !out.texts_.graphs.empty())
    session.note(counted(out.texts_.graphs.size(), "graph") + " found in " + shown + "; other lines skipped");
  if (out.name_.id.empty()) return out;
  return picks_no_record(out.name_, out.kind_);
}

// Returns the next kernel of kernels_, the next one that --kernel selects by number or name.
Result<std::optional<InputGraph>> Source::next_of_kernels() {
  while (number_ < kernels_->size()) {
    GoldenRecord& record = (*kernels_)[number_++];
    if (!kernel_.empty() && kernel_ != std::to_string(number_ - 1) && kernel_ != record.id) continue;
    found_ = number_;
    auto graph = session_->compiler()->graph_of(std::move(record), name_.file);
    return graph ? Result(std::optional(std::move(*graph))) : graph.diag();
  }
  if (found_ || kernel_.empty()) return std::optional<InputGraph>();
  return Diag{.message = "the model has no kernel '" + kernel_ + "'", .file = name_.shown()};
}

Result<std::optional<InputGraph>> Source::next() {
  const auto compiler = session_->compiler();
  if (model_ && !kernels_) {
    auto sizes = parse_variables(session_->over.sizes);
    if (!sizes) return sizes.diag();
    auto kernels = compiler->kernels_of_model(name_.file, name_.stem(), *sizes);
    if (!kernels) return kernels.diag();
    kernels_ = std::move(*kernels);
  }
  if (kernels_) return next_of_kernels();
  auto graph = next_as_read();
  if (!graph || !*graph) return graph;
  const bool picks = !records_ && texts_.graphs.size() < 2;  // else --kernel has picked the graph
  auto compiled = compiler->compile(std::move(**graph), picks ? kernel_ : "");
  return compiled ? Result(std::optional(std::move(*compiled))) : compiled.diag();
}

Result<std::optional<InputGraph>> Source::next_as_read() {
  if (records_) return next_record();
  if (!texts_.graphs.empty()) return next_of_texts();
  if (done_) return std::optional<InputGraph>();
  done_ = true;
  auto graph = model_ ? build_model() : read_text(kind_, text_, name_.shown(), {});
  if (!graph) return graph.diag();
  if (graph->info.name.empty()) graph->info.name = name_.stem();
  if (graph->report.repro)
    if (auto status = take_fault(graph->report.repro->fault); !status) return status.diag();
  return std::optional(std::move(*graph));
}

// Returns the next graph of a text with several graphs, or the one that --kernel selects by number or name.
Result<std::optional<InputGraph>> Source::next_of_texts() {
  const size_t count = texts_.graphs.size();
  while (number_ < count) {
    const GraphText& part = texts_.graphs[number_++];
    const std::string name = count == 1 ? name_.stem() : name_.stem() + "." + std::to_string(number_ - 1);
    const bool is_wanted = kernel_.empty() || kernel_ == std::to_string(number_ - 1) || kernel_ == name;
    if (count > 1 && !is_wanted) continue;  // in a text of one graph, --kernel picks a kernel of its schedule
    found_ = number_;
    auto graph = read_text(part.kind, part.of(text_), name_.shown(), {});
    if (!graph) return graph.diag();
    if (graph->info.name.empty()) graph->info.name = name;
    return std::optional(std::move(*graph));
  }
  if (found_ || kernel_.empty()) return std::optional<InputGraph>();
  return Diag{.message = "the input has no graph '" + kernel_ + "'", .file = name_.shown(),
              .expected = "0 to " + std::to_string(count - 1)};
}

Result<InputGraph> Source::read_text(InputKind kind, std::string_view text, const std::string& file,
                                     const std::map<std::string, std::string>& recorded,
                                     std::string_view producer) {
  if (recorded.empty())  // if the text names settings before the graph, read the graph under these settings
    if (auto named = info_before(kind, text).settings; !named.empty()) return read_text(kind, text, file, named);
  const auto compiler = session_->compiler();
  auto settings = compiler->settings_for(recorded, producer);
  if (!settings) return settings.diag();
  auto out = load_text(*settings, kind, text, file, take_malformed_, producer);
  if (!out) return out;
  if (recorded.empty() && !out->info.settings.empty())  // settings came after the graph: read it again under them
    return read_text(kind, text, file, out->info.settings);
  // a record of tensor graphs may have a graph of constants alone
  if (records_ && records_->header().level == "tensor" && !is_kernel_of_record()) out->is_tensor_graph = true;
  return compiler->take(std::move(*out), recorded);
}

// Builds the tensor graph of the ONNX model; each input of the model becomes a buffer.
Result<InputGraph> Source::build_model() {
  return catch_failures([&] {
    InputGraph out;
    Settings settings = session_->settings_for().value_or_throw();
    std::string device = parse_target(session_->default_target(), settings).value_or_throw().device;
    out.graph = std::make_unique<Graph>(settings);
    tensor_state(*out.graph).device = device;
    std::map<std::string, Value> inputs;
    auto declared = std::move(model_->inputs(parse_variables(session_->over.sizes).value_or_throw()).value_or_throw());
    for (auto& input : declared) {
      if (input.type.kind == onnx::TypeProto::Kind::Optional) {
        inputs[input.name] = Value();
        continue;
      }
      if (!input.shape || input.dtype == dtypes::void_)
        throw Failure(Diag{.message = "the model's input '" + input.name + "' is no tensor of numbers of a known shape",
                           .file = name_.file});
      inputs[input.name] = Tensor::buffer(*out.graph, *input.shape, input.dtype);
    }
    ModelOutputs outputs = model_->build(*out.graph, inputs).value_or_throw();
    std::vector<UOp> roots;
    for (size_t i = 0; i < outputs.values.size(); i++) {
      if (!outputs.values[i].is_tensor())
        throw Failure(Diag{.message = "the model's output '" + outputs.names[i] + "' is no tensor of numbers",
                           .file = name_.file});
      roots.push_back(outputs.values[i].tensor().contiguous().uop());
    }
    out.root = out.graph->sink(roots);
    for (MadeOfNode& node : outputs.made) out.made_of.emplace_back(std::move(node.label), std::move(node.tensors));
    out.buffer_names = std::move(outputs.buffers);
    out.is_tensor_graph = true;
    out.file = name_.file;
    return out;
  });
}

// Returns the id of a record if `line` begins with it, as recorders write lines; else an empty text.
static std::string_view id_at_begin(std::string_view line) {
  for (std::string_view part : {"{", "\"id\"", ":", "\""}) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.starts_with(part)) return {};
    line.remove_prefix(part.size());
  }
  return line.substr(0, std::min(line.find_first_of("\"\\"), line.size()));
}

Result<std::optional<InputGraph>> Source::next_record() {
  GoldenLine line;
  const auto compiler = session_->compiler();
  const bool by_number = name_.id.empty() && !kernel_.empty() && number_of(kernel_);
  const std::string& wanted_id = !name_.id.empty() ? name_.id : kernel_;
  const std::string name_part = wanted_id.substr(0, wanted_id.rfind('@'));
  // `tgc records` lists the names of kernels beside the ids
  auto is_wanted = [&](const GoldenRecord& r) {
    return names_record(wanted_id, r.id, r.target) ||
           (r.program && names_record(wanted_id, r.program->function_name, r.target));
  };
  auto may_be_wanted = [&] {
    return may_name_record(wanted_id, line) || line.text.find("\"" + name_part + "\"") != line.text.npos;
  };
  while (!done_) {
    auto more = records_->next_line(line);
    if (!more) return more.diag();
    if (!*more) {
      if (records_->cut()) session_->warn(*records_->cut());
      note_runtime_kernels();
      break;
    }
    size_t number = number_++;
    bool skipped = by_number ? number != *number_of(kernel_)
                             : !wanted_id.empty() && !may_be_wanted();
    if (skipped) {  // the line is not parsed; keep its id for the error message if no record matches
      if (auto id = id_at_begin(line.text); !id.empty() && !found_) other_ids_.emplace_back(id);
      continue;
    }
    auto record = parse_golden_record(line, records_->path());
    if (!record) return record.diag();
    if (!by_number && !wanted_id.empty() && !is_wanted(*record)) {
      if (record->id == name_part) other_ids_.push_back(record->id + "@" + record->target);
      continue;
    }
    if (found_ && !several_ && !wanted_id.empty()) {
      session_->note("several records of " + name_.shown() + " are called '" + wanted_id + "', numbers " +
                     std::to_string(*found_) + " and " + std::to_string(number) +
                     " the first: each is taken; FILE#ID@TARGET or FILE --kernel=N takes one");
      several_ = true;
    }
    if (!compiler->takes_record(*record, records_->header().producer)) {
      skipped_target_ = record->target;
      continue;
    }
    if (!found_) found_ = number;
    done_ = by_number;
    if (!take_runtime_kernels_ && is_runtime_kernel(*record, records_->header().producer)) {
      if (by_number || !wanted_id.empty())
        return Diag{.message = "'" + record->id + "' is a kernel of tinygrad's runtime, which waits for other threads "
                               "or calls addresses in arrays, so tgc does not run it",
                    .file = name_.shown(),
                    .expected = "a kernel of a schedule"};
      runtime_kernels_++;
      continue;
    }
    note_runtime_kernels();
    auto graph = read_record(std::make_shared<const GoldenRecord>(std::move(*record)));
    if (!graph) return graph.diag();
    return std::optional(std::move(*graph));
  }
  if (!found_ && !skipped_target_.empty())
    return Diag{.message = "no record has the target '" + session_->over.target + "'",
                .file = name_.shown(),
                .expected = "a target of the records, for example " + skipped_target_};
  if (found_ || wanted_id.empty()) return std::optional<InputGraph>();
  return Diag{.message = "no record '" + wanted_id + "'",
              .file = name_.shown(),
              .expected = by_number ? "a number below " + std::to_string(number_) : suggest_ids(wanted_id)};
}

// Notes how many kernels of the runtime were skipped since the last note.
void Source::note_runtime_kernels() {
  if (runtime_kernels_) session_->note(counted(runtime_kernels_, "kernel") + " of tinygrad's runtime skipped");
  runtime_kernels_ = 0;
}

// Returns a suggestion for an error: ids that are similar to `wanted`, which no record has.
std::string Source::suggest_ids(const std::string& wanted) const {
  if (other_ids_.empty()) return "the id of a record";
  std::vector<std::string_view> ids(other_ids_.begin(), other_ids_.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::string same;  // the targets of records with the wanted id
  for (std::string_view id : ids)
    if (id.starts_with(wanted.substr(0, wanted.rfind('@') + 1))) same.append(same.empty() ? "" : " or ").append(id);
  if (wanted.find('@') != wanted.npos && !same.empty()) return same;
  if (std::string near = nearest_names(wanted, ids); !near.empty())
    return near + ", or another of the " + std::to_string(ids.size()) + " ids that `tgc records` lists";
  constexpr size_t kShown = 5;
  std::string out = "one of the " + std::to_string(ids.size()) + " ids that `tgc records` lists: ";
  for (size_t i = 0; i < std::min(ids.size(), kShown); i++) out.append(i ? ", " : "").append(ids[i]);
  return out + (ids.size() > kShown ? ", ..." : "");
}

Result<InputGraph> Source::read_record(std::shared_ptr<const GoldenRecord> record) {
  std::string file = records_->path() + "#" + record->id;
  std::string name = record->id;
  Result<std::string_view> text = std::string_view(record->ast);
  if (is_kernel_of_record()) {
    auto n = number_of(kernel_);
    if (!n || *n >= record->kernels.size())
      return Diag{.message = "record '" + record->id + "' has no kernel '" + kernel_ + "'",
                  .file = name_.shown(),
                  .expected = record->kernels.empty() ? "a tensor record"
                                                      : "0 to " + std::to_string(record->kernels.size() - 1)};
    text = std::string_view(record->kernels[*n].ast);
    name += "." + kernel_;
  } else {
    text = text_after(*record, session_->over.from, file);
  }
  if (!text) return text.diag();
  const GoldenHeader& header = records_->header();
  auto graph = read_text(detect_kind(*text), *text, file, settings_of(header, *record), header.producer);
  if (!graph) return graph;
  graph->info.name = name, graph->info.target = record->target;
  const bool is_of_schedule = is_kernel_of_record();
  graph->made_for = made_for_text(is_of_schedule ? record->kernels[*number_of(kernel_)].metadata : record->metadata);
  graph->record = std::move(record);
  return graph;
}

Status for_each_graph(const Session& session, const std::string& spec, const std::string& kernel,
                      const std::function<Status(InputGraph)>& each, bool take_malformed) {
  auto source = Source::open(session, spec, kernel);
  if (!source) return source.diag();
  if (take_malformed) source->take_malformed();
  source->take_runtime_kernels();
  for (size_t count = 0;; count++) {
    auto graph = source->next();
    if (!graph) return graph.diag();
    if (!*graph && count == 0) return Diag{.message = "there is no graph in it", .file = source->name().shown()};
    if (!*graph) return Unit{};
    if (session.cancelled()) return Diag{"cancelled"};
    if (auto status = each(std::move(**graph)); !status) return status;
  }
}

Status for_each_pipeline(const Session& session, const std::string& spec, const std::string& kernel,
                         const std::function<Status(Pipeline&)>& each) {
  return for_each_graph(session, spec, kernel, [&](InputGraph graph) -> Status {
    auto pipeline = session.pipeline(std::move(graph));
    return pipeline ? each(**pipeline) : Status(pipeline.diag());
  });
}

Result<VariableValues> parse_variables(const std::vector<std::string>& texts) {
  VariableValues out;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    int64_t value = 0;
    const char* begin = text.data() + std::min(text.size(), equals + 1);
    auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (equals == text.npos || equals == 0 || error != std::errc() || end != text.data() + text.size())
      return Diag{.message = "--var takes NAME=INTEGER, not '" + text + "'"};
    if (!out.emplace(text.substr(0, equals), value).second)
      return Diag{.message = "--var gives '" + text.substr(0, equals) + "' twice"};
  }
  return out;
}

}  // namespace tgc
