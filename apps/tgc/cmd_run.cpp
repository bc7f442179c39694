// tgc run [INPUT...]: compile, execute, compare.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/model_run.h"
#include "apps/tgc/run_causes.h"
#include "apps/tgc/run_report.h"
#include "apps/tgc/terminal.h"
#include "lib/execute/execution.h"
#include "lib/execute/lower.h"
#include "lib/runtime/npy.h"
#include "lib/runtime/npz.h"
#include "lib/runtime/ref/rounding.h"
#include "lib/session/debug_prints.h"
#include "lib/session/source.h"
#include "lib/support/write_file.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

struct RunOptions {
  std::vector<std::string> inputs{"-"};
  std::string kernel, device, arrays, expect, reference, save;
  std::vector<std::string> variables, onnx_tests;
  std::optional<uint64_t> seed;
  ToleranceOptions tolerance;
  int bench = 0;
  double timeout = 60;
  bool in_process = false, each_stage = false, json = false;
  Overrides over;
};

constexpr uint64_t kDefaultSeed = 0;

Result<VariableValues> parse_variables(const std::vector<std::string>& texts) {
  VariableValues out;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    int64_t value = 0;
    const char* begin = text.data() + std::min(text.size(), equals + 1);
    auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (equals == text.npos || equals == 0 || error != std::errc() || end != text.data() + text.size())
      return Diag{.message = "--var takes NAME=INTEGER, not '" + text + "'"};
    if (!out.emplace(text.substr(0, equals), value).second) return Diag{.message = "--var gives '" + text.substr(0, equals) + "' twice"};
  }
  return out;
}

// `text` as one word of a shell.
std::string shell_word(const std::string& text) {
  static constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./#@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string safe_file_name(std::string name) {
  for (char& c : name)
    if (c == '/' || c == '\0' || c == '\n' || c == ' ') c = '_';
  return name;
}

// `pattern` with {} replaced by INPUT without its extension; of one record of many by the record's id.
std::string expanded(const std::string& pattern, const std::string& input, const std::string& kernel) {
  size_t at = pattern.find("{}");
  if (at == pattern.npos) return pattern;
  std::string stem = InputName::parse(input).without_extension(kernel);
  return pattern.substr(0, at) + stem + pattern.substr(at + 2);
}

class KernelRunner {
 public:
  explicit KernelRunner(const RunOptions& options) : o_(options), session_(terminal_session(options.over)) {}

  int run() {
    auto variables = parse_variables(o_.variables);
    if (!variables) return trouble(variables.diag());
    variables_ = std::move(*variables);
    int worst = 0;
    if (!o_.onnx_tests.empty()) return run_onnx_tests(o_.onnx_tests, model_options());
    for (const std::string& spec : o_.inputs) {
      if (is_model_file(spec)) {
        worst = std::max(worst, run_model(spec, model_options()));
        continue;
      }
      auto input = Source::open(session_, spec, o_.kernel);
      if (!input) {
        worst = trouble(input.diag());
        continue;
      }
      auto graph = input->next();
      while (graph && *graph) {
        auto following = input->next();
        alone_ = o_.inputs.size() == 1 && count_ == 0 && following && !*following;
        if ((*graph)->is_tensor_graph) {
          worst = std::max(worst, run_tensor_graph(**graph, model_options()));
          graph = std::move(following);
          continue;
        }
        RunReport report = run_one(**graph, spec);
        tell(report);
        worst = std::max(worst, report.exit_code());
        graph = std::move(following);
      }
      if (!graph) worst = trouble(graph.diag());
    }
    for (auto& [name, value] : variables_)
      if (count_ > 1 && !bound_.contains(name)) worst = trouble({.message = "no kernel has a variable '" + name + "'"});
    if (count_ > 1 && !o_.json) print(summary());
    return worst;
  }

