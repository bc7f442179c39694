#include "lib/profile/profile_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "lib/profile/salvage.h"
#include "lib/records/input_file.h"
#include "lib/records/rewrite_trace.h"
#include "lib/support/counted.h"
#include "lib/support/limits.h"
#include "lib/support/open_input.h"
#include "lib/support/pytext.h"

namespace tgc::profile {
namespace {

constexpr std::string_view kExpected = "profile.pkl, as tinygrad 0.12.0 or later stores it";
constexpr uint64_t kMaxCounterValues = uint64_t(1) << 24;

[[noreturn]] void throw_bad_profile(const std::string& what) {
  throw Failure(Diag{.message = "a profile: " + what, .expected = std::string(kExpected)});
}

double decimal_value(const PickleValue& v) {
  if (auto n = v.float_value()) return *n;
  if (v.class_name() == "Decimal" && v.size() == 1) {
    if (auto n = parse_number<double>(v[0].text())) return *n;
  }
  throw_bad_profile("a time is no number");
}

class EventFields {
 public:
  EventFields(PickleValue event) : event_(event) {}
  std::optional<PickleValue> find(std::string_view name) const {
    auto v = event_.find(name);
    return v && !v->is_none() ? v : std::nullopt;
  }
  PickleValue required_field(std::string_view name) const {
    auto v = event_.find(name);
    if (!v) throw_bad_profile(std::string(event_.class_name()) + " without '" + std::string(name) + "'");
    return *v;
  }
  std::string_view text(std::string_view name) const {
    PickleValue v = required_field(name);
    if (v.kind() != Pickle::Text) throw_wrong_kind(name, "text");
    return v.text();
  }
  std::string_view bytes(std::string_view name) const {
    PickleValue v = required_field(name);
    if (v.kind() != Pickle::Bytes) throw_wrong_kind(name, "bytes");
    return v.text();
  }
  int64_t number(std::string_view name) const {
    auto n = required_field(name).int_value();
    if (!n) throw_wrong_kind(name, "number");
    return *n;
  }

 private:
  [[noreturn]] void throw_wrong_kind(std::string_view name, std::string_view kind) const {
    throw_bad_profile(std::string(event_.class_name()) + "'s '" + std::string(name) + "' is no " + std::string(kind));
  }
  PickleValue event_;
};

// Returns "gfx1100" for 110000, which has two digits each for the minor version and the stepping.
std::string arch_of_version(int64_t version) {
  if (version <= 0 || version > 999999) return "";
  constexpr char kHex[] = "0123456789abcdef";
  auto digit = [&](int64_t n) { return n < 16 ? std::string(1, kHex[n]) : std::to_string(n); };
  return "gfx" + std::to_string(version / 10000) + digit(version / 100 % 100) + digit(version % 100);
}

class TraceReader {
 public:
  explicit TraceReader(ProfileTrace& to) : trace_(to) {}

  void read(const PickleValue& list) {
    if (list.class_name() == "RewriteTrace")
      throw Failure(Diag{.message = "this is a rewrites.pkl, which has no events",
                         .expected = "profile.pkl; --with takes a rewrites.pkl, tgc view and records show it"});
    if (list.kind() != Pickle::List) throw_bad_profile("it holds something else than a list of events");
    // programs and devices first, because events refer to later ones, too
    for (size_t i = 0; i < list.size(); i++)
      count_if_unreadable([&] {
        std::string_view type = list[i].class_name();
        if (type == "ProfileProgramEvent") add_program(list[i]), num_read_events_++;
        else if (type == "ProfileDeviceEvent") add_device(list[i]), num_read_events_++;
        else if (type.empty()) throw_bad_profile("an item of the list is no event");
      });
    for (size_t i = 0; i < list.size(); i++)
      if (!list[i].class_name().empty()) count_if_unreadable([&] { add_event(list[i]), num_read_events_++; });
    if (num_lost_events_ && !num_read_events_) throw Failure(*first_event_error_);
    if (num_lost_events_)
      trace_.damage_notes.push_back(count_text(num_lost_events_, "event") +
                                    " cannot be read: " + first_event_error_->message);
    set_run_times();
    guess_release();
  }

