#include "lib/view/recording_writer.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "lib/support/pytext.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/text/repr.h"
#include "lib/uop/facts.h"
#include "lib/uop/release.h"
#include "lib/view/short_lines.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

constexpr size_t kMaxText = 4000;    // maximum length of the text of an arg, in bytes
constexpr size_t kMostParts = 1000;  // maximum number of names and constants that the page derives in a line

}  // namespace

std::string RecordingWriter::write_graph() {
  if (compilation_ && !compilation_->is_tensor_graph() && recorder_.graph_.error.empty() && compilation_->list())
    linear_list_ = *compilation_->list();
  choose_nodes();
  event_writer_.emplace(nodes_, node_rows_, trace_numbers_, row_texts_);
  for (const auto& e : recorder_.events_) event_writer_->add_event(e);
  recorder_.graph_.num_nodes = toposort(recorder_.ast_).size();
  recorder_.graph_.structure_hash = hash_structure();
  hash_stage_results();
  json_writer_.object([&] {
    json_writer_.member("name", recorder_.graph_.name)
        .member("target", recorder_.graph_.target)
        .member("made_for", recorder_.graph_.user_operation);
    json_writer_.member("kind", recorder_.graph_.is_tensor_graph ? "tensor" : "kernel")
        .member("error", recorder_.graph_.error);
    json_writer_.member("ast", row_of_node(recorder_.ast_)).member("begins", recorder_.graph_.begin_stage);
    json_writer_.member("producer", recorder_.graph_.producer);
    write_nodes();
    write_node_facts();
    write_model_nodes();
    write_stages();
    write_texts();
    json_writer_.member("lines", pyrender_lines_.texts());
    json_writer_.key("rules").array([&] {
      for (const auto& rule : recorder_.rules_)
        json_writer_.value(std::vector<int64_t>{rule.name, rule.branch, rule.file, rule.line, rule.source, rule.text});
    });
    if (!text_options_.rule_sources.empty()) json_writer_.key("rule_texts").raw_json(text_options_.rule_sources);
    if (!text_options_.methods_json.empty()) json_writer_.key("made_by").raw_json(text_options_.methods_json);
    json_writer_.member("strings", recorder_.string_numbers_.texts());
  });
  return std::move(output_);
}

std::string RecordingWriter::events_json() const {
  return json_object([&](JsonWriter& json) { event_writer_->write_events(json); });
}

// Returns a hash of the first graph, by which the page pairs equal graphs of two inputs. Omits tags, and the arg of a
// SINK, which has the kernel's name.
std::string RecordingWriter::hash_structure() const {
  uint64_t hash = 0;
  auto add = [&](uint64_t v) { hash = (std::rotl(hash, 5) ^ v) * 0x9e3779b97f4a7c15ull; };
  UOpMap<uint64_t> position(recorder_.ast_.graph());
  uint64_t count = 0;
  for (UOp u : toposort(recorder_.ast_)) {
    const auto& row = row_texts_[size_t(row_of_node(u))];
    position[u] = count++;
    add(uint64_t(u.op()));
    for (int64_t text : {row.dtype, u.is(Op::SINK) ? 0 : row.arg})
      add(std::hash<std::string_view>()(recorder_.string_numbers_.texts()[size_t(text)]));
    for (UOp s : u.src()) add(position[s]);
  }
  return std::to_string(hash);
}

