#include "apps/tgc/model_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <set>

#include "apps/tgc/terminal.h"
#include "lib/model/conformance.h"
#include "lib/model/realize.h"
#include "lib/model/tensor_state.h"
#include "lib/runtime/contain.h"
#include "lib/runtime/npz.h"
#include "lib/runtime/random.h"
#include "lib/support/pytext.h"
#include "lib/session/debug_prints.h"
#include "lib/support/write_file.h"
#include "lib/text/json_scan.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }

std::string ms(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 0.01 ? "%.3f ms" : "%.1f ms", seconds * 1e3);
  return text;
}

// Tensors in a model's outputs, by name; those in a sequence as NAME[i].
void collect(const std::string& name, const Value& v, std::vector<std::string>& names, Tensors& tensors) {
  if (v.is_tensor()) {
    names.push_back(name);
    tensors.push_back(v.tensor());
  }
  if (v.is_sequence())
    for (size_t i = 0; i < v.items().size(); i++) collect(name + "[" + std::to_string(i) + "]", v.items()[i], names, tensors);
}

// ---- one model

class ModelRun {
 public:
  ModelRun(const std::string& path, const ModelRunOptions& options) : path_(path), o_(options) {}

  // A model, or the tensor graph `in`.
  int run(Loaded* in = nullptr) {
    auto status = catch_failures([&] { return in ? execute(*in) : execute(), Unit{}; });
    progress_.clear();
    if (!status) return trouble(status.diag());
    print(o_.json ? json() : text());
    return failed() ? 1 : 0;
  }

 private:
  void execute() {
    Settings settings = o_.session->settings_for().value_or_throw();
    place_ = std::move(choose_placement(o_.device, o_.session->over.target, settings).value_or_throw());
    auto begin = std::chrono::steady_clock::now();
    Model model = std::move(Model::open(path_, o_.weights).value_or_throw());
    load_seconds_ = seconds_since(begin);
    Graph graph(settings);
    tensor_state(graph).device = place_->target ? place_->target->device : "CPU";
    std::map<std::string, Value> inputs = make_inputs(model, graph);
    begin = std::chrono::steady_clock::now();
    ModelOutputs outputs = model.build(graph, inputs).value_or_throw();
    build_seconds_ = seconds_since(begin);
    Tensors tensors;
    for (size_t i = 0; i < outputs.names.size(); i++) collect(outputs.names[i], outputs.values[i], names_, tensors);
    run_on_device(settings, [&](ScheduleRunner& runner, const ScheduleOptions& options) { return realize(tensors, runner, options); });
  }

  void execute(Loaded& in) {
    Graph& graph = *in.graph;
    const Settings& settings = graph.settings();
    place_ = std::move(choose_placement(o_.device, o_.session->over.target.empty() ? in.info.target : o_.session->over.target, settings).value_or_throw());
    run_on_device(settings, [&](ScheduleRunner& runner, const ScheduleOptions& options) {
      auto begin = std::chrono::steady_clock::now();
      Schedule schedule = std::move(runner.schedule(in.root).value_or_throw());
      build_seconds_ = seconds_since(begin);
      give_values(graph, schedule);
      std::vector<WantedArray> wanted;
      for (auto& buffers : schedule.outputs)
        for (size_t number : buffers) {
          const ScheduleBuffer& b = schedule.buffers[number];
          names_.push_back(data_name(number));
          wanted.push_back({number, b.dtype, {b.size}});
        }
      return std::move(runner.run(schedule, tensor_state(graph).data, wanted, options).value_or_throw());
    });
  }

  static std::string data_name(size_t number) { return "data" + std::to_string(number); }

  // Arrays for the buffers that the graph reads, given or drawn.
  void give_values(Graph& graph, const Schedule& schedule) {
    Arrays given = o_.arrays.empty() ? Arrays() : std::move(read_arrays(o_.arrays).value_or_throw());
    std::optional<uint64_t> seed = o_.seed || !o_.arrays.empty() ? o_.seed : std::optional<uint64_t>(0);
    std::set<std::string> used;
    for (size_t i = 0; i < schedule.buffers.size(); i++) {
      const ScheduleBuffer& b = schedule.buffers[i];
      if (!b.is_input || b.view_of) continue;
      std::string name = data_name(i);
      used.insert(name);
      auto array = std::make_shared<Array>(b.dtype, std::vector<int64_t>{b.size});
      if (const Array* a = find_array(given, name)) {
        if (a->dtype() != b.dtype || a->size() != b.size)
          throw Failure(Diag{.message = "the buffer '" + name + "' is " + array->describe() + ", the file has " + a->describe(), .file = o_.arrays});
        *array = a->copy();
      } else if (seed) {
        fill_random(*array, *seed, name);
        seed_ = seed;
      } else {
        throw Failure(Diag{.message = "the buffer '" + name + "' of the graph is missing", .file = o_.arrays});
      }
      tensor_state(graph).data[b.uop] = {array->data(), array->nbytes(), array};
    }
    for (auto& a : given)
      if (!used.contains(a.name)) throw Failure(Diag{.message = "the graph reads no buffer '" + a.name + "'", .file = o_.arrays});
  }

