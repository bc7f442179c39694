#include "lib/diff/run_diff.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "lib/compilation/compilation.h"
#include "lib/records/input_file.h"
#include "lib/records/read_graph.h"
#include "lib/records/recorded_stages.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"
#include "lib/text/pyrender.h"
#include "lib/uop/uop_table.h"

namespace tgc {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAst = "ast";
constexpr size_t kMaxBlame = 8;

// Records which rule created each node (its "maker") in one stage.

class NodeMakerRecorder : public RewriteObserver {
 public:
  struct Maker {
    const Rule* rule = nullptr;  // null if other code of the stage created the node
    std::string rewrite;         // graph rewrites in which the rule applied: "apply rangeify > reshape"
  };
  explicit NodeMakerRecorder(Graph& graph) : graph_(graph), makers_(graph) { set_observer(graph, this); }
  ~NodeMakerRecorder() override { set_observer(graph_, nullptr); }

  // Starts to record makers. `stage` becomes the first name in Maker::rewrite.
  void start_recording(std::string_view stage) {
    is_recording_ = true;
    num_old_nodes_ = uint32_t(graph_.size());
    rewrite_path_ = {std::string(stage)};
  }
  void stop_recording() { is_recording_ = false; }

  void begin_rewrite(std::string_view name, UOp sink, const RuleSet&, bool) override {
    if (!is_recording_) return;
    rewrite_path_.push_back(rewrite_path_.size() == 1 && name == rewrite_path_[0]
                                ? rewrite_path_[0]
                                : rewrite_path_.back() + " > " + std::string(name));
    if (rewrite_path_.size() == 2) record_new_nodes(sink, nullptr);  // no rule made new nodes in the input
  }
  void end_rewrite(std::string_view, UOp) override {
    if (is_recording_) rewrite_path_.pop_back();
  }
  void on_rule_applied(const RuleHit& hit, UOp before, UOp after, RuleCost cost) override {
    if (!is_recording_ || before == after) return;
    // A node that a rule of an inner rewrite created keeps that rule as its maker.
    for (auto id = cost.num_nodes_before; id < graph_.size(); id++) record_maker(graph_.at(id), hit.rule);
    record_new_nodes(after, hit.rule);  // also nodes that the rule only inserts, such as those of a substitution
  }
  void on_node_rebuilt(UOp before, UOp after) override {
    if (const Maker* maker = is_recording_ ? makers_.find(before) : nullptr) {
      Maker same = *maker;
      if (!makers_.contains(after)) makers_[after] = same;
    }
  }
  // `rewrite` is empty if the node existed before the stage.
  Maker maker_of(UOp u) const {
    if (auto* maker = makers_.find(u)) return *maker;
    return u.id() < num_old_nodes_ ? Maker() : Maker{nullptr, rewrite_path_.front()};
  }