// Hashes the first graph and each stage's result, so that the page finds the first difference without reading graphs.
void RecordingWriter::hash_stage_results() {
  std::vector<uint64_t> of_text, of_node(nodes_.size());
  for (std::string_view text : recorder_.string_numbers_.texts())
    of_text.push_back(std::hash<std::string_view>()(text));
  for (size_t n = 0; n < nodes_.size(); n++) {
    uint64_t hash = uint64_t(nodes_[n].op());
    auto add = [&](uint64_t v) { hash = (std::rotl(hash, 5) ^ v) * 0x9e3779b97f4a7c15ull; };
    for (int64_t text : {row_texts_[n].dtype, row_texts_[n].arg, row_texts_[n].tag}) add(of_text[size_t(text)]);
    for (UOp s : nodes_[n].src()) add(of_node[size_t(row_of_node(s))]);
    of_node[n] = hash;
  }
  auto add = [&](const std::string& name, UOp result) {
    recorder_.graph_.stage_hashes.emplace_back(name,
                                               result ? std::to_string(of_node[size_t(row_of_node(result))]) : "");
  };
  add(recorder_.graph_.begin_stage.empty() ? "ast" : recorder_.graph_.begin_stage, recorder_.ast_);
  for (const auto& s : recorder_.stage_events_) add(s.name, s.result == s.input ? UOp() : s.result);
}

void RecordingWriter::select_node(UOp u) {
  if (u) node_rows_[u.id()] = 0;
}

void RecordingWriter::choose_nodes() {
  Graph& graph = recorder_.ast_.graph();
  node_rows_.assign(graph.size(), -1);
  select_node(recorder_.ast_);
  for (const auto& e : recorder_.events_) select_node(e.event_node), select_node(e.new_node);
  for (UOp u : linear_list_) select_node(u);
  UOpSet in_results(graph);
  auto add_result = [&](UOp root) {
    select_node(root);
    for (UOp u : toposort(root, [&](UOp s) { return !in_results.contains(s); }))
      if (in_results.insert(u)) result_nodes_.push_back(u);
  };
  add_result(recorder_.ast_);
  for (const auto& s : recorder_.stage_events_) {
    if (s.input) add_result(s.input);
    if (s.result) add_result(s.result);
  }
  for (size_t id = node_rows_.size(); id-- > 0;) {
    if (node_rows_[id] < 0) continue;
    UOp u = graph.at(uint32_t(id));
    for (UOp s : u.src()) select_node(s);
    if (u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel)) select_node(u.arg()[0].uop());
  }
  for (size_t id = 0; id < node_rows_.size(); id++)
    if (node_rows_[id] >= 0) nodes_.push_back(graph.at(uint32_t(id)));
  // order the rows by the numbers in the trace; a graph that was read from a trace file has other ids
  std::ranges::stable_sort(nodes_, {}, [&](UOp u) { return recorder_.TraceConsumer::node_number(u); });
  for (size_t n = 0; n < nodes_.size(); n++) node_rows_[nodes_[n].id()] = int32_t(n);
  for (UOp u : nodes_) trace_numbers_.push_back(recorder_.TraceConsumer::node_number(u));
  for (UOp u : nodes_)
    row_texts_.push_back({recorder_.number_of_string(u.dtype() == dtypes::void_ ? "" : u.dtype().repr()),
                          recorder_.number_of_string(text_of_arg(u)),
                          recorder_.number_of_string(u.tag().is_none() ? "" : u.tag().repr())});
}

std::string RecordingWriter::text_of_arg(UOp u) {
  if (u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel)) return u.arg()[1].repr();
  std::string out = printed_arg(u).is_none() ? "" : shorten_literals(node_arg_text(u));
  return out.size() > kMaxText ? out.substr(0, kMaxText) + "..." : out;
}

