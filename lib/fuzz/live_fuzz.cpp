#include "lib/fuzz/fuzz.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "lib/bisect/bisect.h"
#include "lib/compilation/input_graph.h"
#include "lib/fuzz/kernel_check.h"
#include "lib/fuzz/known.h"
#include "lib/fuzz/random_kernel.h"
#include "lib/live/tinygrad_process.h"
#include "lib/run/repro_command.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/ordered_pool.h"
#include "lib/support/write_file.h"
#include "lib/validate/compare_outputs.h"

namespace tgc {
namespace {

constexpr double kBisectSeconds = 30;
constexpr double kRunSeconds = 5;      // for all runs of a kernel, which is left out if they take longer
// the linearizer of tinygrad 0.14.0 takes 20 s for some kernels
constexpr double kAnswerSeconds = 90;

struct KernelOutcome {
  enum class Kind : uint8_t { Compared, Refused, LeftOut } kind = Kind::Compared;
  size_t num_ref_runs = 0, num_device_runs = 0, num_rounding_runs = 0;
  std::optional<FuzzFinding> finding = {};
  std::string rewritten_node = {};
  // for findings without a rule: the known cause, or the beginning of the error
  std::string cause = {};
  std::string kernel_ast = {};
};

class LiveCampaign {
 public:
  LiveCampaign(const Session& session, const FuzzSpec& spec, FuzzReport& report)
      : session_(session), spec_(spec), report_(report) {
    session_.overrides.imports_kernels = true, session_.overrides.target = spec.device;
    session_.tinygrad_pool->set_limit_seconds(kAnswerSeconds);
    report_.has_known_rules = true;
    known_rules_ = spec.known_rules_file.empty() ? KnownRules::built_in_rules()
                                           : std::move(KnownRules::read(spec.known_rules_file).value_or_throw());
  }

  void run() {
    const auto begin = Clock::now();
    uint64_t first = 0, end = spec_.num_graphs;
    if (!spec_.graph.empty()) {
      const auto number = parse_number<uint64_t>(spec_.graph);
      if (!number) throw Failure("--graph=" + spec_.graph + " is no number of a kernel");
      first = *number, end = first + 1;
    } else if (spec_.limit_minutes > 0) {
      end = UINT64_MAX;
    }
    OrderedPool pool(session_.num_jobs);
    for (uint64_t number = first; number < end; number++) {
      const bool is_over = spec_.limit_minutes > 0 && seconds_since(begin) > 60 * spec_.limit_minutes;
      if (session_.is_cancelled() || (is_over && spec_.graph.empty())) break;
      if (!pool.submit_task([this, number] { return check_random_kernel(number); },
                            [this, number](KernelOutcome&& outcome) { count_outcome(number, std::move(outcome)); }))
        break;
    }
    pool.finish_tasks().value_or_throw();
    report_.seconds = seconds_since(begin);
    for (auto& [key, finding] : findings_) report_.findings.push_back(finding);
  }

 private:
  static InputGraph random_input(uint64_t seed, const std::string& name) {
    InputGraph in;
    in.graph = std::make_shared<Graph>();
    in.root = RandomKernelMaker(*in.graph, seed).make_ast();
    in.info.name = in.file = name;
    return in;
  }

