#include "lib/profile/against.h"

#include <algorithm>

#include "lib/profile/align_code.h"
#include "lib/run/run_report.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc::profile {
namespace {

using InstructionSide = ComparedInstruction::InstructionSide;
using ExecutedCode = std::vector<InstructionSide>;

ExecutedCode executed_code_of_run(const Profile& p, size_t run_index, const ProgramListings::Listing& listing,
                                  const StallReport& stalls, double waves) {
  ExecutedCode out;
  const auto times = measured_or_modeled_times(p, run_index, stalls);
  for (uint32_t n = 0; n < times.size(); n++) {
    if (!times[n].num_executions) continue;
    const uint64_t address = p.code_of_run(run_index)->address_of(n);
    auto text = listing.find(address);
    out.push_back({n, address, times[n], text == listing.end() ? "" : text->second, double(times[n].cycles) / waves});
  }
  return out;
}

// Pairs the instructions by align_code(), or by position if the code is too long for it.
std::vector<ComparedInstruction> align_instructions(const ExecutedCode& a, const ExecutedCode& b) {
  auto texts = [](const ExecutedCode& code) {
    std::vector<std::string> out;
    for (const InstructionSide& e : code) out.push_back(e.assembly);
    return out;
  };
  auto at = [](const ExecutedCode& code, size_t n) { return n < code.size() ? std::optional(code[n]) : std::nullopt; };
  std::vector<ComparedInstruction> out;
  if (auto pairs = align_code(texts(a), texts(b))) {
    for (const AlignedPair& x : *pairs) out.push_back({at(a, x.a), at(b, x.b)});
    return out;
  }
  for (size_t n = 0; n < std::max(a.size(), b.size()); n++) out.push_back({at(a, n), at(b, n)});
  return out;
}

std::vector<std::pair<size_t, size_t>> matching_runs(const Profile& a, const Profile& b) {
  std::vector<std::pair<size_t, size_t>> out;
  auto only = [](const Profile& p) {
    return std::ranges::count(p.is_run_chosen, true) == 1
               ? std::ranges::find(p.is_run_chosen, true) - p.is_run_chosen.begin()
               : -1;
  };
  if (only(a) >= 0 && only(b) >= 0) return {{size_t(only(a)), size_t(only(b))}};
  for (size_t i = 0; i < a.trace.runs.size(); i++)
    for (size_t j = 0; j < b.trace.runs.size(); j++)
      if (a.is_run_chosen[i] && b.is_run_chosen[j] && a.trace.runs[i].name == b.trace.runs[j].name)
        out.push_back({i, j});
  return out;
}

std::string cycles_text(const std::optional<InstructionSide>& side) {
  return side ? formatted("%.1f", side->cycles_per_wave) : "-";
}

}  // namespace

std::vector<ComparedRun> compare_runs(const Profile& a, const Profile& b) {
  ProgramListings old_listings(a), new_listings(b);
  std::vector<ComparedRun> out;
  for (auto [old_run, new_run] : matching_runs(a, b)) {
    ComparedRun pair{.old_run = old_run, .new_run = new_run};
    auto code_of_run = [](const Profile& p, size_t run, ProgramListings& listings, auto& reasons, double& cycles) {
      const ProgramListings::Listing& listing = listings.find(run);
      const double waves = double(std::max<size_t>(figures_of_run(p, run, listing).num_followed_waves, 1));
      const StallReport stalls = stalls_of_run(p, run, listing);
      for (size_t r = 0; r < kNumStallReasons; r++) reasons[r] = double(stalls.times_by_reason[r].cycles) / waves;
      ExecutedCode code = executed_code_of_run(p, run, listing, stalls, waves);
      for (const InstructionSide& e : code) cycles += e.cycles_per_wave;
      return code;
    };
    const ExecutedCode before = code_of_run(a, old_run, old_listings, pair.old_reason_cycles, pair.old_cycles);
    const ExecutedCode after = code_of_run(b, new_run, new_listings, pair.new_reason_cycles, pair.new_cycles);
    if (!before.empty() && !after.empty()) pair.instructions = align_instructions(before, after);
    out.push_back(std::move(pair));
  }
  return out;
}

