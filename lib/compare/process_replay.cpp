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

struct RecordDigest {
  // `name`: of a kernel its own; of a schedule the function of tinygrad that made it
  std::string id, target, name;
  std::string asked_by;  // the lines of the program for which the kernel was made
  std::string num_nodes_text;  // number of nodes of the AST, as text
  size_t source_hash = 0;  // hash of the source without the kernel's name; 0 if there is no source
  size_t ast_hash = 0;  // hash of the AST's text
  size_t text_hash = 0;  // hash of all texts that are compared
};

struct RecordingIndex {
  std::string file;  // FILE or FILE#ID
  GoldenHeader header;
  std::vector<RecordDigest> digests;
  std::optional<Diag> truncation_error;
};

size_t mix_hash(size_t h, std::string_view text) {
  return (h ^ std::hash<std::string_view>()(text)) * 0x9E3779B97F4A7C15ull;
}

std::string mask_kernel_name(std::string source, const std::string& name) {
  if (name.empty()) return source;
  for (size_t at = source.find(name); at != source.npos; at = source.find(name, at + 6))
    source.replace(at, name.size(), "KERNEL");
  return source;
}

RecordDigest digest_record(const GoldenLine& line, const std::string& file, bool skips_stages) {
  RecordDigest e;
  std::string_view source;  // as a JSON string, with its quotes
  std::string function;
  JsonScanner in(line.text, file, line.line_number);
  in.object([&](std::string_view key) {
    std::string what(key);
    if (what == "id") e.id = in.string();
    else if (what == "target") e.target = in.string();
    else if (what == "what") e.name = in.string();
    else if (what == "asked_by") e.asked_by = in.skip_any();
    else if (what == "ast") e.ast_hash = mix_hash(1, in.skip_any());
    else if (what == "stages" && !skips_stages) e.text_hash = mix_hash(e.text_hash, in.skip_any());
    else if (what == "source") e.text_hash = mix_hash(e.text_hash, source = in.skip_any());
    else if (what == "nodes") e.num_nodes_text = in.skip_any();
    else if (what == "kernels" && !skips_stages) e.text_hash = mix_hash(e.text_hash, in.skip_any());
    else if (what == "program" && in.peek_type() == JsonScanner::Type::Object)
      in.object([&](std::string_view field) {
        if (field == "name") e.name = plain_kernel_name(in.string());
        else if (field == "function_name") function = in.string();
        else in.skip_any();
      });
    else in.skip_any();
  });
  if (source.size() > 2) e.source_hash = mix_hash(2, mask_kernel_name(std::string(source), function));
  e.text_hash = (e.text_hash ^ (skips_stages ? 0 : e.ast_hash)) * 31 + 1;
  return e;
}

Result<RecordingIndex> index_recording(const std::string& path, bool skips_stages) {
  return catch_failures([&] {
    auto records = std::move(NamedRecordReader::open(InputName::parse(path)).value_or_throw());
    RecordingIndex out{path, records.reader().header(), {}, {}};
    for (GoldenLine line; records.next_line(line).value_or_throw();)
      out.digests.push_back(digest_record(line, path, skips_stages));
    out.truncation_error = records.reader().truncation_error();
    return out;
  });
}

// ---- pairing the records of A and B

constexpr size_t kNone = SIZE_MAX;

std::set<std::string> targets_of(const RecordingIndex& index) {
  std::set<std::string> out;
  for (const RecordDigest& e : index.digests) out.insert(e.target);
  return out;
}

