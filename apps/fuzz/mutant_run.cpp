#include "apps/fuzz/mutant_run.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "lib/bisect/bisect.h"
#include "lib/compare/replay.h"
#include "lib/compilation/watchers.h"
#include "lib/diff/run_diff.h"
#include "lib/execute/execution.h"
#include "lib/fuzz/mutant.h"
#include "lib/records/recorded_stages.h"
#include "lib/reduce/reduce.h"
#include "lib/rules/match_stats.h"
#include "lib/run/run.h"
#include "lib/runtime/ref/ref.h"
#include "lib/spec/spec.h"
#include "lib/text/formats.h"
#include "lib/trace/explain.h"
#include "lib/trace/trace_file.h"
#include "lib/trace/trace_print.h"
#include "lib/uop/graph.h"
#include "lib/view/gather.h"

namespace tgc::fuzz {

std::string_view name_of(MutantPhase phase) {
#define X(name) #name,
  static constexpr std::string_view kNames[] = {TGC_FUZZ_PHASES(X)};
#undef X
  static_assert(std::size(kNames) == kNumPhases);
  return kNames[size_t(phase)];
}

std::string_view name_of(PhaseOutcome outcome) {
  static constexpr std::string_view kNames[kNumOutcomes] = {"fine", "refused", "different", "contained"};
  return kNames[size_t(outcome)];
}

namespace {

struct MutantHeader {
  uint16_t graph, target, donors, unused;
};
static_assert(sizeof(MutantHeader) == kMutationStepBytes);

struct Mutant {
  std::string json, original_json;  // `original_json`: the graph that was mutated
  std::string other_target;
  Settings settings;
};

std::optional<Mutant> make_mutant(GraphKind kind, Bytes bytes) {
  MutantHeader header{};
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  auto seeds = seeds_of_kind(kind);
  InputGraph in = load_seed(seeds[header.graph % seeds.size()]);
  SubgraphDonor donor = [&](Graph& into, size_t number) {
    auto from = seeds_of_kind(GraphKind((size_t(kind) + header.donors) % 4));
    return copy_seed(from[number % from.size()], into);
  };
  bool is_list = !in.list.empty();
  auto write = [&](std::span<const UOp> nodes) {
    return is_list ? list_to_json(nodes, in.info) : graph_to_json(nodes.back(), in.info);
  };
  std::vector<UOp> nodes = is_list ? in.list : toposort(in.root);
  auto known = known_targets();
  Mutant out{.original_json = write(nodes), .other_target = std::string(known[header.target % known.size()]),
             .settings = in.graph->settings()};
  auto changed =
      mutate_nodes(nodes, is_list, steps_of_bytes(bytes.subspan(std::min(bytes.size(), kMutationStepBytes))), donor);
  if (!changed || changed->empty()) return {};
  out.json = write(*changed);
  return out;
}

// Runs one graph through the phases (TGC_FUZZ_PHASES).
class MutantRun {
 public:
  MutantRun(const Mutant& mutant, const MutantRunOptions& options, MutantLog& log)
      : mutant_(mutant), options_(options), log_(log) {}

  void run_all_phases() {
    log_.enter_phase(MutantPhase::load);
    auto in = load_mutant();
    if (!succeeded(in)) return;
    is_tensor_graph_ = in->is_tensor_graph, is_list_ = !in->list.empty();
    log_.count_outcome(PhaseOutcome::fine);
    run_phase(MutantPhase::verify, [&] { return check_specs(*in); });
    run_phase(MutantPhase::texts, [&] { return round_trip_texts(*in); });
    run_phase(MutantPhase::source, [&] { return compile_mutant(""); });
    run_phase(MutantPhase::other, [&] { return compile_mutant(mutant_.other_target); });
    run_phase(MutantPhase::stats, [&] { return collect_stats(); });
    run_phase(MutantPhase::trace, [&] { return run_trace(); });
    run_phase(MutantPhase::diff, [&] { return run_diff(); });
    if (options_.uses_processes) {
      run_phase(MutantPhase::ref, [&] { return run_device("REF", "none"); });
      run_phase(MutantPhase::cpu, [&] { return run_device("CPU", "REF"); });
      run_phase(MutantPhase::bisect, [&] { return run_bisect(); });
      run_phase(MutantPhase::reduce, [&] {
        using Kind = FailureSignature::Kind;
        return run_reduce(Kind::Wrong) || run_reduce(Kind::Refused);
      });
      run_phase(MutantPhase::view, [&] { return make_view(); });
    } else {
      run_phase(MutantPhase::ref, [&] { return run_ref_in_process(); });
    }
  }

