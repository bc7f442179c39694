#include "apps/tgc/dump_texts.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "apps/tgc/habits.h"
#include "lib/compilation/schedule_listing.h"
#include "apps/tgc/terminal.h"
#include "lib/uop/copy.h"
#include "passes/tensor/sched_cache.h"

namespace tgc {
namespace {

// What the dumps of kernels and of tensor graphs share: the texts as they come.
class Dump {
 public:
  Dump(InputGraph& in, const DumpPlan& plan, const PipelineOptions& pipeline) : in_(in), plan_(plan), pipeline_(pipeline) {}
  virtual ~Dump() = default;

  Result<std::vector<DumpText>> run() {
    auto status = make();
    if (!status) return status.diag();
    return std::move(texts_);
  }

 protected:
  virtual Status make() = 0;

  Status add(size_t number, std::string_view stage, std::string slug, UOp graph) {
    GraphInfo info = in_.info;
    info.stage = stage == kAst ? "" : stage;
    Format format = plan_.format.value_or(Format::Pyrender);
    auto text = write_graph(format, graph, info);
    if (!text) return text.diag();
    texts_.push_back({in_.info.name, number, std::string(stage), std::move(slug), std::string(extension_of(format)), std::move(*text)});
    return Unit{};
  }
  // Of an output: its name is its slug.
  void add_text(size_t number, std::string_view name, std::string_view extension, std::string text) {
    texts_.push_back({in_.info.name, number, std::string(name), std::string(name), std::string(extension), std::move(text)});
  }

  InputGraph& in_;
  const DumpPlan& plan_;
  const PipelineOptions& pipeline_;
  std::vector<DumpText> texts_;
};

// The texts of one kernel.
class KernelDump : public Dump {
 public:
  using Dump::Dump;

 private:
  Status make() override {
    const Stage* from = plan_.from;
    if (!from && !in_.info.stage.empty()) from = find_stage(in_.info.stage);
    if (!in_.list.empty()) return add_listing();
    if (!from && (plan_.wants(kAst) || plan_.as_it_is))
      if (auto status = add(0, kAst, "ast", in_.root); !status) return status;
    if (from && plan_.as_it_is) return add(0, from->name, from->slug(), in_.root);
    bool more = plan_.only_changed || plan_.wanted.size() > size_t(plan_.wants(kAst)) || has_habits(in_.graph->settings());
    return more ? run_stages(from) : Unit{};
  }

  // A listing is what it is; what comes after it can be made of it.
  Status add_listing() {
    if (plan_.wants("linear") || plan_.as_it_is) {
      Format format = plan_.format.value_or(Format::Uops);
      auto text = write_list(format, in_.list, in_.info);
      if (!text) return text.diag();
      add_text(0, "linear", extension_of(format), std::move(*text));
    }
    auto target = pipeline_.resolve_target(in_.info.target, in_.graph->settings());
    if (!target) return target.diag();
    KernelOutputs outputs(*target, in_.list, plan_.compile);
    size_t number = kernel_stages().size();
    for (const OutputStage& output : output_stages()) {
      number++;
      if (output.name == "linear" || !plan_.wants(output.name)) continue;
      if (auto status = add_output(number, output, outputs); !status) return status;
    }
    if (texts_.empty()) return Diag{.message = "a linear list has no stages before it", .expected = "linear, source, program or what compilers make of it"};
    return Unit{};
  }

  Status run_stages(const Stage* from) {
    auto target = pipeline_.resolve_target(in_.info.target, in_.graph->settings());
    if (!target) return target.diag();
    in_.info.target = target->name();
    KernelJob job{*in_.graph, *target};
    auto opts = pipeline_.forced_opts(*in_.graph);
    if (!opts) return opts.diag();
    job.opts = *opts;
    UOp current = from ? in_.root : begin_kernel(job, in_.root);
    bool habits = has_habits(job.settings());  // they want the kernel whole
    if (habits && !from) show_ast(job.settings(), current);
    size_t number = 0;
    bool begun = from == nullptr;
    for (const Stage& stage : kernel_stages()) {
      number++;
      if (begun && (!stage.applies || stage.applies(job)) && (habits || needed_from(stage))) {
        auto result = run_stage(stage, job, current);
        if (!result) return result.diag();
        bool changed = !(*result == current);
        current = *result;
        if (plan_.wants(stage.name) || (plan_.only_changed && changed))
          if (auto status = add(number, stage.name, stage.slug(), current); !status) return status;
      }
      begun |= &stage == from;
    }
    KernelOutputs outputs(job, current, plan_.compile);
    if (habits)
      if (auto status = show_compiled(job.settings(), current, outputs); !status) return status;
    for (const OutputStage& output : output_stages()) {
      number++;
      if (!plan_.wants(output.name)) continue;
      if (auto status = add_output(number, output, outputs); !status) return status;
    }
    return Unit{};
  }