 private:
  // Calls read(), and counts an event as lost if this fails. Throws Failure beyond the memory limit.
  template <class Read>
  void count_if_unreadable(Read&& read) {
    auto status = catch_failures([&] { return read(), Unit{}; });
    if (status) return;
    budget_.spend_bytes(0);
    if (num_lost_events_++ == 0) first_event_error_ = status.diag();
  }
  // A kernel's n-th run has the time of the n-th range with its name on its device.
  void set_run_times() {
    std::map<std::pair<std::string_view, std::string_view>, std::vector<double>> times;
    for (const RangeEvent& e : trace_.range_events) times[{e.device, e.name}].push_back((e.end - e.begin) * 1e-6);
    std::map<std::pair<std::string_view, std::string_view>, size_t> runs;
    for (KernelRun& run : trace_.runs) {
      std::pair<std::string_view, std::string_view> key{run.device, run.kernel};
      size_t n = runs[key]++;
      auto found = times.find(key);
      if (found != times.end() && n < found->second.size()) run.seconds = found->second[n];
    }
  }
  // Counts the fields of a record's state, too, because several events may share it.
  void spend_record(const PickleValue& v) {
    auto state = v.state();
    budget_.spend_bytes(kRecordBytes + kItemBytes * (v.size() + (state ? num_state_fields(*state) : 0)));
  }
  static size_t num_state_fields(const PickleValue& state) {
    size_t entries = state.size();
    if (state.kind() == Pickle::Tuple && entries == 2) entries += state[1].size();  // a class with slots
    return entries;
  }
  void add_event(const PickleValue& event) {
    spend_record(event);
    std::string_view type = event.class_name();
    if (type == "ProfileSQTTEvent") add_sqtt(event);
    else if (type == "ProfilePMCEvent") add_counters(event);
    else if (type == "ProfilePMAEvent") add_pma(event);
    else if (type == "ProfileRangeEvent") add_range(event);
    else if (type == "ProfilePointEvent") add_point(event);
    else if (type == "ProfileGraphEvent") add_graph(event);
    else if (type != "ProfileProgramEvent" && type != "ProfileDeviceEvent")
      throw_bad_profile("the event " + std::string(type) + " is unknown");
  }
  void add_program(const PickleValue& event) {
    EventFields f(event);
    auto p = std::make_unique<GpuProgram>();
    p->device = f.text("device"), p->name = f.text("name");
    if (auto lib = f.find("lib"); lib && lib->kind() == Pickle::Bytes) p->elf_bytes = lib->text();
    if (auto base = f.find("base")) p->code_base_address = base->unsigned_number().value_or(0);
    if (auto tag = f.find("tag")) p->program_tag = tag->int_value();
    has_tag_ |= event.find("tag").has_value();
    has_key_ |= event.find("profile_key").has_value();
    if (p->program_tag) program_by_tag_[*p->program_tag] = p.get();
    program_by_name_.emplace(p->name, p.get());
    trace_.programs.push_back(std::move(p));
  }
  void add_device(const PickleValue& event) {
    EventFields f(event);
    std::string device(f.text("device"));
    auto offset = f.find("tdiff");
    if (!offset) offset = f.find("comp_tdiff");
    if (offset) clock_offsets_[device] = decimal_value(*offset);
    has_tdiff_ |= event.find("tdiff").has_value();
    auto props = f.find("props");
    if (!props) return;
    if (auto emulator = props->find("emulator"); emulator && emulator->kind() == Pickle::Text)
      trace_.emulator = emulator->text();
    if (auto version = props->find("gfx_target_version"); version && version->int_value())
      trace_.archs[device] = arch_of_version(*version->int_value());
    if (auto version = props->find("sm_version"); version && version->int_value())
      sm_versions_[device] = *version->int_value();
  }

