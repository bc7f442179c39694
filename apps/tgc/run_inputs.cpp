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

class RunCommand {
 public:
  explicit RunCommand(const RunCommandOptions& options)
      : options_(options), run_options_(options.run_options),
        session_(make_terminal_session(install_beam_opts(options.overrides))) {}

  int run() {
    run_options_.input.is_one_of_several = options_.inputs.size() > 1;
    run_options_.output.used_paths = &used_paths_;
    compile_for_device(session_, run_options_);
    if (!options_.onnx_tests.empty()) return run_onnx();
    int worst = 0;
    // false for a live pipeline, which tgc does not schedule: a model's kernels then run like any other graphs
    const bool schedules = session_.compiler()->require_scheduler("").ok();
    for (const std::string& input : options_.inputs) {
      run_options_.input.name = input;
      worst = std::max(worst, !require_value(is_model_file(input)) || !schedules ? run_graphs()
                              : run_options_.input.kernel.empty()
                                  ? print_model_result(run_model(session_, input, run_options_))
                                  : run_kernel_of_model());
    }
    for (auto& [name, value] : run_options_.input.variables)
      if (kernel_counts_.num_total() + graph_counts_.num_total() > 1 && !bound_variables_.contains(name))
        worst = report_error({.message = "no kernel has a variable '" + name + "'"});
    if (kernel_counts_.num_total() > 1 && !options_.should_print_json) print_report(kernel_counts_.text());
    if (graph_counts_.num_total() > 1 && !options_.should_print_json) print_report(graph_counts_.text("tensor graph"));
    for (const std::string& input : options_.inputs)
      if (worst == 0) note_unchecked_schedules(session_, input, "run");
    return worst;
  }

 private:
  int run_onnx() {
    auto report = require_value(run_onnx_tests(session_, options_.onnx_tests, run_options_));
    print_report(options_.should_print_json ? report.json() : report.text());
    return report.exit_code();
  }

  // Runs one kernel of a model, which --kernel selects. --var sets the model's symbolic sizes.
  int run_kernel_of_model() {
    VariableValues sizes = std::exchange(run_options_.input.variables, {});
    for (auto& [name, value] : sizes) {
      session_.overrides.size_texts.push_back(name + "=" + std::to_string(value));
      bound_variables_.insert(name);
    }
    int code = run_graphs();
    session_.overrides.size_texts.clear(), run_options_.input.variables = std::move(sizes);
    return code;
  }

  // Reads and imports the next graph, within the time of --timeout. Sets `seconds` to the time that this took.
  auto read_next_graph(GraphSource& source, double& seconds) {
    const DeadlineScope limit(run_options_.device.trial_seconds());
    const auto begin = Clock::now();
    auto graph = source.next_graph();
    seconds = seconds_since(begin);
    return graph;
  }
  // Returns the seconds of --timeout that reading left for the trial. 0 sets no deadline: there is no --timeout, or
  // reading took little time.
  double trial_seconds_left(double reading) const {
    constexpr double kNoTime = 0.1, kLeast = 0.01;
    const double all = run_options_.device.trial_seconds();
    return all == 0 || reading < kNoTime ? 0 : std::max(all - reading, kLeast);
  }

  int run_graphs() {
    auto source = GraphSource::open(session_, run_options_.input.name, run_options_.input.kernel);
    if (!source) return report_error(source.diag());
    double reading = 0, following_reading = 0;
    auto graph = read_next_graph(*source, reading);
    if (graph && !*graph)
      return report_error(
          {.message = "nothing was run: there is no graph in it", .file = source->name().display_name()});
    int worst = 0;
    while (graph && *graph) {
      if (session_.is_cancelled()) return report_error({.message = "cancelled"});
      auto following = read_next_graph(*source, following_reading);
      const bool is_first = kernel_counts_.num_total() + graph_counts_.num_total() == 0;
      run_options_.input.is_only_kernel = options_.inputs.size() == 1 && is_first && following && !*following;
      const DeadlineScope rest((*graph)->is_tensor_graph ? 0 : trial_seconds_left(reading));
      worst = std::max(worst, (*graph)->is_tensor_graph ? run_tensor(**graph) : run_graph(**graph));
      graph = std::move(following), reading = following_reading;
    }
    return graph ? worst : report_error(graph.diag());
  }

  int run_tensor(const InputGraph& in) {
    RunOptions options = run_options_;
    // tgc itself schedules graphs of 0.12.0, so compare each kernel with REF by default
    if (!in.graph->is_foreign() && options.compare.reference_device.empty() &&
        options.compare.expected_file.empty())
      options.compare.reference_device = "REF";
    const ModelReport report = run_tensor_graph(session_, in, options);
    graph_counts_.add_result(report.result());
    for (auto& [name, source] : report.variables) bound_variables_.insert(name);
    return print_model_result(report);
  }
  int run_graph(InputGraph& in) {
    if (should_repeat_failure(in, run_options_)) {
      RepeatReport repeated = repeat_failure(session_, in, run_options_);
      return print_result(repeated, options_.should_print_json, repeated.text(), "bundle '" + repeated.kernel + "': ");
    }
    RunReport report = run_kernel(session_, in, run_options_);
    kernel_counts_.add_result(report.result()),
        bound_variables_.insert(report.variables.begin(), report.variables.end());
    std::string where = "kernel '" + report.kernel + "'" + (report.device.empty() ? "" : " on " + report.device) + ": ";
    return print_result(report, options_.should_print_json, report.text(kernel_counts_.num_total(), uses_color(1)),
                        where);
  }
  int print_model_result(const ModelReport& r) const {
    const std::string who = r.is_schedule ? "schedule '" + r.model + "': " : "";
    return print_result(r, options_.should_print_json, r.error.empty() ? r.text() : "", who);
  }

  const RunCommandOptions& options_;
  RunOptions run_options_;
  Session session_;
  RunCounts kernel_counts_, graph_counts_;    // counts of the results of kernels and of tensor graphs
  std::set<std::string> bound_variables_;  // variables of --var that a kernel or a model has
  UsedPaths used_paths_;              // paths of results that earlier kernels wrote
};

}  // namespace

int run_inputs(const RunCommandOptions& options) { return RunCommand(options).run(); }

}  // namespace tgc
