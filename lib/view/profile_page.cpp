#include "lib/view/profile_page.h"

#include <algorithm>

#include "lib/driver/source.h"
#include "lib/profile/against.h"
#include "lib/profile/hints.h"
#include "lib/profile/memory_levels.h"
#include "lib/profile/occupancy_over_time.h"
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
using AssemblyListing = profile::ProgramListings::Listing;

struct PageDocument {
  std::string id;
  std::vector<std::string> json_parts;  // JSON texts, each of which is compressed separately
  size_t load_rank = 0;                 // the page needs the documents of the lowest rank first
};
constexpr size_t kRankOfTracks = 1, kRankOfHits = 1000;
// Documents of about this many characters precede the page's script; the others follow it. A browser runs the script
// before it has read these others, so a long page opens as fast as a short one.
constexpr size_t kBeforeScript = 400'000;

// Unlike profile::ProgramListings, includes code whose packets cannot be mapped to instructions.
class AssemblyListings {
 public:
  explicit AssemblyListings(const Profile& p) : profile_(p), mapped_listings_(p) {}
  const AssemblyListing& listing_of_run(size_t run) {
    const profile::GpuProgram* program = profile_.trace.runs[run].program;
    if (!program || profile_.code_of_run(run)) return mapped_listings_.find(run);
    auto [found, is_new] = unmapped_listings_.try_emplace(program);
    if (is_new) found->second = profile::disassemble_program(*program, profile_.trace.runs[run].arch);
    return found->second;
  }
  profile::ProgramListings& mapped_listings() { return mapped_listings_; }

 private:
  const Profile& profile_;
  profile::ProgramListings mapped_listings_;
  std::map<const profile::GpuProgram*, AssemblyListing> unmapped_listings_;
};

class ProfilePageWriter {
 public:
  ProfilePageWriter(const Profile& p, const Profile* older)
      : page_profile_(p), older_profile_(older), assembly_listings_(p) {
    if (older) compared_runs_ = profile::compare_runs(*older, p);
  }

  std::string index_json(const std::string& title) {
    return json_object([&](JsonWriter& json) {
      json.member("format", "tgc-profile").member("version", 1).member("tgc", tgc_version()).member("title", title);
      json.member("emulated", !page_profile_.trace.emulator.empty());
      json.member("release",
                  page_profile_.trace.release +
                      (page_profile_.trace.emulator.empty() ? "" : ", emulated by " + page_profile_.trace.emulator));
      json.key("kinds").array([&] {
        for (int kind = 0; kind < int(SliceKind::Count); kind++) json.value(slice_kind_name(SliceKind(kind)));
      });
      write_totals(json);
      std::vector<std::string> names;
      TimelineTrack host = make_host_track(page_profile_.trace, names);
      json.key("host").object([&] { json.member("names", names).key("track"), write_track(json, std::move(host)); });
      json.key("runs").array([&] {
        for (size_t run = 0; run < page_profile_.trace.runs.size(); run++)
          if (page_profile_.is_run_chosen[run]) write_run(json, run);
      });
      json.member("pma", page_profile_.trace.pma_events.size());
    });
  }

  std::vector<PageDocument> documents;

 private:
  void write_totals(JsonWriter& json) {
    json.key("totals").array([&] {
      for (const profile::EventTotal& t : profile::event_totals(page_profile_, assembly_listings_.mapped_listings()))
        json.object([&] {
          json.member("device", t.device).member("name", t.name).member("count", t.num_executions);
          json.member("seconds", t.seconds).member("copy", t.is_copy).member("bytes", t.bytes).member("flops", t.flops);
          json.member("at_most", t.is_flops_upper_bound);
          double mean = t.seconds / double(t.num_executions);
          json.member("bound", t.is_copy ? "" : profile::speed_limit_text(t.flops, t.bytes, mean, t.arch));
          if (auto* peak = profile::find_device_peak(t.arch))
            json.key("peak").object([&] {
              json.member("card", peak->card_name)
                  .member("flops", peak->flops_per_second)
                  .member("bytes", peak->bytes_per_second);
            });
        });
    });
  }

