#include "lib/compare/diff_input.h"

#include <filesystem>
#include <map>
#include <set>

#include "lib/compilation/schedule_text.h"
#include "lib/driver/input_name.h"
#include "lib/driver/recorded_facts.h"
#include "lib/records/input_file.h"
#include "lib/records/recorded_stages.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

Result<DiffInput> read_records(const Session& session, GoldenReader reader, const InputName& name) {
  DiffInput side{.file = name.shown()};
  NamedRecords records(std::move(reader), name.id);
  const GoldenReader& file = records.file();
  for (GoldenLine line;;) {
    auto more = records.next_line(line);
    if (!more) return more.diag();
    if (!*more) break;
    auto record = parse_golden_record(line, side.file);
    if (!record) return record.diag();
    side.runs.push_back(run_of(*record, file.header(), side.file + "#" + record->id));
  }
  if (file.cut()) session.warn(*file.cut());
  if (side.runs.empty())
    return Diag{.message = name.id.empty() ? "no records" : "no record '" + name.id + "'", .file = side.file};
  return side;
}

// Runs the compilation up to and including `row`. Returns the result as text, in the form that recorded runs have.
Result<std::string> text_at(Compilation& c, const StageRow& row) {
  if (auto status = c.run_through(row); !status) return status.diag();
  return row.is_graph_stage() ? pyrender(c.current()) : c.output(row);
}

// Appends the kernels of the compilation's schedule to the run `to`, in the form that recorded runs have.
void add_kernels(Compilation& c, Run& to) {
  auto& schedule = c.schedule();
  auto kernels = schedule ? golden_kernels(*schedule) : Result<std::vector<GoldenKernel>>(schedule.diag());
  for (size_t i = 0; kernels && i < kernels->size(); i++)
    to.texts.push_back({"kernel " + std::to_string(i), (*kernels)[i].ast, true});
}

Result<Run> run_by_tgc(const Run& recorded) {
  Settings settings;
  Status known = Unit{};
  for (auto& [key, value] : recorded.settings)
    if (auto status = settings.set(key, value); !status) known = status;
  auto in = load_text(settings, detect_kind(recorded.texts[0].text), recorded.texts[0].text, recorded.file, false,
                      recorded.producer);
  if (!in) return in.diag();
  in->is_tensor_graph = recorded.target.empty();
  auto c = Compilation::begin(std::move(*in), {.target = recorded.target});
  if (!c) {
    Diag diag = c.diag();
    diag.expected = "a second recording to compare with";
    return diag;
  }
  if (!known) return known.diag();
  Run out{recorded.id, recorded.target, recorded.file, recorded.settings, {recorded.texts[0]}};
  bool kernels = false;
  for (const RunText& t : recorded.texts) {
    kernels |= t.stage.starts_with("kernel ");
    const StageRow* row = find_row(t.stage);
    if (!row || row->kind == StageRow::Kind::Ast) continue;
    auto text = text_at(*c, *row);
    if (!text && !c->next()) return out;  // a stage failed, so the run ends before it
    if (text) out.texts.push_back({t.stage, std::move(*text), t.is_graph});
  }
  if (kernels) add_kernels(*c, out);
  return out;
}

}  // namespace

Result<DiffInput> open_diff_input(const Session& session, const std::string& spec) {
  std::error_code error;
  if (std::filesystem::is_directory(spec, error)) {
    auto runs = runs_of_folder(spec);
    if (!runs) return runs.diag();
    return DiffInput{.file = spec, .runs = std::move(*runs)};
  }
  InputName name = InputName::parse(spec);
  auto lines = LineReader::open(name.file);
  if (!lines) return lines.diag();
  std::string first;
  auto more = (*lines)->next(first);
  if (!more) return more.diag();
  if (!*more) return Diag{.message = "the file is empty", .file = name.shown(), .expected = "a graph, or records"};
  if (detect_kind(first) == InputKind::Golden) {
    auto records = GoldenReader::from(std::move(*lines), {first, 1}, name.shown());
    return records ? read_records(session, std::move(*records), name) : Result<DiffInput>(records.diag());
  }
  DiffInput side{.is_graph = true, .text = first + "\n", .file = name.shown()};
  if (auto status = (*lines)->rest(side.text); !status) return status.diag();
  return side;
}

