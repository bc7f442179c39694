#include "lib/profile/profile.h"
#include "lib/support/json_writer.h"

namespace tgc::profile {
namespace {

constexpr std::string_view kDecoder = "0.13.0";  // the release of tinygrad whose decoder the values equal

void write_kernels(JsonWriter& json, const Profile& p) {
  json.key("kernels").array([&] {
    for (size_t n = 0; n < p.trace.kernels.size(); n++) {
      if (!p.chosen[n]) continue;
      const KernelRun& run = p.trace.kernels[n];
      json.line().object([&] {
        json.member("id", n).member("name", run.name).member("device", run.device).member("arch", run.arch);
        json.member("count", 1).member("seconds", p.seconds_of(n));
      });
    }
  });
}

void write_sqtt(JsonWriter& json, const Profile& p) {
  json.key("sqtt").array([&] {
    for (size_t i = 0; i < p.trace.sqtt.size(); i++) {
      const SqttEvent& e = p.trace.sqtt[i];
      if (!p.chosen[e.kernel]) continue;
      const SqttSummary& s = p.summaries[i];
      json.line().object([&] {
        json.member("kernel", p.trace.kernels[e.kernel].name).member("se", e.se).member("itrace", e.itrace);
        json.member("layout", int(s.layout)).member("packets", s.packets);
        auto [by_op, inst_ops] = s.named_counts();
        json.member("by_op", by_op).member("inst_ops", inst_ops);
        json.key("first_time"), s.packets ? json.value(s.first_time) : json.null();
        json.key("last_time"), s.packets ? json.value(s.last_time) : json.null();
      });
    }
  });
}

void write_counters(JsonWriter& json, const Profile& p) {
  json.key("pmc").array([&] {
    for (const CounterSample& c : p.trace.counters) {
      if (!p.chosen[c.kernel]) continue;
      json.line().object([&] {
        json.member("kernel", p.trace.kernels[c.kernel].name).member("counter", c.name).member("sum", c.sum());
      });
    }
  });
}

void write_instructions(JsonWriter& json, const Profile& p) {
  json.key("instructions").array([&] {
    std::map<const Program*, std::map<uint64_t, std::string>> listings;
    for (size_t n = 0; n < p.trace.kernels.size(); n++) {
      if (!p.chosen[n]) continue;
      const KernelRun& run = p.trace.kernels[n];
      auto times = p.instructions_of(n);
      if (times.empty()) continue;
      if (!listings.contains(run.program)) listings[run.program] = disassemble_program(*run.program, run.arch);
      const auto& listing = listings[run.program];
      for (uint32_t i = 0; i < times.size(); i++) {
        if (!times[i].hits) continue;
        uint64_t pc = p.code_of(n)->address_of(i);
        json.line().object([&] {
          json.member("kernel", run.name).member("pc", pc);
          if (auto text = listing.find(pc); text != listing.end()) json.member("asm", text->second);
          json.member("hits", times[i].hits).member("cycles", times[i].cycles);
          json.member("stall", times[i].stall).member("idle", times[i].idle);
        });
      }
    }
  });
}

void write_waves(JsonWriter& json, const Profile& p) {
  json.key("waves").array([&] {
    for (size_t i = 0; i < p.trace.sqtt.size(); i++) {
      const SqttEvent& e = p.trace.sqtt[i];
      for (const WaveSpan& w : p.summaries[i].waves)
        json.line().object([&] {
          json.member("kernel", p.trace.kernels[e.kernel].name).member("se", e.se).member("cu", w.cu);
          json.member("simd", w.simd).member("wave", w.wave);
          json.key("begin"), w.begin == WaveSpan::kUnknown ? json.null() : json.value(w.begin);
          json.key("end"), w.end == WaveSpan::kUnknown ? json.null() : json.value(w.end);
        });
    }
  });
}

void write_errors(JsonWriter& json, const Profile& p) {
  json.key("errors").array([&] {
    for (size_t i = 0; i < p.trace.sqtt.size(); i++) {
      if (p.summaries[i].error.empty()) continue;
      const SqttEvent& e = p.trace.sqtt[i];
      json.line().object([&] {
        json.member("kernel", p.trace.kernels[e.kernel].name).member("se", e.se).member("error", p.summaries[i].error);
      });
    }
  });
}

}  // namespace

std::string profile_json(const Profile& p, const std::string& file) {
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("file", file).member("decoder", kDecoder).member("release", p.trace.release);
      write_kernels(json, p);
      write_sqtt(json, p);
      write_counters(json, p);
      write_instructions(json, p);
      write_waves(json, p);
      write_errors(json, p);
    });
  });
}

}  // namespace tgc::profile