// Writes the table of nodes as columns. A node that the reader derives is only in `number`, and in `sources` as
// ~(number of sources).
void RecordingWriter::write_nodes() {
  auto column = [&](std::string_view name, auto value) {
    json_writer_.key(name).array([&] {
      for (size_t n = 0; n < nodes_.size(); n++)
        if (!event_writer_->is_derived(n)) json_writer_.value(value(n));
    });
  };
  TextNumbering ops;
  for (int op = 0; op < kNumAllOps; op++) ops.number_of_text(name_of(Op(op)));
  column("op", [&](size_t n) { return ops.number_of_text(printed_op_name(nodes_[n])); });
  column("dtype", [&](size_t n) { return row_texts_[n].dtype; });
  column("arg", [&](size_t n) { return row_texts_[n].arg; });
  json_writer_.key("number").array([&] {
    for (uint32_t last = 0; uint32_t id : trace_numbers_)
      json_writer_.value(int64_t(id) - int64_t(std::exchange(last, id)));
  });
  json_writer_.key("sources").array([&] {
    for (size_t n = 0; n < nodes_.size(); n++) {
      int64_t count = int64_t(nodes_[n].num_src());
      json_writer_.value(event_writer_->is_derived(n) ? ~count : count);
    }
  });
  json_writer_.key("source").array([&] {
    for (size_t n = 0; n < nodes_.size(); n++)
      if (!event_writer_->is_derived(n))
        for (UOp s : nodes_[n].src()) json_writer_.value(int64_t(n) - row_of_node(s));
  });
  std::vector<int64_t> tags;
  for (size_t n = 0; n < nodes_.size(); n++)
    if (row_texts_[n].tag && !event_writer_->is_derived(n)) tags.insert(tags.end(), {int64_t(n), row_texts_[n].tag});
  write_deltas("tags", tags, 1);
  json_writer_.key("inner").array([&] {  // pairs of a KERNEL and the root of its graph
    for (UOp u : nodes_)
      if (u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel))
        json_writer_.value(row_of_node(u)).value(row_of_node(u.arg()[0].uop()));
  });
  json_writer_.member("ops", ops.texts());
}

// `groups` is a flat list of groups: the row of a node and `values` numbers. Writes the groups sorted by row, each as
// its differences from the previous group.
void RecordingWriter::write_deltas(std::string_view key, const std::vector<int64_t>& groups, size_t values) {
  const size_t row = values + 1;
  std::vector<size_t> order(groups.size() / row);
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return groups[i * row]; });
  std::vector<int64_t> last(row);
  json_writer_.key(key).array([&] {
    for (size_t i : order)
      for (size_t k = 0; k < row; k++)
        json_writer_.value(groups[i * row + k] - std::exchange(last[k], groups[i * row + k]));
  });
}

// Writes facts of `result_nodes_`: shapes in tensor graphs, bounds of integers, and the ranges that enclose a node.
void RecordingWriter::write_node_facts() {
  std::map<std::vector<int64_t>, int64_t> lists{{{}, 0}};
  std::vector<int64_t> shapes, bounds, ranges;
  for (UOp u : result_nodes_) {
    auto computed = catch_failures([&] {
      if (row_of_node(u) < 0) return Unit{};
      if (recorder_.graph_.is_tensor_graph && !u.is(Op::CONST))
        if (auto shape = shape_or_none(u); shape && !shape->empty()) {
          std::string text;
          for (Sint s : *shape) text += (text.empty() ? "" : ", ") + s.str();
          shapes.insert(shapes.end(), {row_of_node(u), recorder_.number_of_string(text)});
        }
      if (dtypes::is_int(u.dtype()) && !u.is_const() && u.num_src())
        bounds.insert(bounds.end(), {row_of_node(u), recorder_.number_of_string(Arg(u.vmin()).str()),
                                     recorder_.number_of_string(Arg(u.vmax()).str())});
      std::vector<int64_t> in;
      for (UOp range : ranges_of(u)) in.push_back(row_of_node(range));
      if (in.empty()) return Unit{};
      auto list = lists.try_emplace(std::move(in), int64_t(lists.size())).first->second;
      ranges.insert(ranges.end(), {row_of_node(u), list});
      return Unit{};
    });
    (void)computed;  // of a malformed node, only the facts before the first that cannot be computed are written
  }
  write_deltas("shapes", shapes, 1), write_deltas("bounds", bounds, 2), write_deltas("ranges", ranges, 1);
  std::vector<const std::vector<int64_t>*> in_order(lists.size());
  for (auto& [list, i] : lists) in_order[size_t(i)] = &list;
  json_writer_.key("range_lists").array([&] {
    for (auto* list : in_order) json_writer_.value(*list);
  });
}