 private:
  ModelRunOptions model_options() const {
    return {.device = o_.device, .arrays = o_.arrays, .expect = o_.expect, .reference = o_.reference, .save = o_.save, .weights = o_.over.weights, .sizes = variables_, .seed = o_.seed,
            .tolerance = o_.tolerance, .bench = o_.bench, .json = o_.json, .session = &session_};
  }

  void tell(const RunReport& report) {
    count_++;
    (report.exit_code() == 0 ? passed_ : report.exit_code() == 1 ? failed_ : in_trouble_)++;
    if (o_.json) print(report.json());
    else if (report.error.empty()) print(report.text(count_, use_color(1)));
    else trouble({.message = "kernel '" + report.kernel + "'" + (report.device.empty() ? "" : " on " + report.device) + ": " + report.error});
    std::fflush(stdout);
  }
  std::string summary() const {
    return std::to_string(passed_) + " of " + std::to_string(count_) + " kernels passed" + (failed_ ? ", " + std::to_string(failed_) + " failed" : "") +
           (in_trouble_ ? ", " + std::to_string(in_trouble_) + " in trouble" : "") + "\n";
  }

  RunReport run_one(Loaded& in, const std::string& spec) {
    RunReport report{.kernel = in.info.name};
    try {
      run_kernel(in, spec, report);
    } catch (const Failure& failure) {
      report.error = failure.diag().text();
    } catch (const std::bad_alloc&) {
      report.error = "out of memory";
    }
    return report;
  }

  // Throws Failure.
  void run_kernel(Loaded& in, const std::string& spec, RunReport& report) {
    Placement& place = device_for(in);
    debug_ = in.graph->settings().DEBUG;
    if (!observer_) observer_.emplace(session_, in.graph->settings());
    report.device = place.label;
    Executable kernel = prepare(in, place);

    std::string arrays_file = o_.arrays.empty() ? "" : expanded(o_.arrays, spec, in.info.name);
    Arrays given = arrays_file.empty() ? Arrays() : std::move(read_arrays(arrays_file).value_or_throw());
    std::optional<Drawing> draw;
    if (o_.seed || arrays_file.empty()) draw = {.seed = o_.seed.value_or(kDefaultSeed)};
    note_variables(kernel);
    kernel.arguments(variables_).value_or_throw();
    Arrays inputs = std::move(input_arrays(kernel.buffers(), given, arrays_file, draw).value_or_throw());
    if (draw && has_drawn(kernel.buffers(), given)) report.seed = draw->seed;
    Arrays expected = expected_arrays(in, spec, kernel, given, arrays_file, draw, report);
    if (report.seed && made_nans_) {  // what becomes of a NaN depends on the renderer's comparisons and on the order of a reduction
      draw->floats = Floats::Unit;
      inputs = std::move(input_arrays(kernel.buffers(), given, arrays_file, draw).value_or_throw());
      expected = expected_arrays(in, spec, kernel, given, arrays_file, draw, report);
      report.floats = "between 0 and 1: others make NaNs";
    }

    Execution done = std::move(execute(kernel, *place.device, inputs, variables_, execute_options(place)).value_or_throw());
    if (!done.notes.empty()) report.notes = done.notes;
    if (debug_ >= 2 && kernel.info()) {
      double bytes = 0;
      for (const NamedArray& a : inputs) bytes += double(a.array.nbytes());
      observer_->kernel_ran(*kernel.info(), *place.target, bytes, done.seconds);
    }
    if (!o_.save.empty()) {
      std::string file = expanded(o_.save, spec, in.info.name);
      write_npz(file, done.outputs).value_or_throw();
      report.written.push_back(file);
    }
    for (NamedArray& e : expected)
      report.arrays.push_back(std::move(compare_arrays(e.name, *find_array(done.outputs, e.name), e.array, tolerance(in, e.array)).value_or_throw()));
    if (std::string cause = known_cause(in.root, report.arrays, place.target ? std::string(name_of(place.target->renderer)) : ""); !cause.empty())
      report.notes += (report.notes.empty() ? "" : ", ") + cause;
    if (o_.bench > 0) report.bench = bench_report(in, kernel, place, inputs, std::move(done.seconds));
    if (o_.each_stage) report.stages = run_stages(in, place, inputs, o_.expect.empty() ? Arrays() : copy_of(expected));
    if (!report.passed()) keep_failure(in, spec, place, inputs, expected, done.outputs, report);
  }