  // Whether that stage or a later one is asked for.
  bool needed_from(const Stage& stage) const {
    if (plan_.only_changed) return true;
    auto stages = kernel_stages();
    auto wanted = [&](auto& s) { return plan_.wants(s.name); };
    return std::any_of(&stage, stages.data() + stages.size(), wanted) || std::ranges::any_of(output_stages(), wanted);
  }

  Status add_output(size_t number, const OutputStage& output, KernelOutputs& outputs) {
    bool other_format = output.name == "linear" && plan_.format && *plan_.format != Format::Uops;
    auto text = other_format ? linear_as(*plan_.format, outputs) : output.make(outputs);
    if (!text) return text.diag();
    if (!output.is_bytes && !text->empty() && text->back() != '\n') *text += '\n';
    add_text(number, output.name, other_format ? extension_of(*plan_.format) : output.extension, std::move(*text));
    return Unit{};
  }
  Result<std::string> linear_as(Format format, KernelOutputs& outputs) {
    auto& list = outputs.list();
    if (!list) return list.diag();
    GraphInfo info = in_.info;
    info.stage = "linear";
    return write_list(format, *list, info);
  }
};

// The texts of a tensor graph and, when stages of theirs are asked for, of its kernels.
class TensorDump : public Dump {
 public:
  TensorDump(InputGraph& in, const DumpPlan& plan, const PipelineOptions& pipeline) : Dump(in, plan, pipeline), job_(*in.graph) {}

 private:
  Status make() override {
    const TensorStage* from = plan_.tensor_from;
    if (!from && !in_.info.stage.empty()) from = find_tensor_stage(in_.info.stage);
    if (plan_.wants(kAst) || plan_.as_it_is)
      if (auto status = from ? add(0, from->name, from->slug(), in_.root) : add(0, kAst, "ast", in_.root); !status) return status;
    if (plan_.as_it_is) return Unit{};
    if (auto status = run_stages(from); !status) return status;
    if (!wants_schedule()) return Unit{};
    if (from) return Diag{.message = "the schedule of '" + in_.info.name + "' needs what all stages note, and this graph is the result of '" + std::string(from->name) + "'",
                          .expected = "the tensor graph as it was before its first stage"};
    return make_kernels();
  }

  bool wants_schedule() const { return plan_.wants(kSchedule) || wants_kernels(); }
  bool wants_kernels() const {
    auto wanted = [&](auto& s) { return plan_.wants(s.name); };
    return plan_.only_changed || std::ranges::any_of(kernel_stages(), wanted) || std::ranges::any_of(output_stages(), wanted);
  }

  Status run_stages(const TensorStage* from) {
    auto stages = tensor_stages();
    auto wanted = [&](const TensorStage& s) { return plan_.wants(s.name); };
    current_ = in_.root;
    for (const TensorStage* stage = from ? from + 1 : stages.data(); stage < stages.data() + stages.size(); stage++) {
      if (!plan_.only_changed && !wants_schedule() && std::none_of(stage, stages.data() + stages.size(), wanted)) break;
      auto result = run_stage(*stage, job_, current_);
      if (!result) return result.diag();
      bool changed = !(*result == current_);
      current_ = *result;
      if (!wanted(*stage) && !(plan_.only_changed && changed)) continue;
      if (auto status = add(size_t(stage - stages.data()) + 1, stage->name, stage->slug(), current_); !status) return status;
    }
    return Unit{};
  }