  // The fields `kern` and `exec_tag` of an SQTT or PMC event identify the run.
  size_t find_or_add_run(const PickleValue& event) {
    EventFields f(event);
    PickleValue kern = f.required_field("kern");
    std::string kernel_key, name;
    const GpuProgram* program = nullptr;
    if (auto tag = kern.int_value()) {
      kernel_key = std::to_string(*tag), name = kernel_key;
      if (auto found = program_by_tag_.find(*tag); found != program_by_tag_.end()) program = found->second;
    } else if (kern.kind() == Pickle::Text) {
      name = kern.text(), kernel_key = "'" + name;
      if (auto found = program_by_name_.find(kern.text()); found != program_by_name_.end()) program = found->second;
    } else {
      throw_bad_profile("a kernel is no number and no name");
    }
    if (program) name = program->name;
    budget_.spend_bytes(name.size());
    auto exec_tag = f.find("exec_tag");
    std::string tag = exec_tag && exec_tag->int_value() ? std::to_string(*exec_tag->int_value()) : "";
    const std::string_view device = f.text("device");  // may fail, so before the run is added
    auto [run, is_new] = runs_.emplace(std::pair(kernel_key, tag), trace_.runs.size());
    if (!is_new) return run->second;
    size_t number = ++run_numbers_[kernel_key];
    KernelRun made{.kernel = ansistrip(name), .device = device, .program = program};
    made.name = made.kernel + (number > 1 ? " n" + std::to_string(number) : "");
    if (auto arch = trace_.archs.find(made.device); arch != trace_.archs.end()) made.arch = arch->second;
    trace_.runs.push_back(std::move(made));
    return run->second;
  }
  void add_sqtt(const PickleValue& event) {
    EventFields f(event);
    SqttEvent e{.run_index = find_or_add_run(event),
                .se = f.number("se"),
                .has_instruction_packets = f.required_field("itrace").is_true()};
    e.blob = f.bytes("blob");
    budget_.spend_bytes(e.blob.size());
    if (f.find("active_lanes")) {
      std::string_view sums = f.bytes("active_lanes");
      budget_.spend_bytes(sums.size());
      e.active_lanes.resize(sums.size() / 8);
      if (!sums.empty()) std::memcpy(e.active_lanes.data(), sums.data(), e.active_lanes.size() * 8);
    }
    trace_.runs[e.run_index].sqtt_events.push_back(trace_.sqtt_events.size());
    trace_.sqtt_events.push_back(std::move(e));
  }
  void add_counters(const PickleValue& event) {
    EventFields f(event);
    size_t run_index = find_or_add_run(event);
    PickleValue sched = f.required_field("sched");
    std::string_view blob = f.bytes("blob");
    size_t at = 0;
    for (size_t i = 0; i < sched.size(); i++) {
      spend_record(sched[i]);
      EventFields s(sched[i]);
      CounterSample c{.run_index = run_index, .name = s.text("name"), .xcc = s.number("xcc"), .inst = s.number("inst"),
                      .se = s.number("se"), .sa = s.number("sa"), .wgp = s.number("wgp")};
      if (auto block = s.find("block")) c.block = block->text();
      uint64_t values = 1;
      for (int64_t n : {c.xcc, c.inst, c.se, c.sa, c.wgp}) {
        if (n < 0 || uint64_t(n) > kMaxCounterValues)
          throw_bad_profile("a counter has an impossible number of instances");
        values *= uint64_t(n);
        if (values > kMaxCounterValues) throw_bad_profile("a counter has an impossible number of instances");
      }
      if (values > (blob.size() - at) / 8) throw_bad_profile("the counters' values end early");
      budget_.spend_bytes(values * 8);
      c.values.resize(values);
      if (values) std::memcpy(c.values.data(), blob.data() + at, values * 8);
      at += values * 8;
      trace_.counter_samples.push_back(std::move(c));
    }
  }
  void add_pma(const PickleValue& event) {
    EventFields f(event);
    PmaEvent e{.device = f.text("device"), .blob = f.bytes("blob"), .sm_version = 0x800};
    budget_.spend_bytes(e.blob.size());
    PickleValue kern = f.required_field("kern");
    if (auto tag = kern.int_value()) {
      auto found = program_by_tag_.find(*tag);
      e.kernel = found == program_by_tag_.end() ? std::to_string(*tag) : std::string(found->second->name);
    } else {
      e.kernel = kern.text();
    }
    budget_.spend_bytes(e.kernel.size());
    if (auto found = sm_versions_.find(e.device); found != sm_versions_.end()) e.sm_version = found->second;
    trace_.pma_events.push_back(std::move(e));
  }