 private:
  Result<InputGraph> load_mutant() {
    return load_graph_text(mutant_.settings, InputKind::Json, mutant_.json, "mutant");
  }
  InputGraph load_valid_mutant() { return std::move(*load_mutant()); }

  [[noreturn]] void report_wrong(const std::string& what) {
    report_finding(std::string(name_of(log_.phase)) + ": " + what);
  }
  template <class T>
  bool succeeded(const Result<T>& result) {
    if (result.ok()) return true;
    const Diag& d = result.diag();
    if (d.message.empty()) report_wrong("a refusal without a message");
    classify_error(d.text());
    return false;
  }
  // An internal error, or a signal in REF, is a finding; other errors are acceptable.
  void classify_error(const std::string& text) {
    auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
    if (has("internal error")) report_wrong(text);
    bool died = has("killed by") || has("did not end within") || has("forbidden");
    if (died && log_.phase == MutantPhase::ref && has("killed by SIG")) report_wrong(text);  // REF is part of tgc
    log_.count_outcome(died ? PhaseOutcome::contained : PhaseOutcome::refused);
  }
  template <class Body>
  void run_phase(MutantPhase p, Body body) {
    log_.enter_phase(p);
    if (body()) log_.count_outcome(PhaseOutcome::fine);
  }

  bool check_specs(const InputGraph& in) {
    std::vector<UOp> nodes = is_list_ ? in.list : toposort(in.root);
    for (Spec spec : {is_list_ ? Spec::Program : is_tensor_graph_ ? Spec::Tensor : Spec::Kernel, Spec::Full})
      if (auto violation = tgc::verify(nodes, spec)) (void)violation->text();
    return true;
  }

  bool round_trip_texts(const InputGraph& in) {
    for (std::string_view name : format_names()) {
      GraphFormat format = *parse_format(name);
      auto text = is_list_ ? write_list(format, in.list, in.info) : write_graph(format, in.root, in.info);
      if (!succeeded(text)) return false;
      if (format == GraphFormat::Dot || format == GraphFormat::Nodes) continue;
      auto back = load_graph_text(mutant_.settings, detect_input_kind(*text), *text, "written");
      if (!succeeded(back)) return false;
    }
    return true;
  }

  Result<Compilation> begin_compilation(const std::string& target) {
    Session session;
    session.overrides.target = target;
    return session.begin(load_valid_mutant());
  }

  // Compiles a kernel to its source and other outputs, or the first three kernels of a tensor graph to their sources.
  bool compile_mutant(const std::string& target) {
    auto c = begin_compilation(target);
    if (!succeeded(c)) return false;
    if (!is_tensor_graph_)
      return succeeded(c->source()) && succeeded(c->outputs()) &&
             succeeded(c->row_output(get_stage_row(OutputKind::LaunchFacts)));
    if (!succeeded(c->schedule()) || !succeeded(c->schedule_as_json())) return false;
    std::vector<size_t> numbers = c->kernel_numbers();
    for (size_t i = 0; i < std::min<size_t>(numbers.size(), 3); i++) {
      auto kernel = c->kernel(numbers[i]);
      if (!succeeded(kernel) || !succeeded(kernel->source())) return false;
    }
    return true;
  }

  bool run_observed(StageObserver& stage_observer) {
    auto c = begin_compilation("");
    return succeeded(c) && succeeded(run_with_observer(std::move(*c), stage_observer));
  }

  bool collect_stats() {
    RuleStats stats;
    StatsObserver counter([](const StageRow&) { return true; }, stats);
    bool ok = run_observed(counter);
    (void)stats_text(stats.counters_by_rule());
    return ok;
  }

