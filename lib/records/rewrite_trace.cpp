#include "lib/records/rewrite_trace.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/records/pickled_nodes.h"
#include "lib/rewrite/apply_rewrites.h"
#include "lib/support/json_writer.h"
#include "lib/support/pytext.h"
#include "lib/support/visible.h"
#include "lib/text/graph_json.h"
#include "lib/text/print_uops.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr std::string_view kExpected = "rewrites.pkl, as tinygrad 0.12.0 to 0.14.0 stores it";

// Graph rewrites that are no stages, such as those that compute a fact of a graph.
constexpr std::string_view kQueries[] = {"simplify", "reshape", "pad", "shrink", "minimum_valid", "valid",
                                         "process UPat", "compile UPat", "contiguous_view_offset", "swap remove tags"};
// Functions that the trace lists like graph rewrites, with stages inside.
constexpr std::string_view kInner[] = {"get_kernel_graph", "run_rangeify"};
constexpr std::string_view kCaller = "schedule to linear";  // its rules call the functions of kInner

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != std::end(list);
}

[[noreturn]] void throw_trace_error(const std::string& what) {
  throw Failure(Diag{.message = what, .expected = std::string(kExpected)});
}

// A graph rewrite of the trace.
struct TracedRewrite {
  std::string name, place;  // `place` of the call: "codegen/__init__.py:344"
  int64_t sink = 0, depth = 0;
  bool is_bottom_up = false;
  PickleValue matches;
};

PickleValue field(PickleValue object, std::string_view name) {
  auto found = object.find(name);
  if (!found) throw_trace_error("a " + std::string(object.class_name()) + " without '" + std::string(name) + "'");
  return *found;
}

// Returns "uop/symbolic.py:113" for a pair of a file and a line.
std::string place_of_pair(PickleValue v) {
  if (v.size() < 2) return "?:0";
  std::string file(v[0].text());
  std::ranges::replace(file, '\\', '/');
  if (size_t at = file.rfind("/tinygrad/"); at != file.npos) file = file.substr(at + 10);
  return file + ":" + std::to_string(v[1].int_value().value_or(0));
}

