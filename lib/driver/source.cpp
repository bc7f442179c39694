#include "lib/driver/source.h"

#include <unistd.h>

#include "lib/compilation/pipeline.h"
#include "lib/model/model.h"
#include "lib/records/input_file.h"

namespace tgc {
namespace {

Diag not_records_error(const InputName& name, InputKind kind) {
  return {.message = "'#" + name.id + "' picks a record, but this is " + std::string(name_of(kind)),
          .file = name.display_name(),
          .expected = "golden records"};
}

}  // namespace

Result<GraphSource> GraphSource::open(const Session& session, const std::string& spec, const std::string& kernel) {
  auto out = open_any_input(session, spec, kernel);
  if (!out || out->input_kind_ == InputKind::Onnx) return out;
  if (!session.overrides.weights_file.empty())
    return Diag{.message = "--weights " + session.overrides.weights_file + " is for a model, and this is " +
                           std::string(name_of(out->input_kind_)),
                .file = out->input_name_.display_name(),
                .expected = "an ONNX model; the arrays of a kernel are those of `tgc run --inputs`"};
  if (session.overrides.size_texts.empty()) return out;
  return Diag{.message = "--var " + session.overrides.size_texts[0] + " binds a size of a model, and this is " +
                         std::string(name_of(out->input_kind_)),
              .file = out->input_name_.display_name(),
              .expected = "an ONNX model; `tgc run --var` binds a kernel's variables"};
}

Result<GraphSource> GraphSource::open_any_input(const Session& session, const std::string& spec,
                                                const std::string& kernel) {
  GraphSource out(session);
  out.input_name_ = InputName::parse(spec);
  const std::string& file = out.input_name_.file;
  if (file == "-" && isatty(STDIN_FILENO)) session.report_note("reading a graph from the terminal; Ctrl-D ends it");
  auto is_model = is_model_file(file);
  if (!is_model) return is_model.diag();
  if (*is_model) {
    if (!out.input_name_.id.empty()) return not_records_error(out.input_name_, InputKind::Onnx);
    auto model = OnnxModel::open(file, session.overrides.weights_file);
    if (!model) return model.diag();
    out.input_kind_ = InputKind::Onnx;
    out.graph_reader_ = make_model_reader(session, out.input_name_, kernel, std::move(*model));
    return out;
  }
  auto lines = LineReader::open(file);
  if (!lines) return lines.diag();
  std::string first, shown = out.input_name_.display_name();
  if (auto more = (*lines)->next_line_text(first); !more) return more.diag();
  out.input_kind_ = detect_input_kind(first);
  if (out.input_kind_ == InputKind::Golden) {
    auto records = GoldenReader::make_from_lines(std::move(*lines), {first, 1}, shown);
    if (!records) return records.diag();
    out.graph_reader_ = make_record_reader(session, out.input_name_, kernel, std::move(*records));
    return out;
  }
  std::string text = std::move(first) + ((*lines)->has_line_end() ? "\n" : "");
  if (auto status = (*lines)->read_rest_of_text(text); !status) return status.diag();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return Diag{.message = "the input is empty", .file = shown, .expected = "a graph"};
  out.input_kind_ = detect_input_kind(text);
  if (out.input_kind_ == InputKind::Onnx)
    return Diag{.message = "this is an ONNX model", .file = shown, .expected = "the text of a graph"};
  out.graph_reader_ = make_text_reader(session, out.input_name_, kernel, out.input_kind_, std::move(text));
  if (out.input_name_.id.empty()) return out;
  return not_records_error(out.input_name_, out.input_kind_);
}

Result<std::optional<InputGraph>> GraphSource::next_graph() {
  auto graph = graph_reader_->next_graph();
  if (!graph || !*graph || graph_reader_->is_compiled()) return graph;
  auto compiled = session_->compiler()->compile(std::move(**graph), graph_reader_->kernel_of_schedule());
  return compiled ? Result(std::optional(std::move(*compiled))) : compiled.diag();
}

Status for_each_graph(const Session& session, const std::string& spec, const std::string& kernel,
                      const std::function<Status(InputGraph)>& each, bool take_malformed) {
  auto source = GraphSource::open(session, spec, kernel);
  if (!source) return source.diag();
  if (take_malformed) source->accept_malformed_graphs();
  source->accept_runtime_kernels();
  for (size_t count = 0;; count++) {
    auto graph = source->next_graph();
    if (!graph) return graph.diag();
    if (!*graph && count == 0) return Diag{.message = "there is no graph in it", .file = source->name().display_name()};
    if (!*graph) return Unit{};
    if (session.is_cancelled()) return Diag{"cancelled"};
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

}  // namespace tgc