  Result<KernelOutcome> check_random_kernel(uint64_t number) {
    return catch_failures([&] {
      const std::string name = "fuzz" + std::to_string(number);
      InputGraph in = random_input(spec_.seed + number, name);
      if (is_too_large(in.root)) return KernelOutcome{KernelOutcome::Kind::LeftOut};
      auto made = session_.compiler()->compile(std::move(in));
      // the kernel cannot be written in the IR of the release
      if (!made) return KernelOutcome{KernelOutcome::Kind::LeftOut};
      if (made->record->error) {
        const std::string& error = *made->record->error;
        if (!error.starts_with("the command"))
          return note_refusal(error, name), KernelOutcome{KernelOutcome::Kind::Refused};
        const std::string what = error.find("did not answer") != error.npos ? "endless" : "crash";
        return finish_with_finding({}, {.verdict = what, .message = error}, what, *made);
      }
      if (auto& refused = import_facts_of_input(*made).import_error) {
        session_.report_note(name + ": " + refused->text());
        return KernelOutcome{KernelOutcome::Kind::LeftOut};
      }
      RunOptions options{.input = {.name = name}};
      options.compare.should_run_each_stage = options.compare.should_accept_rounding = true;
      options.device.timeout_seconds = kRunSeconds;
      const auto begin = Clock::now();
      RunReport report = run_kernel(session_, *made, options);
      // a missing library, such as that of a compiler, ends the campaign
      if (report.error.starts_with("cannot load ")) throw Failure(report.error);
      // no time was left for some runs, such as the one that examines rounding
      const bool is_cut = !report.left_out_runs.empty();
      if (is_cut || (!report.error.empty() && seconds_since(begin) >= kRunSeconds))
        return KernelOutcome{KernelOutcome::Kind::LeftOut};
      const bool has_rounding =
          std::ranges::any_of(report.comparisons, is_rounded) ||
          (report.stage_difference && std::ranges::any_of(report.stage_difference->comparisons, is_rounded));
      KernelOutcome out{.num_ref_runs = 1 + (report.stage_difference ? report.stage_difference->num_stages_run : 0),
                        .num_device_runs = report.device != "REF",
                        .num_rounding_runs = has_rounding};
      std::string symptom = "wrong";
      auto finding = finding_of(report, *made, symptom, out.cause);
      if (!finding) return out;
      bisect_finding(*finding, number, options, out.rewritten_node);
      return finish_with_finding(std::move(out), std::move(*finding), symptom, *made);
    });
  }
  static bool is_rounded(const Comparison& c) { return c.num_explained_by_rounding > 0; }

  KernelOutcome finish_with_finding(KernelOutcome out, FuzzFinding finding, const std::string& symptom,
                                    const InputGraph& made) const {
    if (finding.known_entry.empty())  // else bisect has set the entry
      finding.known_entry = known_rules_.entry_of_finding(
          {.rule = finding.rule, .symptom = symptom, .message = finding.message, .node = out.rewritten_node});
    out.finding = std::move(finding), out.kernel_ast = made.record->ast;
    return out;
  }

  // Returns nullopt if nothing is wrong, or if REF cannot run the AST. Sets `symptom` unless a result is wrong, and
  // `cause` to the known cause or the beginning of the error.
  static std::optional<FuzzFinding> finding_of(const RunReport& report, const InputGraph& in, std::string& symptom,
                                               std::string& cause) {
    if (report.stage_difference && !report.stage_difference->stage.empty()) {
      const std::string& stage = report.stage_difference->stage;
      return FuzzFinding{
          .verdict = "stage",
          .stage = stage,
          .message = "after '" + stage + "': " + first_difference_text(report.stage_difference->comparisons)};
    }
    if (!report.error.empty() && report.error.find("the reference, REF") != std::string::npos)
      return std::nullopt;  // REF cannot run the AST, for example because it reads out of bounds
    if (!report.error.empty()) {
      symptom = report.error.starts_with("killed by ") ? "crash" : "refused";
      cause = report.error.substr(0, report.error.find_first_of("\n0123456789"));
      return FuzzFinding{.verdict = "trouble", .stage = stage_of_error(report.error), .message = report.error};
    }
    if (std::ranges::all_of(report.comparisons, &Comparison::has_passed)) return std::nullopt;
    FuzzFinding out{.verdict = "source", .stage = "source",
                    .message = "on " + in.info.target + ": " + first_difference_text(report.comparisons)};
    cause = expected_divergence(in.root, report.comparisons, in.info.target.substr(in.info.target.find(':') + 1));
    if (!cause.empty()) out.message += "; " + cause;
    return out;
  }
  // Returns a text such as "data0 int8 (8,): 2 of 8 differ, ...; [3]: 5, expected 4".
  static std::string first_difference_text(const std::vector<Comparison>& arrays) {
    for (const Comparison& c : arrays)
      if (std::string text = c.text(); !c.has_passed())
        return text.substr(0, text.find('\n')) + "; [" + std::to_string(c.worst_difference->flat_index) +
               "]: " + c.worst_difference->actual + ", expected " + c.worst_difference->expected;
    return {};
  }
  // Returns "expander" for "after 'expander': ..."; "" if there is no stage.
  static std::string stage_of_error(const std::string& error) {
    if (!error.starts_with("after '")) return {};
    return error.substr(7, error.find('\'', 7) - 7);
  }