// Returns for each record of A the index of its partner in B, or kNone. Pairs records with matching targets and equal
// keys, in order. Tries one kind of key after another: id and AST first, and the position last, for schedules only.
std::vector<size_t> pair_records(const RecordingIndex& a, const RecordingIndex& b) {
  std::vector<size_t> of_a(a.digests.size(), kNone);
  std::vector<bool> taken(b.digests.size());
  const TargetMatcher targets(targets_of(a), targets_of(b));
  auto with_target = [&](const RecordDigest& e, const std::string& what) {
    return targets.key_of(e.target) + "\n" + what;
  };
  auto pair_by = [&](auto key) {
    std::map<std::string, std::vector<size_t>> there;
    for (size_t j = b.digests.size(); j-- > 0;)
      if (std::string k = taken[j] ? "" : key(b.digests[j]); !k.empty()) there[k].push_back(j);
    for (size_t i = 0; i < of_a.size(); i++) {
      if (of_a[i] != kNone) continue;
      auto found = there.find(key(a.digests[i]));
      if (found == there.end() || found->second.empty()) continue;
      of_a[i] = found->second.back(), taken[of_a[i]] = true;
      found->second.pop_back();
    }
  };
  pair_by([&](const RecordDigest& e) { return with_target(e, e.id + "\n" + std::to_string(e.ast_hash)); });
  pair_by([&](const RecordDigest& e) { return with_target(e, std::to_string(e.ast_hash)); });
  pair_by([&](const RecordDigest& e) {
    return e.source_hash ? with_target(e, std::to_string(e.source_hash)) : std::string();
  });
  auto by = [&](const RecordDigest& e, const std::string& what) { return what.empty() ? what : with_target(e, what); };
  pair_by(
      [&](const RecordDigest& e) { return e.name.empty() || e.asked_by.empty() ? "" : by(e, e.asked_by + e.name); });
  pair_by([&](const RecordDigest& e) { return by(e, e.asked_by); });
  pair_by([&](const RecordDigest& e) { return e.name.empty() ? "" : by(e, e.num_nodes_text + e.name); });
  pair_by([&](const RecordDigest& e) { return by(e, e.name); });
  auto has_lines = [](const RecordingIndex& index) {
    return std::ranges::any_of(index.digests, [](const RecordDigest& e) { return !e.asked_by.empty(); });
  };
  const bool both_have_lines = has_lines(a) && has_lines(b);
  pair_by([&](const RecordDigest& e) { return both_have_lines && !e.asked_by.empty() ? std::string() : by(e, e.id); });
  auto of_schedule = [](const RecordDigest& e, const std::string& key) {
    return e.target.empty() ? key : std::string();
  };
  pair_by([&](const RecordDigest& e) { return of_schedule(e, e.asked_by.substr(0, e.asked_by.find(','))); });
  pair_by([&](const RecordDigest& e) { return of_schedule(e, e.id); });
  pair_by([&](const RecordDigest& e) { return of_schedule(e, "next"); });
  return of_a;
}

// ---- comparing two paired records whose texts differ

class RecordPairDiff {
 public:
  RecordPairDiff(const ReplayDiffPlan& plan, const RenameTable& renames, const GoldenHeader& a, const GoldenHeader& b)
      : plan_(plan), renames_(renames), header_a_(a), header_b_(b) {}

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
  static std::string mask_name_in_source(const GoldenRecord& r) {
    return mask_kernel_name(r.source.value_or(r.error.value_or("")), r.program ? r.program->function_name : "");
  }
  void compare_sources(ReplayPair& out, const GoldenRecord& a, const GoldenRecord& b) const {
    std::string before = mask_name_in_source(a), after = mask_name_in_source(b);
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
    CompileRun run_a = run_of_record(a, header_a_, file_a + "#" + a.id),
               run_b = run_of_record(b, header_b_, file_b + "#" + b.id);
    for (CompileRun* run : {&run_a, &run_b}) std::erase_if(run->texts, [](const StageText& t) { return !t.is_graph; });
    auto diff = catch_failures(
        [&] { return std::move(diff_runs(run_a, run_b, plan_.options, &renames_).value_or_throw()); });
    if (!diff || diff->is_same) return diff ? Status(Unit{}) : Status(diff.diag());
    out.stage = diff->first_different_stage;
    out.has_same_source = a.source && b.source && mask_name_in_source(a) == mask_name_in_source(b);
    out.difference_text = plan_.as_json ? "\"diff\":" + diff_as_json(diff->graph_difference)
                                        : diff_as_text(diff->graph_difference, plan_.diff_style);
    for (const NodeChange& c : diff->graph_difference.changes) {
      out.op_counts[op_of_node_line(c.before.empty() ? c.after : c.before)]++;
      for (const std::string& cause : causes_of(c)) out.cause_counts[cause]++;
    }
    // No rewrites made the AST, and those of two producers cannot be compared.
    const bool made = out.stage != "ast" && header_a_.producer == header_b_.producer;
    if (made && !a.rewrites_json.empty() && !b.rewrites_json.empty()) {
      Graph graph;
      auto sides = read_renamed_pair(graph, {diff->text_a->text, run_a.file, header_a_.producer},
                                     {diff->text_b->text, run_b.file, header_b_.producer}, &renames_);
      if (!sides) return sides.diag();
      auto culprit = find_culprit(a, b, header_a_.producer, out.stage, sides->first, sides->second);
      out.rule = std::move(culprit.rule), out.first_match_rule = std::move(culprit.first_match_rule);
    }
    if (!out.rule.empty() || diff->blamed_rewrites.empty()) return Unit{};
    // tgc makes one of the two graphs itself, and this rule of tgc makes a node that differs.
    out.rule = diff->blamed_rewrites[0].rule;
    if (!plan_.as_json) out.difference_text = diff_as_text(*diff, plan_.diff_style);
    return Unit{};
  }

