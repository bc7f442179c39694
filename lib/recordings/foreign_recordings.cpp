#include "lib/recordings/foreign_recordings.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <set>

#include "lib/compilation/stage_rows.h"
#include "lib/driver/source.h"
#include "lib/recordings/recorded_counts.h"
#include "lib/recordings/recorded_trace.h"
#include "lib/support/lines.h"
#include "lib/text/input_file.h"
#include "lib/text/recorded_rewrites.h"
#include "lib/text/recorded_stages.h"

namespace tgc {
namespace {

constexpr std::string_view kLinear = "linear";

// Returns a copy of the name of a rule. The copy is never freed, because trace consumers refer to it.
std::string_view intern(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> texts;
  std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

// Returns the row for a stage that tgc does not have. Rows are never freed; a name always has the same row.
const StageRow& foreign_row(const std::string& name, size_t number) {
  static std::mutex mutex;
  static std::deque<StageRow> rows;
  std::lock_guard lock(mutex);
  for (const StageRow& row : rows)
    if (row.name == name && row.number == number) return row;
  rows.push_back({.kind = StageRow::Kind::Kernel,
                  .name = intern(name),
                  .alias = {},
                  .slug = slug_of_stage(name),
                  .extension = {},
                  .help = {},
                  .number = number});
  return rows.back();
}

// Reads the recorded graph or list `s` of the input `in`.
Result<GraphFile> read_recorded(Graph& graph, const InputGraph& in, const RecordedStage& s) {
  ReadReport report{.take_malformed = true, .producer = in.info.producer};
  return read_graph(graph, detect_kind(*s.text), *s.text, in.file + " (" + s.name + ")", &report);
}

// Returns the recorded graph or list `s` in `format`. With `self_describing`, below a header with release and stage.
Result<std::string> written(const InputGraph& in, const RecordedStage& s, std::optional<Format> format,
                            bool self_describing) {
  GraphInfo info{.producer = in.info.producer, .name = in.info.name, .stage = s.name, .target = in.info.target};
  if (!s.is_graph() && format.value_or(Format::Uops) == Format::Uops)
    return (self_describing ? text_header(info) : "") + std::string(*s.text);
  if (!in.record && in.list.empty()) {  // `in` may have a SINK that its text lacks
    info.settings = in.info.settings, info.stage = in.info.stage;
    return write_graph(format.value_or(Format::Pyrender), in.root, info);
  }
  Graph graph;
  auto read = read_recorded(graph, in, s);
  if (!read) return read.diag();
  info.settings = read->info.settings;
  if (s.kind == RecordedStage::Kind::Kernel) info.name += "." + s.name.substr(s.name.find(' ') + 1);
  const bool is_input = s.kind == RecordedStage::Kind::Ast || s.kind == RecordedStage::Kind::Kernel;
  if (is_input) info.stage = !in.info.stage.empty() ? in.info.stage : self_describing ? "ast" : "";
  return read->list.empty() ? write_graph(format.value_or(Format::Pyrender), read->root, info)
                            : write_list(format.value_or(Format::Uops), read->list, info);
}

// Returns the member "producer" of the JSON text that begins with the line `line`; "" if this line does not have it.
std::string producer_in(std::string_view line) {
  constexpr std::string_view kMember = "\"producer\"";
  size_t at = line.find(kMember);
  if (at == line.npos) return {};
  line = trimmed(line.substr(at + kMember.size()));
  if (!line.starts_with(':')) return {};
  line = trimmed(line.substr(1));
  return line.starts_with('"') ? std::string(line.substr(1, line.find('"', 1) - 1)) : std::string();
}

}  // namespace

std::string foreign_producer(const std::string& spec) {
  InputName name = InputName::parse(spec);
  if (name.file == "-") return {};
  auto is_model = is_model_file(name.file);
  if (!is_model || *is_model) return {};
  auto lines = LineReader::open(name.file);
  std::string first;
  if (!lines || !(*lines)->next(first)) return {};
  std::string producer;
  if (detect_kind(first) == InputKind::Golden) {
    if (auto header = parse_golden_header({first, 1}, name.file)) producer = header->producer;
  } else if (first.starts_with('{') || has_header(first)) {
    producer = producer_in(first);
  }
  return release_of(producer) == Release::v0_12 ? "" : producer;
}

Result<std::vector<DumpText>> foreign_texts(const InputGraph& in, RecordedSelection& stages, const DumpPlan& plan) {
  const RecordedStages recorded = recorded_stages_of(in);
  auto wanted = stages.of(recorded);
  if (!wanted) return wanted.diag();
  std::vector<DumpText> out;
  size_t count = 0;
  for (size_t i = 0; i < recorded.size(); i++) {
    const RecordedStage& s = recorded[i];
    if (!s.text) continue;
    const size_t number = count++;
    if (!(*wanted)[i]) continue;
    const bool has_nodes = s.is_graph() || s.name == kLinear;
    auto text = has_nodes ? written(in, s, plan.format, plan.self_describing) : Result(std::string(*s.text));
    if (!text) return text.diag();
    if (!text->ends_with('\n')) *text += '\n';
    const Format format = plan.format.value_or(s.is_graph() ? Format::Pyrender : Format::Uops);
    std::string_view extension = has_nodes ? extension_of(format) : row_of(s.name).extension;
    out.push_back({in.info.name, &foreign_row(s.name, number), std::string(extension), std::move(*text)});
  }
  return out;
}

Status trace_recorded_rewrites(const InputGraph& in, RecordedSelection& stages, TraceConsumer& to,
                               const ShownNames& names) {
  if (!in.record || in.record->rewrites.empty()) throw Failure(no_rewrites(in.file));  // other records lack them too
  const GoldenRecord& r = *in.record;
  const RecordedStages recorded(r);
  auto wanted = stages.is_empty() ? Result(std::vector<bool>(recorded.size(), true)) : stages.of(recorded);
  if (!wanted) return wanted.diag();
  Graph graph;
  std::vector<UOp> roots;  // the graphs of the stages
  for (size_t i = 0; i < recorded.size(); i++) {
    const RecordedStage& s = recorded[i];
    if (i && (s.kind != RecordedStage::Kind::Stage || !s.text || s.same)) {
      roots.push_back(roots.back());
      continue;
    }
    auto read = read_recorded(graph, in, s);
    if (!read) return read.diag();
    roots.push_back(read->root);
  }
  auto matches = read_rewrites(graph, r.rewrites, in.info.producer, in.file);
  if (!matches) return matches.diag();
  if (names.release) {
    graph.set_release(*names.release);
    std::vector<UOp*> all;
    for (UOp& root : roots) all.push_back(&root);
    for (RecordedMatch& m : *matches) all.push_back(&m.before), all.push_back(&m.after);
    names.renames.apply(all, names.is_older);
  }
  RecordedTrace trace(graph, to);
  trace.add(roots[0]);
  to.kernel(r.id, r.target, roots[0]);
  if (!in.made_for.empty()) to.made_for(in.made_for);
  size_t next = 0, stage = 0;
  for (size_t i = 0; i < recorded.size(); i++) {
    if (recorded[i].kind != RecordedStage::Kind::Stage) continue;
    const size_t first = next;
    while (next < matches->size() && (*matches)[next].stage <= stage) next++;
    stage++;
    if ((*wanted)[i])
      trace.stage(intern(names.renames.stage(recorded[i].name)), roots[i - 1], roots[i],
                  std::span(*matches).subspan(first, next - first));
  }
  to.kernel_end();
  return Unit{};
}

}  // namespace tgc
