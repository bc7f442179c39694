#include "lib/compare/diff_input.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "lib/compare/process_replay.h"
#include "lib/compilation/schedule_text.h"
#include "lib/diff/renames.h"
#include "lib/diff/run_diff.h"
#include "lib/driver/input_name.h"
#include "lib/driver/recorded_facts.h"
#include "lib/records/input_file.h"
#include "lib/records/recorded_stages.h"
#include "lib/run/repro_command.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

struct DiffInput {
  bool is_graph = false;   // the input is the graph in `text`, and not `runs`
  std::string text, file;
  std::string producer = {};  // the release of a graph whose text names none; empty if unknown
  std::vector<CompileRun> runs;
};

struct ComparedStage {
  std::string name;
  std::string target;  // the target that the header of a graph names; may be empty
  bool is_compared_as_text = false;  // the result is compared line by line, and not as a graph
};

// The pairs of runs to compare, and the numbers of runs without a partner. Runs with equal ids and matching targets are
// paired in order. If each input has one run, the two are a pair in any case.
struct RunPairs {
  std::vector<std::pair<const CompileRun*, const CompileRun*>> pairs;
  size_t num_only_in_a = 0, num_only_in_b = 0;
};

Result<DiffInput> read_records(const Session& session, GoldenReader reader, const InputName& name) {
  DiffInput side{.file = name.display_name()};
  NamedRecordReader records(std::move(reader), name.id);
  const GoldenReader& file = records.reader();
  for (GoldenLine line;;) {
    auto more = records.next_line(line);
    if (!more) return more.diag();
    if (!*more) break;
    auto record = parse_golden_record(line, side.file);
    if (!record) return record.diag();
    side.runs.push_back(run_of_record(*record, file.header(), side.file + "#" + record->id));
  }
  if (file.truncation_error()) session.send_warning(*file.truncation_error());
  if (side.runs.empty())
    return Diag{.message = name.id.empty() ? "no records" : "no record '" + name.id + "'", .file = side.file};
  return side;
}

Result<std::string> text_after_stage(Compilation& c, const StageRow& row) {
  if (auto status = c.run_through_stage(row); !status) return status.diag();
  return row.is_graph_stage() ? pyrender(c.current_graph()) : c.row_output(row);
}

void add_kernel_texts(Compilation& c, CompileRun& to) {
  auto& schedule = c.schedule();
  auto kernels = schedule ? golden_kernels(*schedule) : Result<std::vector<GoldenKernel>>(schedule.diag());
  for (size_t i = 0; kernels && i < kernels->size(); i++)
    to.texts.push_back({"kernel " + std::to_string(i), (*kernels)[i].ast, true});
}

Result<CompileRun> recompile_run(const CompileRun& recorded) {
  Settings settings;
  Status known = Unit{};
  for (auto& [key, value] : recorded.settings)
    if (auto status = settings.set_value(key, value); !status) known = status;
  auto in = load_graph_text(settings, detect_input_kind(recorded.texts[0].text), recorded.texts[0].text, recorded.file,
                            false, recorded.producer);
  if (!in) return in.diag();
  in->is_tensor_graph = recorded.target.empty();
  auto c = Compilation::begin(std::move(*in), {.target = recorded.target});
  if (!c) {
    Diag diag = c.diag();
    diag.expected = "a second recording to compare with";
    return diag;
  }
  if (!known) return known.diag();
  CompileRun out{recorded.id, recorded.target, recorded.file, recorded.settings, {recorded.texts[0]}};
  bool kernels = false;
  for (const StageText& t : recorded.texts) {
    kernels |= t.stage.starts_with("kernel ");
    const StageRow* row = find_stage_row(t.stage);
    if (!row || row->kind == StageRow::Kind::Ast) continue;
    auto text = text_after_stage(*c, *row);
    if (!text && !c->next_row()) return out;  // a stage failed: the run ends before it
    if (text) out.texts.push_back({t.stage, std::move(*text), t.is_graph});
  }
  if (kernels) add_kernel_texts(*c, out);
  return out;
}

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
  auto more = (*lines)->next_line_text(first);
  if (!more) return more.diag();
  if (!*more)
    return Diag{.message = "the file is empty", .file = name.display_name(), .expected = "a graph, or records"};
  if (detect_input_kind(first) == InputKind::Golden) {
    auto records = GoldenReader::make_from_lines(std::move(*lines), {first, 1}, name.display_name());
    return records ? read_records(session, std::move(*records), name) : Result<DiffInput>(records.diag());
  }
  DiffInput side{.is_graph = true, .text = first + "\n", .file = name.display_name()};
  if (auto status = (*lines)->read_rest_of_text(side.text); !status) return status.diag();
  return side;
}

