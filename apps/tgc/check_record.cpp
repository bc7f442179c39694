#include "apps/tgc/check_record.h"

#include <memory>

#include "lib/compilation/outputs.h"
#include "lib/compilation/schedule_text.h"
#include "lib/compilation/selection.h"
#include "lib/spec/spec.h"
#include "lib/support/line_diff.h"
#include "lib/text/graph_json.h"
#include "lib/text/graph_lines.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/text/repr.h"
#include "passes/pipeline.h"

namespace tgc {
namespace {

// What records hold after the graph stages, whether or not tgc can make it yet.
constexpr std::string_view kRecordOutputs[] = {"linear", "source", "program"};
constexpr std::string_view kKernels = "kernels", kText = "text", kForms = "forms", kSpec = "spec", kGraphs = "graphs";

class RecordCheck {
 public:
  RecordCheck(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan) : r_(record), settings_(settings), plan_(plan) {}

  RecordReport run() {
    report_.id = r_.id;
    report_.target = r_.target.empty() ? r_.device : r_.target;
    if (plan_.wanted.contains(kText) || plan_.wanted.contains(kForms)) check_texts();
    if (r_.target.empty()) check_tensor_graph();
    else check_kernel();
    return std::move(report_);
  }

 private:
  // ---- verdicts
  bool wanted(std::string_view name) const { return plan_.wanted.contains(name) || (plan_.wanted.contains(kGraphs) && !is_output(name)); }
  static bool is_output(std::string_view name) {
    for (std::string_view o : kRecordOutputs)
      if (o == name) return true;
    return name == kKernels || name == kText || name == kForms || name == kSpec;
  }

  void settle(std::string_view name, Verdict verdict) { report_.items.push_back({std::string(name), verdict}); }
  // The first thing that is not as it should be.
  void diverge(std::string_view name, const std::string& explanation = {}) {
    if (!report_.first.empty()) return;
    report_.first = name;
    report_.explanation = explanation;
  }
  void failed(std::string_view name, const Diag& diag) {
    if (wanted(name)) settle(name, Verdict::Error);
    diverge(name, "  " + diag.text() + "\n");
  }
  void skipped(std::string_view name, const std::string& why) {
    if (!wanted(name)) return;
    settle(name, Verdict::Skipped);
    diverge(name, "  not compared: " + why + "\n");
  }
  void compare(std::string_view name, std::string_view ours, std::string_view theirs, bool graph) {
    if (ours == theirs) return settle(name, Verdict::Same);
    settle(name, Verdict::Different);
    diverge(name, plan_.explain && report_.first.empty() ? difference(ours, theirs, graph) : std::string());
  }
  std::string difference(std::string_view ours, std::string_view theirs, bool graph) const {
    LineDiffOptions options{.color = plan_.color};
    if (graph) options.old_keys = graph_line_keys(theirs), options.new_keys = graph_line_keys(ours);
    std::string diff = line_diff(theirs, ours, options);
    if (diff.empty()) diff = line_diff(theirs, ours, {.color = plan_.color});  // the same graph, other names
    return "  - tinygrad  + tgc\n" + diff;
  }

  // ---- text: every text of the record, read and written back
  void check_texts() {
    check_text("ast", r_.ast);
    for (const GoldenStage& s : r_.stages)
      if (s.ir) check_text(s.name, *s.ir);
    for (size_t i = 0; i < r_.kernels.size(); i++)
      if (!r_.kernels[i].ast.empty()) check_text("kernel " + std::to_string(i), r_.kernels[i].ast);
    if (r_.linear && plan_.wanted.contains(kText)) check_listing(*r_.linear);
  }
  void check_text(const std::string& what, std::string_view text) {
    Graph graph(settings_);
    auto root = read_pyrender(graph, text, r_.id + " (" + what + ")");
    if (plan_.wanted.contains(kText)) {
      auto written = root ? pyrender(*root) : Result<std::string>(root.diag());
      if (!written) failed(kText, written.diag());
      else compare(kText, *written, text, true);
    }
    if (plan_.wanted.contains(kForms)) {
      auto written = root ? through_all_forms(*root) : Result<std::string>(root.diag());
      if (!written) failed(kForms, written.diag());
      else compare(kForms, *written, text, true);
    }
  }
  // The graph written as JSON, that read and written as a repr, that read and written as pyrender.
  Result<std::string> through_all_forms(UOp root) const {
    Graph second(settings_), third(settings_);
    auto from_json = graph_from_json(second, graph_to_json(root), r_.id + " (JSON)");
    if (!from_json) return from_json.diag();
    auto from_repr = read_repr(third, repr(from_json->root), r_.id + " (repr)");
    if (!from_repr) return from_repr.diag();
    return pyrender(*from_repr);
  }
  void check_listing(const std::string& text) {
    Graph graph(settings_);
    auto listing = read_uops(graph, text, r_.id + " (linear)");
    if (!listing) return failed(kText, listing.diag());
    compare(kText, print_uops(listing->list), text, false);
  }