  // ---- the device
  Placement& device_for(const Loaded& in) {
    if (!place_) place_ = std::move(choose_placement(o_.device, o_.over.target, in.graph->settings()).value_or_throw());
    return *place_;
  }

  ExecuteOptions execute_options(const Placement& place) const {
    return {.in_process = o_.in_process, .timeout_seconds = place.is_ref ? 0 : o_.timeout, .repeats = o_.bench ? o_.bench : debug_ >= 2};  // tinygrad's line of DEBUG=2 has a time
  }

  // Which variables of the command line the kernel has; a name that it does not have is a mistake when it is the only kernel.
  void note_variables(const Executable& kernel) {
    std::string known;
    for (const VariableSpec& v : kernel.variables()) {
      known += (known.empty() ? "--var " : ", --var ") + v.name + "=N";
      if (variables_.contains(v.name)) bound_.insert(v.name);
    }
    for (auto& [name, value] : variables_)
      if (alone_ && !bound_.contains(name))
        throw Failure(Diag{.message = "the kernel has no variable '" + name + "'", .expected = known.empty() ? "no --var: the kernel has none" : known});
  }

  // ---- from a graph to code
  KernelGraph kernel_of(Loaded& in) { return {in.root, in.info.stage, in.list, forced_opts(in)}; }
  Executable prepare(Loaded& in, Placement& place) {
    return std::move(make_executable(kernel_of(in), place, {.observer = &*observer_}).value_or_throw());
  }

  // ---- what is expected
  static bool has_drawn(const std::vector<BufferSpec>& buffers, const Arrays& given) {
    return std::any_of(buffers.begin(), buffers.end(), [&](const BufferSpec& b) { return b.read && !find_array(given, b.name()); });
  }

  Arrays expected_arrays(Loaded& in, const std::string& spec, const Executable& kernel, const Arrays& given, const std::string& arrays_file,
                         std::optional<Drawing> draw, RunReport& report) {
    Arrays out;
    made_nans_ = false;
    if (!o_.expect.empty()) {
      std::string file = report.reference = expanded(o_.expect, spec, in.info.name);
      out = std::move(read_arrays(file).value_or_throw());
      check_expected(out, kernel, file);
      return out;
    }
    bool runs_as_it_stands = place_->is_ref && !place_->target;
    std::string reference = !o_.reference.empty() ? o_.reference : runs_as_it_stands ? "none" : "REF";
    if (reference == "none") return out;
    Placement other = std::move(choose_placement(reference, "", in.graph->settings()).value_or_throw());
    report.reference = other.label;
    Executable same = prepare(in, other);
    Arrays inputs = std::move(input_arrays(same.buffers(), given, arrays_file, draw).value_or_throw());
    ExecuteOptions options = execute_options(other);
    options.repeats = 0;
    auto result = execute(same, *other.device, inputs, variables_, options);
    if (!result) throw Failure("the reference, " + other.label + ": " + result.diag().text());
    report.notes = result->notes;
    made_nans_ = result->makes_nans;
    return std::move(result->outputs);
  }