// For a tensor graph that tgc compiles, writes the labels of the ONNX nodes, the ONNX node for which each UOp was made,
// and the rows of the kernels' ASTs.
void RecordingWriter::write_model_nodes() {
  if (!compilation_ || !recorder_.graph_.is_tensor_graph) return;
  std::vector<int64_t> user_operation;
  std::vector<std::string_view> labels;
  UOpSet known(recorder_.ast_.graph());
  for (auto& [label, tensors] : compilation_->input_graph().onnx_nodes) {
    for (UOp tensor : tensors)
      for (UOp u : toposort(tensor, [&](UOp s) { return !known.contains(s); }))
        if (known.insert(u) && u.id() < node_rows_.size() && row_of_node(u) >= 0)
          user_operation.insert(user_operation.end(), {row_of_node(u), int64_t(labels.size())});
    labels.push_back(label);
  }
  json_writer_.member("made_of", labels);
  write_deltas("made_for_node", user_operation, 1);
  if (!recorder_.graph_.error.empty()) return;
  json_writer_.key("kernels").array([&] {
    for (const auto& item : compilation_->schedule()->items)
      json_writer_.value(item.ast && item.ast.id() < node_rows_.size() ? row_of_node(item.ast) : -1);
  });
}

void RecordingWriter::write_stages() {
  size_t nodes = recorder_.graph_.num_nodes;
  json_writer_.key("stages").array([&] {
    for (const auto& s : recorder_.stage_events_)
      json_writer_.start_line().object([&] {
        const StageRow* row = find_stage_row(s.name);
        json_writer_.member("name", s.name).member("alias", row ? row->alias : "");
        json_writer_.member("from", row_of_node(s.input)).member("to", row_of_node(s.result));
        json_writer_.key("ms").number(s.wall_ms, "%.3f");
        json_writer_.member("events", s.end_event - s.first_event);
        int64_t rewrites = 0;
        for (size_t i = s.first_event; i < s.end_event; i++)
          rewrites += recorder_.events_[i].kind == RecordedEvent::Kind::Rewrite;
        json_writer_.member("rewrites", rewrites);
        if (s.num_discarded) json_writer_.member("discarded", s.num_discarded);
        if (s.result && !(s.result == s.input)) nodes = toposort(s.result).size();
        json_writer_.member("nodes", nodes);
      });
  });
}

void RecordingWriter::write_texts() {
  json_writer_.key("texts").array([&] {
    write_pyrender(0, recorder_.ast_);  // 0 is the first graph, and n the result of the n-th stage
    for (size_t i = 0; i < recorder_.stage_events_.size(); i++)
      if (const auto& s = recorder_.stage_events_[i]; s.result && !(s.result == s.input) && s.name != "linear")
        write_pyrender(i + 1, s.result);
    for (auto& [kind, text] : text_options_.recorded_texts) write_text(kind, text);
    if (linear_list_.empty()) return;
    write_linear_list(linear_list_);
    write_source(linear_list_);
    if (auto text = compilation_->row_output(get_stage_row(OutputKind::LaunchFacts))) write_text("program", *text);
    if (!text_options_.should_include_assembly) return;
    if (compilation_->target().renderer != RendererKind::LLVM) write_compiled_text("llvm-ir", "llvm-ir");
    write_compiled_text("asm", "asm");
  });
}

void RecordingWriter::write_text(std::string_view kind, std::string_view text) {
  json_writer_.start_line().object([&] { json_writer_.member("kind", kind).member("text", text); });
}

// Returns true if the page (pyrender.js) can make the pyrender text of `graph` from the table of nodes. For that, the
// table must have the full text of each arg.
bool RecordingWriter::is_printed_by_page(UOp graph) const {
  auto is_in_full = [&](UOp u) {
    const std::string_view text = recorder_.string_numbers_.texts()[size_t(row_texts_[size_t(row_of_node(u))].arg)];
    return u.arg().is_none() ? text.empty() : text == u.arg().repr();
  };
  return is_text_implied_by_reprs(graph) && std::ranges::all_of(toposort(graph), is_in_full);
}

