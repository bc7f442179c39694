#include "lib/compare/process_replay.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <thread>
#include <tuple>

#include "lib/compilation/recorded_rewrites.h"
#include "lib/diff/run_diff.h"
#include "lib/driver/input_name.h"
#include "lib/driver/recorded_facts.h"
#include "lib/records/input_file.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"
#include "lib/support/ordered_pool.h"
#include "lib/text/json_scan.h"

namespace tgc {

namespace {

// ---- the first pass over a file: names and hashes of all records, without graphs

struct Entry {
  // `name`: of a kernel its own; of a schedule the function of tinygrad that made it
  std::string id, target, name;
  std::string asked_by;  // the lines of the program for which the kernel was made
  std::string nodes;  // number of nodes of the AST, as text
  size_t source = 0;  // hash of the source without the kernel's name; 0 if there is no source
  size_t ast = 0;  // hash of the text
  size_t whole = 0;  // hash of all texts that are compared
};

struct Index {
  std::string file;  // FILE or FILE#ID
  GoldenHeader header;
  std::vector<Entry> entries;
  std::optional<Diag> cut;
};

size_t mix(size_t h, std::string_view text) {
  return (h ^ std::hash<std::string_view>()(text)) * 0x9E3779B97F4A7C15ull;
}

std::string without_name(std::string source, const std::string& name) {
  if (name.empty()) return source;
  for (size_t at = source.find(name); at != source.npos; at = source.find(name, at + 6))
    source.replace(at, name.size(), "KERNEL");
  return source;
}

Entry entry_of(const GoldenLine& line, const std::string& file, bool skips_stages) {
  Entry e;
  std::string_view source;  // as a JSON string, with its quotes
  std::string function;
  JsonScanner in(line.text, file, line.line);
  in.object([&](std::string_view key) {
    std::string what(key);
    if (what == "id") e.id = in.string();
    else if (what == "target") e.target = in.string();
    else if (what == "what") e.name = in.string();
    else if (what == "asked_by") e.asked_by = in.skip_any();
    else if (what == "ast") e.ast = mix(1, in.skip_any());
    else if (what == "stages" && !skips_stages) e.whole = mix(e.whole, in.skip_any());
    else if (what == "source") e.whole = mix(e.whole, source = in.skip_any());
    else if (what == "nodes") e.nodes = in.skip_any();
    else if (what == "kernels" && !skips_stages) e.whole = mix(e.whole, in.skip_any());
    else if (what == "program" && in.peek_type() == JsonScanner::Type::Object)
      in.object([&](std::string_view field) {
        if (field == "name") e.name = plain_kernel_name(in.string());
        else if (field == "function_name") function = in.string();
        else in.skip_any();
      });
    else in.skip_any();
  });
  if (source.size() > 2) e.source = mix(2, without_name(std::string(source), function));
  e.whole = (e.whole ^ (skips_stages ? 0 : e.ast)) * 31 + 1;
  return e;
}

Result<Index> index_of(const std::string& path, bool skips_stages) {
  return catch_failures([&] {
    auto records = std::move(NamedRecordReader::open(InputName::parse(path)).value_or_throw());
    Index out{path, records.reader().header(), {}, {}};
    for (GoldenLine line; records.next_line(line).value_or_throw();)
      out.entries.push_back(entry_of(line, path, skips_stages));
    out.cut = records.reader().truncation_error();
    return out;
  });
}

// ---- pairing the records of A and B

constexpr size_t kNone = SIZE_MAX;

std::set<std::string> targets_of(const Index& index) {
  std::set<std::string> out;
  for (const Entry& e : index.entries) out.insert(e.target);
  return out;
}

// Returns for each record of A the index of its partner in B, or kNone. Pairs records with matching targets and equal
// keys, in order. Tries one key after another, from id and AST to, for schedules, the position.
std::vector<size_t> partners(const Index& a, const Index& b) {
  std::vector<size_t> of_a(a.entries.size(), kNone);
  std::vector<bool> taken(b.entries.size());
  const CommonTargets targets(targets_of(a), targets_of(b));
  auto with_target = [&](const Entry& e, const std::string& what) { return targets.key_of(e.target) + "\n" + what; };
  auto pair_by = [&](auto key) {
    std::map<std::string, std::vector<size_t>> there;
    for (size_t j = b.entries.size(); j-- > 0;)
      if (std::string k = taken[j] ? "" : key(b.entries[j]); !k.empty()) there[k].push_back(j);
    for (size_t i = 0; i < of_a.size(); i++) {
      if (of_a[i] != kNone) continue;
      auto found = there.find(key(a.entries[i]));
      if (found == there.end() || found->second.empty()) continue;
      of_a[i] = found->second.back(), taken[of_a[i]] = true;
      found->second.pop_back();
    }
  };
  pair_by([&](const Entry& e) { return with_target(e, e.id + "\n" + std::to_string(e.ast)); });
  pair_by([&](const Entry& e) { return with_target(e, std::to_string(e.ast)); });
  pair_by([&](const Entry& e) { return e.source ? with_target(e, std::to_string(e.source)) : std::string(); });
  auto by = [&](const Entry& e, const std::string& what) { return what.empty() ? what : with_target(e, what); };
  pair_by([&](const Entry& e) { return e.name.empty() || e.asked_by.empty() ? "" : by(e, e.asked_by + e.name); });
  pair_by([&](const Entry& e) { return by(e, e.asked_by); });
  pair_by([&](const Entry& e) { return e.name.empty() ? "" : by(e, e.nodes + e.name); });
  pair_by([&](const Entry& e) { return by(e, e.name); });
  auto has_lines = [](const Index& index) {
    return std::ranges::any_of(index.entries, [](const Entry& e) { return !e.asked_by.empty(); });
  };
  const bool both_have_lines = has_lines(a) && has_lines(b);
  pair_by([&](const Entry& e) { return both_have_lines && !e.asked_by.empty() ? std::string() : by(e, e.id); });
  auto of_schedule = [](const Entry& e, const std::string& key) { return e.target.empty() ? key : std::string(); };
  pair_by([&](const Entry& e) { return of_schedule(e, e.asked_by.substr(0, e.asked_by.find(','))); });
  pair_by([&](const Entry& e) { return of_schedule(e, e.id); });
  pair_by([&](const Entry& e) { return of_schedule(e, "next"); });
  return of_a;
}

// ---- comparing two paired records whose texts differ

class PairDiff {
 public:
  PairDiff(const ReplayDiffPlan& plan, const RenameTable& renames, const GoldenHeader& a, const GoldenHeader& b)
      : plan_(plan), renames_(renames), a_(a), b_(b) {}

