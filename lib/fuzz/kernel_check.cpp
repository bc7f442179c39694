#include "lib/fuzz/kernel_check.h"

#include <algorithm>
#include <bit>

#include "lib/run/failure_signature.h"
#include "lib/text/print_uops.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/kernel_inputs.h"
#include "lib/validate/rounding_effect.h"

namespace tgc {
namespace {

using Kind = FuzzOutcome::Kind;

constexpr int64_t kMaxWork = 2'000'000;  // iterations times nodes, so that REF is fast
constexpr double kMaxSeconds = 20;

int64_t estimate_work(UOp root) {
  int64_t iterations = 1, nodes = 0;
  for (UOp u : toposort(root)) {
    nodes++;
    if (!u.is(Op::RANGE)) continue;
    Const most = u.vmax();
    if (!most.is_integral() || most.as_int() > Int(1 << 20)) return INT64_MAX;
    iterations = std::min<int64_t>(iterations * (most.as_int().low_64_bits() + 1), INT64_MAX >> 32);
  }
  return iterations * nodes;
}

// Returns true if an index may exceed 64 bits although its operands do not.
bool may_index_overflow(UOp root) {
  auto fits = [](UOp u) {
    auto is_within = [](Const c) { return c.is_integral() && c.as_int().is_small(); };
    return is_within(u.vmin()) && is_within(u.vmax());
  };
  return std::ranges::any_of(toposort(root), [&](UOp u) {
    return u.dtype().is(Scalar::Index) && u.in({Op::ADD, Op::SUB, Op::MUL, Op::SHL}) && !fits(u) &&
           std::ranges::all_of(u.src(), fits);
  });
}

// Returns why the renderer's compiler may store vectors in another layout, or "".
std::string vector_layout_cause(std::span<const UOp> list, RendererKind renderer) {
  for (UOp u : list) {
    if (!u.in({Op::LOAD, Op::STORE})) continue;
    DType d = u.is(Op::STORE) ? u.src(1).dtype() : u.dtype();
    bool is_bits = dtypes::is_bool(d) && d.count() > 1;
    if (renderer == RendererKind::LLVM && is_bits) return "a vector of bools is one of bits";
    if (renderer == RendererKind::Clang && !std::has_single_bit(unsigned(d.count())))
      return "a vector of three takes the room of four";
  }
  return "";
}

class KernelCheck {
 public:
  KernelCheck(const FuzzKernel& kernel, RandomSource& chance, FuzzOutcome& out)
      : kernel_(kernel), random_(chance), outcome_(out) {}

  void run(const std::vector<std::string>& devices, const std::function<void(const Rewrite&)>& on_rule) {
    if (is_too_large(kernel_.ast) || may_index_overflow(kernel_.ast)) return compile_without_running(on_rule);
    auto kernel = Executable::make_for_ref(kernel_.ast);
    if (!kernel) return;
    auto inputs = make_input_arrays(kernel->buffers(), {}, "", make_input_distribution(kernel_.ast));
    if (!inputs) return;
    for (const VariableSpec& v : kernel->variables()) variables_[v.name] = v.max;
    inputs_ = std::move(*inputs);
    auto done = run_in_ref(std::move(kernel));
    if (!done) return;  // the AST itself fails in REF, so the kernel has no meaning
    if (has_undefined_results_) return compile_without_running(on_rule);
    expected_ = std::move(*done);
    outcome_.kind = Kind::Compared;

    RewriteLog log;
    Compilation c = begin_compilation(kernel_.ast);
    c.set_stage_observer(&log);
    bool passed = run_stages(c);
    for (const Rewrite& a : log.all_rewrites()) on_rule(a);
    std::string listing = passed ? print_uops(*c.list()) : "";
    c.set_stage_observer(nullptr);
    if (!passed) return;
    if (random_.one_in(4)) check_unobserved_run(listing);
    if (!outcome_.failure && random_.one_in(3)) check_equivalent_kernel();
    for (const std::string& device : devices)
      if (!outcome_.failure) check_on_device(device);
  }

 private:
  void compile_without_running(const std::function<void(const Rewrite&)>& on_rule) {
    RewriteLog log;
    Compilation c = begin_compilation(kernel_.ast);
    c.set_stage_observer(&log);
    auto& list = c.list();
    for (const Rewrite& a : log.all_rewrites()) on_rule(a);
    if (!list) return (void)record_refusal(list.diag());
    outcome_.kind = Kind::Compiled;
    check_unobserved_run(print_uops(*list));
    c.set_stage_observer(nullptr);
  }

