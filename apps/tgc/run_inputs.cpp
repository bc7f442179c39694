#include <set>

#include "apps/tgc/options.h"
#include "apps/tgc/run_command.h"
#include "lib/driver/source.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/run.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

template <class Report>
int print_result(const Report& report, bool json, const std::string& text, const std::string& trouble_with) {
  if (json) print_output(report.json());
  else if (report.error.empty()) print_report(text);
  else report_error({.message = trouble_with + report.error});
  flush_output();
  return report.exit_code();
}

class Runner {
 public:
  explicit Runner(const RunCommandOptions& options)
      : o_(options),
        spec_(options.run_options),
        session_(make_terminal_session(install_found_opts(options.overrides))) {}

  int run() {
    spec_.input.is_one_of_several = o_.inputs.size() > 1;
    spec_.output.used_paths = &taken_;
    compile_for_device(session_, spec_);
    if (!o_.onnx_tests.empty()) return run_onnx();
    int worst = 0;
    // false for a live pipeline, which tgc does not schedule: a model's kernels then run like any other graphs
    const bool schedules = session_.compiler()->require_scheduler("").ok();
    for (const std::string& input : o_.inputs) {
      spec_.input.name = input;
      worst = std::max(worst, !require_value(is_model_file(input)) || !schedules ? run_graphs()
                       : spec_.input.kernel.empty() ? print_model_result(run_model(session_, input, spec_))
                                                    : run_kernel_of_model());
    }
    for (auto& [name, value] : spec_.input.variables)
      if (counts_.num_total() + graphs_.num_total() > 1 && !bound_.contains(name))
        worst = report_error({.message = "no kernel has a variable '" + name + "'"});
    if (counts_.num_total() > 1 && !o_.should_print_json) print_report(counts_.text());
    if (graphs_.num_total() > 1 && !o_.should_print_json) print_report(graphs_.text("tensor graph"));
    for (const std::string& input : o_.inputs)
      if (worst == 0) note_unchecked_schedules(session_, input, "run");
    return worst;
  }

 private:
  int run_onnx() {
    auto report = require_value(run_onnx_tests(session_, o_.onnx_tests, spec_));
    print_report(o_.should_print_json ? report.json() : report.text());
    return report.exit_code();
  }

  // Runs one kernel of a model, which --kernel selects. --var sets the model's symbolic sizes.
  int run_kernel_of_model() {
    VariableValues sizes = std::exchange(spec_.input.variables, {});
    for (auto& [name, value] : sizes) {
      session_.overrides.size_texts.push_back(name + "=" + std::to_string(value));
      bound_.insert(name);
    }
    int code = run_graphs();
    session_.overrides.size_texts.clear(), spec_.input.variables = std::move(sizes);
    return code;
  }

  // Reads and imports the next graph. --timeout bounds the sum of this time, which `seconds` returns, and the time of
  // the graph's trial.
  auto read_next(GraphSource& source, double& seconds) {
    const DeadlineScope limit(spec_.device.trial_seconds());
    const auto begin = Clock::now();
    auto graph = source.next_graph();
    seconds = seconds_since(begin);
    return graph;
  }
  // Returns the seconds of --timeout that reading left for the trial. 0 sets no deadline: there is no --timeout, or
  // reading took little time.
  double seconds_left(double reading) const {
    constexpr double kNoTime = 0.1, kLeast = 0.01;
    const double all = spec_.device.trial_seconds();
    return all == 0 || reading < kNoTime ? 0 : std::max(all - reading, kLeast);
  }

  int run_graphs() {
    auto source = GraphSource::open(session_, spec_.input.name, spec_.input.kernel);
    if (!source) return report_error(source.diag());
    double reading = 0, following_reading = 0;
    auto graph = read_next(*source, reading);
    if (graph && !*graph)
      return report_error(
          {.message = "nothing was run: there is no graph in it", .file = source->name().display_name()});
    int worst = 0;
    while (graph && *graph) {
      if (session_.is_cancelled()) return report_error({.message = "cancelled"});
      auto following = read_next(*source, following_reading);
      const bool is_first = counts_.num_total() + graphs_.num_total() == 0;
      spec_.input.is_only_kernel = o_.inputs.size() == 1 && is_first && following && !*following;
      const DeadlineScope rest((*graph)->is_tensor_graph ? 0 : seconds_left(reading));
      worst = std::max(worst, (*graph)->is_tensor_graph ? run_tensor(**graph) : run_graph(**graph));
      graph = std::move(following), reading = following_reading;
    }
    return graph ? worst : report_error(graph.diag());
  }

  int run_tensor(const InputGraph& in) {
    RunOptions options = spec_;
    // tgc itself schedules graphs of 0.12.0, so compare each kernel with REF by default
    if (!in.graph->is_foreign() && options.compare.reference_device.empty() &&
        options.compare.expected_file.empty())
      options.compare.reference_device = "REF";
    const ModelReport report = run_tensor_graph(session_, in, options);
    graphs_.add_result(report.result());
    for (auto& [name, source] : report.variables) bound_.insert(name);
    return print_model_result(report);
  }
  int run_graph(InputGraph& in) {
    if (should_repeat_failure(in, spec_)) {
      RepeatReport repeated = repeat_failure(session_, in, spec_);
      return print_result(repeated, o_.should_print_json, repeated.text(), "bundle '" + repeated.kernel + "': ");
    }
    RunReport report = run_kernel(session_, in, spec_);
    counts_.add_result(report.result()), bound_.insert(report.variables.begin(), report.variables.end());
    std::string where = "kernel '" + report.kernel + "'" + (report.device.empty() ? "" : " on " + report.device) + ": ";
    return print_result(report, o_.should_print_json, report.text(counts_.num_total(), uses_color(1)), where);
  }
  int print_model_result(const ModelReport& r) const {
    const std::string who = r.is_schedule ? "schedule '" + r.model + "': " : "";
    return print_result(r, o_.should_print_json, r.error.empty() ? r.text() : "", who);
  }

  const RunCommandOptions& o_;
  RunOptions spec_;
  Session session_;
  RunCounts counts_, graphs_;    // of the kernels and of the tensor graphs that were run
  std::set<std::string> bound_;  // variables of --var that a kernel or a model has
  UsedPaths taken_;              // paths of results that earlier kernels wrote
};

}  // namespace

int run_inputs(const RunCommandOptions& options) { return Runner(options).run(); }

}  // namespace tgc