// Returns the result of `stage` in the only run of `side` or, if it has several, in the only run with the target
// `target`. Returns a graph unchanged.
Result<DiffInput> stage_result(DiffInput side, const std::string& stage, const std::string& target) {
  if (side.is_graph) return side;
  if (side.runs.size() > 1 && !target.empty())
    std::erase_if(side.runs, [&](const CompileRun& r) { return r.target != target; });
  if (side.runs.size() != 1)
    return Diag{.message = side.runs.empty() ? "no record for " + target
                                             : std::to_string(side.runs.size()) +
                                                   " records, and one stage is compared of one record alone",
                .file = side.file,
                .expected = "FILE#ID"};
  for (const StageText& t : side.runs[0].texts)
    if (t.stage == stage)
      return DiffInput{.is_graph = true, .text = t.text, .file = side.runs[0].file, .producer = side.runs[0].producer};
  return Diag{.message = "record '" + side.runs[0].id + "' has no stage '" + stage + "'"};
}

// Compiles the AST of each run by tgc's own stages, with the settings and target of the run. A run ends before the
// stage that fails.
Result<DiffInput> recompile_input(const DiffInput& side) {
  if (side.is_graph)
    return Diag{.message = "a graph alone has nothing to be compared with",
                .file = side.file,
                .expected = "two graphs, or a record"};
  DiffInput out{.file = "tgc"};
  for (const CompileRun& run : side.runs) {
    auto ours = recompile_run(run);
    if (!ours) return ours.diag();
    out.runs.push_back(std::move(*ours));
  }
  return out;
}

// Returns the stage to compare: `asked` (--stage) or, if it is empty, the stage that the graph names, or the AST.
Result<ComparedStage> choose_stage(const DiffInput& a, const DiffInput& b, const std::string& asked) {
  if (!asked.empty() && a.is_graph && b.is_graph)
    return Diag{.message = "--stage=" + asked + " picks a stage of a run, and both sides are one graph",
                .expected = "golden records, or a folder of `tgc dump --stage=all -o`"};
  ComparedStage out{asked, ""};
  std::string file;
  for (const DiffInput* side : {&a, &b}) {
    if (!side->is_graph) continue;
    Graph graph;
    GraphReadReport report{.accepts_malformed_graphs = true};
    auto read = read_graph(graph, detect_input_kind(side->text), side->text, side->file, &report);
    if (!read) return read.diag();
    out.target = read->info.target;
    if (out.name.empty()) out.name = read->info.stage, file = side->file;
  }
  if (out.name.empty()) out.name = "ast";
  if (out.name.starts_with("kernel ") || (a.is_graph && b.is_graph)) return out;
  for (const DiffInput* side : {&a, &b})
    for (const CompileRun& run : side->runs)
      for (const StageText& t : run.texts)
        if (t.stage == out.name || slug_of_stage(t.stage) == out.name)
          return ComparedStage{t.stage, out.target, !t.is_graph && t.stage != "linear"};
  const StageRow* row = find_stage_row(out.name);
  const bool is_text = row && row->output && row->name != "linear";  // a linear list is compared like a graph
  if (row) return ComparedStage{std::string(row->name), out.target, is_text};
  Diag unknown = unknown_stage_error(out.name);
  unknown.file = file;
  return unknown;
}