 private:
  void record_maker(UOp u, const Rule* rule) {
    if (!makers_.contains(u)) makers_[u] = {rule, rewrite_path_.back()};
  }
  void record_new_nodes(UOp root, const Rule* rule) {
    for (UOp u : toposort(root, [&](UOp u) { return u.id() >= num_old_nodes_ && !makers_.contains(u); }))
      if (u.id() >= num_old_nodes_) record_maker(u, rule);
  }
  Graph& graph_;
  UOpTable<Maker> makers_;
  std::vector<std::string> rewrite_path_;
  uint32_t num_old_nodes_ = 0;  // number of the nodes before the stage
  bool is_recording_ = false;
};

// Runs the stages up to `stage`, and records the makers of its nodes. Returns the empty UOp if a stage fails.
UOp run_through_stage(Compilation& c, const StageRow& stage, NodeMakerRecorder& makers) {
  for (const StageRow* row = c.next_row(); row && row <= &stage; row = c.next_row()) {
    if (row == &stage) makers.start_recording(stage.name);
    auto step = c.run_step();
    makers.stop_recording();
    if (!step) return {};
  }
  if (c.last_row() != &stage)
    makers.start_recording(stage.name), makers.stop_recording();  // skipped: the stage made no nodes
  return c.current_graph();
}

// Returns true if the text is pyrender text of tinygrad, which omits facts such as the dtype of a REDUCE.
bool loses_facts(std::string_view text) { return detect_input_kind(text) == InputKind::Pyrender && !has_header(text); }

// Prints the graph as pyrender text, and reads this text into a graph. Returns `root` itself if that fails.
UOp reduce_to_pyrender(UOp root) {
  auto text = pyrender(root);
  auto read = text ? read_pyrender(root.graph(), *text) : Result<UOp>(text.diag());
  return read ? *read : root;
}

std::string place_of_text(const CompileRun& run, const StageText& text) { return run.file + " (" + text.stage + ")"; }

Result<std::pair<UOp, UOp>> read_stage_graphs(Graph& graph, const CompileRun& a, const StageText& in_a,
                                              const CompileRun& b, const StageText& in_b,
                                              const RenameTable* asked_renames = nullptr) {
  const std::string file_a = place_of_text(a, in_a), file_b = place_of_text(b, in_b);
  return read_renamed_pair(graph, {in_a.text, file_a, a.producer}, {in_b.text, file_b, b.producer}, asked_renames);
}

std::string_view without_header(std::string_view text) {
  return has_header(text) ? text.substr(std::min(text.find('\n', text.find('#')), text.size() - 1) + 1) : text;
}

void find_blamed_rewrites(RunDiff& out, const CompileRun& a, const StageText& in_a, const CompileRun& b,
                          const StageText& in_b, const Settings& settings) {
  if (release_of(a.producer) != release_of(b.producer)) return;
  const CompileRun* known = &a;
  if (a.texts.empty() || a.texts[0].stage != kAst) known = &b;
  if (known->texts.empty() || known->texts[0].stage != kAst) return;
  Graph graph(settings);  // a new Graph: makers are recorded only for new nodes
  GraphReadReport report{.producer = known->producer};
  auto ast = read_graph(graph, detect_input_kind(known->texts[0].text), known->texts[0].text, known->file, &report);
  if (!ast) return;
  NodeMakerRecorder makers(graph);
  const bool is_tensor_graph = known->target.empty();
  const StageRow* stage = find_stage_row(out.first_different_stage);
  if (!stage || !(is_tensor_graph ? stage->tensor != nullptr : stage->kernel != nullptr)) return;
  InputGraph in{.graph = borrow_graph(graph), .root = ast->root, .is_tensor_graph = is_tensor_graph};
  auto compilation = Compilation::begin(std::move(in), {.target = known->target});
  if (!compilation) return;
  UOp ours = run_through_stage(*compilation, *stage, makers);
  auto sides = read_stage_graphs(graph, a, in_a, b, in_b);
  if (!ours || !sides) return;
  UOp compared = loses_facts(in_a.text) || loses_facts(in_b.text) ? reduce_to_pyrender(ours) : ours;
  if (compared != sides->first && compared != sides->second) return;
  bool is_a = compared == sides->first;
  out.reproduced_run = is_a ? "A" : "B";
  auto nodes = toposort(ours);
  std::set<std::pair<const Rule*, std::string>> reported;
  for (const NodeChange& c : out.graph_difference.changes) {
    int32_t i = is_a ? c.position_a : c.position_b;
    if (i < 0 || size_t(i) >= nodes.size() || out.blamed_rewrites.size() == kMaxBlame) continue;
    NodeMakerRecorder::Maker maker = makers.maker_of(nodes[size_t(i)]);
    const std::string& line = is_a ? c.before : c.after;
    if (maker.rewrite.empty() || !reported.emplace(maker.rule, line).second) continue;
    BlamedRewrite blame{.rewrite = maker.rewrite, .node = line};
    if (const Rule* rule = maker.rule) {
      blame.rule = rule->name;
      blame.file = short_file_name(*rule);
      blame.line = rule->line;
    }
    out.blamed_rewrites.push_back(std::move(blame));
  }
}

Status diff_stage(RunDiff& out, const CompileRun& a, const StageText& in_a, const CompileRun& b, const StageText& in_b,
                  const DiffOptions& options, const RenameTable* asked_renames) {
  if (in_a.text == in_b.text) return Unit{};
  if (!in_a.is_graph || !in_b.is_graph) {
    out.line_difference = line_diff(remove_name_counters(without_header(in_a.text)),
                                    remove_name_counters(without_header(in_b.text)));
    out.is_same = out.line_difference.empty();
    return Unit{};
  }
  Settings settings;
  // ignore errors: the settings of other releases may be unknown
  for (auto& [key, value] : a.settings) (void)settings.set_value(key, value);
  Graph graph(settings);
  auto sides = read_stage_graphs(graph, a, in_a, b, in_b, asked_renames);
  if (!sides) return sides.diag();
  out.graph_difference = diff_graphs(sides->first, sides->second, options);
  out.is_same = out.graph_difference.is_same;
  if (out.is_same) return Unit{};
  out.first_different_stage = in_a.stage;
  find_blamed_rewrites(out, a, in_a, b, in_b, settings);
  return Unit{};
}

struct GraphPair {
  UOp a, b;
  Release release_a, release_b;
};

Result<GraphPair> read_graphs(Graph& graph, const ComparedText& text_a, const ComparedText& text_b) {
  auto read = [&](const ComparedText& t) {
    // malformed nodes may be the difference that is searched for
    GraphReadReport report{.accepts_malformed_graphs = true, .producer = t.producer};
    return read_graph(graph, detect_input_kind(t.text), t.text, t.file, &report);
  };
  auto a = read(text_a), b = read(text_b);
  if (!a || !b) return !a ? a.diag() : b.diag();
  const Release release_a = release_of(a->info.producer), release_b = release_of(b->info.producer);
  graph.set_release(std::max(release_a, release_b));
  bool loses_facts_a = loses_facts(text_a.text), loses_facts_b = loses_facts(text_b.text);
  return GraphPair{loses_facts_b && !loses_facts_a ? reduce_to_pyrender(a->root) : a->root,
                   loses_facts_a && !loses_facts_b ? reduce_to_pyrender(b->root) : b->root, release_a, release_b};
}

}  // namespace

