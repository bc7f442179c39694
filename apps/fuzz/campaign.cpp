#include "apps/fuzz/campaign.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "apps/fuzz/mutant_run.h"
#include "apps/fuzz/watched.h"
#include "lib/fuzz/mutant.h"
#include "lib/prove/mutant_verdicts.h"

namespace tgc::fuzz {
namespace {

namespace fs = std::filesystem;
using InputBytes = std::vector<uint8_t>;

constexpr uint64_t kBatch = 250;  // inputs per child process: bounds leaks, and makes fork cheap

uint64_t splitmix64(uint64_t z) {
  z += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

std::vector<InputBytes> read_corpus(const FuzzTarget& target) {
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& e : fs::directory_iterator(fs::path(TGC_SOURCE_DIR "/testdata/fuzz") / target.name, none))
    paths.push_back(e.path());
  std::ranges::sort(paths);
  std::vector<InputBytes> out;
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (out.empty()) out.emplace_back();
  return out;
}

// Counts findings by cause. Callers print and save only the first finding of each cause.
class Findings {
 public:
  explicit Findings(std::string folder) : folder_(std::move(folder)) {}

  bool is_first_of_cause(const ProcessExit& died) { return counts_by_cause_[died.cause_text()]++ == 0; }
  void print_and_save(const std::string& what, const ProcessExit& died, Bytes input, const std::string& extension) {
    std::printf("FINDING %s #%llu: %s\n", what.c_str(), static_cast<unsigned long long>(died.input_index),
                died.cause_text().c_str());
    std::printf("%.1200s\n", died.last_output.c_str());
    if (folder_.empty()) return;
    fs::create_directories(folder_);
    std::string path = folder_ + "/" + what + "-" + std::to_string(died.input_index) + extension;
    std::ofstream(path, std::ios::binary).write(bytes_as_text(input).data(), std::streamsize(input.size()));
    std::printf("  kept as %s\n", path.c_str());
  }
  int num_causes() const { return int(counts_by_cause_.size()); }
  void print_causes() const {
    for (const auto& [cause, n] : counts_by_cause_)
      std::printf("  %6llu  %s\n", static_cast<unsigned long long>(n), cause.c_str());
  }