void RecordingWriter::write_pyrender(size_t stage, UOp graph) {
  json_writer_.start_line().object([&] {
    json_writer_.member("kind", "pyrender").member("stage", stage);
    if (is_printed_by_page(graph)) return;
    auto placed = pyrender_with_node_lines(graph);
    if (!placed) {
      json_writer_.member("error", placed.diag().text());
      return;
    }
    const std::string text = shorten_literals(placed->text);
    std::map<size_t, UOp> owners;
    for (auto [u, line] : placed->node_lines) owners[line] = u;
    NodeNames names;
    RelativeNames near;
    json_writer_.key("lines").array([&] {
      int64_t last = 0;
      for (size_t from = 0, i = 0; from < text.size(); i++) {
        const size_t end = std::min(text.find('\n', from), text.size());
        const std::string_view line = std::string_view(text).substr(from, end - from);
        const size_t name = line.empty() ? 0 : node_name_end(line, 0);
        const size_t head = name && line.substr(name).starts_with(" = ") ? name + 3 : 0;
        const auto owner = owners.find(i);
        const std::string rest = owner == owners.end() ? "" : text_template_of(line.substr(head), owner->second, names);
        const std::string shown = rest.empty() ? near.line(line) : "." + near.line(line.substr(0, head)) + rest;
        if (head && owner != owners.end()) names.emplace(owner->second.id(), line.substr(0, name));
        const int64_t number = pyrender_lines_.number_of_text(shown);
        json_writer_.value(number - std::exchange(last, number));
        from = end + 1;
      }
    });
    write_node_lines({placed->node_lines.begin(), placed->node_lines.end()});
  });
}

// Returns the text of a node's line with marks for what the page derives: "@" for the name of another line, "$" for
// UOp.const(dtype, value), "`" for UOp.const(value, dtype). Marks are in the order of the node's sources; a source
// without a line stands for its own sources. Returns "" if the line has another form.
std::string RecordingWriter::text_template_of(std::string_view text, UOp owner, const NodeNames& names) const {
  if (text.find_first_of("@$`") != text.npos) return "";
  std::vector<UOp> parts, open{owner};
  for (bool is_owner = true; !open.empty(); is_owner = false) {
    const UOp u = open.back();
    open.pop_back();
    if (!is_owner && (names.contains(u.id()) || u.is_const())) parts.push_back(u);
    else for (size_t i = u.num_src(); i-- > 0;) open.push_back(u.src(i));
    if (parts.size() + open.size() > kMostParts) return "";
  }
  auto string = [&](int64_t n) { return std::string(recorder_.string_numbers_.texts()[size_t(n)]); };
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t end = node_name_end(text, i);
    if (!end && !text.substr(i).starts_with("UOp.const(")) {
      out += text[i++];
      continue;
    }
    if (next == parts.size()) return "";
    const auto& row = row_texts_[size_t(row_of_node(parts[next]))];
    const auto name = names.find(parts[next++].id());
    if (end) {
      if (name == names.end() || text.substr(i, end - i) != name->second) return "";
      out += '@', i = end;
      continue;
    }
    const std::string dtype = string(row.dtype), value = string(row.arg);
    const std::string first = "UOp.const(" + dtype + ", " + value + ")";
    const std::string second = "UOp.const(" + value + ", " + dtype + ")";
    if (name != names.end() || (!text.substr(i).starts_with(first) && !text.substr(i).starts_with(second))) return "";
    out += text.substr(i).starts_with(first) ? '$' : '`', i += first.size();
  }
  return next == parts.size() ? out : "";
}

void RecordingWriter::write_node_lines(const std::vector<std::pair<UOp, size_t>>& lines) {
  int64_t last_node = 0, last_line = 0;
  json_writer_.key("nodes").array([&] {
    for (auto [u, line] : lines) {
      json_writer_.value(row_of_node(u) - std::exchange(last_node, row_of_node(u)));
      json_writer_.value(int64_t(line) - std::exchange(last_line, int64_t(line)));
    }
  });
}