  Result<ReplayPair> run(const GoldenLine& in_a, const std::string& file_a, const GoldenLine& in_b,
                         const std::string& file_b) const {
    auto a = parse_golden_record(in_a, file_a), b = parse_golden_record(in_b, file_b);
    if (!a || !b) return !a ? a.diag() : b.diag();
    ReplayPair out{a->id, b->id, a->target, a->program ? plain_kernel_name(a->program->name) : ""};
    if (plan_.skips_stages) return compare_sources(out, *a, *b), out;
    if (auto status = compare_stages(out, *a, *b, file_a, file_b); !status) return status.diag();
    if (out.stage.empty()) compare_sources(out, *a, *b);
    return out;
  }

 private:
  static std::string nameless(const GoldenRecord& r) {
    return without_name(r.source.value_or(r.error.value_or("")), r.program ? r.program->function_name : "");
  }
  void compare_sources(ReplayPair& out, const GoldenRecord& a, const GoldenRecord& b) const {
    std::string before = nameless(a), after = nameless(b);
    out.is_same = before == after;
    if (out.is_same) return;
    out.stage = "source";
    out.difference_text = line_diff(before, after);
    if (!plan_.as_json) return;
    std::string lines = "\"lines\":";
    append_json_string(lines, out.difference_text);
    out.difference_text = lines;
  }