// Returns a text as recordings have it: one line, with control characters made visible.
std::string one_line(std::string_view text) {
  std::string out = visible_colored_text(text);
  std::ranges::replace_if(out, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return out;
}
std::string read_name(PickleValue v) { return one_line(v.text()); }

TracedRewrite read_rewrite(PickleValue v) {
  TracedRewrite out{.place = place_of_pair(field(v, "loc")), .matches = field(v, "matches")};
  out.name = read_name(field(v, "name"));
  auto sink = field(v, "sink").int_value(), depth = field(v, "depth").int_value();
  if (!sink || !depth) throw_trace_error("a rewrite without a graph");
  out.sink = *sink, out.depth = *depth, out.is_bottom_up = field(v, "bottom_up").is_true();
  return out;
}

// A named graph rewrite of a group (of one kernel or schedule) that is nested in no graph rewrites but those of kCaller
// and kInner. `rewrites` has this graph rewrite and those nested in it that belong to no earlier stage.
struct TracedStage {
  const TracedRewrite* rewrite = nullptr;
  std::vector<const TracedRewrite*> rewrites;
};

// Returns the stages in the order in which they ended.
std::vector<TracedStage> stages_of(const std::vector<TracedRewrite>& group) {
  std::vector<TracedStage> out;
  struct OpenRewrite {
    const TracedRewrite* rewrite;
    bool is_stage;
    size_t first_pending;  // index of this rewrite in `pending`; those inside it follow
  };
  constexpr size_t kMaxNesting = 1000;
  std::vector<OpenRewrite> running;  // outermost first
  std::vector<const TracedRewrite*> pending;
  auto end = [&] {
    OpenRewrite r = running.back();
    running.pop_back();
    if (!r.is_stage) return;
    auto first_pending = pending.begin() + std::ptrdiff_t(r.first_pending);
    out.push_back({r.rewrite, {first_pending, pending.end()}});
    pending.erase(first_pending, pending.end());
  };
  for (const TracedRewrite& r : group) {
    if (r.depth < group[0].depth) break;  // a rewrite of the group's caller
    while (!running.empty() && running.back().rewrite->depth >= r.depth) end();
    if (running.size() >= kMaxNesting) throw_trace_error("the rewrites nest too deep");
    bool is_outermost = std::ranges::all_of(
        running, [](auto& outer) { return outer.rewrite->name == kCaller || contains(kInner, outer.rewrite->name); });
    bool is_named = !r.name.empty() && r.name != "graph_rewrite" && !r.name.starts_with("View") &&
                    !contains(kQueries, r.name) && !contains(kInner, r.name);
    running.push_back({&r, is_outermost && is_named, pending.size()});
    pending.push_back(&r);
  }
  while (!running.empty()) end();
  return out;
}

constexpr std::pair<std::string_view, std::string_view> kRenderers[] = {
    {"ClangRenderer", "CLANG"}, {"ClangJITRenderer", "CLANG"}, {"LLVMRenderer", "LLVM"}, {"CPULLVMRenderer", "LLVM"},
    {"X86Renderer", "X86"}, {"CUDARenderer", "CUDA"}, {"NVRenderer", "CUDA"}, {"PTXRenderer", "PTX"},
    {"MetalRenderer", "METAL"}, {"OpenCLRenderer", "CL"}, {"QCOMRenderer", "CL"}, {"QCOMCLRenderer", "CL"},
    {"IntelRenderer", "INTEL"}, {"AMDHIPRenderer", "HIP"}, {"AMDHIPCCRenderer", "HIP"}, {"HIPRenderer", "HIP"},
    {"AMDLLVMRenderer", "LLVM"}, {"WGSLRenderer", "WGSL"},
};

// Returns DEVICE[:RENDERER][:ARCH], as far as known; no ARCH for CPU. `ret`: a ProgramSpec or, since 0.13, a renderer.
std::string target_of(PickleValue ret, std::string_view source) {
  std::string device, renderer, arch;
  if (ret.class_name() == "ProgramSpec") {
    device = read_name(field(ret, "device"));
    if (device.starts_with("CPU")) renderer = source.starts_with("define ") || source.find("\ndefine ") != source.npos
                                                   ? "LLVM" : "CLANG";
    if (device.starts_with("AMD")) renderer = source.find("define amdgpu_kernel") != source.npos ? "LLVM" : "HIP";
  } else {
    for (auto& [type, name] : kRenderers)
      if (ret.class_name() == type) renderer = name;
    for (size_t n = 0; n < ret.size(); n++)
      if (ret[n].class_name() == "Target")
        device = read_name(field(ret[n], "device")), arch = read_name(field(ret[n], "arch"));
  }
  std::string out = device.substr(0, device.find(':'));
  if (!renderer.empty()) out += ":" + renderer;
  return arch.empty() || out.starts_with("CPU") ? out : out + ":" + arch;
}

// Returns a kernel's function name as tinygrad makes it: without color codes; characters other than letters, digits and
// '_' become hexadecimal.
std::string function_name(std::string_view name) {
  std::string out;
  for (char c : ansistrip(name)) {
    bool is_word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    constexpr char kDigits[] = "0123456789ABCDEF";
    if (is_word) out += c;
    else out += {kDigits[uint8_t(c) >> 4], kDigits[uint8_t(c) & 15]};
  }
  return out;
}

Arg field_of(Arg record, std::string_view name) {
  if (record.kind() != Arg::Kind::Record) return {};
  RecordView fields(record);
  for (size_t i = 0; i < fields.size(); i++)
    if (fields.field(i) == name) return fields.values()[i];
  return {};
}

using Numbers = std::vector<int64_t>;
std::optional<Numbers> numbers_of(PickleValue list) {
  Numbers out;
  for (size_t n = 0; n < list.size(); n++)
    if (auto number = list[n].int_value()) out.push_back(*number);
  return out.size() == list.size() && !list.is_none() ? std::optional(out) : std::nullopt;
}
std::optional<Numbers> numbers_of(Arg list) {
  Numbers out;
  if (!list.is_tuple()) return {};
  for (Arg a : list.items())
    if (a.kind() == Arg::Kind::Int) out.push_back(a.small_int());
  return out.size() == list.items().size() ? std::optional(out) : std::nullopt;
}

class GroupRecordMaker {
 public:
  GroupRecordMaker(const PickleDialect& dialect, const PickledFields& fields, const std::string& file)
      : node_writer_(dialect, &fields), node_reader_(graph_, file) {
    graph_.set_release(dialect.release);
    if (dialect.release != Release::v0_12) graph_info_.producer = dialect.producer;
  }

  // Returns the record's JSON; "" if the group has no stage.
  std::string make_record(PickleValue key, const std::vector<TracedRewrite>& group, const std::string& id) {
    std::vector<TracedStage> stages = stages_of(group);
    if (stages.empty()) return "";
    PickleValue ret = field(key, "ret");
    bool is_kernel = !ret.is_none();
    UOp ast = node_of_number(group[0].sink), last = ast;
    std::string out;
    JsonWriter json(out);
    json.object([&] {
      json.member("id", id);
      if (is_kernel) write_program(json, ret, group);
      else json.member("what", field(key, "display_name").text()).member("device", "");
      json.member("nodes", toposort(ast).size()).member("ast", graph_to_json(ast, graph_info_));
      json.key("stages").array([&] {
        for (const TracedStage& s : stages) {
          UOp result = result_of(*s.rewrite);
          json.object([&] {
            json.member("name", s.rewrite->name).key("at").array([&] { json.value(s.rewrite->place); });
            if (result == last) json.member("same", true);
            else json.member("ir", graph_to_json(result, graph_info_));
          });
          last = result;
        }
      });
      write_matches(json, stages);
      if (!is_kernel) json.key("kernels").array([] {});
    });
    return out;
  }

 private:
  UOp node_on_line(size_t number) {
    while (node_reader_.size() <= number)
      node_reader_.read_line(node_writer_.lines()[node_reader_.size()], uint32_t(node_reader_.size() + 1));
    return node_reader_.node_of_line(number);
  }
  UOp node_of_number(int64_t number) { return node_on_line(node_writer_.add_numbered_node(number)); }
  UOp node_of_object(PickleValue v) { return node_on_line(node_writer_.add_node(v)); }

  UOp result_of(const TracedRewrite& r) {
    std::unordered_map<UOp, UOp> became;
    for (size_t n = 0; n < r.matches.size(); n++)
      if (auto [before, after] = matched_nodes(r.matches[n]); before && after)
        became[node_of_number(*before)] = node_of_number(*after);
    UOp out = apply_rewrites(node_of_number(r.sink), became, r.is_bottom_up);
    if (!out) throw_trace_error("the rewrites of '" + r.name + "' nest too deep");
    return out;
  }
  static std::pair<std::optional<int64_t>, std::optional<int64_t>> matched_nodes(PickleValue v) {
    if (v.size() < 3) throw_trace_error("a match without nodes");
    return {v[0].int_value(), v[1].int_value()};
  }

  void write_matches(JsonWriter& json, const std::vector<TracedStage>& stages) {
    JsonNodeWriter writer(graph_);
    std::string lines, list;
    for (size_t stage = 0; stage < stages.size(); stage++)
      for (const TracedRewrite* r : stages[stage].rewrites)
        for (size_t n = 0; n < r->matches.size(); n++) {
          auto [before, after] = matched_nodes(r->matches[n]);
          if (!before || !after) continue;
          std::string place;
          append_json_string(place, place_of_pair(r->matches[n][2]));
          int64_t from = writer.append_lines(node_of_number(*before), lines),
                  to = writer.append_lines(node_of_number(*after), lines);
          list += (list.empty() ? "[" : ",[") + std::to_string(stage) + "," + place + "," + std::to_string(from) + "," +
                  std::to_string(to) + "," + std::to_string(r->depth - stages[stage].rewrite->depth) + "]";
        }
    if (list.empty()) return;
    std::string separated;
    for (size_t from = 0; from < lines.size();) {
      size_t end = std::min(lines.find('\n', from), lines.size());
      separated.append(separated.empty() ? "" : ",").append(lines, from, end - from);
      from = end + 1;
    }
    json.key("rewrites").raw_json(R"({"nodes":[)" + separated + R"(],"list":[)" + list + "]}");
  }

  void write_program(JsonWriter& json, PickleValue ret, const std::vector<TracedRewrite>& group) {
    std::string source, name;
    std::vector<UOp> list;
    Arg info, kernel;
    if (ret.class_name() == "ProgramSpec") {
      source = field(ret, "src").text(), name = read_name(field(ret, "name"));
      if (auto uops = ret.find("uops"))
        for (size_t n = 0; n < uops->size(); n++) list.push_back(node_of_object((*uops)[n]));
      if (!list.empty()) kernel = list.back().arg();
    } else if (UOp program = last_program(group)) {
      info = program.arg();
      if (Arg text = field_of(info, "name"); text.is_str()) name = one_line(text.text());
      for (UOp s : program.src()) {
        if (s.is(Op::SINK)) kernel = s.arg();
        if (s.is(Op::SOURCE) && s.arg().is_str()) source = s.arg().text();
        if (s.is(Op::LINEAR)) list.assign(s.src().begin(), s.src().end());
      }
    }
    json.member("target", target_of(ret, source));
    if (!source.empty()) json.member("source", source);
    if (!list.empty())
      if (auto text = catch_failures([&] { return print_uops(list); })) json.member("linear", *text);
    if (name.empty()) return;
    auto numbers = [&](std::string_view key) -> std::optional<Numbers> {
      if (!info.is_none()) return numbers_of(field_of(info, key));
      auto value = ret.find(key);
      return value ? numbers_of(*value) : std::nullopt;
    };
    Arg estimates = field_of(kernel, "estimates"), opts = field_of(kernel, "applied_opts");
    json.key("program").object([&] {
      json.member("name", name).member("function_name", function_name(name));
      // a global size that depends on variables is left out
      if (auto size = numbers("global_size")) json.member("global_size", *size);
      json.member("local_size", numbers("local_size"));
      for (std::string_view key : {"globals", "outs", "ins"}) json.member(key, numbers(key).value_or(Numbers()));
      json.member("applied_opts", opts.is_none() ? "()" : opts.str());
      for (std::string_view key : {"ops", "lds", "mem"}) {
        Arg value = field_of(estimates, key);
        json.member(key, value.is_none() ? "" : value.str());
      }
    });
  }

  // Returns the last PROGRAM with source that a graph rewrite of the group began with or made; the empty UOp if there
  // is none.
  UOp last_program(const std::vector<TracedRewrite>& group) {
    auto has_source = [](UOp u) {
      return u.is(Op::PROGRAM) && std::ranges::any_of(u.src(), [](UOp s) { return s.is(Op::SOURCE); });
    };
    for (size_t n = group.size(); n-- > 0;) {
      UOp sink = node_of_number(group[n].sink);
      if (!sink.is(Op::PROGRAM) && !sink.is(Op::SINK)) continue;
      if (UOp result = result_of(group[n]); has_source(result)) return result;
      if (has_source(sink)) return sink;
    }
    return {};
  }

  Graph graph_;
  PickledNodeWriter node_writer_;
  JsonNodeReader node_reader_;
  GraphInfo graph_info_;
};

}  // namespace