std::vector<ComparedTime> compare_times(const Profile& a, const Profile& b) {
  struct TimeSum {
    double seconds = 0;
    size_t count = 0;
  };
  std::map<std::string, std::pair<TimeSum, TimeSum>> means;
  auto add = [&](const Profile& p, TimeSum std::pair<TimeSum, TimeSum>::* side) {
    std::map<std::string_view, bool> is_program;
    for (const auto& program : p.trace.programs) is_program[program->name] = true;
    for (const RangeEvent& e : p.trace.range_events) {
      if (!is_program.contains(e.name)) continue;
      TimeSum& m = means[e.name].*side;
      m.seconds += (e.end - e.begin) * 1e-6, m.count++;
    }
  };
  add(a, &std::pair<TimeSum, TimeSum>::first), add(b, &std::pair<TimeSum, TimeSum>::second);
  std::vector<ComparedTime> out;
  auto mean = [](const TimeSum& m) { return m.count ? std::optional(m.seconds / double(m.count)) : std::nullopt; };
  for (auto& [name, m] : means) out.push_back({name, mean(m.first), mean(m.second)});
  return out;
}

std::string comparison_text(const Profile& a, const Profile& b) {
  std::vector<std::vector<std::string>> rows{{"old", "new", "change", "kernel"}};
  for (const ComparedTime& t : compare_times(a, b)) {
    auto text = [](std::optional<double> seconds) { return seconds ? time_text(*seconds, 0) : "-"; };
    const bool both = t.old_seconds && t.new_seconds && *t.old_seconds > 0;
    rows.push_back({text(t.old_seconds), text(t.new_seconds),
                    both ? formatted("%+.1f%%", (*t.new_seconds / *t.old_seconds - 1) * 100) : "-", t.kernel});
  }
  std::string out = rows.size() == 1 ? "" : table_text(rows, "rrr");
  for (const ComparedRun& pair : compare_runs(a, b)) {
    if (pair.instructions.empty()) continue;
    out += formatted("\n%s: cycles of a wave: %.1f, before %.1f, %+.1f\n", b.trace.runs[pair.new_run].name.c_str(),
                     pair.new_cycles, pair.old_cycles, pair.new_cycles - pair.old_cycles);
    std::vector<std::vector<std::string>> reasons{{"old", "new", "change", "reason of stalls"}};
    for (size_t r = 0; r < kNumStallReasons; r++)
      if (const double before = pair.old_reason_cycles[r], after = pair.new_reason_cycles[r]; before + after >= 0.1)
        reasons.push_back({formatted("%.1f", before), formatted("%.1f", after), formatted("%+.1f", after - before),
                           std::string(stall_reason_name(StallReason(r)))});
    out += table_text(reasons, "rrr");
    std::vector<std::vector<std::string>> lines{{"old", "new", "change", "hits", "instruction"}};
    for (const ComparedInstruction& x : pair.instructions)
      lines.push_back({cycles_text(x.old_side), cycles_text(x.new_side), formatted("%+.1f", x.change_per_wave()),
                       std::to_string(x.new_side ? x.new_side->instruction_times.num_executions : 0),
                       x.newest_side().assembly});
    out += table_text(lines, "rrrr");
  }
  return out.empty() ? "the profiles have no kernel in common\n" : out;
}

std::string comparison_json(const Profile& a, const Profile& b) {
  const std::vector<ComparedRun> runs = compare_runs(a, b);
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.key("kernels").array([&] {
        for (const ComparedTime& t : compare_times(a, b))
          json.start_line().object([&] {
            json.member("name", t.kernel).member("old", t.old_seconds).member("new", t.new_seconds);
          });
      });
      json.key("runs").array([&] {
        for (const ComparedRun& pair : runs)
          json.start_line().object([&] {
            json.member("kernel", b.trace.runs[pair.new_run].name);
            json.member("old_cycles_of_wave", pair.old_cycles).member("new_cycles_of_wave", pair.new_cycles);
            auto reasons = [&](std::string_view name, const auto& cycles) {
              json.key(name).object([&] {
                for (size_t r = 0; r < kNumStallReasons; r++)
                  if (cycles[r] > 0) json.member(stall_reason_name(StallReason(r)), cycles[r]);
              });
            };
            reasons("old_reasons", pair.old_reason_cycles), reasons("new_reasons", pair.new_reason_cycles);
          });
      });
      json.key("instructions").array([&] {
        for (const ComparedRun& pair : runs)
          for (const ComparedInstruction& x : pair.instructions)
            json.start_line().object([&] {
              json.member("kernel", b.trace.runs[pair.new_run].name).member("asm", x.newest_side().assembly);
              auto side = [&](std::string_view name, const std::optional<InstructionSide>& e) {
                if (!e) return;
                json.key(name).object([&] {
                  json.member("pc", e->address)
                      .member("hits", e->instruction_times.num_executions)
                      .member("cycles", e->instruction_times.cycles);
                  json.member("stall", e->instruction_times.stall_cycles).member("cycles_of_wave", e->cycles_per_wave);
                });
              };
              side("old", x.old_side), side("new", x.new_side);
            });
      });
    });
  });
}

}  // namespace tgc::profile