  Status compare_stages(ReplayPair& out, const GoldenRecord& a, const GoldenRecord& b, const std::string& file_a,
                        const std::string& file_b) const {
    CompileRun run_a = run_of_record(a, a_, file_a + "#" + a.id), run_b = run_of_record(b, b_, file_b + "#" + b.id);
    for (CompileRun* run : {&run_a, &run_b}) std::erase_if(run->texts, [](const RunText& t) { return !t.is_graph; });
    auto diff = catch_failures(
        [&] { return std::move(diff_runs(run_a, run_b, plan_.options, &renames_).value_or_throw()); });
    if (!diff || diff->is_same) return diff ? Status(Unit{}) : Status(diff.diag());
    out.stage = diff->first_different_stage;
    out.has_same_source = a.source && b.source && nameless(a) == nameless(b);
    out.difference_text = plan_.as_json ? "\"diff\":" + diff_as_json(diff->graph_difference)
                                        : diff_as_text(diff->graph_difference, plan_.diff_style);
    for (const NodeChange& c : diff->graph_difference.changes) {
      out.op_counts[op_in(c.before.empty() ? c.after : c.before)]++;
      for (const std::string& cause : causes_of(c)) out.cause_counts[cause]++;
    }
    // No rewrites made the AST, and those of two producers cannot be compared.
    const bool made = out.stage != "ast" && a_.producer == b_.producer;
    if (made && !a.rewrites_json.empty() && !b.rewrites_json.empty()) {
      Graph graph;
      auto sides = read_renamed_pair(graph, {diff->text_a->text, run_a.file, a_.producer},
                                     {diff->text_b->text, run_b.file, b_.producer}, &renames_);
      if (!sides) return sides.diag();
      auto culprit = find_culprit(a, b, a_.producer, out.stage, sides->first, sides->second);
      out.rule = std::move(culprit.rule), out.first_match_rule = std::move(culprit.first_match_rule);
    }
    if (!out.rule.empty() || diff->blamed_rewrites.empty()) return Unit{};
    // tgc makes one of the two graphs itself, and this rule of tgc makes the first node that differs.
    out.rule = diff->blamed_rewrites[0].rule;
    if (!plan_.as_json) out.difference_text = diff_as_text(*diff, plan_.diff_style);
    return Unit{};
  }

  // "MUL" for "%4 = MUL dtypes.int (%2, 16)".
  static std::string op_in(std::string_view line) {
    size_t at = line.find("= ");
    line.remove_prefix(at == line.npos ? 0 : at + 2);
    return std::string(line.substr(0, line.find(' ')));
  }

  // Returns texts without node numbers, such as "EXPAND removed", "STACK: dtype a -> b", "SHRINK: source 2".
  static std::vector<std::string> causes_of(const NodeChange& c) {
    const std::string op = op_in(c.before.empty() ? c.after : c.before);
    if (c.kind != NodeChange::Kind::Changed) return {op + (c.kind == NodeChange::Kind::Added ? " added" : " removed")};
    if (is_renumbering(c)) return {"renumbered buffers"};
    std::vector<std::string> out;
    for (const PropertyDifference& d : c.differences) {
      constexpr std::string_view kInside = "kernel: ";  // a change in the graph inside a KERNEL
      if (d.property_name.starts_with(kInside)) {
        const std::string what = d.property_name.substr(kInside.size());
        const bool is_one_sided = what == "added" || what == "removed";
        out.push_back(op_in(d.before.empty() ? d.after : d.before) + (is_one_sided ? " " : ": ") + what);
        continue;
      }
      const bool by_name = d.property_name == "op" || d.property_name == "dtype" || d.property_name == "axis type" ||
                           d.property_name == "reduce op";
      out.push_back(op + ": " + d.property_name + (by_name ? " " + d.before + " -> " + d.after : std::string()));
    }
    return out;
  }