 private:
  std::string folder_;
  std::map<std::string, uint64_t> counts_by_cause_;
};

}  // namespace

int run_target(const FuzzTarget& target, const CampaignOptions& o) {
  const std::vector<InputBytes> corpus = read_corpus(target);
  auto input = [&](uint64_t i) {
    if (i < corpus.size()) return corpus[i];  // the inputs of the corpus come first, unchanged
    uint64_t random = splitmix64(o.seed * 1000003 + i);
    InputBytes bytes = corpus[random % corpus.size()];
    mutate_bytes(bytes, corpus[random / 7 % corpus.size()], splitmix64(random), target);
    return bytes;
  };
  auto start = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const double most = o.time_limit_seconds > 0 || o.max_inputs ? o.time_limit_seconds : 10;
  auto more = [&] { return most <= 0 || seconds() < most; };
  Findings findings(o.findings_folder);
  SharedValue<std::atomic<uint64_t>> run;
  run_input_counter = &*run;
  uint64_t at = 0, last = o.max_inputs ? o.max_inputs : UINT64_MAX;
  while (at < last && more()) {
    auto ran = run_watched_inputs(at, std::min(at + kBatch, last), o.input_limit_seconds, [&](uint64_t i) {
      InputBytes bytes = input(i);
      target.run(bytes);
    }, more);
    at = ran.next_input_index;
    if (ran.process_exit && findings.is_first_of_cause(*ran.process_exit))
      findings.print_and_save(std::string(target.name), *ran.process_exit, input(ran.process_exit->input_index), "");
  }
  run_input_counter = nullptr;
  std::string ran = *run ? ", " + std::to_string(*run) + " of them run" : "";
  std::printf("%-12s %9llu inputs%s, %5.1f s, %d findings\n", std::string(target.name).c_str(),
              static_cast<unsigned long long>(at), ran.c_str(), seconds(), findings.num_causes());
  return findings.num_causes();
}

namespace {

GraphKind graph_kind_of_input(uint64_t i) {  // every second graph is a kernel
  static constexpr GraphKind kKinds[] = {GraphKind::kernel, GraphKind::stage, GraphKind::kernel, GraphKind::tensor,
                                         GraphKind::kernel, GraphKind::list,  GraphKind::kernel, GraphKind::stage};
  return kKinds[i % std::size(kKinds)];
}

// Returns a header and one to four mutation steps: few, so that the graph stays meaningful.
InputBytes make_mutant_bytes(uint64_t seed, uint64_t i) {
  uint64_t random = splitmix64(seed * 7919 + i);
  InputBytes out((2 + std::min(random % 4, random / 4 % 6)) * kMutationStepBytes);
  for (size_t b = 0; b < out.size(); b++) out[b] = uint8_t(splitmix64(random + b));
  return out;
}

// Removes mutation steps without which the process dies of the same cause.
InputBytes reduce_mutant(GraphKind kind, InputBytes bytes, const std::string& cause, const MutantRunOptions& run,
                         int limit) {
  auto same = [&](const InputBytes& shorter) {
    auto ran = run_watched_inputs(0, 1, limit, [&](uint64_t) {
      MutantLog log;
      run_mutant(kind, shorter, run, log);
    });
    return ran.process_exit && ran.process_exit->cause_text() == cause;
  };
  for (size_t at = bytes.size() - kMutationStepBytes; at >= kMutationStepBytes; at -= kMutationStepBytes) {
    InputBytes shorter = bytes;
    shorter.erase(shorter.begin() + int64_t(at), shorter.begin() + int64_t(at + kMutationStepBytes));
    if (same(shorter)) bytes = std::move(shorter);
  }
  return bytes;
}

void print_outcome_table(const MutantLog& log) {
  std::printf("%-8s", "");
  for (int o = 0; o < kNumOutcomes; o++) std::printf("%11s", std::string(name_of(PhaseOutcome(o))).c_str());
  std::printf("\n");
  for (int p = 0; p < kNumPhases; p++) {
    std::printf("%-8s", std::string(name_of(MutantPhase(p))).c_str());
    for (uint64_t n : log.outcome_counts[size_t(p)]) std::printf("%11llu", static_cast<unsigned long long>(n));
    std::printf("\n");
  }
}

}  // namespace

int run_mutants(const CampaignOptions& o) {
  const MutantRunOptions run{.uses_processes = true};
  // failing runs may leave files: run in a temporary folder
  std::string folder = (fs::temp_directory_path() / "tgc-mutants-XXXXXX").string();
  if (!mkdtemp(folder.data())) std::perror("fuzz: a temporary folder"), std::exit(2);
  Findings findings(o.findings_folder.empty() ? "" : fs::absolute(o.findings_folder).string());
  fs::current_path(folder);
  SharedValue<MutantLog> log;
  auto start = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  auto more = [&] { return o.time_limit_seconds <= 0 || seconds() < o.time_limit_seconds; };
  const uint64_t last = o.max_inputs ? o.max_inputs : o.time_limit_seconds > 0 ? UINT64_MAX : 1000;
  uint64_t at = 0;
  while (at < last && more()) {
    auto ran = run_watched_inputs(at, std::min(at + kBatch, last), o.input_limit_seconds, [&](uint64_t i) {
      run_mutant(graph_kind_of_input(i), make_mutant_bytes(o.seed, i), run, *log);
    }, more);
    at = ran.next_input_index;
    for (const auto& e : fs::directory_iterator(folder)) fs::remove_all(e.path());
    if (!ran.process_exit) continue;
    ProcessExit& died = *ran.process_exit;
    died.exit_kind += " in " + std::string(name_of(log->phase));
    if (!findings.is_first_of_cause(died)) continue;
    GraphKind kind = graph_kind_of_input(died.input_index);
    InputBytes bytes = make_mutant_bytes(o.seed, died.input_index);
    ProcessExit plain = died;
    plain.exit_kind.resize(plain.exit_kind.rfind(" in "));
    bytes = reduce_mutant(kind, bytes, plain.cause_text(), run, o.input_limit_seconds);
    std::string json = mutant_as_json(kind, bytes);
    findings.print_and_save("mutant", died, {reinterpret_cast<const uint8_t*>(json.data()), json.size()}, ".json");
  }
  fs::current_path("/");
  fs::remove_all(folder);
  print_outcome_table(*log);
  findings.print_causes();
  std::printf("%llu mutants of seed %llu, %.0f s, %d findings\n", static_cast<unsigned long long>(at),
              static_cast<unsigned long long>(o.seed), seconds(), findings.num_causes());
  return findings.num_causes();
}

int run_rule_mutants(const CampaignOptions& o) {
  MutantOptions options{.seed = o.seed, .name_filters = o.mutant_filters};
  if (o.max_inputs) options.num_mutants_to_draw = o.max_inputs;
  MutantReport report =
      prove_mutants(options, [](const std::string& line) { std::printf("%s\n", line.c_str()); });
  const size_t counted = report.num_refuted + report.num_open;
  std::printf("%zu mutants of %zu: %zu equivalent, %zu refuted (%zu beside the rule), %zu open: %.1f %% "
              "refuted\n", report.num_drawn(), report.num_candidates, report.num_equivalent, report.num_refuted,
              report.num_refuted_beside_rule, report.num_open,
              100.0 * double(report.num_refuted) / double(std::max<size_t>(counted, 1)));
  return report.num_refuted * 100 < counted * 95;
}

}  // namespace tgc::fuzz