  // What a model and a tensor graph have in common.
  void run_on_device(const Settings& settings, const std::function<ScheduleResult(ScheduleRunner&, const ScheduleOptions&)>& work) {
    DebugPrints observer(*o_.session, settings);
    ScheduleRunner runner(*place_, unsigned(settings.cpu_count()), &observer);
    auto begin = std::chrono::steady_clock::now();
    ScheduleOptions options{.timed_runs = o_.bench};
    bool by_kernel = !o_.reference.empty() && o_.reference != "none";
    if (by_kernel && o_.reference != "REF") throw Failure(Diag{.message = "--reference=" + o_.reference + " of a model", .expected = "REF, which is compared kernel by kernel"});
    if (by_kernel) options.on_kernel = [&](const KernelStep& step) { check_kernel(step); };
    ran_ = work(runner, options);
    total_seconds_ = seconds_since(begin);
    if (!o_.expect.empty()) compare();
    if (o_.save.empty()) return;
    Arrays arrays;
    for (size_t i = 0; i < names_.size(); i++) arrays.push_back({names_[i], ran_.values[i].copy()});
    write_npz(o_.save, arrays).value_or_throw();
  }

  std::map<std::string, Value> make_inputs(const Model& model, Graph& graph) {
    Arrays given = o_.arrays.empty() ? Arrays() : std::move(read_arrays(o_.arrays).value_or_throw());
    std::optional<uint64_t> seed = o_.seed || !o_.arrays.empty() ? o_.seed : std::optional<uint64_t>(0);
    std::map<std::string, int64_t> sizes = o_.sizes;
    bind_sizes(model, given, sizes);
    std::map<std::string, Value> out;
    auto declared = std::move(model.inputs(sizes).value_or_throw());
    for (auto& input : declared) {
      if (const Array* a = find_array(given, input.name)) {
        out[input.name] = input_value(graph, fitting(*a, input));
        continue;
      }
      if (input.type.kind == onnx::TypeProto::Kind::Optional) {
        out[input.name] = Value();
        continue;
      }
      if (!input.shape || input.dtype == dtypes::void_) throw Failure("the model's input '" + input.name + "' is no tensor of numbers of a known shape: it cannot be drawn");
      if (!seed) throw Failure(Diag{.message = "the model's input '" + input.name + "' is missing", .file = o_.arrays});
      seed_ = seed;
      Array a(input.dtype, *input.shape);
      fill_random(a, *seed, input.name);
      out[input.name] = input_value(graph, a);
    }
    for (auto& a : given)
      if (!out.contains(a.name)) throw Failure(Diag{.message = "the model has no input '" + a.name + "'", .file = o_.arrays});
    return out;
  }

  // Sizes that the given arrays settle.
  static void bind_sizes(const Model& model, const Arrays& given, std::map<std::string, int64_t>& sizes) {
    for (auto* info : model.declared_inputs()) {
      const Array* a = find_array(given, info->name);
      if (!a || !info->type.shape || info->type.shape->size() != a->shape().size()) continue;
      for (size_t i = 0; i < a->shape().size(); i++)
        if (auto& dim = (*info->type.shape)[i]; !dim.value && !dim.name.empty()) sizes.try_emplace(dim.name, a->shape()[i]);
    }
  }

  Array fitting(const Array& a, const ModelInput& input) {
    bool fits = input.dtype == a.dtype() && (!input.shape || std::equal(input.shape->begin(), input.shape->end(), a.shape().begin(), a.shape().end()));
    if (!fits) {
      throw Failure(Diag{.message = "the input '" + input.name + "' is " + a.describe(), .file = o_.arrays,
                         .expected = std::string(dtype_text(input.dtype)) + (input.shape ? " " + shape_text(*input.shape) : "")});
    }
    return a.copy();
  }

  void compare() {
    Arrays expected = std::move(read_arrays(o_.expect).value_or_throw());
    if (expected.empty()) throw Failure(Diag{.message = "the file has no arrays to compare with", .file = o_.expect});
    for (auto& e : expected) {
      auto found = std::find(names_.begin(), names_.end(), e.name);
      if (found == names_.end()) throw Failure(Diag{.message = "the model has no output '" + e.name + "'", .file = o_.expect});
      const Array& a = ran_.values[size_t(found - names_.begin())];
      if (!std::equal(a.shape().begin(), a.shape().end(), e.array.shape().begin(), e.array.shape().end()))
        throw Failure(Diag{.message = "the output '" + e.name + "' is " + a.describe() + ", the file has " + e.array.describe(), .file = o_.expect});
      comparisons_.push_back(std::move(compare_arrays(e.name, a, e.array, o_.tolerance).value_or_throw()));
    }
  }