  const ReplayDiffPlan& plan_;
  const RenameTable& renames_;
  const GoldenHeader &a_, &b_;
};

std::string label(const Entry& e) { return e.id + (e.name.empty() ? "" : " (" + e.name + ")"); }

// ---- the second pass over the files: comparison of the paired records that differ

Status compare_records(const Index& a, const Index& b, const std::vector<size_t>& partner, const ReplayDiffPlan& plan,
                       const RenameTable& renames, const Session& session, ReplayDiff& out) {
  PairDiff diff(plan, renames, a.header, b.header);
  auto reader_a = NamedRecordReader::open(InputName::parse(a.file)),
       reader_b = NamedRecordReader::open(InputName::parse(b.file));
  if (!reader_a || !reader_b) return !reader_a ? reader_a.diag() : reader_b.diag();
  std::vector<bool> wanted(b.entries.size());
  auto differs = [&](size_t i) { return partner[i] != kNone && a.entries[i].whole != b.entries[partner[i]].whole; };
  for (size_t i = 0; i < partner.size(); i++)
    if (differs(i)) wanted[partner[i]] = true;
  std::map<size_t, GoldenLine> waiting;  // by index: records of B that were read before their partners in A
  size_t read_b = 0;
  OrderedPool pool(session.num_jobs);
  GoldenLine line;
  for (size_t i = 0; i < partner.size(); i++) {
    if (auto more = reader_a->next_line(line); !more) return more.diag();
    if (session.is_cancelled()) return Diag{"cancelled"};
    if (partner[i] == kNone) continue;
    if (!differs(i)) {
      out.num_same++, out.same_names.push_back(label(a.entries[i]));
      continue;
    }
    for (GoldenLine other; read_b <= partner[i]; read_b++) {
      if (auto more = reader_b->next_line(other); !more) return more.diag();
      if (wanted[read_b]) waiting[read_b] = std::move(other), other = {};
    }
    auto task = [&diff, &a, &b, mine = std::move(line),
                 theirs = std::move(waiting.extract(partner[i]).mapped())] {
      return diff.run(mine, a.file, theirs, b.file);
    };
    line = {};
    auto tell = [&, i](ReplayPair&& pair) {
      if (!pair.is_same) return out.differing_pairs.push_back(std::move(pair));
      out.num_same++, out.same_names.push_back(label(a.entries[i]));
    };
    if (!pool.submit_task(std::move(task), tell)) break;
  }
  return pool.finish_tasks();
}

// Describes a recording, for example "recording.jsonl.gz: 5 records for CL:CL: k.0, k.1, k.2, ...".
std::string contents(const Index& index) {
  if (index.entries.empty()) return index.file + ": no records";
  constexpr size_t kMost = 3, kLongest = 60;
  std::string out = index.file + ": " + counted(index.entries.size(), "record");
  size_t n = 0;
  for (const std::string& target : targets_of(index)) {
    if (target.empty()) continue;
    out += n == 0 ? " for " : n < kMost ? ", " : n == kMost ? ", ..." : "";
    if (n++ < kMost) out += target.size() > kLongest ? target.substr(0, kLongest) + "..." : target;
  }
  for (size_t i = 0; i < std::min(kMost, index.entries.size()); i++) out += (i ? ", " : ": ") + index.entries[i].id;
  return out + (index.entries.size() > kMost ? ", ..." : "");
}

}  // namespace

bool are_recordings(const std::string& a, const std::string& b) {
  bool of_one_record = false, of_0_12 = true;
  for (const std::string& spec : {a, b}) {
    InputName name = InputName::parse(spec);
    if (name.file == "-") return false;
    auto lines = LineReader::open(name.file);
    GoldenLine first{.line = 1};
    if (!lines || !(*lines)->next_line_text(first.text) || detect_input_kind(first.text) != InputKind::Golden)
      return false;
    auto header = parse_golden_header(first, name.file);
    of_0_12 &= !header || release_of(header->producer) == Release::v0_12;
    of_one_record |= !name.id.empty();
  }
  return !of_one_record || !of_0_12;
}

Result<ReplayDiff> diff_recordings(const Session& session, const std::string& a, const std::string& b,
                                   const ReplayDiffPlan& plan) {
  Result<Index> of_a = Index(), of_b = Index();
  std::thread other([&] { of_b = index_of(b, plan.skips_stages); });
  of_a = index_of(a, plan.skips_stages);
  other.join();
  if (!of_a || !of_b) return !of_a ? of_a.diag() : of_b.diag();
  for (const Index* index : {&*of_a, &*of_b})
    if (index->cut) session.send_warning(*index->cut);
  if (of_a->header.level != of_b->header.level)
    return Diag{.message = "one recording is of kernels, the other of schedules",
                .file = b,
                .expected = "two of " + of_a->header.level + " records"};
  ReplayDiff out{.producer_a = of_a->header.producer, .producer_b = of_b->header.producer};
  RenameTable renames = RenameTable::for_releases(release_of(out.producer_a), release_of(out.producer_b));
  auto asked = requested_renames(plan.renames_file);
  if (!asked) return asked.diag();
  if (*asked) renames = std::move(**asked);
  const bool are_two_records = !InputName::parse(a).id.empty() && !InputName::parse(b).id.empty() &&
                               of_a->entries.size() == 1 && of_b->entries.size() == 1;
  auto partner = are_two_records ? std::vector<size_t>{0} : partners(*of_a, *of_b);
  if (auto status = compare_records(*of_a, *of_b, partner, plan, renames, session, out); !status) return status.diag();
  out.num_different = out.differing_pairs.size();
  if (!out.num_same && !out.num_different)
    return Diag{.message = "nothing was compared: the two recordings have no record in common\n  " +
                           contents(*of_a) + "\n  " + contents(*of_b)};
  std::vector<bool> taken(of_b->entries.size());
  for (size_t i = 0; i < partner.size(); i++)
    partner[i] == kNone ? out.names_only_in_a.push_back(label(of_a->entries[i])) : void(taken[partner[i]] = true);
  for (size_t j = 0; j < taken.size(); j++)
    if (!taken[j]) out.names_only_in_b.push_back(label(of_b->entries[j]));
  out.num_only_in_a = out.names_only_in_a.size(), out.num_only_in_b = out.names_only_in_b.size();
  return out;
}

// ---- the rule that made a difference

namespace {

bool same(const Rewrite& x, const Rewrite& y) { return x.before == y.before && x.after == y.after; }

bool is_machinery(const Rewrite& m) { return m.source_location.starts_with("uop/ops.py:"); }

struct Side {
  std::vector<Rewrite> matches;
  std::set<std::string> places;
  UOpMap<uint8_t> rewritten;
  UOpMap<uint8_t> left;          // the nodes that are left in the stage's result