  double clock_offset_of(std::string_view device) const {
    auto found = clock_offsets_.find(device);
    return found == clock_offsets_.end() ? 0 : found->second;
  }
  static std::string range_name(const PickleValue& v) {
    if (v.kind() == Pickle::Text) return ansistrip(v.text());
    auto display = v.find("display_name");
    return display ? ansistrip(display->text()) : "?";
  }
  void add_range(const PickleValue& event) {
    EventFields f(event);
    PickleValue name = f.required_field("name");
    RangeEvent e{.device = f.text("device"), .name = range_name(name)};
    budget_.spend_bytes(e.name.size());
    double offset = clock_offset_of(e.device);
    e.begin = decimal_value(f.required_field("st")) + offset;
    auto end = f.find("en");
    e.end = end ? decimal_value(*end) + offset : e.begin;
    if (auto ret = name.find("ret"); ret && ret->kind() == Pickle::Number) e.bytes = ret->float_value();
    // compilations have as keys the name of the kernel's function and the AST
    if (auto keys = name.find("keys"); keys && keys->size() > 1 && (*keys)[1].class_name() == "UOp")
      trace_.kernel_asts.emplace((*keys)[0].text(), (*keys)[1]);
    auto is_copy = f.find("is_copy");  // only in tinygrad 0.12.0
    bool is_queue = e.device.find(":SDMA") != e.device.npos || e.device.find(":COPY") != e.device.npos;
    e.is_copy = e.bytes || is_queue || (is_copy && is_copy->is_true());
    has_key_ |= event.find("profile_key").has_value();
    trace_.range_events.push_back(std::move(e));
  }
  void add_point(const PickleValue& event) {
    EventFields f(event);
    PointEvent e{f.text("device"), f.text("name"), decimal_value(f.required_field("ts")), f.required_field("key"),
                 f.required_field("arg")};
    // memory_use() stores a copy of the kernel's name for each buffer
    auto name = e.arg.find("name");
    const size_t use = kRecordBytes + (name ? name->text().size() : 0);
    budget_.spend_bytes(kItemBytes * e.arg.size());
    for (std::string_view list : {"bufs", "inputs", "outputs"})
      if (auto numbers = e.arg.find(list); numbers && numbers->size()) spend_product(numbers->size(), use);
    trace_.point_events.push_back(e);
  }
  void spend_product(size_t count, size_t bytes) {
    if (bytes > SIZE_MAX / count) throw Failure(limit_error(Limit::InputBytes));
    budget_.spend_bytes(count * bytes);
  }
  void add_graph(const PickleValue& event) {
    EventFields f(event);
    PickleValue entries = f.required_field("ents"), signals = f.required_field("sigs");
    for (size_t i = 0; i < entries.size(); i++) {
      spend_record(entries[i]);
      EventFields entry(entries[i]);
      RangeEvent e{.device = entry.text("device"), .name = range_name(entry.required_field("name")), .is_graph = true};
      budget_.spend_bytes(e.name.size());
      auto time = [&](std::string_view which) {
        int64_t n = entry.number(which);
        if (n < 0 || uint64_t(n) >= signals.size()) throw_bad_profile("a kernel of a graph has no time");
        return decimal_value(signals[size_t(n)]) + clock_offset_of(e.device);
      };
      e.begin = time("st_id"), e.end = time("en_id");
      trace_.range_events.push_back(std::move(e));
    }
  }
  void guess_release() {
    trace_.release = has_key_ ? "0.14.0" : has_tag_ || has_tdiff_ ? "0.13.0" : "0.12.0";
  }