  // Returns "MUL" for "%4 = MUL dtypes.int (%2, 16)".
  static std::string op_of_node_line(std::string_view line) {
    size_t at = line.find("= ");
    line.remove_prefix(at == line.npos ? 0 : at + 2);
    return std::string(line.substr(0, line.find(' ')));
  }

  // Returns texts without node numbers, such as "EXPAND removed", "STACK: dtype a -> b", "SHRINK: source 2".
  static std::vector<std::string> causes_of(const NodeChange& c) {
    const std::string op = op_of_node_line(c.before.empty() ? c.after : c.before);
    if (c.kind != NodeChange::Kind::Changed) return {op + (c.kind == NodeChange::Kind::Added ? " added" : " removed")};
    if (is_renumbering(c)) return {"renumbered buffers"};
    std::vector<std::string> out;
    for (const PropertyDifference& d : c.differences) {
      constexpr std::string_view kInside = "kernel: ";  // a change in the graph inside a KERNEL
      if (d.property_name.starts_with(kInside)) {
        const std::string what = d.property_name.substr(kInside.size());
        const bool is_one_sided = what == "added" || what == "removed";
        out.push_back(op_of_node_line(d.before.empty() ? d.after : d.before) + (is_one_sided ? " " : ": ") + what);
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
  const GoldenHeader &header_a_, &header_b_;
};

std::string digest_label(const RecordDigest& e) { return e.id + (e.name.empty() ? "" : " (" + e.name + ")"); }

// ---- the second pass over the files: comparison of the paired records that differ

Status compare_records(const RecordingIndex& a, const RecordingIndex& b, const std::vector<size_t>& partner,
                       const ReplayDiffPlan& plan, const RenameTable& renames, const Session& session,
                       ReplayDiff& out) {
  RecordPairDiff diff(plan, renames, a.header, b.header);
  auto reader_a = NamedRecordReader::open(InputName::parse(a.file)),
       reader_b = NamedRecordReader::open(InputName::parse(b.file));
  if (!reader_a || !reader_b) return !reader_a ? reader_a.diag() : reader_b.diag();
  std::vector<bool> wanted(b.digests.size());
  auto differs = [&](size_t i) {
    return partner[i] != kNone && a.digests[i].text_hash != b.digests[partner[i]].text_hash;
  };
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
      out.num_same++, out.same_names.push_back(digest_label(a.digests[i]));
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
      out.num_same++, out.same_names.push_back(digest_label(a.digests[i]));
    };
    if (!pool.submit_task(std::move(task), tell)) break;
  }
  return pool.finish_tasks();
}

// Describes a recording, for example "recording.jsonl.gz: 5 records for CL:CL: k.0, k.1, k.2, ...".
std::string describe_recording(const RecordingIndex& index) {
  if (index.digests.empty()) return index.file + ": no records";
  constexpr size_t kMaxNames = 3, kLongest = 60;
  std::string out = index.file + ": " + count_text(index.digests.size(), "record");
  size_t n = 0;
  for (const std::string& target : targets_of(index)) {
    if (target.empty()) continue;
    out += n == 0 ? " for " : n < kMaxNames ? ", " : n == kMaxNames ? ", ..." : "";
    if (n++ < kMaxNames) out += target.size() > kLongest ? target.substr(0, kLongest) + "..." : target;
  }
  for (size_t i = 0; i < std::min(kMaxNames, index.digests.size()); i++) out += (i ? ", " : ": ") + index.digests[i].id;
  return out + (index.digests.size() > kMaxNames ? ", ..." : "");
}

}  // namespace