  // Runs a kernel's AST in REF on the same arrays; keeps the first kernel that differs.
  void check_kernel(const KernelStep& trial) {
    if (!different_.empty()) return;
    progress_.show("comparing kernel " + std::to_string(trial.number + 1) + " with REF");
    Arrays arrays = copy_of(trial.before);
    std::vector<RefBuffer> buffers;
    for (auto& a : arrays) buffers.push_back({std::stoll(a.name.substr(4)), a.array.data(), a.array.nbytes()});
    RefProgram program = std::move(RefProgram::from_graph(trial.ast).value_or_throw());
    program.run(buffers, trial.variables).value_or_throw();
    for (size_t i = 0; i < arrays.size(); i++) {
      auto c = std::move(compare_arrays(arrays[i].name, trial.after[i].array, arrays[i].array, o_.tolerance).value_or_throw());
      if (c.passed()) continue;
      std::string stem = "failed-kernel" + std::to_string(trial.number);
      write_npz(stem + "-inputs.npz", trial.before).value_or_throw();
      write_file(stem + ".txt", pyrender(trial.ast).value_or_throw()).value_or_throw();
      different_ = "kernel " + std::to_string(trial.number) + " (" + ansi_stripped(trial.name) + ") differs from REF: " + c.text() + "\n  again: tgc run " + stem + ".txt --inputs=" + stem +
                   "-inputs.npz --device=" + place_->label;
      return;
    }
    checked_++;
  }

  static std::string ansi_stripped(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
      if (text[i] == '\033') {
        while (i < text.size() && text[i] != 'm') i++;
        continue;
      }
      out += text[i];
    }
    return out;
  }

  bool failed() const {
    return !different_.empty() || std::any_of(comparisons_.begin(), comparisons_.end(), [](const Comparison& c) { return !c.passed(); });
  }

  std::string text() const {
    std::string out = path_ + ": " + std::to_string(ran_.kernels) + " kernels on " + place_->label + (seed_ ? ", inputs drawn with --seed " + std::to_string(*seed_) : "") + "\n";
    out += "  load " + ms(load_seconds_) + ", build the graph " + ms(build_seconds_) + ", schedule, compile and run " + ms(total_seconds_) + ", of that the kernels " + ms(ran_.seconds) + "\n";
    if (ran_.bytes_before) out += "  memory between kernels: " + bytes_text(ran_.bytes_before) + ", as planned " + bytes_text(ran_.bytes_after) + "\n";
    for (size_t i = 0; i < names_.size(); i++) {
      out += "  " + names_[i] + ": " + ran_.values[i].describe();
      int64_t shown = std::min<int64_t>(ran_.values[i].size(), 4);
      for (int64_t j = 0; j < shown; j++) out += (j ? ", " : " = ") + element_text(ran_.values[i], j);
      out += ran_.values[i].size() > shown ? ", ...\n" : "\n";
    }
    if (!ran_.timed.empty()) {
      double total = 0;
      std::vector<TimedKernel> slowest = ran_.timed;
      for (auto& r : ran_.timed) total += r.seconds;
      std::sort(slowest.begin(), slowest.end(), [](auto& a, auto& b) { return a.seconds > b.seconds; });
      out += "  all kernels, the fastest of " + std::to_string(o_.bench) + " runs each: " + ms(total) + "; the slowest:\n";
      for (size_t i = 0; i < std::min<size_t>(10, slowest.size()); i++) out += "    " + ms(slowest[i].seconds) + "  " + ansi_stripped(slowest[i].name) + "\n";
    }
    for (auto& c : comparisons_) out += "  " + c.text() + "\n";
    if (checked_ && different_.empty()) out += "  every kernel compares well with REF: " + std::to_string(checked_) + "\n";
    if (!different_.empty()) out += "  " + different_ + "\n";
    return out;
  }

  std::string json() const {
    std::string out = "{\"model\":";
    append_json_string(out, path_);
    out += ",\"device\":";
    append_json_string(out, place_->label);
    out += ",\"kernels\":" + std::to_string(ran_.kernels) + ",\"load_ms\":" + std::to_string(load_seconds_ * 1e3) + ",\"build_ms\":" + std::to_string(build_seconds_ * 1e3) +
           ",\"total_ms\":" + std::to_string(total_seconds_ * 1e3) + ",\"run_ms\":" + std::to_string(ran_.seconds * 1e3) + ",\"bytes_before\":" + std::to_string(ran_.bytes_before) +
           ",\"bytes_after\":" + std::to_string(ran_.bytes_after) + ",\"passed\":" + (failed() ? "false" : "true") + ",\"outputs\":[";
    for (size_t i = 0; i < names_.size(); i++) {
      out += i ? ",{\"name\":" : "{\"name\":";
      append_json_string(out, names_[i]);
      out += ",\"array\":";
      append_json_string(out, ran_.values[i].describe());
      for (auto& c : comparisons_)
        if (c.name == names_[i]) out += ",\"different\":" + std::to_string(c.different) + ",\"max_abs\":" + repr(c.max_abs);
      out += "}";
    }
    return out + "]}\n";
  }
  static std::string repr(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", v);
    return text;
  }

  std::string path_;
  const ModelRunOptions& o_;
  Progress progress_;
  std::optional<Placement> place_;
  std::vector<std::string> names_;
  std::vector<Comparison> comparisons_;
  ScheduleResult ran_;
  std::optional<uint64_t> seed_;
  std::string different_;
  size_t checked_ = 0;
  double load_seconds_ = 0, build_seconds_ = 0, total_seconds_ = 0;
};