bool is_start_of_rewrites(std::string_view head) {
  return head.starts_with('\x80') && head.substr(0, 100).find("RewriteTrace") != head.npos;
}

bool is_tinygrad_name(std::string_view module, std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"decimal", "Decimal"}, {"builtins", "set"}, {"builtins", "frozenset"}, {"builtins", "complex"},
      {"builtins", "bytearray"}, {"collections", "OrderedDict"}, {"collections", "defaultdict"},
      {"pathlib", "PosixPath"}, {"fractions", "Fraction"},
  };
  if (module == "tinygrad" || module.starts_with("tinygrad.")) return true;
  return std::ranges::find(kOthers, std::pair(module, name)) != std::end(kOthers);
}

struct RewriteTrace::State {
  std::string file;
  Pickle pickle;
  PickledFields fields = {};
  const PickleDialect* dialect = nullptr;
  size_t next_group = 0;
  bool was_header_returned = false, was_record_returned = false;
  std::set<uint32_t> seen_list_ids = {};  // ids of the lists of graph rewrites of earlier groups
  std::map<std::string, int> num_uses_by_id = {};
  std::optional<Diag> last_problem = {};
  PickleBudget budget = {};
  static constexpr size_t kMatchBytes = 8;

  PickleValue trace_field(std::string_view name) const { return field(pickle.root(), name); }