  // Every array that the file has must be one that the kernel stores; so that nothing is compared with nothing.
  static void check_expected(Arrays& expected, const Executable& kernel, const std::string& file) {
    if (expected.empty()) throw Failure(Diag{.message = "the file has no arrays to compare with", .file = file});
    for (NamedArray& e : expected) {
      auto spec = std::find_if(kernel.buffers().begin(), kernel.buffers().end(), [&](const BufferSpec& b) { return b.name() == e.name; });
      if (spec == kernel.buffers().end() || !spec->written) {
        std::string stores;
        for (const BufferSpec& b : kernel.buffers())
          if (b.written) stores += (stores.empty() ? "" : ", ") + b.name();
        throw Failure(Diag{.message = "the kernel stores no array '" + e.name + "'", .file = file, .expected = stores});
      }
      auto same = adopt_dtype(std::move(e.array), spec->dtype, e.name);
      if (!same || (spec->size >= 0 && same->size() != spec->size))
        throw Failure(Diag{.message = e.name + (same ? " is " + same->describe() : ": " + same.diag().message), .file = file, .expected = spec->describe()});
      e.array = std::move(*same);
    }
  }

  // What the user asked for; where that is nothing and another device's results are the expected ones, what two devices may differ by.
  ToleranceOptions tolerance(const Loaded& in, const Array& expected) const {
    const ToleranceOptions& asked = o_.tolerance;
    bool as_asked = !o_.expect.empty() || asked.rtol || asked.atol || asked.ulp;
    return as_asked ? asked : tolerance_between_devices(expected, coarsest_rounding(in.root), adds_up(in.root));
  }

  // ---- more to tell
  // How many UOps REF evaluates in one run.
  uint64_t evaluations(Loaded& in, const Placement& place, Arrays inputs, const Executable& kernel) {
    RefOptions counting{.count_evaluations = true};
    std::vector<UOp> list = in.list;
    if (list.empty() && place.target) list = std::move(lower_kernel(kernel_of(in), *place.target).value_or_throw());
    RefProgram program = std::move((list.empty() ? RefProgram::from_graph(in.root, counting) : RefProgram::from_list(list, counting)).value_or_throw());
    std::vector<RefBuffer> buffers;
    for (size_t i = 0; i < inputs.size(); i++) buffers.push_back({kernel.buffers()[i].number, inputs[i].array.data(), inputs[i].array.nbytes()});
    return program.run(buffers, variables_).value_or_throw().evaluations;
  }

  BenchReport bench_report(Loaded& in, const Executable& kernel, const Placement& place, const Arrays& inputs, std::vector<double> seconds) {
    BenchReport out{.seconds = std::move(seconds), .cost = kernel.cost(variables_).value_or(Executable::Cost{}), .device = std::string(place.label.substr(0, place.label.find_first_of(":,"))),
                    .name = kernel.name().empty() ? "kernel" : kernel.name(), .arguments = inputs.size()};
    for (const NamedArray& a : inputs) out.bytes += a.array.nbytes();
    if (place.is_ref) out.evaluations = evaluations(in, place, copy_of(inputs), kernel);
    return out;
  }

