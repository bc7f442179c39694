// Runs random kernels through all stages. Nothing may crash, the result of each stage must be well-formed, and resuming
// from the text of a stage must give the same linear list. Environment variables set a duration or the first seed
// (TGC_FUZZ_SEED), or write the kernels to a file that tinygrad can replay:
//   TGC_FUZZ_SECONDS=600 build/release/bin/tgc_tool_tests -tc='random kernels*'
//   TGC_FUZZ_OUT=fuzz.jsonl build/release/bin/tgc_tool_tests -tc='random kernels*'
//   then scripts/tinygrad_export.py -o out.jsonl --replay fuzz.jsonl
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "lib/compilation/compilation.h"
#include "lib/fuzz/random_kernel.h"
#include "lib/records/read_graph.h"
#include "lib/spec/spec.h"
#include "lib/text/formats.h"
#include "lib/text/json_scan.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"

using namespace tgc;

namespace {

const char* kTargets[] = {"CPU:CLANG", "CUDA:CUDA:sm_80"};
constexpr uint64_t kOnceBroken[] = {10112};  // seeds that found bugs, which are fixed; they run first

Settings fixed_settings() {
  Settings settings;
  settings.CPU_COUNT = 4;
  return settings;
}

struct Ran {
  std::string problem;
  bool refused = false;
  // the graph after each stage as JSON, because pyrender cannot write all graphs between expander and devectorize
  std::vector<std::string> stages;
  std::string list;                 // print_uops text, or the error if `refused`
};

std::string well_formed(UOp root, Spec spec, std::string_view stage) {
  auto violation = verify_graph(root, spec);
  return violation ? "after '" + std::string(stage) + "': " + violation->text() + "\n" : "";
}

// Resumes from the result of stage number `resume_after` (-1: the AST).
Ran run(InputKind kind, const std::string& text, const Target& target, int resume_after, bool with_texts) {
  Ran out;
  auto in = load_graph_text(fixed_settings(), kind, text, "fuzz");
  if (!in) return out.problem = in.diag().text(), out;
  if (resume_after >= 0) in->info.stage = kernel_stages()[size_t(resume_after)].name;
  auto begun = Compilation::begin(std::move(*in), {.target = target.name()});
  if (!begun) return out.problem = begun.diag().text(), out;
  Compilation& c = *begun;
  if (resume_after < 0) out.problem += well_formed(c.ast(), Spec::Kernel, "ast");
  int number = -1;
  for (const StageRow& row : stage_rows()) {
    if (!row.kernel || ++number <= resume_after) continue;
    if (auto status = c.run_through_stage(row); !status)
      return out.refused = true, out.list = status.diag().message, out;
    out.problem += well_formed(c.current_graph(), Spec::Full, row.name);
    if (!with_texts) continue;
    auto json = write_graph(GraphFormat::Json, c.current_graph(), {});
    if (!json) return out.problem = json.diag().text(), out;
    out.stages.push_back(*json);
  }
  auto& list = c.list();
  if (!list) return out.refused = true, out.list = list.diag().message, out;
  if (auto violation = verify(*list, Spec::Program)) out.problem += "linear: " + violation->text() + "\n";
  (void)c.source();
  out.list = print_uops(*list);
  return out;
}

void write_header(std::ofstream& file) {
  file
      << R"({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad 0.12.0","settings":{"CPU_COUNT":"4"}})"
      << "\n";
}

void write_record(std::ofstream& file, uint64_t seed, const std::string& ast, std::string_view target) {
  std::string line =
      "{\"id\":\"random." + std::to_string(seed) + "\",\"target\":\"" + std::string(target) + "\",\"ast\":";
  append_json_string(line, ast);
  file << line << ",\"nodes\":0,\"stages\":[]}\n";
}

}  // namespace

TEST_CASE("random kernels pass all stages well-formed, and resuming after a stage gives the same list") {
  const char *seconds = std::getenv("TGC_FUZZ_SECONDS"), *first = std::getenv("TGC_FUZZ_SEED"),
             *path = std::getenv("TGC_FUZZ_OUT");
  auto start = std::chrono::steady_clock::now();
  auto more = [&](uint64_t n) {
    return seconds ? std::chrono::steady_clock::now() - start < std::chrono::seconds(std::atoi(seconds))
                   : n < (path ? 400 : 60);
  };
  std::ofstream file;
  if (path) file.open(path), write_header(file);
  uint64_t next_seed = first ? std::strtoull(first, nullptr, 10) : 1, kernels = 0, refused = 0;
  for (; more(kernels); kernels++) {
    uint64_t seed = kernels < std::size(kOnceBroken) ? kOnceBroken[kernels] : next_seed++;
    Graph graph(fixed_settings());
    auto text = pyrender(RandomKernelMaker(graph, seed).make_ast());
    REQUIRE(text);
    const char* name = kTargets[seed % 2];
    if (path) write_record(file, seed, *text, name);
    auto target = parse_target(name, graph.settings());
    REQUIRE(target);
    INFO("seed " << seed << ", " << name << "\n" << *text);
    Ran all = run(InputKind::Pyrender, *text, *target, -1, true);
    CHECK(all.problem == "");
    refused += all.refused;
    if (all.refused) {
      CHECK(all.list.find("stage '") == 0);
      continue;
    }
    int at = int(seed % all.stages.size());
    Ran rest = run(InputKind::Json, all.stages[size_t(at)], *target, at, false);
    INFO("resumed after stage " << kernel_stages()[size_t(at)].name);
    CHECK(rest.problem == "");
    CHECK(rest.list == all.list);
  }
  MESSAGE(kernels << " random kernels, " << refused << " refused");
  CHECK(refused * 10 < kernels);
}