  Side(std::vector<Rewrite> all, const std::string& stage, UOp result)
      : rewritten(result.graph()), left(result.graph()) {
    for (Rewrite& m : all) {
      if (!m.stage || stage_name(std::string(m.stage->name)) != stage) continue;
      places.insert(m.source_location);
      if (!is_machinery(m)) rewritten[m.before] = 1;
      matches.push_back(std::move(m));
    }
    for (UOp u : toposort(result)) left[u] = 1;
  }

  std::vector<Rewrite> of_rules() const {
    std::vector<Rewrite> out;
    std::ranges::copy_if(matches, std::back_inserter(out), [](const Rewrite& m) { return !is_machinery(m); });
    return out;
  }

  // Returns the match that made the difference, by a rule that matched only in this recording; null if there is none.
  // Prefers a match that does not depend on other matches which `other` lacks, then a match of a node that `other` has
  // in the stage, then a match of the stage itself over a nested one.
  const Rewrite* first_missing_in(const Side& other) const {
    if (matches.empty()) return nullptr;
    Graph& graph = matches[0].before.graph();
    UOpMap<UOp> made_there(graph);
    for (const Rewrite& m : other.matches) made_there[m.before] = m.after;
    UOpMap<uint8_t> seen(graph), made_here(graph);  // `made_here` are results of matches that `other` lacks
    const Rewrite* found = nullptr;
    std::tuple<bool, bool, int> least;
    for (const Rewrite& m : matches) {
      bool follows = false;
      for (UOp u : toposort(m.before)) {
        if (made_here.find(u)) follows = true;
        else seen[u] = 1;
      }
      const UOp* there = made_there.find(m.before);
      const bool is_common = there && *there == m.after;
      for (UOp u : toposort(m.after))
        if (!seen.find(u)) (is_common ? seen : made_here)[u] = 1;
      if (is_machinery(m) || other.places.contains(m.source_location)) continue;
      const bool is_there = other.left.find(m.before) || other.rewritten.find(m.before);
      const std::tuple rank{follows, !is_there, m.depth};
      if (!found || rank < least) found = &m, least = rank;
    }
    return found;
  }
};

ReplayCulprit first_difference(const std::vector<Rewrite>& of_a, const std::vector<Rewrite>& of_b) {
  const size_t common = std::min(of_a.size(), of_b.size());
  for (size_t i = 0; i < common; i++) {
    const Rewrite &x = of_a[i], &y = of_b[i];
    if (same(x, y)) continue;
    if (x.before == y.before)
      return {.rule = x.source_location == y.source_location ? y.source_location
                                                             : x.source_location + " -> " + y.source_location};
    auto comes = [&](const Rewrite& m, const std::vector<Rewrite>& in) {
      return std::any_of(in.begin() + ptrdiff_t(i), in.end(), [&](const Rewrite& n) { return same(m, n); });
    };
    return {.rule = {},
            .first_match_rule =
                comes(y, of_a) || x.source_location == y.source_location ? x.source_location : y.source_location};
  }
  if (of_a.size() == of_b.size()) return {};
  return {.rule = {},
          .first_match_rule = of_a.size() < of_b.size() ? of_b[common].source_location : of_a[common].source_location};
}

}  // namespace

ReplayCulprit find_culprit(const GoldenRecord& a, const GoldenRecord& b, const std::string& producer,
                           const std::string& stage, UOp result_a, UOp result_b) {
  auto of_a = read_rewrites(result_a.graph(), a, producer, ""), of_b = read_rewrites(result_a.graph(), b, producer, "");
  if (!of_a || !of_b) return {};
  const Side in_a(std::move(*of_a), stage, result_a), in_b(std::move(*of_b), stage, result_b);
  const Rewrite *only_a = in_a.first_missing_in(in_b), *only_b = in_b.first_missing_in(in_a);
  if (only_a && only_b) return {.rule = only_a->source_location + " -> " + only_b->source_location};
  if (only_a || only_b) return {.rule = (only_a ? only_a : only_b)->source_location};
  return first_difference(in_a.of_rules(), in_b.of_rules());
}

}  // namespace tgc