// ---- conformance

// Each case in a process of its own, because a kernel can crash.
CaseResult contained_case(const std::string& folder, const ModelRunOptions& o, const Settings& settings) {
  CaseResult out;
  auto answer = contain(
      [&]() -> Result<std::string> {
        return catch_failures([&] {
          CaseOptions options{.settings = settings};
          if (o.tolerance.rtol) options.tolerance.rtol = o.tolerance.rtol;
          if (o.tolerance.atol) options.tolerance.atol = o.tolerance.atol;
          auto place = std::move(choose_placement(o.device, o.session->over.target, settings).value_or_throw());
          options.place = &place;
          CaseResult r = run_case(folder, options);
          return std::to_string(int(r.outcome)) + "\n" + r.suite + "\n" + r.name + "\n" + r.message;
        });
      },
      {.timeout_seconds = 120});
  if (!answer) {
    out.outcome = CaseResult::Outcome::Error;
    out.name = folder;
    out.message = answer.diag().text();
    return out;
  }
  std::string text = *answer;
  auto cut = [&] {
    size_t end = text.find('\n');
    std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    return line;
  };
  out.outcome = CaseResult::Outcome(std::stoi(cut()));
  out.suite = cut(), out.name = cut(), out.message = text;
  return out;
}

}  // namespace

int run_model(const std::string& path, const ModelRunOptions& options) { return ModelRun(path, options).run(); }
int run_tensor_graph(Loaded& graph, const ModelRunOptions& options) { return ModelRun(graph.info.name, options).run(&graph); }

int run_onnx_tests(const std::vector<std::string>& folders, const ModelRunOptions& options) {
  auto settings = options.session->settings_for();
  if (!settings) return trouble(settings.diag());
  auto cases = find_cases(folders);
  if (cases.empty()) return trouble({.message = "no model.onnx in or below the folders", .expected = "folders of ONNX conformance cases"});
  struct Row {
    int passed = 0, wrong = 0, error = 0;
  };
  std::map<std::string, Row> suites;
  Row all;
  Progress progress;
  std::string failures;
  for (size_t i = 0; i < cases.size(); i++) {
    progress.show(std::to_string(i + 1) + " of " + std::to_string(cases.size()) + ": " + cases[i]);
    CaseResult r = contained_case(cases[i], options, *settings);
    for (Row* row : {&all, &suites[r.suite]}) (r.passed() ? row->passed : r.outcome == CaseResult::Outcome::Wrong ? row->wrong : row->error)++;
    if (!r.passed()) failures += (r.outcome == CaseResult::Outcome::Wrong ? "wrong  " : "error  ") + r.suite + "/" + r.name + ": " + r.message + "\n";
  }
  progress.clear();
  std::string out = failures + "suite                  cases  passed   wrong   error\n";
  auto line = [&](const std::string& name, const Row& r) {
    char text[160];
    std::snprintf(text, sizeof text, "%-20s %7d %7d %7d %7d\n", name.c_str(), r.passed + r.wrong + r.error, r.passed, r.wrong, r.error);
    out += text;
  };
  for (auto& [name, row] : suites) line(name, row);
  if (suites.size() > 1) line("all", all);
  if (options.json) {
    out = "{\"cases\":" + std::to_string(cases.size()) + ",\"passed\":" + std::to_string(all.passed) + ",\"wrong\":" + std::to_string(all.wrong) + ",\"errors\":" + std::to_string(all.error) + "}\n";
  }
  print(out);
  return all.wrong + all.error ? 1 : 0;
}

}  // namespace tgc