  void write_run(JsonWriter& json, size_t run) {
    const KernelRun& r = page_profile_.trace.runs[run];
    documents.push_back({"run" + std::to_string(num_runs_), {run_json(run)}});
    num_runs_++;
    json.object([&] {
      json.member("name", r.name).member("kernel", r.kernel).member("device", r.device).member("arch", r.arch);
      json.member("binary", r.program && !r.program->elf_bytes.empty());
      json.member("seconds", r.seconds).key("traces").array([&] {
        for (size_t event : r.sqtt_events) write_trace(json, run, event);
      });
    });
  }

  void write_trace(JsonWriter& json, size_t run, size_t event) {
    const profile::SqttEvent& e = page_profile_.trace.sqtt_events[event];
    const profile::SqttSummary& s = page_profile_.sqtt_summaries[event];
    TraceTracks tracks = make_trace_tracks(page_profile_, event, assembly_listings_.listing_of_run(run));
    json.object([&] {
      json.member("se", e.se)
          .member("itrace", e.has_instruction_packets)
          .member("packets", s.num_packets)
          .member("waves", s.wave_spans.size());
      const auto offset = page_profile_.clock_offset(event);
      json.member("error", s.error).member("clock", offset.has_value());
      json.member("first", shift_time(s.first_time, offset.value_or(0)));
      json.member("last", shift_time(s.last_time, offset.value_or(0)));
      if (!tracks.execution_times.empty()) {
        documents.push_back({"hits" + std::to_string(num_tracks_), std::move(tracks.execution_times), kRankOfHits});
        json.member("hits", num_tracks_);
      }
      json.key("tracks").array([&] {
        for (TimelineTrack* track : {&tracks.instructions, &tracks.waves})
          if (!track->detail_levels[0].level_chunks.empty()) write_track(json, std::move(*track));
      });
    });
  }

  void write_track(JsonWriter& json, TimelineTrack track) {
    size_t number = num_tracks_++;
    json.object([&] {
      json.member("number", number).member("name", track.name);
      json.key("rows").array([&] {
        for (const TimelineRow& row : track.track_rows)
          json.object(
              [&] { json.member("name", row.name).member("most", row.max_amount).member("style", row.drawing_style); });
      });
      json.key("levels").array([&] {
        for (size_t level = 0; level < track.detail_levels.size(); level++) {
          TimelineLevel& l = track.detail_levels[level];
          std::vector<int64_t> begins, ends, counts;
          for (size_t n = 0; n < l.level_chunks.size(); n++) {
            TimelineChunk& c = l.level_chunks[n];
            begins.push_back(c.begin), ends.push_back(c.end), counts.push_back(c.num_slices);
            std::string id = "t" + std::to_string(number) + "." + std::to_string(level) + "." + std::to_string(n);
            documents.push_back(
                {std::move(id), {std::move(c.json)}, kRankOfTracks + track.detail_levels.size() - level});
          }
          json.object([&] {
            json.member("bin", l.bin_cycles).member("begin", begins).member("end", ends).member("count", counts);
          });
        }
      });
    });
  }

