#include "lib/fuzz/live_fuzz.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <mutex>

#include "lib/bisect/bisect.h"
#include "lib/compilation/random_kernel.h"
#include "lib/driver/import_input.h"
#include "lib/driver/live_input.h"
#include "lib/fuzz/kernel_check.h"
#include "lib/run/repro_command.h"
#include "lib/support/clocks.h"
#include "lib/support/ordered_pool.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

constexpr double kBisectSeconds = 30;
constexpr double kRunSeconds = 5;      // of all runs of one kernel; a kernel that takes longer is left out
constexpr double kAnswerSeconds = 30;  // a kernel of a few dozen nodes takes tinygrad a second at most

// The outcome of one kernel.
struct Outcome {
  enum class Kind : uint8_t { Compared, Refused, LeftOut } kind = Kind::Compared;
  size_t runs = 0, device_runs = 0, rounding = 0;
  std::optional<FuzzFinding> finding = {};
  std::string kernel = {};  // of a finding: the AST as JSON
};

class LiveCampaign {
 public:
  LiveCampaign(const Session& session, const FuzzSpec& spec, FuzzReport& report)
      : session_(session), spec_(spec), report_(report) {
    session_.over.imports = true, session_.over.target = spec.device;
    session_.live->set_seconds(kAnswerSeconds);
  }

  void run() {
    const auto begin = Clock::now();
    uint64_t first = 0, end = spec_.count;
    if (!spec_.graph.empty()) {
      auto [at, error] = std::from_chars(spec_.graph.data(), spec_.graph.data() + spec_.graph.size(), first);
      if (error != std::errc() || *at) throw Failure("--graph=" + spec_.graph + " is no number of a kernel");
      end = first + 1;
    } else if (spec_.minutes > 0) {
      end = UINT64_MAX;
    }
    OrderedPool pool(session_.jobs);
    for (uint64_t number = first; number < end; number++) {
      const bool is_over = spec_.minutes > 0 && seconds_since(begin) > 60 * spec_.minutes;
      if (session_.cancelled() || (is_over && spec_.graph.empty())) break;
      if (!pool.submit([this, number] { return check(number); },
                       [this, number](Outcome&& outcome) { count(number, std::move(outcome)); }))
        break;
    }
    pool.finish().value_or_throw();
    report_.seconds = seconds_since(begin);
    for (auto& [key, finding] : findings_) report_.findings.push_back(finding);
  }

 private:
  // Draws a kernel, as an input of the live pipeline.
  static InputGraph drawn(uint64_t seed, const std::string& name) {
    InputGraph in;
    in.graph = std::make_shared<Graph>();
    in.root = RandomKernel(*in.graph, seed).ast();
    in.info.name = in.file = name;
    return in;
  }

  Result<Outcome> check(uint64_t number) {
    return catch_failures([&] {
      const std::string name = "fuzz" + std::to_string(number);
      InputGraph in = drawn(spec_.seed + number, name);
      if (is_too_large(in.root)) return Outcome{Outcome::Kind::LeftOut};
      auto made = compile_live(session_, std::move(in));
      if (!made) return Outcome{Outcome::Kind::LeftOut};  // the kernel has no form in the release
      if (made->record->error) {
        const std::string& error = *made->record->error;
        const bool is_process = error.starts_with("the command");  // a crash or a timeout of the process
        Outcome out{is_process ? Outcome::Kind::Compared : Outcome::Kind::Refused};
        const std::string what = error.find("did not answer") != error.npos ? "endless" : "crash";
        if (is_process) out.finding = FuzzFinding{.verdict = what, .said = error}, out.kernel = made->record->ast;
        else note_refusal(error, name);
        return out;
      }
      if (auto& refused = imported_from(*made).refused) {
        session_.note(name + ": " + refused->text());
        return Outcome{Outcome::Kind::LeftOut};
      }
      RunOptions options{.input = {.name = name}};
      options.compare.each_stage = true, options.output.keep_failures = false;
      options.device.timeout_seconds = kRunSeconds;
      const auto begin = Clock::now();
      RunReport report = run_kernel(session_, *made, options);
      if (!report.error.empty() && seconds_since(begin) >= kRunSeconds) return Outcome{Outcome::Kind::LeftOut};
      Outcome out{.runs = 1 + (report.stages ? report.stages->stages_run : 0), .device_runs = report.device != "REF"};
      out.finding = finding_of(report, *made);
      if (!out.finding) return out;
      out.kernel = made->record->ast, bisect_finding(*out.finding, number, options);
      if (out.finding->rule.empty() && rounding_explains(report)) out.finding.reset(), out.rounding = 1;
      return out;
    });
  }