  Compilation begin_compilation(UOp ast, const Settings* settings = nullptr) const {
    InputGraph copy{.graph = std::make_shared<Graph>(settings ? *settings : kernel_.graph->settings())};
    copy.root = copy_into(*copy.graph, ast);
    return std::move(Compilation::begin(std::move(copy), {.target = kernel_.target}).value_or_throw());
  }

  Result<Arrays> run_in_ref(Result<Executable> kernel) {
    if (!kernel) return kernel.diag();
    outcome_.num_ref_runs++;
    auto done = reference_runner_.run_reference(std::move(kernel));
    if (!done) return done.diag();
    has_undefined_results_ = !done->notes.empty();
    return std::move(done->outputs);
  }

  void record_failure(const std::string& device, const std::string& symptom, const std::string& message) {
    outcome_.kind = Kind::Failed;
    outcome_.failure = {device, symptom, message, rounding_effect_ && rounding_effect_->is_non_finite()};
  }

  // Returns true if the arrays are as expected, rounding explains the differences, or REF lacks an instruction or
  // tensor core; otherwise records the failure. `root` is the graph that was run, or of which the list was made.
  bool matches_expected(const Result<Arrays>& actual, UOp root, const std::string& device, const std::string& what) {
    auto message_has = [&](const char* text) { return actual.diag().message.find(text) != std::string::npos; };
    if (!actual && (message_has("REF has no instruction") || message_has("there is no tensor core"))) return true;
    if (!actual) {
      const char* symptom = device != "REF" ? "crash" : message_has("REF cannot run") ? "refused" : "wrong";
      return record_failure(device, symptom, what + ": " + actual.diag().text()), false;
    }
    const Arrays made = with_unstored_inputs(*actual);
    Arrays settled;
    auto compared = reference_runner_.compare_arrays(kernel_.ast, made, expected_, {}, Recheck::Always, &settled);
    if (!compared) return record_failure(device, "wrong", what + ": " + compared.diag().text()), false;
    for (const Comparison& c : *compared) {
      if (c.has_passed()) continue;
      if (!rounding_effect_) rounding_effect_.emplace(reference_runner_, kernel_.ast, expected_);
      if (rounding_effect_->are_differences_explained(made, settled, root)) return outcome_.num_rounding_runs++, true;
      const std::string renderer = device.substr(device.find(':') + 1);
      std::string cause = device == "REF" ? "" : expected_divergence(kernel_.ast, *compared, renderer);
      return record_failure(device, "wrong", what + ": " + (cause.empty() ? "" : cause + "; ") + c.text()), false;
    }
    return true;
  }

  // Adds the unchanged inputs for expected arrays that the graph does not store.
  Arrays with_unstored_inputs(const Arrays& actual) const {
    Arrays out = copy_arrays(actual);
    for (const NamedArray& e : expected_)
      if (const Array* was = find_array(inputs_, e.name); was && !find_array(actual, e.name))
        out.push_back({e.name, was->copy()});
    return out;
  }

  // Records an endless rewrite or an internal error as a failure, and any other error as a refusal. Returns false.
  bool record_refusal(const Diag& diag) {
    if (is_endless(diag)) record_failure("REF", "endless", diag.message);
    else if (diag.message.find("internal error") != std::string::npos) record_failure("REF", "refused", diag.message);
    else outcome_.kind = Kind::Refused;
    return false;
  }

  // From "final rewrite" on, WebGPU's buffers consist of words, and some tensor cores take packed operands; REF may not
  // run these.
  bool has_packed_values(const StageRow& row, UOp root) const {
    if (&row < &get_stage_row(StageKind::FinalRules)) return false;
    return kernel_.target.starts_with("WEBGPU") || std::ranges::any_of(toposort(root), has_packed_operands);
  }
  // Returns true if operand A or the result has another dtype than the WMMA's arg states.
  static bool has_packed_operands(UOp u) {
    if (!u.is(Op::WMMA)) return false;
    int64_t held = 1;
    for (Arg axis : u.arg()[6][2].items()) held *= axis[1].small_int();
    return u.src(0).dtype().scalar() != u.arg()[2].dtype() || u.dtype() != u.arg()[3].dtype().vec(int(held));
  }