  // ---- spec: every graph on the way, by tinygrad's table for what it is. The graphs are ours, not read from the record: its texts leave
  // some dtypes out (of REDUCE and LOAD).
  void check_spec(std::string_view what, std::span<const UOp> nodes, Spec spec) {
    if (!plan_.wanted.contains(kSpec)) return;
    auto violation = verify(nodes, spec);
    settle(kSpec, violation ? Verdict::Different : Verdict::Same);
    if (violation) diverge(kSpec, "  " + std::string(what) + ": no well-formed " + std::string(name_of(spec)) + " graph: " + violation->text() + "\n");
  }
  void check_spec(std::string_view what, UOp root, Spec spec) {
    if (plan_.wanted.contains(kSpec)) check_spec(what, toposort(root), spec);
  }

  // ---- kernels: a graph, its stages, and what is made of the last
  struct Bench {  // a graph to work in
    Bench(const Settings& settings, const Target& target) : graph(settings), job{graph, target} {}
    Graph graph;
    KernelJob job;
  };

  void check_kernel() {
    if (!any_beyond_text()) return;
    auto target = parse_target(r_.target, settings_);
    if (!target) {
      report_.skipped = "tgc has no renderer for " + r_.target;
      return;
    }
    target_ = *target;
    bench_ = std::make_unique<Bench>(settings_, target_);
    auto ast = read_pyrender(bench_->graph, r_.ast, r_.id + " (ast)");
    if (!ast) return failed("ast", ast.diag());
    check_spec("ast", *ast, Spec::Kernel);
    optimize_ = ast->tag().is_none();
    start(begin_kernel(bench_->job, *ast), false);
    text_ = r_.ast;
    for (const GoldenStage& s : r_.stages) {
      if (!more_wanted(s.name)) return;
      check_stage(s);
    }
    if (r_.error) return check_refusal();
    check_outputs();
  }

  bool any_beyond_text() const {
    for (const std::string& name : plan_.wanted)
      if (name != kText && name != kForms) return true;
    return false;
  }
  // Whether `name` or anything after it in the record is asked for.
  bool more_wanted(std::string_view name) const {
    if (plan_.wanted.contains(kSpec)) return true;
    bool reached = false;
    for (const GoldenStage& s : r_.stages) {
      reached |= s.name == name;
      if (reached && wanted(s.name)) return true;
    }
    for (std::string_view o : kRecordOutputs)
      if (wanted(o)) return true;
    return r_.error.has_value() && plan_.wanted.contains(kGraphs);
  }

  void start(UOp graph, bool as_recorded) {
    current_ = graph;
    as_expected_ = as_recorded;
    bench_->job.optimize = optimize_;
  }

  // Begins anew from tinygrad's text.
  void restart(std::string_view stage) {
    bench_ = std::make_unique<Bench>(settings_, target_);
    auto graph = read_pyrender(bench_->graph, text_, r_.id + " (before " + std::string(stage) + ")");
    why_stopped_.clear();
    if (!graph) {
      current_ = UOp();
      why_stopped_ = graph.diag().text();
    } else {
      bool first = text_ == r_.ast;
      start(first ? begin_kernel(bench_->job, *graph) : *graph, !first);
    }
  }

  void check_stage(const GoldenStage& s) {
    if (plan_.isolated && wanted(s.name)) restart(s.name);
    const Stage* stage = find_stage(s.name);
    std::string_view expected = s.same || !s.ir ? text_ : std::string_view(*s.ir);
    if (!stage) why_stopped_ = "tgc has no stage '" + s.name + "' yet", current_ = UOp();
    struct Passed {  // on every way out
      const Stage*& after;
      const Stage* stage;
      ~Passed() {
        if (stage) after = stage;
      }
    } passed{after_, stage};
    if (plan_.isolated && !wanted(s.name)) {
      text_ = expected;
      return;
    }
    if (!current_) {
      skipped(s.name, why_stopped_);
      text_ = expected;
      return;
    }
    UOp before = current_;
    if (!wanted(s.name)) as_expected_ = false;
    auto result = run_to(*stage);
    if (!result) {
      failed(s.name, result.diag());
      current_ = UOp();
      why_stopped_ = "the stage '" + s.name + "' failed";
    } else {
      current_ = *result;
      check_spec(s.name, current_, Spec::Full);
      if (wanted(s.name)) compare_graph(s, before, expected);
    }
    text_ = expected;
  }