  bool run_trace() {
    MemoryFile file;
    auto writer = TraceWriter::create(file.path());
    if (!succeeded(writer)) return false;
    std::string shown;
    auto print = [&](std::string_view text) { shown.assign(text.substr(0, 100)); };
    TracePrinter printer({}, {}, print);
    TraceReplay live, replayed;
    TraceForwarder tee({writer->get(), &printer, &live});
    TraceObserver stage_observer(tee);
    bool ok = run_observed(stage_observer);
    if (!succeeded((*writer)->close())) return false;
    NodeExplainer explainer(1, "", false, print);
    TraceForwarder readers({&replayed, &explainer});
    // if a stage refused the graph, the trace ends there
    auto read = read_trace(file.path(), readers);
    if (ok && !succeeded(read)) return false;
    if (!ok && !read && read.diag().message.find("internal error") != std::string::npos)
      report_wrong(read.diag().text());
    return ok;
  }

  bool run_diff() {
    Graph graph;
    auto sides = read_graph_pair(graph, {mutant_.original_json, "original"}, {mutant_.json, "mutant"});
    if (!succeeded(sides)) return false;
    GraphDiff diff = diff_graphs(sides->first, sides->second);
    (void)diff_as_text(diff), (void)diff_as_json(diff);
    return true;
  }

  RunOptions make_run_options(const std::string& device, const std::string& reference) const {
    return {.input = {.name = "mutant.json"},
            .device = {.name = device, .timeout_seconds = options_.kernel_limit_seconds},
            .compare = {.reference_device = reference}};
  }
  // Returns true if the report has no failure. Otherwise counts the outcome.
  template <class Report>
  bool has_no_failure(const Report& report) {
    if (!report.error.empty()) return classify_error(report.error), false;
    if (report.exit_code() != 1) return true;
    return log_.count_outcome(PhaseOutcome::different), false;
  }

  // Runs the graph as `tgc run` does. `reference`: the device to compare with, or "none".
  bool run_device(const std::string& device, const std::string& reference) {
    Session session;
    InputGraph in = load_valid_mutant();
    RunOptions spec = make_run_options(device, reference);
    return is_tensor_graph_ ? has_no_failure(run_tensor_graph(session, in, spec))
                   : has_no_failure(run_kernel(session, in, spec));
  }

  bool run_bisect() {
    CancelRequest limit(nullptr, options_.kernel_limit_seconds);
    Session session{.cancel = &limit};
    InputGraph in = load_valid_mutant();
    RunOptions spec = make_run_options("REF", "");
    return is_tensor_graph_ ? has_no_failure(bisect_tensor_graph(session, in, spec))
                            : has_no_failure(bisect(session, in, spec));
  }

  bool run_reduce(FailureSignature::Kind kind) {
    CancelRequest limit(nullptr, options_.kernel_limit_seconds);
    Session session{.num_jobs = 1, .cancel = &limit};
    InputGraph in = load_valid_mutant();
    return has_no_failure(reduce_input(session, in, make_run_options("REF", ""), {kind, ""}));
  }

  bool make_view() {
    MemoryFile file(mutant_.json);
    auto content = gather_view(Session{}, {.input = file.path(), .should_include_assembly = false});
    if (!succeeded(content)) return false;
    (void)make_view_page("<html></html>", *content);
    return true;
  }

  // Runs a kernel in this process, so that sanitizers check REF. Skips tensor graphs and large kernels.
  bool run_ref_in_process() {
    if (is_tensor_graph_) return true;
    InputGraph in = load_valid_mutant();
    auto executable = is_list_ ? Executable::make_for_ref(in.list) : Executable::make_for_ref(in.root);
    if (!succeeded(executable)) return false;
    constexpr double kMostSteps = 1e6, kMostBytes = 1e7;
    double steps = 1, bytes = 0;
    for (UOp u : is_list_ ? in.list : toposort(in.root)) {
      if (!u.in({Op::RANGE, Op::SPECIAL})) continue;
      auto most = catch_failures([&] { return u.vmax().to_double() + 1; });
      steps *= most ? std::max(*most, 1.0) : 1;
    }
    for (const BufferSpec& b : executable->buffers())
      bytes += double(std::max<int64_t>(b.num_elements, 0)) * b.dtype.itemsize();
    if (steps > kMostSteps || bytes > kMostBytes) return true;
    auto inputs = make_input_arrays(executable->buffers(), {}, "", InputDistribution{});
    if (!succeeded(inputs)) return false;
    VariableValues values;
    for (const VariableSpec& v : executable->variables()) values[v.name] = v.max;
    auto device = make_ref_device();
    return succeeded(execute_kernel(*executable, *device, *inputs, values, {.should_run_in_process = true}));
  }

