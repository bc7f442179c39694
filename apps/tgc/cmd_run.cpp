// tgc run [INPUT...]: compile, execute, compare.
#include <CLI/CLI.hpp>
#include <set>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/driver/source.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/run_kernel.h"
#include "lib/run/run_model.h"
#include "lib/run/run_onnx_cases.h"

namespace tgc {
namespace {

struct RunCommand {
  std::vector<std::string> inputs{"-"}, onnx_tests;
  RunOptions trial;
  bool json = false;
  Overrides over;
};

// Prints a report; its exit code.
template <class Report>
int tell(const Report& report, bool json, const std::string& text, const std::string& trouble_with) {
  if (json) print(report.json());
  else if (report.error.empty()) print_report(text);
  else trouble({.message = trouble_with + report.error});
  flush_output();
  return report.exit_code();
}

class Runner {
 public:
  explicit Runner(const RunCommand& options)
      : o_(options), spec_(options.trial), session_(terminal_session(with_found_opts(options.over))) {}

  int run() {
    spec_.input.is_one_of_several = o_.inputs.size() > 1;
    spec_.output.taken = &taken_;
    if (!o_.onnx_tests.empty()) return run_onnx();
    int worst = 0;
    for (const std::string& input : o_.inputs) {
      spec_.input.name = input;
      auto is_model = is_model_file(input);
      if (!is_model) return trouble(is_model.diag());
      worst = std::max(worst, !*is_model             ? run_graphs()
                              : spec_.input.kernel.empty() ? tell_model(run_model(session_, input, spec_))
                                                     : run_kernel_of_model());
    }
    for (auto& [name, value] : spec_.input.variables)
      if (counts_.all() > 1 && !bound_.contains(name))
        worst = trouble({.message = "no kernel has a variable '" + name + "'"});
    if (counts_.all() > 1 && !o_.json) print(counts_.text());
    return worst;
  }

 private:
  int run_onnx() {
    auto report = run_onnx_tests(session_, o_.onnx_tests, spec_);
    if (!report) return trouble(report.diag());
    print_report(o_.json ? report->json() : report->text());
    return report->exit_code();
  }

  // There --var bind sizes.
  int run_kernel_of_model() {
    VariableValues sizes = std::exchange(spec_.input.variables, {});
    for (auto& [name, value] : sizes) {
      session_.over.sizes.push_back(name + "=" + std::to_string(value));
      bound_.insert(name);
    }
    int code = run_graphs();
    session_.over.sizes.clear(), spec_.input.variables = std::move(sizes);
    return code;
  }

  int run_graphs() {
    auto source = Source::open(session_, spec_.input.name, spec_.input.kernel);
    if (!source) return trouble(source.diag());
    auto graph = source->next();
    if (graph && !*graph)
      return trouble({.message = "nothing was run: there is no graph in it", .file = source->name().shown()});
    int worst = 0;
    while (graph && *graph) {
      if (session_.cancelled()) return trouble({.message = "cancelled"});
      auto following = source->next();
      spec_.input.is_only_kernel = o_.inputs.size() == 1 && counts_.all() == 0 && following && !*following;
      worst = std::max(worst, (*graph)->is_tensor_graph ? tell_model(run_tensor_graph(session_, **graph, spec_))
                                                        : run_graph(**graph));
      graph = std::move(following);
    }
    return graph ? worst : trouble(graph.diag());
  }

  int run_graph(InputGraph& in) {
    if (is_to_repeat(in, spec_)) {
      RepeatReport repeated = repeat(session_, in, spec_);
      return tell(repeated, o_.json, repeated.text(), "bundle '" + repeated.kernel + "': ");
    }
    RunReport report = run_kernel(session_, in, spec_);
    counts_.add(report), bound_.insert(report.variables.begin(), report.variables.end());
    std::string where = "kernel '" + report.kernel + "'" + (report.device.empty() ? "" : " on " + report.device) + ": ";
    return tell(report, o_.json, report.text(counts_.all(), use_color(1)), where);
  }
  int tell_model(const ModelReport& report) const {
    return tell(report, o_.json, report.error.empty() ? report.text() : "", "");
  }

  const RunCommand& o_;
  RunOptions spec_;
  Session session_;
  RunCounts counts_;
  std::set<std::string> bound_;  // variables that a kernel had
  TakenPaths taken_;             // files that results went to
};

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<RunCommand>();
  RunOptions& t = o->trial;
  CLI::App* cmd = app.add_subcommand("run", "compile kernels, execute them, compare what they compute");
  auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return cmd->add_option(name, value, help)->type_name(type);
  };
  cmd->add_option("INPUT", o->inputs,
                  "kernels, tensor graphs of any kind, FILE#ID for one id; ONNX models; default: standard input");
  add_trial_options(
      *cmd, t,
      "where to run: CPU[:LLVM|:CLANG], CL, CUDA, AMD, METAL, WEBGPU, plugin:PATH, or REF, the interpreter of UOps, "
      "which runs the graph as it stands; `tgc devices` tells what works here. Default: --target, else the target "
      "(of a tensor graph, the device) that the input says, else CPU:LLVM");
  option("--save", t.output.save, "F.npz", "keep what the kernel stores; {} as in --inputs");
  cmd->add_flag("--each-stage", t.compare.each_stage,
                "also run the graph after every stage in REF, and name the first that computes something else");
  cmd->add_flag("--recorded", t.input.recorded, "run a golden record's own list and stages, not what tgc makes");
  option("--bench", t.device.timed_runs, "N", "time N runs of the kernel")->check(whole_number(1, kMostRuns));
  cmd->add_flag("--in-process", t.device.in_process, "run in this process: a kernel that crashes takes tgc with it");
  cmd->add_flag("--sanitize", t.device.sanitize, "run a kernel's C or LLVM IR (--device=CPU) under AddressSanitizer");
  add_emulator_options(*cmd), add_repro_option(*cmd, t.output.repro);
  cmd->add_flag("--json", o->json, "one JSON object a kernel");
  option("--onnx-test", o->onnx_tests, "DIR",
         "run ONNX conformance cases: folders with model.onnx and test_data_set_*, or folders of such")
      ->check(CLI::ExistingDirectory);
  add_weights_option(*cmd, o->over), add_pipeline_options(*cmd, o->over, false);
  cmd->callback([o, &exit_code] { exit_code = Runner(*o).run(); });
}

}  // namespace tgc