DiffInput keep_only_stage(DiffInput side, const std::string& stage) {
  for (CompileRun& run : side.runs) std::erase_if(run.texts, [&](const StageText& t) { return t.stage != stage; });
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
    for (const CompileRun& r : side.runs) out.insert(r.target);
    return out;
  };
  const TargetMatcher targets(targets_of(a), targets_of(b));
  auto key = [&](const CompileRun& r) { return std::pair(r.id, targets.key_of(r.target)); };
  std::map<std::pair<std::string, std::string>, std::vector<const CompileRun*>> in_b;
  for (const CompileRun& r : b.runs) in_b[key(r)].push_back(&r);
  std::map<std::pair<std::string, std::string>, size_t> used;
  for (const CompileRun& r : a.runs) {
    auto& others = in_b[key(r)];
    size_t& n = used[key(r)];
    if (n < others.size()) out.pairs.emplace_back(&r, others[n++]);
    else out.num_only_in_a++;
  }
  out.num_only_in_b = b.runs.size() - out.pairs.size();
  return out;
}

class DiffCommand {
 public:
  DiffCommand(const Session& session, const std::string& a, const std::string& b, const DiffPlan& plan)
      : session_(session), spec_a_(a), spec_b_(b), plan_(plan) {}

  DiffReport run() {
    options_ = DiffOptions::parse_ignore_list(plan_.ignored_differences).value_or_throw();
    renames_ = read_requested_renames(plan_.renames_file).value_or_throw();
    if (plan_.stage.empty() && are_recordings(spec_a_, spec_b_)) return compare_recordings();
    Session session = session_;
    session.num_jobs = 1;
    DiffInput a = open_diff_input(session, spec_a_).value_or_throw();
    DiffInput b = (spec_b_.empty() ? recompile_input(a) : open_diff_input(session, spec_b_)).value_or_throw();
    const bool are_runs = !a.is_graph && !b.is_graph;
    if (are_runs && plan_.stage.empty()) return compare_runs(a, b);
    ComparedStage stage = choose_stage(a, b, plan_.stage).value_or_throw();
    stage_ = stage.name;
    if (are_runs && stage.is_compared_as_text)
      return compare_runs(keep_only_stage(a, stage_), keep_only_stage(b, stage_));
    if (!plan_.is_quiet && !plan_.as_json && a.is_graph != b.is_graph)
      session.report_note("compared with '" + stage_ + "' of " + (a.is_graph ? spec_b_ : spec_a_));
    // a separate statement: reports an error of A first
    const DiffInput graph_a = stage_result(a, stage_, stage.target).value_or_throw();
    return compare_graphs(graph_a, stage_result(b, stage_, stage.target).value_or_throw());
  }

 private:
  DiffReport compare_graphs(const DiffInput& a, const DiffInput& b) {
    Graph graph;
    const ComparedText text_a{a.text, a.file, a.producer}, text_b{b.text, b.file, b.producer};
    auto [side_a, side_b] = read_renamed_pair(graph, text_a, text_b, renames()).value_or_throw();
    GraphDiff diff = diff_graphs(side_a, side_b, options_);
    if (plan_.as_json) {
      out_.text = diff_as_json(diff);
      out_.text.back() = ',';
      out_.text += "\"stage\":\"" + stage_ + "\"}\n";
    } else if (!plan_.is_quiet) {
      out_.text = diff_as_text(diff, plan_.diff_style);
    }
    out_.ci.add_case(make_ci_case(spec_a_ + " and " + spec_b_, b_file(), diff));
    return finish_report(diff.is_same);
  }

  DiffReport compare_recordings() {
    ReplayDiffPlan plan{options_, plan_.diff_style, plan_.renames_file, plan_.skips_stages, plan_.as_json};
    ReplayDiff diff = diff_recordings(session_, spec_a_, spec_b_, plan).value_or_throw();
    out_.text = plan_.as_json ? diff.as_json() : plan_.is_quiet ? "" : diff.text(plan_.max_differences);
    out_.ci = diff.ci(b_file());
    if (!plan_.is_quiet) suggest_schedule_diff(diff);
    return finish_report(diff.is_same());
  }