  const Mutant& mutant_;
  const MutantRunOptions& options_;
  MutantLog& log_;
  bool is_tensor_graph_ = false, is_list_ = false;
};

void run_in_process(GraphKind kind, Bytes bytes) {
  MutantLog log;
  run_mutant(kind, bytes, {}, log);
}

}  // namespace

void run_mutant(GraphKind kind, Bytes bytes, const MutantRunOptions& options, MutantLog& log) {
  log.enter_phase(MutantPhase::load);
  if (auto mutant = make_mutant(kind, bytes)) MutantRun(*mutant, options, log).run_all_phases();
}

std::string mutant_as_json(GraphKind kind, Bytes bytes) {
  auto mutant = make_mutant(kind, bytes);
  return mutant ? mutant->json : "";
}

void run_kernel(Bytes bytes) { run_in_process(GraphKind::kernel, bytes); }
void run_stage_graph(Bytes bytes) { run_in_process(GraphKind::stage, bytes); }
void run_list(Bytes bytes) { run_in_process(GraphKind::list, bytes); }
void run_tensor(Bytes bytes) { run_in_process(GraphKind::tensor, bytes); }

namespace {

using SeedsByKind = std::array<std::vector<SeedGraph>, 4>;

void add_record(SeedsByKind& seeds, const GoldenHeader& header, const GoldenRecord& record) {
  SeedGraph seed{
      .text = record.ast, .name = record.id, .target = record.target, .settings = settings_of(header, record)};
  const bool tensor = header.level == "tensor";
  seeds[size_t(tensor ? GraphKind::tensor : GraphKind::kernel)].push_back(seed);
  for (const RecordedStage& stage : RecordedStageTexts(record)) {
    if (tensor || stage.kind != RecordedStage::Kind::Stage || stage.is_unchanged || !stage.text) continue;
    seed.text = *stage.text, seed.stage = stage.name;
    seeds[size_t(GraphKind::stage)].push_back(seed);
  }
  if (!record.linear) return;
  seed.kind = InputKind::Uops, seed.text = *record.linear, seed.stage = "linear";
  seeds[size_t(GraphKind::list)].push_back(seed);
}

SeedsByKind read_seeds() {
  SeedsByKind out;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TGC_SOURCE_DIR "/testdata/golden"))
    if (entry.path().extension() == ".gz") paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    auto reader = GoldenReader::open(path);
    require_condition(reader.ok(), path + " cannot be read");
    for (;;) {
      auto record = reader->next_record();
      require_condition(record.ok(), path + " cannot be read");
      if (!*record) break;
      add_record(out, reader->header(), **record);
    }
    require_condition(!reader->truncation_error(), path + " is cut short");
  }
  return out;
}

}  // namespace

std::span<const SeedGraph> seeds_of_kind(GraphKind kind) {
  static const SeedsByKind seeds = read_seeds();
  return seeds[size_t(kind)];
}

InputGraph load_seed(const SeedGraph& seed) {
  auto loaded = load_recorded_graph(seed.settings, seed.kind, seed.text, seed.name);
  require_condition(loaded.ok(), "a seed does not load: " + (loaded.ok() ? "" : loaded.diag().text()));
  loaded->info = {.name = seed.name, .stage = seed.stage, .target = seed.target, .settings = seed.settings};
  return std::move(*loaded);
}

UOp copy_seed(const SeedGraph& seed, Graph& into) {
  InputGraph loaded = load_seed(seed);
  return copy_into(into, loaded.root);
}

}  // namespace tgc::fuzz