  // Compiles the kernel again with its rewrites, bisects it, and adds the verdict to the finding. Sets `node` to the
  // rewritten node.
  void bisect_finding(FuzzFinding& finding, uint64_t number, const RunOptions& options, std::string& node) {
    CancelRequest limit(session_.cancel, kBisectSeconds);
    Session with_rewrites = session_;
    with_rewrites.cancel = &limit, with_rewrites.overrides.records_live_rewrites = true;
    auto again = with_rewrites.compiler()->compile(random_input(spec_.seed + number, finding.name));
    if (!again) return;
    const BisectReport report = bisect(with_rewrites, *again, options);
    if (!report.error.empty() || report.verdict.kind == Verdict::Kind::Same) return;
    finding.verdict = name_of(report.verdict.kind);
    if (!report.verdict.stage.empty()) finding.stage = report.verdict.stage;
    finding.rule = report.verdict.rule, finding.known_entry = report.verdict.known_fault_name,
    node = report.verdict.before;
    if (!report.verdict.detail.empty() && report.verdict.detail != finding.message)
      finding.message += "; " + report.verdict.detail;
  }

  void note_refusal(const std::string& error, const std::string& name) {
    std::lock_guard guard(mutex_);
    auto [it, is_new] = report_.refusal_counts.try_emplace(error.substr(0, error.find('\n')), 0);
    it->second++;
    if (is_new) session_.report_note(name + ": tinygrad refuses it: " + error);
  }

  // Called in the order of the kernels' numbers. The first finding with each key is reported, and written to
  // FuzzSpec::folder if that is set.
  void count_outcome(uint64_t number, KernelOutcome outcome) {
    report_.num_graphs_made++;
    (outcome.kind == KernelOutcome::Kind::Refused   ? report_.num_refused_kernels
     : outcome.kind == KernelOutcome::Kind::LeftOut ? report_.num_left_out
                                              : report_.num_compared)++;
    report_.num_ref_runs += outcome.num_ref_runs, report_.num_device_runs += outcome.num_device_runs,
        report_.num_rounding_runs += outcome.num_rounding_runs;
    session_.report_progress(std::to_string(report_.num_graphs_made) + " kernels, " + std::to_string(findings_.size()) +
                             " findings");
    if (!outcome.finding) return;
    FuzzFinding& f = *outcome.finding;
    const std::string symptom = outcome.cause.empty() ? f.verdict + " " + f.stage : outcome.cause;
    const std::string culprit = f.rule.empty() ? symptom : f.rule;
    auto [it, is_new] = findings_.try_emplace(f.known_entry.empty() ? culprit : "known: " + f.known_entry, f);
    FuzzFinding& kept = it->second;
    kept.num_graphs++;
    if (!is_new) return;
    kept.graph_number = number, kept.name = std::to_string(number);
    kept.repro_command = "tgc fuzz --live=" + quote_for_shell(session_.overrides.live_command) +
                         " --seed=" + std::to_string(spec_.seed) + " --graph=" + kept.name +
                         (spec_.device.empty() ? "" : " --device=" + quote_for_shell(spec_.device)) +
                         session_.overrides.other_options;
    if (spec_.folder.empty()) return session_.report_note(kept.line());
    std::filesystem::create_directories(spec_.folder);
    kept.file = (std::filesystem::path(spec_.folder) / ("fuzz" + kept.name + ".json")).string();
    write_file(kept.file, outcome.kernel_ast).value_or_throw();
    session_.report_note(kept.line());
  }

  Session session_;
  const FuzzSpec& spec_;
  FuzzReport& report_;
  std::mutex mutex_;  // protects report_.refusal_counts
  KnownRules known_rules_;
  std::map<std::string, FuzzFinding> findings_;  // by known entry, else rule, else cause, else verdict and stage
};

}  // namespace

FuzzReport fuzz_live(const Session& session, const FuzzSpec& spec) {
  FuzzReport report{.seed = spec.seed};
  auto done = catch_failures([&] {
    if (!spec.golden_files.empty() || !spec.state_file.empty() || !spec.tinygrad_command.empty())
      throw Failure("--grow, --state and --tinygrad are for tgc's own pipeline, not for --live");
    return LiveCampaign(session, spec, report).run(), Unit{};
  });
  if (!done) report.error = done.diag().text();
  return report;
}

}  // namespace tgc