  // Runs the stages after the record's last one, through `stage`: a record leaves out some that change nothing.
  Result<UOp> run_to(const Stage& stage) {
    Result<UOp> graph = current_;
    for (const Stage* s = after_ ? after_ + 1 : kernel_stages().data(); s <= &stage && graph; s++)
      if (!s->applies || s->applies(bench_->job)) graph = run_stage(*s, bench_->job, *graph);
    return graph;
  }

  void compare_graph(const GoldenStage& s, UOp before, std::string_view expected) {
    if (!s.same && !s.ir) return;  // tinygrad could not print it
    if (s.same && current_ == before && as_expected_) return settle(s.name, Verdict::Same);
    auto ours = pyrender(current_);
    if (!ours) return failed(s.name, ours.diag());
    as_expected_ = *ours == expected;
    compare(s.name, *ours, expected, true);
  }

  // tinygrad refused this kernel after the last stage recorded: so must tgc.
  void check_refusal() {
    if (plan_.isolated) restart("the refusal");
    if (!current_) return;  // said already
    auto stages = kernel_stages();
    for (const Stage* s = after_ ? after_ + 1 : stages.data(); s < stages.data() + stages.size(); s++) {
      if (s->applies && !s->applies(bench_->job)) continue;
      auto result = run_stage(*s, bench_->job, current_);
      if (!result) return settle(s->name, Verdict::Same);
      current_ = *result;
    }
    for (const OutputStage& output : output_stages())
      if (KernelOutputs outputs(bench_->job, current_); !output.by_compiler && !output.make(outputs)) return settle(output.name, Verdict::Same);
    settle("refusal", Verdict::Different);
    diverge("refusal", "  tinygrad refuses this kernel: " + *r_.error + "\n");
  }

  void check_outputs() {
    if (plan_.isolated) restart("the outputs");
    std::unique_ptr<KernelOutputs> outputs;
    if (current_) outputs = std::make_unique<KernelOutputs>(bench_->job, current_);
    if (outputs && outputs->list()) check_spec("linear", *outputs->list(), Spec::Program);
    for (std::string_view name : kRecordOutputs) {
      if (!wanted(name)) continue;
      auto expected = expected_output(name);
      bool refused = name == "source" && r_.source_error;
      if (!expected && !refused) continue;  // the record does not hold it
      const OutputStage* output = find_output(name);
      if (!output) {
        skipped(name, "tgc cannot make it yet");
      } else if (!outputs) {
        skipped(name, why_stopped_);
      } else {
        auto ours = output->make(*outputs);
        if (refused) {
          if (!ours) settle(name, Verdict::Same);
          else settle(name, Verdict::Different), diverge(name, "  tinygrad refuses to render it: " + *r_.source_error + "\n");
        } else if (!ours) {
          failed(name, ours.diag());
        } else {
          compare(name, *ours, *expected, false);
        }
      }
    }
  }
  std::optional<std::string> expected_output(std::string_view name) const {
    if (name == "linear") return r_.linear;
    if (name == "source") return r_.source;
    return r_.program ? std::optional(program_text(*r_.program)) : std::nullopt;
  }

  // ---- tensor graphs: a graph, its stages, and the kernels in the order they run
  struct TensorBench {
    explicit TensorBench(const Settings& settings) : graph(settings), job(graph) {}
    Graph graph;
    TensorJob job;
    const TensorStage* next = tensor_stages().data();  // the stage to run next
  };

  void check_tensor_graph() {
    if (!any_beyond_text()) return;
    if (r_.ast.find("Ops.CUSTOM_KERNEL") != r_.ast.npos) {
      report_.skipped = "a CUSTOM_KERNEL is made by a Python function, which only tinygrad can call";
      return;
    }
    text_ = r_.ast;
    tensor_next_ = tensor_stages().data();
    if (!restart_tensor("ast")) return;
    check_spec("ast", current_, Spec::Tensor);
    for (const GoldenStage& s : r_.stages) {
      if (!more_wanted(s.name) && !wanted(kKernels)) return;
      check_tensor_stage(s);
    }
    if (r_.error) check_schedule_refusal();
    else if (wanted(kKernels) || plan_.wanted.contains(kSpec)) check_schedule();
  }

  // Begins anew from tinygrad's text before the stage `tensor_next_`.
  bool restart_tensor(std::string_view stage) {
    tensor_bench_ = std::make_unique<TensorBench>(settings_);
    tensor_bench_->next = tensor_next_;
    auto graph = read_pyrender(tensor_bench_->graph, text_, r_.id + " (" + std::string(stage) + ")");
    current_ = graph ? *graph : UOp();
    as_expected_ = graph && text_ != r_.ast;
    if (!graph) failed("ast", graph.diag());
    return bool(graph);
  }

