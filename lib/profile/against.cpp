// Compares two profiles: the times of kernels, and the times of each instruction of kernels that both have.
#include <algorithm>

#include "lib/profile/align_code.h"
#include "lib/profile/report.h"
#include "lib/run/run_report.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc::profile {
namespace {

struct Executed {
  uint64_t address = 0;
  InstructionTimes times;
  std::string assembly;
  double per_hit() const { return times.hits ? double(times.cycles) / double(times.hits) : 0; }
};
using Code = std::vector<Executed>;

Code code_of_run(const Profile& p, size_t kernel, Listings& listings) {
  Code out;
  auto times = p.instructions_of(kernel);
  for (uint32_t n = 0; n < times.size(); n++) {
    if (!times[n].hits) continue;
    uint64_t address = p.code_of(kernel)->address_of(n);
    auto text = listings.of(kernel).find(address);
    out.push_back({address, times[n], text == listings.of(kernel).end() ? "" : text->second});
  }
  return out;
}

// An instruction of the old run and its counterpart in the new run; null if one of them does not have it.
struct Aligned {
  const Executed* old_one = nullptr;
  const Executed* new_one = nullptr;
  double change() const {  // new minus old cycles of one execution by a wave
    return (new_one ? new_one->per_hit() : 0) - (old_one ? old_one->per_hit() : 0);
  }
};

// Aligns the code of two runs. Code that is too long for align_code() is paired by position.
std::vector<Aligned> align(const Code& a, const Code& b) {
  auto texts = [](const Code& code) {
    std::vector<std::string> out;
    for (const Executed& e : code) out.push_back(e.assembly);
    return out;
  };
  std::vector<Aligned> out;
  if (auto pairs = align_code(texts(a), texts(b))) {
    for (const AlignedPair& x : *pairs)
      out.push_back({x.a == AlignedPair::kNone ? nullptr : &a[x.a], x.b == AlignedPair::kNone ? nullptr : &b[x.b]});
    return out;
  }
  for (size_t i = 0; i < std::max(a.size(), b.size()); i++)
    out.push_back({i < a.size() ? &a[i] : nullptr, i < b.size() ? &b[i] : nullptr});
  return out;
}

struct KernelPair {
  size_t old_run = 0, new_run = 0;
};
// Returns the runs to compare: those with the same name in both profiles, so that the n-th run of a kernel is compared
// with the n-th; but if each profile has only one chosen run, these two.
std::vector<KernelPair> pairs_of(const Profile& a, const Profile& b) {
  std::vector<KernelPair> out;
  auto only = [](const Profile& p) {
    return std::ranges::count(p.chosen, true) == 1 ? std::ranges::find(p.chosen, true) - p.chosen.begin() : -1;
  };
  if (only(a) >= 0 && only(b) >= 0) return {{size_t(only(a)), size_t(only(b))}};
  for (size_t i = 0; i < a.trace.kernels.size(); i++)
    for (size_t j = 0; j < b.trace.kernels.size(); j++)
      if (a.chosen[i] && b.chosen[j] && a.trace.kernels[i].name == b.trace.kernels[j].name) out.push_back({i, j});
  return out;
}

struct MeanTime {
  double seconds = 0;
  size_t count = 0;
  double mean() const { return count ? seconds / double(count) : 0; }
};
struct TimesOfKernel {
  MeanTime old_time, new_time;
};
std::map<std::string, TimesOfKernel> times_of(const Profile& a, const Profile& b) {
  std::map<std::string, TimesOfKernel> out;
  auto add = [&](const Profile& p, MeanTime TimesOfKernel::* side) {
    std::map<std::string_view, bool> is_program;
    for (const auto& program : p.trace.programs) is_program[program->name] = true;
    for (const RangeEvent& e : p.trace.ranges) {
      if (!is_program.contains(e.name)) continue;
      MeanTime& t = out[e.name].*side;
      t.seconds += (e.end - e.begin) * 1e-6, t.count++;
    }
  };
  add(a, &TimesOfKernel::old_time), add(b, &TimesOfKernel::new_time);
  return out;
}

std::string per_hit_text(const Executed* e) { return e ? formatted("%.1f", e->per_hit()) : "-"; }

}  // namespace

std::string against_text(const Profile& a, const Profile& b) {
  Listings old_listings(a), new_listings(b);
  std::vector<std::vector<std::string>> rows{{"old", "new", "change", "kernel"}};
  for (auto& [name, t] : times_of(a, b)) {
    auto text = [](const MeanTime& m) { return m.count ? time_text(m.mean(), 0) : "-"; };
    bool both = t.old_time.count && t.new_time.count && t.old_time.mean() > 0;
    double change = both ? (t.new_time.mean() / t.old_time.mean() - 1) * 100 : 0;
    rows.push_back({text(t.old_time), text(t.new_time), both ? formatted("%+.1f%%", change) : "-", name});
  }
  std::string out = rows.size() == 1 ? "" : table(rows, "rrr");
  for (const KernelPair& pair : pairs_of(a, b)) {
    Code old_code = code_of_run(a, pair.old_run, old_listings), new_code = code_of_run(b, pair.new_run, new_listings);
    if (old_code.empty() || new_code.empty()) continue;
    std::vector<Aligned> aligned = align(old_code, new_code);
    double slower = 0, faster = 0;
    for (const Aligned& x : aligned) (x.change() > 0 ? slower : faster) += x.change();
    out += formatted("\n%s: cycles of each wave at an instruction, old and new; %+.1f slower, %+.1f faster\n",
                     b.trace.kernels[pair.new_run].name.c_str(), slower, faster);
    std::vector<std::vector<std::string>> lines{{"old", "new", "change", "hits", "instruction"}};
    for (const Aligned& x : aligned) {
      const Executed& e = x.new_one ? *x.new_one : *x.old_one;
      lines.push_back({per_hit_text(x.old_one), per_hit_text(x.new_one), formatted("%+.1f", x.change()),
                       std::to_string(x.new_one ? x.new_one->times.hits : 0), e.assembly});
    }
    out += table(lines, "rrrr");
  }
  return out.empty() ? "the profiles have no kernel in common\n" : out;
}

std::string against_json(const Profile& a, const Profile& b) {
  Listings old_listings(a), new_listings(b);
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.key("kernels").array([&] {
        for (auto& [name, t] : times_of(a, b)) {
          auto seconds = [](const MeanTime& m) { return m.count ? std::optional(m.mean()) : std::nullopt; };
          json.line().object([&] {
            json.member("name", name).member("old", seconds(t.old_time)).member("new", seconds(t.new_time));
          });
        }
      });
      json.key("instructions").array([&] {
        for (const KernelPair& pair : pairs_of(a, b)) {
          Code old_code = code_of_run(a, pair.old_run, old_listings);
          Code new_code = code_of_run(b, pair.new_run, new_listings);
          for (const Aligned& x : align(old_code, new_code))
            json.line().object([&] {
              json.member("kernel", b.trace.kernels[pair.new_run].name);
              json.member("asm", x.new_one ? x.new_one->assembly : x.old_one->assembly);
              auto side = [&](std::string_view name, const Executed* e) {
                if (!e) return;
                json.key(name).object([&] {
                  json.member("pc", e->address).member("hits", e->times.hits).member("cycles", e->times.cycles);
                  json.member("stall", e->times.stall);
                });
              };
              side("old", x.old_one), side("new", x.new_one);
            });
        }
      });
    });
  });
}

}  // namespace tgc::profile