  // Every stage's graph in REF, compared with what is expected; when that is nothing, with what the first graph computes.
  StageDifference run_stages(Loaded& in, const Placement& place, const Arrays& inputs, Arrays expected) {
    StageDifference out;
    if (!in.list.empty()) throw Failure(Diag{.message = "a linear list has no stages before it", .expected = "a graph for --each-stage"});
    Target target = place.target ? *place.target : parse_target("CPU:LLVM", in.graph->settings()).value_or_throw();
    Placement ref = std::move(choose_placement("REF", "", in.graph->settings()).value_or_throw());
    KernelGraph kernel = kernel_of(in);
    KernelJob job{.graph = *in.graph, .target = target, .opts = kernel.opts};
    auto [sink, first] = begin_at(job, kernel);
    auto differs = [&](std::string_view name, Executable kernel) {
      Arrays own = std::move(input_arrays(kernel.buffers(), inputs, "", std::nullopt).value_or_throw());
      auto done = execute(kernel, *ref.device, own, variables_, execute_options(ref));
      if (!done) throw Failure("after '" + std::string(name) + "': " + done.diag().text());
      out.stages_run++;
      if (expected.empty()) return expected = std::move(done->outputs), false;
      for (const NamedArray& e : expected) {
        const Array* actual = find_array(done->outputs, e.name);
        if (!actual) throw Failure("after '" + std::string(name) + "' nothing stores " + e.name);
        out.arrays.push_back(std::move(compare_arrays(e.name, *actual, e.array, tolerance(in, e.array)).value_or_throw()));
      }
      if (std::all_of(out.arrays.begin(), out.arrays.end(), [](const Comparison& c) { return c.passed(); })) return out.arrays.clear(), false;
      out.stage = name;
      return true;
    };
    UOp before = in.root, current = sink;
    if (differs("ast", std::move(Executable::for_ref(in.root).value_or_throw()))) return out;
    for (const Stage* stage = first; stage && stage != kernel_stages().data() + kernel_stages().size(); stage++) {
      if (stage->applies && !stage->applies(job)) continue;
      current = run_stage(*stage, job, current).value_or_throw();
      if (current == before) continue;
      before = current;
      auto kernel = Executable::for_ref(current);
      if (!kernel) throw Failure("after '" + std::string(stage->name) + "': " + kernel.diag().text());
      if (differs(stage->name, std::move(*kernel))) return out;
    }
    differs("linear", std::move(Executable::for_ref(linear_list(job, current).value_or_throw()).value_or_throw()));
    return out;
  }

  // ---- a failure to be repeated
  void keep_failure(const Loaded& in, const std::string& spec, const Placement& place, const Arrays& inputs, const Arrays& expected,
                    const Arrays& actual, RunReport& report) {
    std::string stem = "failed-" + safe_file_name(std::filesystem::path(expanded("{}", spec, in.info.name)).filename().string()) + "-";
    auto write = [&](const std::string& what, const Arrays& arrays) {
      write_npz(stem + what + ".npz", arrays).value_or_throw();
      report.written.push_back(stem + what + ".npz");
    };
    write("inputs", inputs);
    if (!expected.empty()) write("expected", expected);
    write("actual", actual);
    std::string input = spec;
    if (spec == "-") {
      input = stem + "kernel.txt";
      write_file(input, in.text).value_or_throw();
      report.written.push_back(input);
    }
    report.again = "tgc run " + shell_word(input) + options_again(in, spec, place) + " --inputs=" + shell_word(stem + "inputs.npz") +
                   (expected.empty() ? "" : " --expect=" + shell_word(stem + "expected.npz"));
  }

  std::string options_again(const Loaded& in, const std::string& spec, const Placement& place) const {
    std::string out;
    auto add = [&](const std::string& name, const std::string& value) { out += " --" + name + "=" + shell_word(value); };
    if (!o_.kernel.empty()) add("kernel", o_.kernel);
    else if (InputName::parse(spec).file != "-" && in.file.find('#') != in.file.npos && InputName::parse(spec).id.empty()) add("kernel", in.info.name);
    if (!o_.device.empty()) add("device", o_.device);
    if (!o_.over.target.empty()) add("target", o_.over.target);
    if (o_.device.empty() && o_.over.target.empty()) add("device", place.label);
    for (const std::string& s : o_.over.sets) add("set", s);
    if (!o_.over.opts.empty()) add("opts", o_.over.opts);
    for (const std::string& v : o_.variables) add("var", v);
    auto number = [&](const char* name, double v) {
      char text[32];
      std::snprintf(text, sizeof text, "%.17g", v);
      add(name, text);
    };
    if (o_.tolerance.rtol) number("rtol", *o_.tolerance.rtol);
    if (o_.tolerance.atol) number("atol", *o_.tolerance.atol);
    if (o_.tolerance.ulp) add("ulp", std::to_string(*o_.tolerance.ulp));
    if (o_.each_stage) out += " --each-stage";
    return out;
  }

