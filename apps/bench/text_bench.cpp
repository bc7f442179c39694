// tgc_text_bench GOLDENS... [--every=N], for scripts/bench: measures parsing and printing of graph texts, in CPU time.
// Parses the AST and the stages' graphs of every N-th record (pyrender text; for other releases also JSON) into new
// graphs and prints them. Fails if one is not parsed or printed the same. Excludes reading files and clock calls.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "lib/records/golden.h"
#include "lib/records/read_graph.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"
#include "passes/symbolic/symbolic.h"

namespace {

// Returns the CPU time of this process in seconds. Wall time would include that of other processes.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Returns the seconds between two successive clock calls, which each measurement includes.
double clock_cost_seconds() {
  double least = 1;
  for (int i = 0; i < 1000; i++) {
    const double begin = cpu_seconds();
    least = std::min(least, cpu_seconds() - begin);
  }
  return least;
}
const double kClockCostSeconds = clock_cost_seconds();

double cpu_seconds_since(double begin) { return cpu_seconds() - begin - kClockCostSeconds; }

struct RoundTripTotals {
  size_t texts = 0, nodes = 0, bytes = 0;
  double read_seconds = 0, write_seconds = 0;

  void add(const RoundTripTotals& t) {
    texts += t.texts, nodes += t.nodes, bytes += t.bytes;
    read_seconds += t.read_seconds, write_seconds += t.write_seconds;
  }
  std::string json() const {
    char out[256];
    std::snprintf(out, sizeof out,
                  "\"texts\":%zu,\"nodes\":%zu,\"bytes\":%zu,\"read_s\":%.4f,\"write_s\":%.4f,"
                  "\"nodes_per_s\":%.0f",
                  texts, nodes, bytes, read_seconds, write_seconds, double(nodes) / (read_seconds + write_seconds));
    return out;
  }
};

// Returns true if the text is parsed and printed unchanged.
bool measure_round_trip(const std::string& text, RoundTripTotals& totals, auto read, auto write) {
  double begin = cpu_seconds();
  tgc::Graph graph;
  auto root = read(graph);
  totals.read_seconds += cpu_seconds_since(begin);
  if (!root) return false;
  begin = cpu_seconds();
  tgc::Result<std::string> written = write(*root);
  totals.write_seconds += cpu_seconds_since(begin);
  totals.texts++;
  totals.nodes += tgc::toposort(*root).size();
  totals.bytes += text.size();
  return written && *written == text;
}

class RoundTripBench {
 public:
  tgc::Status measure_file(const std::string& path, size_t every) {
    auto reader = tgc::GoldenReader::open(path);
    if (!reader) return reader.diag();
    producer_ = reader->header().producer;
    tgc::GoldenLine line;
    for (size_t n = 0;; n++) {
      auto more = reader->next_line(line);
      if (!more) return more.diag();
      if (!*more) return tgc::Unit{};
      if (n % every) continue;
      auto record = tgc::parse_golden_record(line, path);
      if (!record) return record.diag();
      bool same = measure_graph(record->ast);
      for (auto& stage : record->stages) {
        if (stage.ir) same &= measure_graph(*stage.ir);
        if (stage.ir && stage.pyrender) same &= measure_pyrender(*stage.pyrender);
      }
      if (!same) return tgc::Diag{.message = "record '" + record->id + "' changes in a round trip", .file = path};
    }
  }
  std::string json(long peak_mib) const {
    RoundTripTotals all = pyrender_totals_;
    all.add(json_totals_);
    std::string out = "{" + all.json() + ",\"peak_mib\":" + std::to_string(peak_mib) + ",\"forms\":{";
    if (pyrender_totals_.texts)
      out += "\"pyrender\":{" + pyrender_totals_.json() + "}" + (json_totals_.texts ? "," : "");
    if (json_totals_.texts) out += "\"json\":{" + json_totals_.json() + "}";
    return out + "}}";
  }

 private:
  bool measure_graph(const std::string& text) {
    if (tgc::detect_input_kind(text) == tgc::InputKind::Pyrender) return measure_pyrender(text);
    tgc::GraphInfo info;
    return measure_round_trip(
        text, json_totals_,
        [&](tgc::Graph& into) {
          auto read = tgc::graph_from_json(into, text);
          if (read) info = read->info;
          return read ? tgc::Result<tgc::UOp>(read->root) : read.diag();
        },
        [&](tgc::UOp root) { return tgc::graph_to_json(root, info); });
  }
  // A text of another release may omit facts, so malformed nodes are accepted.
  bool measure_pyrender(const std::string& text) {
    if (tgc::release_of(producer_) == tgc::Release::v0_12)
      return measure_round_trip(
          text, pyrender_totals_, [&](tgc::Graph& into) { return tgc::read_pyrender(into, text); },
          [](tgc::UOp root) { return tgc::pyrender(root); });
    tgc::GraphReadReport report{.accepts_malformed_graphs = true, .producer = producer_};
    return measure_round_trip(
        text, pyrender_totals_,
        [&](tgc::Graph& into) {
          auto read = tgc::read_graph(into, tgc::InputKind::Pyrender, text, {}, &report);
          return read ? tgc::Result<tgc::UOp>(read->root) : read.diag();
        },
        [](tgc::UOp root) { return tgc::pyrender_open_graph(root).text; });
  }

  std::string producer_;
  RoundTripTotals pyrender_totals_, json_totals_;
};

}  // namespace

int main(int argc, char** argv) {
  (void)tgc::symbolic();  // links the rules that simplify shapes
  size_t every = 1;
  std::vector<std::string> files;
  for (int i = 1; i < argc; i++) {
    std::string_view word = argv[i];
    if (word.starts_with("--every=")) std::from_chars(word.data() + 8, word.data() + word.size(), every);
    else files.emplace_back(word);
  }
  if (files.empty() || every == 0) return std::fprintf(stderr, "usage: tgc_text_bench GOLDENS... [--every=N]\n"), 2;
  RoundTripBench bench;
  for (const std::string& file : files)
    if (auto status = bench.measure_file(file, every); !status)
      return std::fprintf(stderr, "tgc_text_bench: %s\n", status.diag().text().c_str()), 2;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%s\n", bench.json(usage.ru_maxrss / 1024).c_str());
}
