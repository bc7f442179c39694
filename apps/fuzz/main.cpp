// tgc_fuzz TARGET|list|all|mutants|rule-mutants [-seconds=N] [-runs=N] [-seed=N] [-limit=SECONDS] [-findings=FOLDER]
// TARGET: runs the target on its corpus, unchanged and then mutated, for -seconds, or for -runs inputs
//   list: prints the names of the targets; all: runs each of them
//   mutants: runs mutated golden graphs through commands of tgc and prints a table of the outcomes
//   rule-mutants: decides mutated rules as `tgc prove --rules` does (lib/prove/README.md); -runs: how many, else 300
//   rule-mutants TEXT...: only mutants whose rule name, source position or change contains a TEXT; prints more of each
// tgc_fuzz TARGET FILE...: runs only these inputs, in this process, which a failed check ends by SIGABRT
// Exit codes: 0 no finding, 1 findings or too few refuted rule mutants, 2 wrong arguments or no campaign possible.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "apps/fuzz/campaign.h"
#include "lib/support/counted.h"

using namespace tgc::fuzz;

namespace {

[[noreturn]] void usage(const std::string& what) {
  std::fprintf(stderr,
               "tgc_fuzz: %s\nusage: tgc_fuzz TARGET|list|all|mutants|rule-mutants [-seconds=N] [-runs=N] [-seed=N] "
               "[-limit=SECONDS] [-findings=FOLDER]\n       tgc_fuzz TARGET FILE...\ntargets:",
               what.c_str());
  for (const FuzzTarget& t : all_fuzz_targets()) std::fprintf(stderr, " %s", std::string(t.name).c_str());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

template <class Number>
void read_number(std::string_view text, Number& out) {
  const auto number = tgc::parse_number<Number>(text);
  if (!number) usage("'" + std::string(text) + "' is no number");
  out = *number;
}

int run_files(const FuzzTarget& target, const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    std::ifstream in(path, std::ios::binary);
    if (!in) usage("cannot open " + path);
    std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    target.run(bytes);
    std::printf("%s: nothing found\n", path.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  setenv("TGC_CACHE", "0", 0);  // by default, do not use the user's compile cache
  std::string name = argc > 1 ? argv[1] : "";
  CampaignOptions options;
  std::vector<std::string> files;
  for (int i = 2; i < argc; i++) {
    std::string_view word = argv[i], value = word.substr(std::min(word.find('=') + 1, word.size()));
    if (word.starts_with("-seconds=")) read_number(value, options.time_limit_seconds);
    else if (word.starts_with("-runs=")) read_number(value, options.max_inputs);
    else if (word.starts_with("-seed=")) read_number(value, options.seed);
    else if (word.starts_with("-limit=")) read_number(value, options.input_limit_seconds);
    else if (word.starts_with("-findings=")) options.findings_folder = value;
    else if (word.starts_with("-")) usage("unknown option '" + std::string(word) + "'");
    else files.emplace_back(word);
  }
  int findings = 0;
  if (name == "list") {
    for (const FuzzTarget& t : all_fuzz_targets()) std::printf("%s\n", std::string(t.name).c_str());
  } else if (name == "mutants") {
    findings = run_mutants(options);
  } else if (name == "rule-mutants") {
    options.mutant_filters = files, findings = run_rule_mutants(options);
  } else if (name == "all") {
    for (const FuzzTarget& t : all_fuzz_targets()) findings += run_target(t, options);
  } else if (const FuzzTarget* target = find_fuzz_target(name)) {
    findings = files.empty() ? run_target(*target, options) : run_files(*target, files);
  } else {
    usage("no target is called '" + name + "'");
  }
  return findings ? 1 : 0;
}