  std::optional<std::vector<Arg>> forced_opts(const Loaded& in) const {
    if (o_.over.opts.empty()) return std::nullopt;
    return std::move(read_opts(*in.graph, o_.over.opts, "--opts").value_or_throw());
  }

  const RunOptions& o_;
  Session session_;
  VariableValues variables_;
  std::set<std::string> bound_;  // those that a kernel had
  bool made_nans_ = false;       // the reference did, of the inputs that were drawn
  bool alone_ = false;           // the kernel is the only one of the run
  std::optional<Placement> place_;
  int64_t debug_ = 0;
  std::optional<DebugPrints> observer_;
  size_t count_ = 0, passed_ = 0, failed_ = 0, in_trouble_ = 0;
};

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* cmd = app.add_subcommand("run", "compile kernels, execute them, compare what they compute");
  cmd->add_option("INPUT", o->inputs, "kernels and tensor graphs: files of any kind, FILE#ID for one record; or ONNX models; default: standard input");
  cmd->add_option("--device", o->device,
                  "where to run: CPU[:LLVM|:CLANG], CL, CUDA, AMD, METAL, plugin:PATH, or REF, the interpreter of UOps, which runs the graph as it stands; "
                  "`tgc devices` tells what works here. Default: --target, else CPU:LLVM")
      ->type_name("DEV");
  cmd->add_option("--inputs", o->arrays, "an npz (or npy) file with the arrays data0, data1, ...; {} stands for INPUT without its extension")->type_name("F.npz");
  cmd->add_option("--seed", o->seed, "draw the arrays that no file gives; default without --inputs: 0")->type_name("N");
  cmd->add_option("--var", o->variables, "binds a variable of the kernel, or a symbolic size of a model")->type_name("NAME=N")->allow_extra_args(false)->take_all();
  auto* expect = cmd->add_option("--expect", o->expect, "a file with the arrays that should come out; {} as in --inputs")->type_name("F.npz");
  cmd->add_option("--reference", o->reference, "the device whose results are expected; default: REF on the graph as it stands; none: do not compare")
      ->type_name("DEV")
      ->excludes(expect);
  cmd->add_option("--rtol", o->tolerance.rtol, "relative tolerance of floats; default: by their dtype")->type_name("X")->check(CLI::NonNegativeNumber);
  cmd->add_option("--atol", o->tolerance.atol, "absolute tolerance of floats; default: by their dtype")->type_name("X")->check(CLI::NonNegativeNumber);
  cmd->add_option("--ulp", o->tolerance.ulp, "floats this many representable values apart are the same; alone: nothing else is")->type_name("N");
  cmd->add_option("--save", o->save, "keep what the kernel stores; {} as in --inputs")->type_name("F.npz");
  cmd->add_flag("--each-stage", o->each_stage, "also run the graph after every stage in REF, and name the first that computes something else");
  cmd->add_option("--bench", o->bench, "time N runs of the kernel")->type_name("N")->check(CLI::PositiveNumber);
  cmd->add_option("--timeout", o->timeout, "seconds that a kernel may take on a device; 0: any time. Default: 60")->type_name("S")->check(CLI::NonNegativeNumber);
  cmd->add_flag("--in-process", o->in_process, "run in this process: a kernel that crashes takes tgc with it");
  cmd->add_option("--kernel", o->kernel, "one of many: its number from 0, or its name")->type_name("N|NAME");
  cmd->add_flag("--json", o->json, "one JSON object a kernel");
  cmd->add_option("--onnx-test", o->onnx_tests, "run ONNX conformance cases: folders with model.onnx and test_data_set_*, or folders of such")->type_name("DIR")->check(CLI::ExistingDirectory);
  add_weights_option(*cmd, o->over);
  add_pipeline_options(*cmd, o->over, false);
  cmd->callback([o, &exit_code] { exit_code = KernelRunner(*o).run(); });
}

}  // namespace tgc
