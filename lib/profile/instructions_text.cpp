#include <algorithm>

#include "lib/profile/pma.h"
#include "lib/profile/report.h"
#include "lib/run/kernel_line.h"
#include "lib/support/counted.h"
#include "lib/support/table.h"
#include "lib/support/visible.h"

namespace tgc::profile {
namespace {

constexpr size_t kHottest = 5;
constexpr size_t kMostSource = 90;  // characters of a source line

struct Row {
  uint64_t address = 0;
  InstructionTimes times;
  std::string assembly;
};

std::vector<std::string> cells(const Row& r, uint64_t all, const CodeSource* source) {
  std::vector<std::string> out{std::to_string(r.times.hits), std::to_string(r.times.cycles),
                               formatted("%.1f", all ? double(r.times.cycles) / double(all) * 100 : 0),
                               std::to_string(r.times.stall), std::to_string(r.times.idle),
                               formatted("%#x", unsigned(r.address)), r.assembly};
  if (!source) return out;
  uint32_t line = source->line_at(r.address);
  std::string text = visible(source->text_of(line));
  if (text.size() > kMostSource) text = text.substr(0, kMostSource - 3) + "...";
  out.insert(out.end(), {line ? std::to_string(line) : "", std::move(text), nodes_text(source->nodes_of(line))});
  return out;
}

// Says where the source lines come from, or why there are none.
std::string source_text(const CodeSource& source) {
  if (!source.problem.empty()) return "no source lines: " + visible(source.problem) + "\n";
  return "source lines and UOps: " + source.input + ", compiled for " + source.target +
         (source.nodes.empty() ? "; its UOps are unknown, because tgc renders another source\n" : "\n");
}

std::string run_text(const Profile& p, size_t kernel, Listings& listings) {
  const KernelRun& run = p.trace.kernels[kernel];
  std::string out = run.name + " on " + std::string(run.device) + (run.arch.empty() ? "" : " (" + run.arch + ")");
  if (run.seconds) out += ", " + time_text(*run.seconds, 0);
  out += "\n";
  size_t waves = 0, followed = 0;
  for (size_t i : run.sqtt) {
    const SqttSummary& s = p.summaries[i];
    waves += s.waves.size();
    if (!s.error.empty()) out += formatted("shader engine %d: %s\n", int(p.trace.sqtt[i].se), s.error.c_str());
    if (!s.instructions.empty())
      followed += size_t(std::ranges::count_if(s.waves, [](const WaveSpan& w) { return w.cu == 0 && w.simd == 0; }));
  }
  std::vector<Row> rows;
  uint64_t all = 0;
  auto times = p.instructions_of(kernel);
  const Listings::Listing& listing = listings.of(kernel);
  for (uint32_t n = 0; n < times.size(); n++) {
    if (!times[n].hits) continue;
    uint64_t address = p.code_of(kernel)->address_of(n);
    auto text = listing.find(address);
    rows.push_back({address, times[n], text == listing.end() ? "" : text->second});
    all += times[n].cycles;
  }
  if (rows.empty()) {
    out += !run.sqtt.empty() && isa_of(run.arch) == Isa::None
               ? "the trace cannot be mapped to instructions: its packets lack the branches that waves take\n"
               : "no wave of the traced SIMD executed an instruction\n";
  } else {
    out += formatted("%zu of %zu waves followed, those of SIMD 0 of compute unit 0; %llu cycles in all\n", followed,
                     waves, static_cast<unsigned long long>(all));
    const CodeSource* source = p.source_of(kernel);
    if (source) out += source_text(*source);
    if (source && !source->problem.empty()) source = nullptr;
    std::vector<std::string> header{"hits", "cycles", "%", "stall", "idle", "address", "instruction"};
    if (source) header.insert(header.end(), {"line", "source", "UOp"});
    std::vector<Row> hottest = rows;
    std::ranges::stable_sort(hottest, std::greater(), [](const Row& r) { return r.times.cycles; });
    hottest.resize(std::min(hottest.size(), kHottest));
    std::vector<std::vector<std::string>> lines{{"hottest:"}, header};
    for (const Row& r : hottest) lines.push_back(cells(r, all, source));
    lines.push_back({"in the order of the code:"});
    for (const Row& r : rows) lines.push_back(cells(r, all, source));
    out += table(lines, "rrrrrr r");
  }
  for (const std::string& hint : hints(p, kernel, listing)) out += "hint: " + hint + "\n";
  return out;
}

// The samples of an NVIDIA GPU: by address, the most frequent stall reason first.
std::string samples_text(const PmaEvent& e) {
  auto samples = decode_pma(bytes_of(e.blob), e.sm_version);
  std::string out = e.kernel + formatted(" on %s: %zu samples\n", std::string(e.device).c_str(), samples.size());
  std::vector<std::vector<std::string>> rows{{"samples", "%", "address", "stall reasons"}};
  for (auto& [pc, reasons] : count_samples(samples)) {
    uint64_t all = 0;
    std::vector<std::pair<uint64_t, std::string_view>> by_count;
    for (auto& [reason, count] : reasons) all += count, by_count.emplace_back(count, reason);
    std::ranges::sort(by_count, std::greater());
    std::string texts;
    for (auto& [count, reason] : by_count)
      texts += (texts.empty() ? "" : ", ") + std::string(reason) + " " + std::to_string(count);
    rows.push_back({std::to_string(all), formatted("%.1f", double(all) / double(samples.size()) * 100),
                    formatted("%#llx", static_cast<unsigned long long>(pc)), texts});
  }
  return out + table(rows, "rrr");
}

}  // namespace

std::string instructions_text(const Profile& p) {
  Listings listings(p);
  std::string out;
  for (size_t n = 0; n < p.trace.kernels.size(); n++)
    if (p.chosen[n]) out += (out.empty() ? "" : "\n") + run_text(p, n, listings);
  for (const PmaEvent& e : p.trace.pma)
    if (p.wants(e.kernel)) out += (out.empty() ? "" : "\n") + samples_text(e);
  return out;
}

}  // namespace tgc::profile