  Status make_kernels() {
    auto begin = std::chrono::steady_clock::now();
    auto schedule = catch_failures([&] { return create_schedule(job_, current_); });
    if (!schedule) return schedule.diag();
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    show_schedule(job_.settings(), schedule->items.size(), taken.count(), to_hex(sched_cache_key(job_.keyed)), in_.graph->size());
    if (plan_.wants(kSchedule)) {
      bool json = plan_.format == Format::Json;
      MemoryPlan memory = plan_memory(*schedule, job_.settings());
      std::string text = (json ? schedule_json : schedule_listing)(*schedule, memory, sched_cache_key(job_.keyed));
      add_text(tensor_stages().size() + 1, kSchedule, json ? "json" : "txt", std::move(text));
    }
    return wants_kernels() ? dump_kernels(*schedule) : Unit{};
  }

  // ---- kernels: each in a graph of its own, so that they are made side by side
  struct KernelTask {
    std::string name;
    UOp ast;
    std::string target;
    size_t like;  // the first task of the same kernel, whose texts are this one's: mostly itself
    Result<std::vector<DumpText>> texts = std::vector<DumpText>();
  };

  Status dump_kernels(const Schedule& schedule) {
    std::vector<KernelTask> tasks;
    for (size_t i = 0; i < schedule.items.size(); i++) {
      if (!schedule.items[i].ast.is(Op::SINK)) continue;  // a copy or a view: nothing to compile
      KernelTask task{in_.info.name + "." + std::to_string(i), schedule.items[i].ast, target_of(schedule, i), tasks.size()};
      auto same = [&](const KernelTask& t) { return t.ast == task.ast && t.target == task.target; };
      if (!names_are_in_texts()) task.like = size_t(std::ranges::find_if(tasks, same) - tasks.begin());
      tasks.push_back(std::move(task));
    }
    std::atomic<size_t> next = 0, done = 0;
    auto work = [&](Progress* progress) {
      for (size_t i; (i = next++) < tasks.size();) {
        if (tasks[i].like == i) tasks[i].texts = texts_of(tasks[i]);
        done++;
        if (progress) progress->show("kernel " + std::to_string(done) + " of " + std::to_string(tasks.size()));
      }
    };
    size_t jobs = has_habits(job_.settings()) ? 1 : plan_.jobs ? plan_.jobs : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < std::min(jobs, tasks.size()); i++) threads.emplace_back(work, nullptr);
    Progress progress;
    work(&progress);
    threads.clear();
    for (KernelTask& task : tasks) {
      const auto& texts = tasks[task.like].texts;
      if (!texts) return texts.diag();
      for (DumpText text : *texts) {
        text.graph = task.name;
        texts_.push_back(std::move(text));
      }
    }
    return Unit{};
  }

  // Whether a kernel's name is seen in more than the names of its texts.
  bool names_are_in_texts() const { return has_habits(job_.settings()) || plan_.format == Format::Json || plan_.format == Format::Dot; }

  Result<std::vector<DumpText>> texts_of(const KernelTask& task) const {
    InputGraph kernel;
    kernel.graph = std::make_unique<Graph>(job_.settings());
    kernel.root = copy_into(*kernel.graph, task.ast);
    kernel.info = {.name = task.name, .target = task.target, .settings = in_.info.settings};
    DumpPlan plan = plan_;
    plan.from = nullptr;
    return KernelDump(kernel, plan, pipeline_).run();
  }

  std::string target_of(const Schedule& schedule, size_t item) const {
    return !in_.info.target.empty() ? in_.info.target : target_of_device(schedule.buffers[schedule.items[item].buffers[0]].device, job_.settings());
  }

  TensorJob job_;
  UOp current_;
};

}  // namespace

std::vector<Choice> dump_choices() {
  std::vector<Choice> choices{{kAst, "", ""}};
  add_stages(choices, tensor_stages());
  choices.push_back({kSchedule, "kernels", ""});
  add_stages(choices, kernel_stages());
  for (const OutputStage& o : output_stages()) choices.push_back({o.name, o.alias, "", !o.by_compiler});
  return choices;
}

Result<std::vector<DumpText>> dump_texts(InputGraph& in, const DumpPlan& plan, const PipelineOptions& pipeline) {
  if (in.is_tensor_graph) return TensorDump(in, plan, pipeline).run();
  return KernelDump(in, plan, pipeline).run();
}

}  // namespace tgc