  std::string make_record(size_t n) {
    PickleValue key = trace_field("keys")[n], rewrites = trace_field("rewrites")[n];
    if (!seen_list_ids.insert(rewrites.id()).second) throw_trace_error("two groups of rewrites are the same list");
    std::vector<TracedRewrite> all;
    for (size_t i = 0; i < rewrites.size(); i++) {
      const TracedRewrite& r = all.emplace_back(read_rewrite(rewrites[i]));
      // counts a list of matches for each rewrite, because rewrites may share a list; a match that is not shared takes
      // more in the file
      budget.spend_bytes(r.name.size() + r.place.size() + kMatchBytes * r.matches.size());
    }
    if (all.empty()) return "";
    std::string id = field(key, "ret").is_none() ? "tensor" : function_name(field(key, "display_name").text());
    int use = num_uses_by_id[id]++;
    if (use || id == "tensor") id += "." + std::to_string(use);
    return GroupRecordMaker(*dialect, fields, file).make_record(key, all, id);
  }

  std::string next_record_line() {
    if (!std::exchange(was_header_returned, true)) {
      std::string header = R"({"format":"tgc-golden","version":1,"level":"kernel","producer":")";
      return header.append(dialect->producer) + R"(","settings":{}})" + "\n";
    }
    while (next_group < std::min(trace_field("keys").size(), trace_field("rewrites").size())) {
      auto record = catch_failures([&] { return make_record(next_group++); });
      if (!record) last_problem = record.diag();
      else if (!record->empty()) return was_record_returned = true, *record + "\n";
    }
    if (was_record_returned) return "";
    throw Failure(last_problem ? *last_problem
                               : Diag{.message = "no rewrite was tracked", .expected = "a trace of VIZ=1"});
  }
};