void RecordingWriter::write_linear_list(const std::vector<UOp>& list) {
  json_writer_.start_line().object([&] {
    json_writer_.member("kind", "linear");
    auto text = catch_failures([&] { return ansistrip(print_uops(list)); });
    if (!text) return (void)json_writer_.member("error", text.diag().text());
    if (auto rows = rows_of_list(list, *text)) {
      json_writer_.key("rows").array([&] {
        for (const std::string& row : *rows) json_writer_.value(pyrender_lines_.number_of_text(row));
      });
    } else {
      json_writer_.member("text", *text);
    }
    std::vector<std::pair<UOp, size_t>> lines;
    for (UOp u : list) lines.emplace_back(u, lines.size());
    write_node_lines(lines);
  });
}

// Returns what the page (rowsOfList in texts.js) cannot derive of each line: the ranges and, if the line has another
// arg than the node, a tab and this arg; nullopt if a line has another form.
std::optional<std::vector<std::string>> RecordingWriter::rows_of_list(const std::vector<UOp>& list,
                                                                      std::string_view text) const {
  auto padded = [](std::string s, size_t width) { return s + std::string(width - std::min(width, s.size()), ' '); };
  auto string = [&](int64_t n) { return std::string(recorder_.string_numbers_.texts()[size_t(n)]); };
  auto arg_of = [&](UOp u) { return string(row_texts_[size_t(row_of_node(u))].arg); };
  UOpMap<size_t> positions(recorder_.ast_.graph());
  for (size_t i = 0; i < list.size(); i++) positions[list[i]] = i;
  std::vector<std::string> out;
  for (size_t i = 0; i < list.size(); i++) {
    const size_t end = text.find('\n');
    if (end == text.npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    std::string at = std::to_string(i), sources, dtype = string(row_texts_[size_t(row_of_node(list[i]))].dtype);
    at = std::string(4 - std::min<size_t>(4, at.size()), ' ') + at;
    const std::string before = at + " " + padded("Ops." + std::string(printed_op_name(list[i])), 20) + ": ";
    for (UOp s : list[i].src()) {
      const size_t* position = positions.find(s);
      sources += sources.empty() ? "" : ", ";
      sources += !position ? "'--'" : s.is_const() ? "'" + arg_of(s) + "'" : std::to_string(*position);
    }
    const std::string middle = " " + padded(dtype.empty() ? "dtypes.void" : dtype, 40) + " " +
                               padded("[" + sources + "]", 32) + " ";
    const size_t split = line.find(middle, std::min(line.size(), before.size()));
    if (!line.starts_with(before) || split == line.npos) return std::nullopt;
    const std::string_view arg = line.substr(split + middle.size()), ranges = line.substr(before.size());
    const std::string known = arg_of(list[i]).empty() ? "None" : arg_of(list[i]);
    out.emplace_back(ranges.substr(0, split - before.size()));
    if (arg != known) out.back().append("\t").append(arg);
  }
  return text.empty() ? std::optional(std::move(out)) : std::nullopt;
}

void RecordingWriter::write_source(const std::vector<UOp>& list) {
  auto map = make_source_map(compilation_->target(), list);
  json_writer_.start_line().object([&] {
    json_writer_.member("kind", "source");
    if (!map) {
      json_writer_.member("error", map.diag().text());
      return;
    }
    std::string text;
    for (const std::string& line : map->source_lines) text += line + "\n";
    json_writer_.member("text", text);
    std::vector<std::pair<UOp, size_t>> lines;
    for (size_t i = 0; i < list.size(); i++)
      for (size_t k = 0; k < map->lines_of_node[i].num_lines; k++)
        lines.emplace_back(list[i], map->lines_of_node[i].first_line + k - 1);
    write_node_lines(lines);
  });
}

void RecordingWriter::write_compiled_text(std::string_view row, std::string_view kind) {
  auto text = compilation_->row_output(get_stage_row(row));
  json_writer_.start_line().object([&] {
    json_writer_.member("kind", kind);
    if (!text) json_writer_.member("error", text.diag().message);
    else json_writer_.member("text", *text);
  });
}

}  // namespace tgc