const StageText* find_stage_text(const CompileRun& run, std::string_view stage, size_t index,
                                 const RenameTable& renames) {
  for (const StageText& t : run.texts)
    if (renames.stage_after_renames(t.stage) == stage && index-- == 0) return &t;
  return nullptr;
}

Result<std::pair<UOp, UOp>> read_graph_pair(Graph& graph, const ComparedText& a, const ComparedText& b) {
  auto sides = read_graphs(graph, a, b);
  if (!sides) return sides.diag();
  return std::pair(sides->a, sides->b);
}

Result<std::pair<UOp, UOp>> read_renamed_pair(Graph& graph, const ComparedText& text_a, const ComparedText& text_b,
                                              const RenameTable* asked_renames) {
  auto sides = read_graphs(graph, text_a, text_b);
  if (!sides) return sides.diag();
  auto [a, b, release_a, release_b] = *sides;
  const bool is_known = release_a != Release::Other && release_b != Release::Other;
  const RenameTable usual = is_known ? RenameTable::for_releases(release_a, release_b) : RenameTable(),
                    &renames = asked_renames ? *asked_renames : usual;
  const bool are_of_0_12 = release_a == Release::v0_12 && release_b == Release::v0_12;
  if (renames.empty() && (!asked_renames || are_of_0_12)) return std::pair(a, b);
  return std::pair(renames.rename_graph(a, release_a < release_b), renames.rename_graph(b, release_b < release_a));
}

std::string stage_name(std::string_view text) {
  const StageRow* row = find_stage_row(text);
  return std::string(row ? row->name : text);
}

CompileRun run_of_record(const GoldenRecord& r, const GoldenHeader& header, std::string file) {
  CompileRun run{r.id, r.target, std::move(file), settings_of(header, r), {}, header.producer};
  for (const RecordedStage& s : RecordedStageTexts(r))
    if (s.text) run.texts.push_back({stage_name(s.name), std::string(*s.text), s.is_graph()});
  return run;
}

Result<std::vector<CompileRun>> runs_of_folder(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> files;
  for (auto& entry : fs::directory_iterator(path, error))
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  if (error) return Diag{.message = "cannot read the folder: " + error.message(), .file = path};
  std::sort(files.begin(), files.end());
  std::map<std::string, CompileRun> runs;
  for (const fs::path& file : files) {
    // Split KERNEL.NN.STAGE.EXT from the end, because the name of a kernel may have dots.
    fs::path stem = file.stem();
    std::string stage = stem.extension().string(), number = stem.stem().extension().string(),
                kernel = stem.stem().stem().string();
    if (stage.size() < 2 || number.size() < 3 || number.find_first_not_of("0123456789", 1) != number.npos) continue;
    auto text = read_file(file.string());
    if (!text) return text.diag();
    std::string extension = file.extension().string();
    bool is_graph = extension == ".uop" || extension == ".json" || extension == ".repr";
    CompileRun& run = runs[kernel];
    run.id = kernel, run.file = path;
    run.texts.push_back({stage_name(stage.substr(1)), std::move(*text), is_graph});
  }
  if (runs.empty())
    return Diag{.message = "no files of a run in this folder",
                .file = path,
                .expected = "KERNEL.NN.STAGE.EXT, as `tgc dump -o` writes them"};
  std::vector<CompileRun> out;
  for (auto& [kernel, run] : runs) out.push_back(std::move(run));
  return out;
}

