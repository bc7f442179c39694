#include "lib/view/profile_page.h"

#include <algorithm>

#include "lib/driver/source.h"
#include "lib/profile/hints.h"
#include "lib/profile/report.h"
#include "lib/profile/trace_checks.h"
#include "lib/records/input_file.h"
#include "lib/records/rewrite_trace.h"
#include "lib/support/json_writer.h"
#include "lib/support/ordered_pool.h"
#include "lib/support/version.h"
#include "lib/view/page.h"
#include "lib/view/profile_tracks.h"

namespace tgc {
namespace {

using profile::KernelRun;
using profile::Profile;
using Listing = profile::Listings::Listing;

// The contents of one HTML element of the page, which is unpacked on demand.
struct Document {
  std::string id;
  std::vector<std::string> parts;  // JSON; each is compressed separately
};

// The assembly listing of each run. Unlike profile::Listings, includes code whose packets cannot be mapped to
// instructions.
class Assembly {
 public:
  explicit Assembly(const Profile& p) : profile_(p), mapped_(p) {}
  const Listing& of(size_t run) {
    const profile::Program* program = profile_.trace.kernels[run].program;
    if (!program || profile_.code_of(run)) return mapped_.of(run);
    auto [found, is_new] = others_.try_emplace(program);
    if (is_new) found->second = profile::disassemble_program(*program, profile_.trace.kernels[run].arch);
    return found->second;
  }
  profile::Listings& mapped() { return mapped_; }

 private:
  const Profile& profile_;
  profile::Listings mapped_;
  std::map<const profile::Program*, Listing> others_;
};

class PageWriter {
 public:
  explicit PageWriter(const Profile& p) : p_(p), assembly_(p) {}

  std::string index(const std::string& title) {
    return json_object([&](JsonWriter& json) {
      json.member("format", "tgc-profile").member("version", 1).member("tgc", tgc_version()).member("title", title);
      json.member("release",
                  p_.trace.release + (p_.trace.emulator.empty() ? "" : ", emulated by " + p_.trace.emulator));
      json.key("kinds").array([&] {
        for (int kind = 0; kind < int(SliceKind::Count); kind++) json.value(slice_kind_name(SliceKind(kind)));
      });
      write_totals(json);
      std::vector<std::string> names;
      Track host = make_host_track(p_.trace, names);
      json.key("host").object([&] { json.member("names", names).key("track"), write_track(json, std::move(host)); });
      json.key("runs").array([&] {
        for (size_t run = 0; run < p_.trace.kernels.size(); run++)
          if (p_.chosen[run]) write_run(json, run);
      });
      json.member("pma", p_.trace.pma.size());
    });
  }

  std::vector<Document> documents;

 private:
  // Writes the total times of kernels and copies, the longest first.
  void write_totals(JsonWriter& json) {
    json.key("totals").array([&] {
      for (const profile::Total& t : profile::totals_of(p_, assembly_.mapped()))
        json.object([&] {
          json.member("device", t.device).member("name", t.name).member("count", t.count);
          json.member("seconds", t.seconds).member("copy", t.is_copy).member("bytes", t.bytes).member("flops", t.flops);
          double mean = t.seconds / double(t.count);
          json.member("bound", t.is_copy ? "" : profile::bound_by(t.flops, t.bytes, mean, t.arch));
          if (auto* peak = profile::device_peak(t.arch))
            json.key("peak").object([&] {
              json.member("card", peak->card).member("flops", peak->flops).member("bytes", peak->bytes);
            });
        });
    });
  }

  void write_run(JsonWriter& json, size_t run) {
    const KernelRun& r = p_.trace.kernels[run];
    documents.push_back({"run" + std::to_string(runs_), {run_json(run)}});
    runs_++;
    json.object([&] {
      json.member("name", r.name).member("kernel", r.kernel).member("device", r.device).member("arch", r.arch);
      json.member("binary", r.program && !r.program->lib.empty());
      json.member("seconds", r.seconds).key("traces").array([&] {
        for (size_t event : r.sqtt) write_trace(json, run, event);
      });
    });
  }