Result<DiffInput> as_graph(DiffInput side, const std::string& stage, const std::string& target) {
  if (side.is_graph) return side;
  if (side.runs.size() > 1 && !target.empty())
    std::erase_if(side.runs, [&](const Run& r) { return r.target != target; });
  if (side.runs.size() != 1)
    return Diag{.message = side.runs.empty() ? "no record for " + target
                                             : std::to_string(side.runs.size()) +
                                                   " records, and one stage is compared of one record alone",
                .file = side.file,
                .expected = "FILE#ID"};
  for (const RunText& t : side.runs[0].texts)
    if (t.stage == stage)
      return DiffInput{.is_graph = true, .text = t.text, .file = side.runs[0].file, .producer = side.runs[0].producer};
  return Diag{.message = "record '" + side.runs[0].id + "' has no stage '" + stage + "'"};
}

Result<DiffInput> made_by_tgc(const DiffInput& side) {
  if (side.is_graph)
    return Diag{.message = "a graph alone has nothing to be compared with",
                .file = side.file,
                .expected = "two graphs, or a record"};
  DiffInput out{.file = "tgc"};
  for (const Run& run : side.runs) {
    auto ours = run_by_tgc(run);
    if (!ours) return ours.diag();
    out.runs.push_back(std::move(*ours));
  }
  return out;
}

Result<CommonStage> common_stage(const DiffInput& a, const DiffInput& b, const std::string& asked) {
  if (!asked.empty() && a.is_graph && b.is_graph)
    return Diag{.message = "--stage=" + asked + " picks a stage of a run, and both sides are one graph",
                .expected = "golden records, or a folder of `tgc dump --stage=all -o`"};
  CommonStage out{asked, ""};
  std::string file;
  for (const DiffInput* side : {&a, &b}) {
    if (!side->is_graph) continue;
    Graph graph;
    ReadReport report{.take_malformed = true};
    auto read = read_graph(graph, detect_kind(side->text), side->text, side->file, &report);
    if (!read) return read.diag();
    out.target = read->info.target;
    if (out.name.empty()) out.name = read->info.stage, file = side->file;
  }
  if (out.name.empty()) out.name = "ast";
  if (out.name.starts_with("kernel ") || (a.is_graph && b.is_graph)) return out;
  for (const DiffInput* side : {&a, &b})  // a stage of a recording, by its name or slug
    for (const Run& run : side->runs)
      for (const RunText& t : run.texts)
        if (t.stage == out.name || slug_of_stage(t.stage) == out.name)
          return CommonStage{t.stage, out.target, !t.is_graph && t.stage != "linear"};
  const StageRow* row = find_row(out.name);
  const bool is_text = row && row->output && row->name != "linear";  // compared by lines; "linear" counts as a graph
  if (row) return CommonStage{std::string(row->name), out.target, is_text};
  Diag unknown = unknown_stage(out.name);
  unknown.file = file;
  return unknown;
}

DiffInput only_stage(DiffInput side, const std::string& stage) {
  for (Run& run : side.runs) std::erase_if(run.texts, [&](const RunText& t) { return t.stage != stage; });
  return side;
}

RunPairs pair_runs(const DiffInput& a, const DiffInput& b) {
  RunPairs out;
  if (a.runs.size() == 1 && b.runs.size() == 1) {
    out.pairs.emplace_back(&a.runs[0], &b.runs[0]);
    return out;
  }
  auto targets_of = [](const DiffInput& side) {
    std::set<std::string> out;
    for (const Run& r : side.runs) out.insert(r.target);
    return out;
  };
  const CommonTargets targets(targets_of(a), targets_of(b));
  auto key = [&](const Run& r) { return std::pair(r.id, targets.of(r.target)); };
  std::map<std::pair<std::string, std::string>, std::vector<const Run*>> in_b;
  for (const Run& r : b.runs) in_b[key(r)].push_back(&r);
  std::map<std::pair<std::string, std::string>, size_t> used;
  for (const Run& r : a.runs) {
    auto& others = in_b[key(r)];
    size_t& n = used[key(r)];
    if (n < others.size()) out.pairs.emplace_back(&r, others[n++]);
    else out.only_a++;
  }
  out.only_b = b.runs.size() - out.pairs.size();
  return out;
}

}  // namespace tgc