  static constexpr size_t kRecordBytes = 112;  // bytes that are counted for an event, a counter or the use of a buffer
  static constexpr size_t kItemBytes = 16;
  ProfileTrace& trace_;
  PickleBudget budget_;
  std::map<int64_t, const GpuProgram*> program_by_tag_;
  std::map<std::string_view, const GpuProgram*> program_by_name_;
  std::map<std::string, double, std::less<>> clock_offsets_;
  std::map<std::string, int64_t, std::less<>> sm_versions_;
  std::map<std::pair<std::string, std::string>, size_t> runs_;
  std::map<std::string, size_t> run_numbers_;
  size_t num_read_events_ = 0, num_lost_events_ = 0;
  std::optional<Diag> first_event_error_;
  bool has_tag_ = false, has_key_ = false, has_tdiff_ = false;
};

}  // namespace

// As read_file(), but faster for a large file that is not compressed.
static std::string read_profile_bytes(const std::string& path) {
  int file = path == "-" ? -1 : open_input_file(path);
  struct stat status{};
  char magic[2] = {};
  bool is_plain = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                  pread(file, magic, 2, 0) == 2 && std::string_view(magic, 2) != "\x1f\x8b";
  std::string out;
  if (is_plain) {
    check_limit(Limit::InputBytes, int64_t(status.st_size));
    out.resize(size_t(status.st_size));
    size_t at = 0;
    for (ssize_t n; at < out.size() && (n = read(file, out.data() + at, out.size() - at)) > 0;) at += size_t(n);
    out.resize(at);
  }
  if (file >= 0) close(file);
  return is_plain ? out : read_file(path).value_or_throw();
}

uint64_t CounterSample::sum_of_counter_values() const {
  return std::accumulate(values.begin(), values.end(), uint64_t(0));
}

bool looks_like_pickle(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x80' && uint8_t(bytes[1]) >= 2 && uint8_t(bytes[1]) <= 5;
}

Result<ProfileTrace> parse_trace(std::string bytes) {
  return catch_failures([&] {
    ProfileTrace out;
    out.pickle = std::make_unique<Pickle>(Pickle::read(std::move(bytes), is_tinygrad_name, kExpected).value_or_throw());
    TraceReader(out).read(out.pickle->root());
    return out;
  });
}

Result<ProfileTrace> parse_damaged_trace(std::string_view bytes, const Diag& why) {
  return catch_failures([&] {
    ProfileTrace out;
    auto salvaged = read_undamaged_items(bytes, is_tinygrad_name, why.message);
    if (!salvaged) throw Failure(why);
    out.damage_notes.push_back(std::move(salvaged->damage_text));
    out.pickle = std::make_unique<Pickle>(std::move(salvaged->pickle));
    TraceReader(out).read(out.pickle->root());
    return out;
  });
}

Result<ProfileTrace> read_trace(const std::string& path) {
  return catch_failures([&] {
    auto trace = parse_trace(read_profile_bytes(path));
    const bool is_too_large = !trace && trace.diag().message == limit_error(Limit::InputBytes).message;
    if (!trace && !is_too_large && path != "-") trace = parse_damaged_trace(read_profile_bytes(path), trace.diag());
    if (!trace) throw Failure([&] { Diag d = trace.diag(); return d.file = input_name(path), d; }());
    return std::move(*trace);
  });
}

}  // namespace tgc::profile