bool are_recordings(const std::string& a, const std::string& b) {
  bool of_one_record = false, of_0_12 = true;
  for (const std::string& spec : {a, b}) {
    InputName name = InputName::parse(spec);
    if (name.file == "-") return false;
    auto lines = LineReader::open(name.file);
    GoldenLine first{.line_number = 1};
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
  Result<RecordingIndex> of_a = RecordingIndex(), of_b = RecordingIndex();
  std::thread other([&] { of_b = index_recording(b, plan.skips_stages); });
  of_a = index_recording(a, plan.skips_stages);
  other.join();
  if (!of_a || !of_b) return !of_a ? of_a.diag() : of_b.diag();
  for (const RecordingIndex* index : {&*of_a, &*of_b})
    if (index->truncation_error) session.send_warning(*index->truncation_error);
  if (of_a->header.level != of_b->header.level)
    return Diag{.message = "one recording is of kernels, the other of schedules",
                .file = b,
                .expected = "two of " + of_a->header.level + " records"};
  ReplayDiff out{.producer_a = of_a->header.producer, .producer_b = of_b->header.producer};
  RenameTable renames = RenameTable::for_releases(release_of(out.producer_a), release_of(out.producer_b));
  auto asked = read_requested_renames(plan.renames_file);
  if (!asked) return asked.diag();
  if (*asked) renames = std::move(**asked);
  const bool are_two_records = !InputName::parse(a).id.empty() && !InputName::parse(b).id.empty() &&
                               of_a->digests.size() == 1 && of_b->digests.size() == 1;
  auto partner = are_two_records ? std::vector<size_t>{0} : pair_records(*of_a, *of_b);
  if (auto status = compare_records(*of_a, *of_b, partner, plan, renames, session, out); !status) return status.diag();
  out.num_different = out.differing_pairs.size();
  if (!out.num_same && !out.num_different)
    return Diag{.message = "nothing was compared: the two recordings have no record in common\n  " +
                           describe_recording(*of_a) + "\n  " + describe_recording(*of_b)};
  std::vector<bool> taken(of_b->digests.size());
  for (size_t i = 0; i < partner.size(); i++)
    partner[i] == kNone ? out.names_only_in_a.push_back(digest_label(of_a->digests[i]))
                        : void(taken[partner[i]] = true);
  for (size_t j = 0; j < taken.size(); j++)
    if (!taken[j]) out.names_only_in_b.push_back(digest_label(of_b->digests[j]));
  out.num_only_in_a = out.names_only_in_a.size(), out.num_only_in_b = out.names_only_in_b.size();
  return out;
}

// ---- the rule that made a difference

namespace {

bool is_same_rewrite(const Rewrite& x, const Rewrite& y) { return x.before == y.before && x.after == y.after; }

bool is_ops_py_rewrite(const Rewrite& m) { return m.source_location.starts_with("uop/ops.py:"); }

struct StageRewrites {
  std::vector<Rewrite> matches;
  std::set<std::string> rule_locations;
  UOpMap<uint8_t> rewritten_nodes;
  UOpMap<uint8_t> result_nodes;          // the nodes of the stage's result

  StageRewrites(std::vector<Rewrite> all, const std::string& stage, UOp result)
      : rewritten_nodes(result.graph()), result_nodes(result.graph()) {
    for (Rewrite& m : all) {
      if (!m.stage || stage_name(std::string(m.stage->name)) != stage) continue;
      rule_locations.insert(m.source_location);
      if (!is_ops_py_rewrite(m)) rewritten_nodes[m.before] = 1;
      matches.push_back(std::move(m));
    }
    for (UOp u : toposort(result)) result_nodes[u] = 1;
  }

  std::vector<Rewrite> rule_rewrites() const {
    std::vector<Rewrite> out;
    std::ranges::copy_if(matches, std::back_inserter(out), [](const Rewrite& m) { return !is_ops_py_rewrite(m); });
    return out;
  }

  // Returns a match by a rule that matched only in this recording, as the likely cause of the difference; null if there
  // is none. Prefers, first, a match that does not depend on matches that `other` lacks; second, a match of a node that
  // `other` has in the stage; third, a match of the stage itself over a nested one.
  const Rewrite* first_match_missing_in(const StageRewrites& other) const {
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
      if (is_ops_py_rewrite(m) || other.rule_locations.contains(m.source_location)) continue;
      const bool is_there = other.result_nodes.find(m.before) || other.rewritten_nodes.find(m.before);
      const std::tuple rank{follows, !is_there, m.depth};
      if (!found || rank < least) found = &m, least = rank;
    }
    return found;
  }
};

ReplayCulprit first_rewrite_difference(const std::vector<Rewrite>& of_a, const std::vector<Rewrite>& of_b) {
  const size_t common = std::min(of_a.size(), of_b.size());
  for (size_t i = 0; i < common; i++) {
    const Rewrite &x = of_a[i], &y = of_b[i];
    if (is_same_rewrite(x, y)) continue;
    if (x.before == y.before)
      return {.rule = x.source_location == y.source_location ? y.source_location
                                                             : x.source_location + " -> " + y.source_location};
    auto comes = [&](const Rewrite& m, const std::vector<Rewrite>& in) {
      return std::any_of(in.begin() + ptrdiff_t(i), in.end(), [&](const Rewrite& n) { return is_same_rewrite(m, n); });
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
  const StageRewrites in_a(std::move(*of_a), stage, result_a), in_b(std::move(*of_b), stage, result_b);
  const Rewrite *only_a = in_a.first_match_missing_in(in_b), *only_b = in_b.first_match_missing_in(in_a);
  if (only_a && only_b) return {.rule = only_a->source_location + " -> " + only_b->source_location};
  if (only_a || only_b) return {.rule = (only_a ? only_a : only_b)->source_location};
  return first_rewrite_difference(in_a.rule_rewrites(), in_b.rule_rewrites());
}

}  // namespace tgc
