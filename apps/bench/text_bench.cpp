// tgc_text_bench GOLDENS... [--every=N]: how fast pyrender text is read and written, on one thread, in CPU time. Each
// text of each N-th record is read into a graph of its own and written back; the time of both is counted, that of
// unpacking the golden file is not. For scripts/bench.
#include <sys/resource.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "lib/text/golden.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"

namespace {

// CPU time of this process: what else the machine does must not count.
double now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

struct Totals {
  size_t texts = 0, nodes = 0, bytes = 0;
  double read = 0, written = 0;
};

// False when the text cannot be read or comes back otherwise.
bool measure(const std::string& text, Totals& totals) {
  double begin = now();
  tgc::Graph graph;
  auto root = tgc::read_pyrender(graph, text);
  double read = now() - begin;
  if (!root) return false;
  begin = now();
  auto written = tgc::pyrender(*root);
  totals.written += now() - begin;
  totals.read += read;
  totals.texts++;
  totals.nodes += tgc::toposort(*root).size();
  totals.bytes += text.size();
  return written && *written == text;
}

tgc::Status measure_file(const std::string& path, size_t every, Totals& totals) {
  auto reader = tgc::GoldenReader::open(path);
  if (!reader) return reader.diag();
  tgc::GoldenLine line;
  for (size_t n = 0;; n++) {
    auto more = reader->next_line(line);
    if (!more) return more.diag();
    if (!*more) return tgc::Unit{};
    if (n % every) continue;
    auto record = tgc::parse_golden_record(line, path);
    if (!record) return record.diag();
    bool same = measure(record->ast, totals);
    for (auto& stage : record->stages)
      if (stage.ir) same &= measure(*stage.ir, totals);
    if (!same) return tgc::Diag{.message = "record '" + record->id + "' does not come back as it was", .file = path};
  }
}

}  // namespace

int main(int argc, char** argv) {
  size_t every = 1;
  std::vector<std::string> files;
  for (int i = 1; i < argc; i++) {
    std::string_view word = argv[i];
    if (word.starts_with("--every=")) std::from_chars(word.data() + 8, word.data() + word.size(), every);
    else files.emplace_back(word);
  }
  if (files.empty() || every == 0) return std::fprintf(stderr, "usage: tgc_text_bench GOLDENS... [--every=N]\n"), 2;
  Totals t;
  for (const std::string& file : files)
    if (auto status = measure_file(file, every, t); !status)
      return std::fprintf(stderr, "tgc_text_bench: %s\n", status.diag().text().c_str()), 2;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"texts\":%zu,\"nodes\":%zu,\"bytes\":%zu,\"read_s\":%.4f,\"write_s\":%.4f,"
      "\"nodes_per_s\":%.0f,\"peak_mib\":%ld}\n",
      t.texts, t.nodes, t.bytes, t.read, t.written, double(t.nodes) / (t.read + t.written), usage.ru_maxrss / 1024);
}