  // Returns what is wrong with a compiled kernel; nullopt if nothing is.
  static std::optional<FuzzFinding> finding_of(const RunReport& report, const InputGraph& in) {
    if (report.stages && !report.stages->stage.empty()) {
      FuzzFinding out{.verdict = "stage", .stage = report.stages->stage};
      out.said = "the graph after '" + out.stage + "' computes something else";
      for (const Comparison& c : report.stages->arrays)
        if (!c.passed()) return out.said += ": " + c.text(), out;
      return out;
    }
    if (!report.error.empty() && report.error.find("the reference, REF") != std::string::npos)
      return std::nullopt;  // the AST itself has no meaning: it reads out of bounds
    if (!report.error.empty())
      return FuzzFinding{.verdict = "trouble", .stage = stage_in(report.error), .said = report.error};
    for (const Comparison& c : report.arrays)
      if (!c.passed())
        return FuzzFinding{.verdict = "source", .stage = "source", .said = "on " + in.info.target + ": " + c.text()};
    return std::nullopt;
  }
  // Returns whether each difference is one that another order of float operations can make. Only a difference for which
  // no rewrite is the cause is one of them.
  static bool rounding_explains(const RunReport& report) {
    if (!report.error.empty()) return false;
    const bool is_stage = report.stages && !report.stages->stage.empty();
    return std::ranges::all_of(is_stage ? report.stages->arrays : report.arrays, [](const Comparison& c) {
      if (c.passed()) return true;
      const int bytes = c.dtype.itemsize();
      const double tolerance = bytes >= 4 ? 1e-3 : bytes == 2 ? 3e-2 : 0.2;
      return dtypes::is_float(c.dtype) && c.max_rel <= tolerance && c.nan_actual == c.nan_expected &&
             c.inf_actual == c.inf_expected;
    });
  }
  // Returns the stage that an error names: "after 'expander': ...".
  static std::string stage_in(const std::string& error) {
    if (!error.starts_with("after '")) return {};
    return error.substr(7, error.find('\'', 7) - 7);
  }

  // Compiles the kernel again with its rewrites, and adds what bisect names.
  void bisect_finding(FuzzFinding& finding, uint64_t number, const RunOptions& options) {
    Cancel limit(session_.cancel, kBisectSeconds);
    Session with_rewrites = session_;
    with_rewrites.cancel = &limit, with_rewrites.over.live_rewrites = true;
    auto again = compile_live(with_rewrites, drawn(spec_.seed + number, finding.name));
    if (!again) return;
    const BisectReport report = bisect(with_rewrites, *again, options);
    if (!report.error.empty() || report.verdict.kind == Verdict::Kind::Same) return;
    finding.verdict = name_of(report.verdict.kind);
    if (!report.verdict.stage.empty()) finding.stage = report.verdict.stage;
    finding.rule = report.verdict.rule;
    if (!report.verdict.detail.empty()) finding.said += "; " + report.verdict.detail;
  }

  void note_refusal(const std::string& error, const std::string& name) {
    std::lock_guard guard(lock_);
    auto [it, is_new] = report_.refusals.try_emplace(error.substr(0, error.find('\n')), 0);
    it->second++;
    if (is_new) session_.note(name + ": tinygrad refuses it: " + error);
  }

  // Called in the order of the numbers.
  void count(uint64_t number, Outcome outcome) {
    report_.made++;
    (outcome.kind == Outcome::Kind::Refused   ? report_.refused
     : outcome.kind == Outcome::Kind::LeftOut ? report_.left_out
                                              : report_.graphs)++;
    report_.runs += outcome.runs, report_.device_runs += outcome.device_runs, report_.rounding += outcome.rounding;
    session_.progress(std::to_string(report_.made) + " kernels, " + std::to_string(findings_.size()) + " findings");
    if (!outcome.finding) return;
    FuzzFinding& f = *outcome.finding;
    const std::string symptom = f.verdict + " " + f.stage + " " + f.said.substr(0, f.said.find(' '));
    auto [it, is_new] = findings_.try_emplace(f.rule.empty() ? symptom : f.rule, f);
    FuzzFinding& kept = it->second;
    kept.times++;
    if (!is_new) return;
    kept.graph = number, kept.name = std::to_string(number);
    kept.again = "tgc fuzz --live=" + shell_word(session_.over.live) + " --seed=" + std::to_string(spec_.seed) +
                 " --graph=" + kept.name + (spec_.device.empty() ? "" : " --device=" + shell_word(spec_.device));
    if (spec_.folder.empty()) return session_.note(kept.line());
    std::filesystem::create_directories(spec_.folder);
    kept.file = (std::filesystem::path(spec_.folder) / ("fuzz" + kept.name + ".json")).string();
    write_file(kept.file, outcome.kernel).value_or_throw();
    session_.note(kept.line());
  }

  Session session_;
  const FuzzSpec& spec_;
  FuzzReport& report_;
  std::mutex lock_;  // protects report_.refusals
  std::map<std::string, FuzzFinding> findings_;  // by rule, else by symptom
};

}  // namespace

FuzzReport fuzz_live(const Session& session, const FuzzSpec& spec) {
  FuzzReport report{.seed = spec.seed};
  auto done = catch_failures([&] {
    if (!spec.grow.empty() || !spec.known.empty() || !spec.state.empty() || !spec.tinygrad.empty())
      throw Failure("--grow, --known, --state and --tinygrad are for tgc's own pipeline, not for --live");
    return LiveCampaign(session, spec, report).run(), Unit{};
  });
  if (!done) report.error = done.diag().text();
  return report;
}

}  // namespace tgc