  std::string run_json(size_t run) {
    const profile::KernelCode* code = page_profile_.code_of_run(run);
    const AssemblyListing& listing = assembly_listings_.listing_of_run(run);
    const profile::StallReport stalls = profile::stalls_of_run(page_profile_, run, listing);
    const auto times = profile::measured_or_modeled_times(page_profile_, run, stalls);
    std::vector<uint64_t> addresses;
    return json_object([&](JsonWriter& json) {
      json.key("instructions").array([&] {
        auto row = [&](uint64_t address, const profile::InstructionTimes* t) {
          addresses.push_back(address);
          auto text = listing.find(address);
          json.array([&] {
            json.value(address).value(text == listing.end() ? "" : text->second);
            if (t) json.value(t->num_executions).value(t->cycles).value(t->stall_cycles).value(t->idle_cycles);
          });
        };
        if (code)
          for (uint32_t n = 0; n < code->instructions().size(); n++)
            row(code->address_of(n), n < times.size() ? &times[n] : nullptr);
        else
          for (auto& [address, text] : listing) row(address, nullptr);
      });
      json.key("counters").array([&] {
        for (const profile::CounterSample& c : page_profile_.trace.counter_samples)
          if (c.run_index == run)
            json.object([&] {
              json.member("name", c.name).member("block", c.block).member("sum", c.sum_of_counter_values());
              json.member("most", c.values.empty() ? 0 : *std::ranges::max_element(c.values));
              json.member("values", c.values.size());
            });
      });
      for (const profile::ComparedRun& pair : compared_runs_)
        if (pair.new_run == run && !pair.instructions.empty()) json.key("against"), write_comparison(json, pair);
      if (const profile::CodeSource* source = page_profile_.source_of_run(run))
        write_source(json, *source, addresses);
      json.member("derived", profile::derived_counters(page_profile_, run));
      write_stalls(json, stalls, times);
      if (auto occupancy = profile::occupancy_over_time(page_profile_, run))
        json.key("occupancy"), profile::write_occupancy(json, *occupancy);
      const profile::KernelFigures figures = profile::figures_of_run(page_profile_, run, listing);
      json.member("lanes", figures.max_active_lanes).member("wave_lanes", figures.num_wave_lanes);
      json.member("mean_lanes", figures.active_lanes).member("active_lanes", mean_active_lanes(run, times));
      json.key("memory"),
          profile::write_memory_levels(json, profile::memory_levels(page_profile_, run, stalls, figures));
      json.key("hints").array([&] {
        for (const profile::SpeedHint& h : profile::speed_hints(page_profile_, run, listing, stalls))
          json.value(h.text());
      });
      std::vector<std::string> found = page_profile_.trace.damage_notes;
      std::ranges::move(profile::check_traces(page_profile_, run, listing), std::back_inserter(found));
      json.member("damage", found);
    });
  }

  // Returns the mean number of active lanes of each instruction (0: not executed); an empty list if EXEC is not known.
  std::vector<double> mean_active_lanes(size_t run, const std::vector<profile::InstructionTimes>& times) const {
    std::vector<double> out;
    const auto active = page_profile_.active_lanes_of_run(run);
    for (size_t n = 0; n < active.size(); n++)
      out.push_back(times[n].num_executions ? double(active[n]) / double(times[n].num_executions) : 0);
    return out;
  }

  // Writes the times and stalls of both runs and, for each instruction, its number in the new code, its text, and its
  // cycles per wave in the old and the new run; null if a run lacks it.
  void write_comparison(JsonWriter& json, const profile::ComparedRun& pair) const {
    const KernelRun& old_run = older_profile_->trace.runs[pair.old_run];
    json.object([&] {
      json.member("name", old_run.name).member("old_seconds", old_run.seconds);
      json.member("new_seconds", page_profile_.trace.runs[pair.new_run].seconds);
      json.member("old_cycles", pair.old_cycles).member("new_cycles", pair.new_cycles);
      json.member("old_reasons", pair.old_reason_cycles).member("new_reasons", pair.new_reason_cycles);
      json.key("rows").array([&] {
        for (const profile::ComparedInstruction& x : pair.instructions)
          json.array([&] {
            auto cycles = [](const auto& side) { return side ? std::optional(side->cycles_per_wave) : std::nullopt; };
            json.value(x.new_side ? std::optional(x.new_side->number) : std::nullopt).value(x.newest_side().assembly);
            json.value(cycles(x.old_side)).value(cycles(x.new_side));
          });
      });
    });
  }

  // Writes the time of each reason and, for each instruction, the main reason of its stalls (-1: it hardly stalls), the
  // cycles that others wait for it, and the numbers and cycles of the instructions that it waits for.
  static void write_stalls(JsonWriter& json, const profile::StallReport& stalls,
                           const std::vector<profile::InstructionTimes>& times) {
    json.member("modeled", stalls.is_modeled);
    json.key("reasons").array([&] {
      for (size_t r = 0; r < profile::kNumStallReasons; r++)
        json.array([&] {
          json.value(profile::stall_reason_name(profile::StallReason(r)));
          json.value(stalls.times_by_reason[r].cycles).value(stalls.times_by_reason[r].idle_cycles);
        });
    });
    json.key("stalls").array([&] {
      for (size_t n = 0; n < stalls.instructions.size(); n++)
        json.array([&] {
          const profile::InstructionStalls& s = stalls.instructions[n];
          uint64_t cycles = 0;
          for (const profile::StallTime& t : s.times_by_reason) cycles += t.cycles;
          json.value(cycles > times[n].num_executions ? int(profile::StallReport::main_stall_reason(s)) : -1);
          json.value(s.waits_for_result.cycles);
          for (auto& [n, time] : s.waits_by_instruction) json.value(n).value(time.cycles);
        });
    });
  }

