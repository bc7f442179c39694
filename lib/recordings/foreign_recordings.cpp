#include "lib/recordings/foreign_recordings.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <set>

#include "lib/compilation/selection.h"
#include "lib/driver/source.h"
#include "lib/recordings/count_rows.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"
#include "lib/text/input_file.h"
#include "lib/text/recorded_rewrites.h"
#include "lib/text/recorded_stages.h"

namespace tgc {
namespace {

// Returns the name of a stage as it is in file names and messages: "postopt-symbolic".
std::string slug_of(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '+';
    if (word) out += char(c >= 'A' && c <= 'Z' ? c | 32 : c);
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "stage" : out;
}

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
                  .slug = slug_of(name),
                  .extension = {},
                  .help = {},
                  .number = number});
  return rows.back();
}

RecordedStages stages_in(const InputGraph& in) {
  return in.record ? RecordedStages(*in.record) : RecordedStages(in.text);
}

// Returns the names of the recorded stages that `list` selects, by name or with the words "all" and "changed".
Result<std::vector<std::string_view>> wanted_stages(std::string_view list, const RecordedStages& recorded) {
  std::vector<Choice> choices{{"all", "", "", false}, {"changed", "", "", false}};
  for (const RecordedStage& s : recorded)
    if (s.text) choices.push_back({s.name, "", slug_of(s.name)});
  return select_stages(list, choices, "--stage=all to see the recorded stages");
}

// Converts the text of a graph to `format`.
Result<std::string> converted(const InputGraph& in, const RecordedStage& s, Format format) {
  Graph graph;
  ReadReport report{.take_malformed = true};
  auto read = read_graph(graph, detect_kind(*s.text), *s.text, in.file + " (" + s.name + ")", &report);
  if (!read) return read.diag();
  if (s.kind != RecordedStage::Kind::Ast) read->info.stage = s.name;
  read->info.name = in.info.name, read->info.target = in.info.target;
  return read->list.empty() ? write_graph(format, read->root, read->info) : write_list(format, read->list, read->info);
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

Result<std::vector<DumpText>> foreign_texts(const InputGraph& in, const std::string& stages, Format format) {
  const RecordedStages recorded = stages_in(in);
  auto wanted = wanted_stages(stages.empty() ? "ast" : stages, recorded);
  if (!wanted) return wanted.diag();
  auto has = [&](std::string_view word) { return std::find(wanted->begin(), wanted->end(), word) != wanted->end(); };
  std::vector<DumpText> out;
  size_t count = 0;
  for (const RecordedStage& s : recorded) {
    if (!s.text) continue;
    const size_t number = count++;
    const bool changed = has("changed") && s.is_graph() && !s.same && s.kind != RecordedStage::Kind::Ast;
    if (!has(s.name) && !has("all") && !changed) continue;
    const StageRow* ours = s.is_graph() ? nullptr : find_row(s.name);
    DumpText text{in.info.name, ours ? ours : &foreign_row(s.name, number), std::string(extension_of(format)),
                  std::string(*s.text)};
    if (!s.is_graph()) {
      text.extension = ours ? ours->extension : "txt";
    } else {
      auto written = converted(in, s, format);
      if (!written) return written.diag();
      text.text = std::move(*written);
    }
    if (!text.text.ends_with('\n')) text.text += '\n';
    out.push_back(std::move(text));
  }
  return out;
}

Status trace_recorded_rewrites(const InputGraph& in, TraceConsumer& to) {
  if (!in.record || in.record->rewrites.empty())
    return Diag{.message = "no rewrites were recorded of '" + in.info.name + "'",
                .file = in.file,
                .expected = "a recording of tinygrad_export.py --rewrites"};
  const GoldenRecord& r = *in.record;
  Graph graph;
  ReadReport report{.take_malformed = true};
  auto ast = read_graph(graph, detect_kind(r.ast), r.ast, in.file, &report);
  if (!ast) return ast.diag();
  auto matches = read_rewrites(graph, r.rewrites, in.info.producer, in.file);
  if (!matches) return matches.diag();
  to.kernel(r.id, r.target, ast->root);
  UOp last = ast->root;
  size_t next = 0, stage = 0;
  for (const RecordedStage& s : RecordedStages(r)) {
    if (s.kind != RecordedStage::Kind::Stage) continue;
    UOp result = last;
    if (s.text && !s.same) {
      auto read = read_graph(graph, detect_kind(*s.text), *s.text, in.file, &report);
      if (!read) return to.kernel_given_up(), read.diag();
      result = read->root;
    }
    to.stage(s.name, last);
    to.begin({.name = s.name, .set = s.name}, 0, last);
    for (; next < matches->size() && (*matches)[next].stage <= stage; next++) {
      const RecordedMatch& m = (*matches)[next];
      std::string_view place = intern(m.place);
      size_t colon = std::min(place.rfind(':'), place.size() - 1);
      auto line = uint32_t(std::strtoul(m.place.c_str() + colon + 1, nullptr, 10));
      to.rewrite(0, {.name = place, .file = place.substr(0, colon), .line = line}, m.before, m.after, {});
    }
    to.end(0, result);
    to.stage_end(result);
    last = result;
    stage++;
  }
  to.kernel_end();
  return Unit{};
}

Status RecordedCounts::add(const InputGraph& in) {
  records++;
  for (const RecordedStage& s : stages_in(in)) {
    if (!s.is_graph() || !s.text || s.same) continue;
    Graph graph;
    ReadReport report{.take_malformed = true};
    auto read = read_graph(graph, detect_kind(*s.text), *s.text, in.file, &report);
    if (!read) return read.diag();
    stages++;
    for (UOp u : read->list.empty() ? toposort(read->root) : read->list) ops[std::string(shown_op(u))]++;
  }
  if (!in.record || in.record->rewrites.empty()) return Unit{};
  Graph graph;
  auto found = read_rewrites(graph, in.record->rewrites, in.info.producer, in.file);
  if (!found) return found.diag();
  for (const RecordedMatch& m : *found) matches[m.place]++;
  return Unit{};
}

std::string RecordedCounts::text() const {
  std::string out = std::to_string(records) + " records, " + std::to_string(stages) + " graphs\n";
  auto rows = [&](std::string_view what, const std::map<std::string, size_t>& counts) {
    if (counts.empty()) return;
    out.append(what) += '\n';
    for (auto& [name, count] : by_count(counts)) out += count_row(count, name);
  };
  rows("matches of each rule:", matches);
  rows("nodes of each op:", ops);
  return out;
}

std::string RecordedCounts::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", records).member("graphs", stages);
    json.member("matches", matches);
    json.member("ops", ops);
  }) + "\n";
}

}  // namespace tgc