  // If ASTs of kernels differ, or only one recording has a kernel, the difference began in the schedules. Then names
  // the command that compares the recordings of schedules, if both exist.
  void suggest_schedule_diff(const ReplayDiff& diff) const {
    const std::string a = InputName::parse(spec_a_).schedules_file(), b = InputName::parse(spec_b_).schedules_file();
    auto has_other_ast = [](const ReplayPair& pair) { return pair.stage == "ast"; };
    const bool are_others = diff.num_only_in_a || diff.num_only_in_b;
    if (!a.empty() && !b.empty() && (are_others || std::ranges::any_of(diff.differing_pairs, has_other_ast)))
      session_.report_note("kernels differ before any of their rewrites; for the schedules that made them: tgc diff " +
                           quote_for_shell(a) + " " + quote_for_shell(b));
  }

  DiffReport compare_runs(const DiffInput& a, const DiffInput& b) {
    RunPairs paired = pair_runs(a, b);
    if (paired.pairs.empty()) throw Failure("nothing was compared: the two sides have no record in common");
    size_t different = 0;
    std::map<std::string, size_t> first;
    std::vector<std::string> diffs;
    for (auto [a, b] : paired.pairs) {
      RunDiff diff = diff_runs(*a, *b, options_, renames()).value_or_throw();
      if (!diff.is_same) different++, first[diff.first_different_stage]++;
      out_.ci.add_case(make_ci_case(*a, b_file(), diff));
      if (plan_.as_json) diffs.push_back(diff_as_json(diff, *a));
      else if (!plan_.is_quiet && !diff.is_same)
        out_.text += "--- " + record_label(a->id, a->target) + "\n" + diff_as_text(diff, plan_.diff_style);
    }
    size_t n = paired.pairs.size();
    bool same = !different && !paired.num_only_in_a && !paired.num_only_in_b;
    if (plan_.as_json) {
      out_.text = json_text([&](JsonWriter& json) {
        json.object([&] {
          json.member("same", same).member("runs", n).member("different", different);
          json.member("only_in_a", paired.num_only_in_a).member("only_in_b", paired.num_only_in_b);
          json.key("diffs").array([&] {
            for (const std::string& d : diffs) json.start_line().raw_json(d);
          });
        });
      });
    } else if (!plan_.is_quiet &&
               (n > 1 || paired.num_only_in_a || paired.num_only_in_b || (same && spec_b_.empty()))) {
      out_.text += count_text(n, "run") + " compared, " + std::to_string(n - different) + " the same\n";
      for (auto& [stage, count] : first)
        out_.text += "first difference at " + stage + ": " + std::to_string(count) + "\n";
      if (paired.num_only_in_a) out_.text += std::to_string(paired.num_only_in_a) + " only in " + spec_a_ + "\n";
      if (paired.num_only_in_b) out_.text += std::to_string(paired.num_only_in_b) + " only in " + spec_b_ + "\n";
    }
    for (auto& [count, where] : {std::pair(paired.num_only_in_a, spec_a_), std::pair(paired.num_only_in_b, spec_b_)})
      if (count)
        out_.ci.add_case({.verdict = CiVerdict::Failed, .name = where, .rule = "kernel-missing",
                 .message = count_text(count, "run") + " only here", .file = b_file()});
    return finish_report(same);
  }

  DiffReport finish_report(bool same) {
    out_.is_same = same;
    return std::move(out_);
  }
  std::string b_file() const { return InputName::parse(spec_b_.empty() ? spec_a_ : spec_b_).display_name(); }
  const RenameTable* renames() const { return renames_ ? &*renames_ : nullptr; }

  const Session& session_;
  const std::string &spec_a_, &spec_b_;
  const DiffPlan& plan_;
  DiffOptions options_;
  std::optional<RenameTable> renames_;
  DiffReport out_{.ci = make_diff_ci_report()};
  std::string stage_;
};

}  // namespace

Result<DiffReport> diff_inputs(const Session& session, const std::string& a, const std::string& b,
                               const DiffPlan& plan) {
  return catch_failures([&] { return DiffCommand(session, a, b, plan).run(); });
}

}  // namespace tgc