  // Runs what is left of the stages up to `stage`: records do not have those that change nothing.
  Result<UOp> run_tensor_stages_to(const TensorStage& stage) {
    Result<UOp> result = current_;
    while (result && tensor_bench_->next <= &stage) result = run_stage(*tensor_bench_->next++, tensor_bench_->job, *result);
    return result;
  }

  void check_tensor_stage(const GoldenStage& s) {
    const TensorStage* stage = find_tensor_stage(s.name);
    std::string_view expected = s.same || !s.ir ? text_ : std::string_view(*s.ir);
    if (plan_.isolated && wanted(s.name)) restart_tensor("before " + s.name);
    if (!stage) why_stopped_ = "tgc has no stage '" + s.name + "'", current_ = UOp();
    if (!current_) {
      skipped(s.name, why_stopped_);
    } else if (!plan_.isolated || wanted(s.name)) {
      UOp before = current_;
      auto result = run_tensor_stages_to(*stage);
      if (!result) {
        failed(s.name, result.diag());
        why_stopped_ = "the stage '" + s.name + "' failed";
      }
      current_ = result ? *result : UOp();
      if (current_) check_spec(s.name, current_, Spec::Full);
      if (current_ && wanted(s.name)) compare_graph(s, before, expected);
      else as_expected_ = false;
    }
    text_ = expected;
    if (stage) tensor_next_ = stage + 1;
  }

  // tinygrad refused to schedule this graph: so must tgc, in whatever stage.
  void check_schedule_refusal() {
    if (!current_) return;  // refused already
    auto kernels = run_tensor_stages_to(tensor_stages().back());
    if (!kernels || !catch_failures([&] { return create_schedule(tensor_bench_->job, *kernels); })) return settle(kKernels, Verdict::Same);
    settle("refusal", Verdict::Different);
    diverge("refusal", "  tinygrad refuses this graph: " + *r_.error + "\n");
  }

  void check_schedule() {
    if (plan_.isolated) {
      text_ = r_.ast;
      tensor_next_ = tensor_stages().data();
      restart_tensor("kernels");
    }
    if (!current_) return skipped(kKernels, why_stopped_);
    auto kernels = run_tensor_stages_to(tensor_stages().back());
    auto schedule = kernels ? catch_failures([&] { return create_schedule(tensor_bench_->job, *kernels); }) : Result<Schedule>(kernels.diag());
    if (!schedule) return failed(kKernels, schedule.diag());
    for (size_t i = 0; i < schedule->items.size(); i++)
      if (UOp ast = schedule->items[i].ast; ast.is(Op::SINK)) check_spec("kernel " + std::to_string(i), ast, Spec::Kernel);
    if (!wanted(kKernels)) return;
    auto ours = golden_kernels(*schedule);
    if (!ours) return failed(kKernels, ours.diag());
    std::map<std::string, int64_t> values(schedule->var_vals.begin(), schedule->var_vals.end());
    compare(kKernels, kernels_text(*ours, values), kernels_text(r_.kernels, r_.var_vals), false);
  }

  const GoldenRecord& r_;
  const Settings& settings_;
  const CheckPlan& plan_;
  RecordReport report_;
  Target target_;
  std::unique_ptr<Bench> bench_;
  std::unique_ptr<TensorBench> tensor_bench_;
  const TensorStage* tensor_next_ = nullptr;  // of the table, the stage after the one last passed
  const Stage* after_ = nullptr;  // the record's stage last passed
  UOp current_;               // our graph after the stage last run; empty: stopped
  bool optimize_ = true;
  bool as_expected_ = false;  // our graph's text is tinygrad's
  std::string_view text_;     // tinygrad's graph after the stage last passed
  std::string why_stopped_;
};

}  // namespace

Result<CheckPlan> make_check_plan(std::string_view stages) {
  CheckPlan plan;
  if (stages.empty()) {
    plan.wanted = {std::string(kGraphs), "linear", "source", "program", std::string(kKernels)};
    return plan;
  }
  std::vector<Choice> choices;
  add_stages(choices, tensor_stages());
  add_stages(choices, kernel_stages());
  for (std::string_view o : kRecordOutputs) choices.push_back({o, o == "linear" ? "linearize" : "", ""});
  for (std::string_view pseudo : {kKernels, kText, kForms, kSpec, kGraphs, std::string_view("all")}) choices.push_back({pseudo, "", "", false});
  auto selected = select_stages(stages, choices);
  if (!selected) return selected.diag();
  for (std::string_view name : *selected) {
    if (name == "all") plan.wanted.insert({std::string(kGraphs), "linear", "source", "program", std::string(kKernels), std::string(kText), std::string(kForms),
                                                std::string(kSpec)});
    else plan.wanted.emplace(name);
  }
  return plan;
}

RecordReport check_record(const GoldenRecord& record, const Settings& settings, const CheckPlan& plan) {
  return RecordCheck(record, settings, plan).run();
}

}  // namespace tgc