  // Writes the source, the nodes of each line and, for each instruction, its line (0: unknown) and whether it is exact;
  // or why there is no source.
  static void write_source(JsonWriter& json, const profile::CodeSource& source, std::span<const uint64_t> addresses) {
    json.key("source").object([&] {
      if (!source.missing_reason.empty()) return (void)json.member("problem", source.missing_reason);
      json.member("input", source.input).member("target", source.target).member("lines", source.lines);
      json.member("differs", source.difference_text);
      json.key("exact").array([&] {
        for (uint64_t address : addresses) json.value(int(source.is_exact_at_address(address)));
      });
      json.key("nodes").array([&] {
        for (uint32_t line = 1; line <= source.lines.size(); line++) json.value(nodes_text(source.nodes_of_line(line)));
      });
      json.key("line_of").array([&] {
        for (uint64_t address : addresses) json.value(source.line_at_address(address));
      });
    });
  }

  const Profile& page_profile_;
  const Profile* older_profile_;
  std::vector<profile::ComparedRun> compared_runs_;
  AssemblyListings assembly_listings_;
  size_t num_runs_ = 0, num_tracks_ = 0;
};

}  // namespace

std::string make_profile_page(std::string_view page_code, const Profile& p, const std::string& title, unsigned num_jobs,
                              const Profile* older) {
  ProfilePageWriter writer(p, older);
  std::vector<PageDocument> documents{{"index", {writer.index_json(title)}}};
  for (PageDocument& d : writer.documents) documents.push_back(std::move(d));
  std::ranges::stable_sort(documents, {}, &PageDocument::load_rank);
  std::vector<std::string> letters(documents.size());
  auto pack = [&](size_t n) {
    for (std::string& part : documents[n].json_parts)
      letters[n] += (letters[n].empty() ? "" : " ") + encode_bytes(compress_text(part, n > 0)), part.clear();
  };
  parallel_for(documents.size(), num_jobs, pack).value_or_throw();
  const size_t mark = page_code.find(kDataPlaceholder), end = page_code.rfind("</body>");
  if (mark == page_code.npos || end == page_code.npos || end < mark) return std::string(page_code);
  std::string out(page_code.substr(0, mark));
  size_t n = 0;
  for (const size_t begin = out.size(); n < documents.size() && out.size() - begin < kBeforeScript; n++)
    out += html_data_element(documents[n].id, letters[n]);
  out += page_code.substr(mark + kDataPlaceholder.size(), end - mark - kDataPlaceholder.size());
  for (; n < documents.size(); n++) out += html_data_element(documents[n].id, letters[n]);
  return out += page_code.substr(end);
}

bool is_profile_input(const std::string& input) {
  std::string head = read_first_bytes(InputName::parse(input).file, 100);
  return profile::looks_like_pickle(head) && !is_start_of_rewrites(head);
}

Result<std::string> read_profile_page(std::string_view page_code, const Session& session, const std::string& input,
                                      const std::string& with) {
  return catch_failures([&] {
    auto read = [](const InputName& name) {
      auto trace = profile::read_trace(name.file);
      auto p = profile::analyze_profile(std::move(trace.value_or_throw()), {.kernel = name.id});
      return std::move(p.value_or_throw());
    };
    const bool is_comparison = !with.empty() && is_profile_input(with);
    InputName name = InputName::parse(is_comparison ? with : input);
    std::optional<Profile> older;
    if (is_comparison) older = read(InputName::parse(input));
    std::optional<Profile> p = read(name);
    p->kernel_works = profile::find_kernel_works(session, p->trace);
    const std::string source = is_comparison ? "" : with;
    if (!source.empty() || !name.id.empty())
      p->sources = std::move(profile::find_sources(session, source, *p).value_or_throw());
    return make_profile_page(page_code, *p, name.display_name(), 0, older ? &*older : nullptr);
  });
}

}  // namespace tgc