Result<RunDiff> diff_runs(const CompileRun& a, const CompileRun& b, const DiffOptions& options,
                          const RenameTable* asked_renames) {
  RunDiff out;
  const Release release_a = release_of(a.producer), release_b = release_of(b.producer);
  const RenameTable renames = asked_renames ? *asked_renames : RenameTable::for_releases(release_a, release_b);
  // number of texts so far by stage: compares the n-th text of a stage in `a` with the n-th in `b`
  std::map<std::string, size_t> occurrences;
  for (const StageText& in_a : a.texts) {
    const std::string stage = renames.stage_after_renames(in_a.stage);
    const StageText* in_b = find_stage_text(b, stage, occurrences[stage]++, renames);
    if (!in_b || (release_a != release_b && !in_a.is_graph && in_a.stage != "source")) continue;
    out.num_compared++;
    if (auto status = diff_stage(out, a, in_a, b, *in_b, options, asked_renames); !status) return status.diag();
    out.first_different_stage = in_a.stage, out.text_a = &in_a, out.text_b = in_b;
    if (!out.is_same) return out;
    out.last_same_stage = in_a.stage;
  }
  out.first_different_stage.clear();
  if (!out.num_compared) return Diag{.message = "'" + a.id + "' and '" + b.id + "' have no stage in common"};
  return out;
}

std::string diff_as_text(const RunDiff& d, const DiffStyle& style) {
  if (d.is_same) return {};
  std::string out = "the first stage that differs is '" + d.first_different_stage + "'";
  if (d.num_compared > 1)
    out += ", after " + std::to_string(d.num_compared - 1) +
           (d.num_compared == 2 ? " that is the same" : " that are the same");
  out += "\n" + (d.line_difference.empty() ? diff_as_text(d.graph_difference, style) : d.line_difference);
  if (d.reproduced_run.empty()) return out;
  out += "tgc makes " + d.reproduced_run + " of this stage" +
         (d.blamed_rewrites.empty() ? "; what differs was there before it" : ", by these rules:") + "\n";
  for (const BlamedRewrite& b : d.blamed_rewrites) {
    std::string rule =
        b.rule.empty() ? "no rule: the stage's own code" : b.rule + "  " + b.file + ":" + std::to_string(b.line);
    out += "  " + rule + (b.rewrite == d.first_different_stage ? "" : "  in " + b.rewrite) + "\n      " + b.node + "\n";
  }
  return out;
}

std::string diff_as_json(const RunDiff& d, const CompileRun& run) {
  return json_object([&](JsonWriter& json) {
    json.member("id", run.id).member("target", run.target).member("same", d.is_same).member("compared", d.num_compared);
    if (d.is_same) return;
    json.member("stage", d.first_different_stage);
    if (!d.last_same_stage.empty()) json.member("before", d.last_same_stage);
    if (d.line_difference.empty()) json.key("diff").raw_json(diff_as_json(d.graph_difference));
    else json.member("lines", d.line_difference);
    if (d.reproduced_run.empty()) return;
    json.member("ours", d.reproduced_run).key("blame").array([&] {
      for (const BlamedRewrite& b : d.blamed_rewrites)
        json.object([&] {
          if (!b.rule.empty()) json.member("rule", b.rule).member("file", b.file).member("line", b.line);
          json.member("rewrite", b.rewrite).member("node", b.node);
        });
    });
  });
}

CiReport make_diff_ci_report() {
  static constexpr CiRule kRules[] = {
      {"graph-differs", "Two graphs differ in structure."},
      {"kernel-differs", "A kernel or schedule differs after a stage."},
      {"kernel-missing", "Only one of the recordings has the kernel or schedule."},
  };
  return CiReport("diff", kRules);
}

CiCase make_ci_case(const std::string& name, const std::string& file, const GraphDiff& diff) {
  CiCase out{.name = name, .file = file};
  if (diff.is_same) return out;
  out.verdict = CiVerdict::Failed, out.rule = "graph-differs";
  out.message = count_text(diff.changes.size(), "change"), out.details_text = diff_as_text(diff);
  return out;
}

CiCase make_ci_case(const CompileRun& run, const std::string& file, const RunDiff& diff) {
  CiCase out{.name = run.id + (run.target.empty() ? "" : " (" + run.target + ")"), .file = file};
  if (diff.is_same) return out;
  out.verdict = CiVerdict::Failed, out.rule = "kernel-differs";
  out.message = "'" + diff.first_different_stage + "' differs";
  if (!diff.blamed_rewrites.empty() && !diff.blamed_rewrites[0].rule.empty())
    out.message += ", by the rule " + diff.blamed_rewrites[0].rule;
  out.details_text = diff_as_text(diff);
  return out;
}

}  // namespace tgc