  bool run_stages(Compilation& c) {
    while (const StageRow* row = c.next_row()) {
      if (!row->is_graph_stage()) break;
      auto step = c.run_step();
      if (!step) return record_refusal(step.diag());
      if (!step->has_changed() || has_packed_values(*row, step->after)) continue;
      if (!matches_expected(run_in_ref(Executable::make_for_ref(step->after)), step->after, "REF",
                            "after '" + std::string(row->name) + "'"))
        return false;
    }
    const UOp last = c.current_graph();
    auto& list = c.list();
    if (!list) return record_refusal(list.diag());
    return has_packed_values(get_stage_row(StageKind::FinalRules), list->back()) ||
           matches_expected(run_in_ref(Executable::make_for_ref(*list)), last, "REF", "the list");
  }

  void check_unobserved_run(const std::string& listing) {
    Compilation c = begin_compilation(kernel_.ast);
    auto& list = c.list();
    if (!list || print_uops(*list) != listing) record_failure("REF", "wrong", "watched and unwatched differ");
  }

  // Returns the empty UOp if a stage refuses the graph.
  static UOp last_graph(Compilation& c) {
    while (c.next_row() && c.next_row()->is_graph_stage())
      if (!c.run_step()) return {};
    return c.current_graph();
  }

  void check_equivalent_kernel() {
    Settings settings = kernel_.graph->settings();
    UOp other = random_.one_in(2) ? UOp() : make_equivalent_kernel(kernel_.ast, random_);
    if (!other) other = kernel_.ast, settings.NOOPT = !settings.NOOPT;
    Compilation c = begin_compilation(other, &settings);
    const UOp last = last_graph(c);
    auto& list = c.list();
    if (!list || has_packed_values(get_stage_row(StageKind::FinalRules), list->back())) return;
    if (matches_expected(run_in_ref(Executable::make_for_ref(*list)), last, "REF", "an equivalent kernel")) return;
    FuzzKernel failed{.graph = std::make_shared<Graph>(settings), .ast = {}, .target = kernel_.target};
    failed.ast = copy_into(*failed.graph, other);
    outcome_.failure->kernel_variant = std::move(failed);
  }

  void check_on_device(const std::string& device) {
    if (std::ranges::any_of(toposort(kernel_.ast), [](UOp u) { return dtypes::fp8s.contains(u.dtype().base()); }))
      return;
    auto place = choose_placement(device, "", kernel_.graph->settings());
    if (!place || !place->target) return;
    InputGraph copy{.graph = std::make_shared<Graph>(kernel_.graph->settings())};
    copy.root = copy_into(*copy.graph, kernel_.ast);
    Compilation c = std::move(Compilation::begin(std::move(copy), {.target = place->target->name()}).value_or_throw());
    const UOp last = last_graph(c);
    auto& list = c.list();
    if (!list || std::ranges::any_of(*list, [](UOp u) { return u.dtype().is_image(); })) return;
    if (!c.source()) return;
    auto kernel = Executable::make_for_device(*list, *place->target, *place->device);
    if (!kernel) return record_failure(device, "compile", "on " + device + ": " + kernel.diag().text());
    auto own = reference_runner_.inputs_for_kernel(*kernel);
    if (!own) return;
    outcome_.num_device_runs++;
    auto done = execute_kernel(*kernel, *place->device, *own, variables_, {.timeout_seconds = kMaxSeconds});
    const std::string cause = vector_layout_cause(*list, place->target->renderer);
    matches_expected(done ? Result<Arrays>(std::move(done->outputs)) : Result<Arrays>(done.diag()), last, device,
                     "on " + device + (cause.empty() ? "" : ", where " + cause));
  }

  const FuzzKernel& kernel_;
  RandomSource& random_;
  FuzzOutcome& outcome_;
  Arrays inputs_, expected_;
  VariableValues variables_;
  const ReferenceRunner reference_runner_{
      inputs_, variables_, {.should_run_in_process = true, .timeout_seconds = kMaxSeconds}};
  std::optional<RoundingEffect> rounding_effect_;
  bool has_undefined_results_ = false;  // in the last run in REF; rules may change undefined results
};

}  // namespace

bool is_too_large(UOp ast) { return estimate_work(ast) > kMaxWork; }

FuzzOutcome check_kernel(const FuzzKernel& kernel, RandomSource& chance, const std::vector<std::string>& devices,
                         const std::function<void(const Rewrite&)>& on_rule) {
  FuzzOutcome out;
  auto done = catch_failures([&] { return KernelCheck(kernel, chance, out).run(devices, on_rule), Unit{}; });
  if (!done && out.kind != FuzzOutcome::Kind::Failed)
    out = {FuzzOutcome::Kind::Refused, std::nullopt, out.num_ref_runs, out.num_device_runs};
  return out;
}

}  // namespace tgc