RewriteTrace::RewriteTrace(std::unique_ptr<State> state) : state_(std::move(state)) {}
RewriteTrace::~RewriteTrace() = default;

namespace {

// Returns work(), or its error with the file's name added.
template <class Work>
auto with_file_name(const std::string& file, Work&& work) {
  auto out = catch_failures(std::forward<Work>(work));
  if (out) return out;
  Diag diag = out.diag();
  if (diag.file.empty()) diag.file = file;
  return decltype(out)(diag);
}

}  // namespace

Result<std::unique_ptr<RewriteTrace>> RewriteTrace::read(std::string bytes, const std::string& file) {
  return with_file_name(file, [&] {
    auto s = std::make_unique<State>(
        State{file, std::move(Pickle::read(std::move(bytes), is_tinygrad_name, kExpected).value_or_throw())});
    PickleValue table = s->trace_field("uop_fields");
    std::vector<PickleValue> nodes;
    for (size_t i = 0; i + 1 < table.size(); i += 2)
      if (auto number = table[i].int_value()) s->fields.emplace(*number, table[i + 1]), nodes.push_back(table[i + 1]);
    s->dialect = &find_fitting_dialect(nodes);
    return std::unique_ptr<RewriteTrace>(new RewriteTrace(std::move(s)));
  });
}

Result<std::string> RewriteTrace::next_line() {
  return with_file_name(state_->file, [&] { return state_->next_record_line(); });
}

}  // namespace tgc