  void write_trace(JsonWriter& json, size_t run, size_t event) {
    const profile::SqttEvent& e = p_.trace.sqtt[event];
    const profile::SqttSummary& s = p_.summaries[event];
    TraceTracks tracks = make_trace_tracks(p_, event, assembly_.of(run));
    json.object([&] {
      json.member("se", e.se).member("itrace", e.itrace).member("packets", s.packets).member("waves", s.waves.size());
      json.member("error", s.error).member("first", s.first_time).member("last", s.last_time);
      if (!tracks.hits.empty()) {
        documents.push_back({"hits" + std::to_string(tracks_), std::move(tracks.hits)});
        json.member("hits", tracks_);
      }
      json.key("tracks").array([&] {
        for (Track* track : {&tracks.instructions, &tracks.waves})
          if (!track->levels[0].chunks.empty()) write_track(json, std::move(*track));
      });
    });
  }

  void write_track(JsonWriter& json, Track track) {
    size_t number = tracks_++;
    json.object([&] {
      json.member("number", number).member("name", track.name);
      json.key("rows").array([&] {
        for (const TimelineRow& row : track.rows)
          json.object([&] { json.member("name", row.name).member("most", row.most).member("style", row.style); });
      });
      json.key("levels").array([&] {
        for (size_t level = 0; level < track.levels.size(); level++) {
          TimelineLevel& l = track.levels[level];
          std::vector<int64_t> begins, ends, counts;
          for (size_t n = 0; n < l.chunks.size(); n++) {
            TimelineChunk& c = l.chunks[n];
            begins.push_back(c.begin), ends.push_back(c.end), counts.push_back(c.count);
            std::string id = "t" + std::to_string(number) + "." + std::to_string(level) + "." + std::to_string(n);
            documents.push_back({std::move(id), {std::move(c.json)}});
          }
          json.object([&] {
            json.member("bin", l.bin).member("begin", begins).member("end", ends).member("count", counts);
          });
        }
      });
    });
  }

  // Returns the document of a run: its instructions with their times, counters, source, stalls, hints and damage.
  std::string run_json(size_t run) {
    auto times = p_.instructions_of(run);
    const profile::KernelCode* code = p_.code_of(run);
    const Listing& listing = assembly_.of(run);
    std::vector<uint64_t> addresses;  // of the instructions, in the order of the document
    return json_object([&](JsonWriter& json) {
      json.key("instructions").array([&] {
        auto row = [&](uint64_t address, const profile::InstructionTimes* t) {
          addresses.push_back(address);
          auto text = listing.find(address);
          json.array([&] {
            json.value(address).value(text == listing.end() ? "" : text->second);
            if (t) json.value(t->hits).value(t->cycles).value(t->stall).value(t->idle);
          });
        };
        if (code)
          for (uint32_t n = 0; n < code->instructions().size(); n++)
            row(code->address_of(n), n < times.size() ? &times[n] : nullptr);
        else
          for (auto& [address, text] : listing) row(address, nullptr);
      });
      json.key("counters").array([&] {
        for (const profile::CounterSample& c : p_.trace.counters)
          if (c.kernel == run)
            json.object([&] {
              json.member("name", c.name).member("block", c.block).member("sum", c.sum());
              json.member("most", c.values.empty() ? 0 : *std::ranges::max_element(c.values));
              json.member("values", c.values.size());
            });
      });
      if (const profile::CodeSource* source = p_.source_of(run)) write_source(json, *source, addresses);
      json.member("derived", profile::derived_counters(p_, run));
      const profile::StallReport stalls = profile::stalls_of(p_, run, listing);
      write_stalls(json, stalls);
      json.key("hints").array([&] {
        for (const profile::Hint& h : profile::hints(p_, run, listing, stalls)) json.value(h.text());
      });
      std::vector<std::string> found = p_.trace.damage;
      std::ranges::move(profile::check_traces(p_, run, listing), std::back_inserter(found));
      json.member("damage", found);
    });
  }

  // Writes for each reason of stalls its name, stalled cycles and idle cycles; and for each instruction: the reason of
  // most of its stalls, the cycles that others waited for it, and the instructions that it waits for, with cycles.
  static void write_stalls(JsonWriter& json, const profile::StallReport& stalls) {
    json.key("reasons").array([&] {
      for (size_t r = 0; r < profile::kStallReasons; r++)
        json.array([&] {
          json.value(profile::stall_reason_name(profile::StallReason(r)));
          json.value(stalls.reasons[r].cycles).value(stalls.reasons[r].idle);
        });
    });
    json.key("stalls").array([&] {
      for (const profile::InstructionStalls& s : stalls.instructions)
        json.array([&] {
          json.value(int(profile::StallReport::main_reason(s))).value(s.waited_for.cycles);
          for (auto& [n, time] : s.waits_for) json.value(n).value(time.cycles);
        });
    });
  }

  // Writes the source, the nodes of each line, and the line of each instruction (0: unknown); or why there is no
  // source.
  static void write_source(JsonWriter& json, const profile::CodeSource& source, std::span<const uint64_t> addresses) {
    json.key("source").object([&] {
      if (!source.problem.empty()) return (void)json.member("problem", source.problem);
      json.member("input", source.input).member("target", source.target).member("lines", source.lines);
      json.member("differs", source.differs);
      json.key("exact").array([&] {
        for (uint64_t address : addresses) json.value(int(source.is_exact_at(address)));
      });
      json.key("nodes").array([&] {
        for (uint32_t line = 1; line <= source.lines.size(); line++) json.value(nodes_text(source.nodes_of(line)));
      });
      json.key("line_of").array([&] {
        for (uint64_t address : addresses) json.value(source.line_at(address));
      });
    });
  }

  const Profile& p_;
  Assembly assembly_;
  size_t runs_ = 0, tracks_ = 0;
};

}  // namespace

std::string profile_page(std::string_view page_code, const Profile& p, const std::string& title, unsigned jobs) {
  PageWriter writer(p);
  std::vector<Document> documents{{"index", {writer.index(title)}}};
  for (Document& d : writer.documents) documents.push_back(std::move(d));
  std::vector<std::string> letters(documents.size());
  auto pack = [&](size_t n) {
    for (std::string& part : documents[n].parts)
      letters[n] += (letters[n].empty() ? "" : " ") + as_letters(packed(part, n > 0)), part.clear();
  };
  parallel_for(documents.size(), jobs, pack).value_or_throw();
  size_t mark = page_code.find(kDataMark);
  std::string out(page_code.substr(0, mark));
  for (size_t n = 0; n < documents.size(); n++) out += data_element(documents[n].id, letters[n]);
  if (mark != page_code.npos) out += page_code.substr(mark + kDataMark.size());
  return out;
}

bool is_profile_input(const std::string& input) {
  std::string head = read_head(InputName::parse(input).file, 100);
  return profile::looks_like_pickle(head) && !looks_like_rewrites(head);
}

Result<std::string> profile_page_of(std::string_view page_code, const Session& session, const std::string& input,
                                    const std::string& with) {
  return catch_failures([&] {
    InputName name = InputName::parse(input);
    auto trace = profile::read_trace(name.file);
    auto p = profile::analyze_profile(std::move(trace.value_or_throw()), {.kernel = name.id});
    p.value_or_throw();
    p->works = profile::find_works(session, p->trace);
    if (!with.empty() || !name.id.empty())
      p->sources = std::move(profile::find_sources(session, with, *p).value_or_throw());
    return profile_page(page_code, *p, name.shown());
  });
}

}  // namespace tgc
