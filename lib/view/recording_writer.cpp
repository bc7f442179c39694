#include "lib/view/recording_writer.h"

#include <algorithm>
#include <utility>

#include "lib/support/pytext.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender_places.h"
#include "lib/uop/facts.h"
#include "passes/program.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {


constexpr size_t kMaxText = 4000;  // of an arg

// Two digits of a time, which has no more that mean anything.
int64_t rounded(int64_t ns) {
  int64_t unit = 1;
  while (ns / unit >= 100) unit *= 10;
  return (ns + unit / 2) / unit * unit;
}

}  // namespace

std::string RecordingWriter::write() {
  if (of_ && !of_->is_tensor_graph() && r_.graph_.error.empty() && of_->list()) list_ = *of_->list();
  choose_nodes();
  r_.graph_.nodes = toposort(r_.ast_).size();
  json_.object([&] {
    json_.member("name", r_.graph_.name).member("target", r_.graph_.target).member("made_for", r_.graph_.made_for);
    json_.member("kind", r_.graph_.is_tensor_graph ? "tensor" : "kernel").member("error", r_.graph_.error);
    json_.member("ast", number(r_.ast_));
    write_nodes();
    write_facts();
    write_stages();
    write_texts();
    json_.key("rules").array([&] {
      for (const auto& rule : r_.rules_)
        json_.value(std::vector<int64_t>{rule.name, rule.branch, rule.file, rule.line, rule.source});
    });
    json_.member("strings", r_.strings_);
  });
  return std::move(out_);
}

// ---- nodes

void RecordingWriter::add_root(UOp u) {
  if (u) numbers_[u.id()] = 0;
}

void RecordingWriter::choose_nodes() {
  Graph& graph = r_.ast_.graph();
  numbers_.assign(graph.size(), -1);
  add_root(r_.ast_);
  for (const auto& e : r_.events_) add_root(e.a), add_root(e.b);
  for (UOp u : list_) add_root(u);
  UOpSet in_results(graph);
  auto add_result = [&](UOp root) {
    add_root(root);
    for (UOp u : toposort(root, [&](UOp s) { return !in_results.contains(s); }))
      if (in_results.insert(u)) results_.push_back(u);
  };
  add_result(r_.ast_);
  for (const auto& s : r_.stages_) {
    if (s.input) add_result(s.input);
    if (s.result) add_result(s.result);
  }
  for (size_t id = numbers_.size(); id-- > 0;) {  // sources are older than what they are sources of
    if (numbers_[id] < 0) continue;
    UOp u = graph.at(uint32_t(id));
    for (UOp s : u.src()) add_root(s);
    if (u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel)) add_root(u.arg()[0].uop());
  }
  for (size_t id = 0; id < numbers_.size(); id++)
    if (numbers_[id] >= 0) numbers_[id] = int32_t(nodes_.size()), nodes_.push_back(graph.at(uint32_t(id)));
}

int64_t RecordingWriter::first_from(uint32_t id) const {
  return std::ranges::lower_bound(nodes_, id, {}, &UOp::id) - nodes_.begin();
}

std::string RecordingWriter::text_of_arg(UOp u) {
  if (u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel)) return u.arg()[1].repr();
  std::string out = u.arg().is_none() ? "" : u.arg().repr();
  return out.size() > kMaxText ? out.substr(0, kMaxText) + "..." : out;
}

void RecordingWriter::write_nodes() {
  auto column = [&](std::string_view name, auto value) {
    json_.key(name).array([&] {
      for (UOp u : nodes_) json_.value(value(u));
    });
  };
  column("op", [&](UOp u) { return int64_t(u.op()); });
  column("dtype", [&](UOp u) { return r_.string(u.dtype() == dtypes::void_ ? "" : u.dtype().repr()); });
  column("arg", [&](UOp u) { return r_.string(text_of_arg(u)); });
  uint32_t last = 0;
  column("number", [&](UOp u) { return int64_t(u.id() - std::exchange(last, u.id())); });
  column("sources", [&](UOp u) { return u.num_src(); });
  json_.key("source").array([&] {
    for (UOp u : nodes_)
      for (UOp s : u.src()) json_.value(number(u) - number(s));
  });
  std::vector<int64_t> tags;  // of those that have one
  for (UOp u : nodes_)
    if (!u.tag().is_none()) tags.insert(tags.end(), {number(u), r_.string(u.tag().repr())});
  write_told("tags", tags, 1);
  json_.key("inner").array([&] {  // a KERNEL, its graph
    for (UOp u : nodes_)
      if (u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel))
        json_.value(number(u)).value(number(u.arg()[0].uop()));
  });
  std::vector<std::string_view> names;
  for (int op = 0; op < kNumOps; op++) names.push_back(name_of(Op(op)));
  json_.member("ops", names);
}

// A node and `values` numbers about it, again and again, in the order of the nodes; each is told by how far it is from
// the one before.
void RecordingWriter::write_told(std::string_view key, const std::vector<int64_t>& told, size_t values) {
  const size_t row = values + 1;
  std::vector<size_t> order(told.size() / row);
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return told[i * row]; });
  std::vector<int64_t> last(row);
  json_.key(key).array([&] {
    for (size_t i : order)
      for (size_t k = 0; k < row; k++) json_.value(told[i * row + k] - std::exchange(last[k], told[i * row + k]));
  });
}

// What is known of a node besides itself: its shape in tensor graphs, the least and greatest value of an integer, the
// ranges it lies in.
void RecordingWriter::write_facts() {
  std::map<std::vector<int64_t>, int64_t> lists{{{}, 0}};
  std::vector<int64_t> shapes, bounds, ranges;
  for (UOp u : results_) {
    auto told = catch_failures([&] {
      if (number(u) < 0) return Unit{};
      if (r_.graph_.is_tensor_graph && !u.is(Op::CONST))
        if (auto shape = shape_or_none(u); shape && !shape->empty()) {
          std::string text;
          for (Sint s : *shape) text += (text.empty() ? "" : ", ") + s.str();
          shapes.insert(shapes.end(), {number(u), r_.string(text)});
        }
      if (dtypes::is_int(u.dtype()) && !u.is_const() && u.num_src())
        bounds.insert(bounds.end(), {number(u), r_.string(Arg(u.vmin()).str()), r_.string(Arg(u.vmax()).str())});
      std::vector<int64_t> in;
      for (UOp range : ranges_of(u)) in.push_back(number(range));
      if (in.empty()) return Unit{};
      auto list = lists.try_emplace(std::move(in), int64_t(lists.size())).first->second;
      ranges.insert(ranges.end(), {number(u), list});
      return Unit{};
    });
    (void)told;  // what has no such fact, or fits together with nothing, is shown without
  }
  write_told("shapes", shapes, 1), write_told("bounds", bounds, 2), write_told("ranges", ranges, 1);
  std::vector<const std::vector<int64_t>*> in_order(lists.size());
  for (auto& [list, i] : lists) in_order[size_t(i)] = &list;
  json_.key("range_lists").array([&] {
    for (auto* list : in_order) json_.value(*list);
  });
}

// ---- stages

void RecordingWriter::write_stages() {
  json_.key("stages").array([&] {
    for (const auto& s : r_.stages_)
      json_.line().object([&] {
        const StageRow* row = find_row(s.name);
        json_.member("name", s.name).member("alias", row ? row->alias : "");
        json_.member("from", number(s.input)).member("to", number(s.result));
        json_.key("ms").number(s.ms, "%.3f");
        write_events(s);
      });
  });
}

// Numbers, one event after the other: what it is, then what belongs to it. Nodes are told by how far they are from the
// one told before in that part, for rewrites go through a graph in order.
void RecordingWriter::write_events(const Recorder::StageEvents& stage) {
  json_.key("events").array([&] {
    auto put = [&](std::initializer_list<int64_t> numbers) {
      for (int64_t n : numbers) json_.value(n);
    };
    int64_t last_before = 0, last_after = 0;
    auto before = [&](UOp u) { return number(u) - std::exchange(last_before, number(u)); };
    auto after = [&](UOp u) { return number(u) - std::exchange(last_after, number(u)); };
    for (size_t i = stage.first; i < stage.last; i++) {
      const Recorder::Event& e = r_.events_[i];
      switch (int64_t kind = int64_t(e.kind); e.kind) {
        case Recorder::Event::Kind::Begin:
          put({kind, number(e.a), e.numbers[0], e.numbers[1], e.numbers[2], e.numbers[3]});
          break;
        case Recorder::Event::Kind::End: put({kind, number(e.a)}); break;
        case Recorder::Event::Kind::Rewrite: {
          int64_t made = first_from(uint32_t(e.numbers[1])), count = first_from(uint32_t(e.numbers[2])) - made;
          int64_t from = before(e.a), to = after(e.b);
          put({kind, e.numbers[0], from, to, made - number(e.b), count, rounded(e.numbers[3])});
          break;
        }
        case Recorder::Event::Kind::Rebuilt: {
          int64_t from = before(e.a), to = after(e.b);
          put({kind, from, to});
          break;
        }
        case Recorder::Event::Kind::Gated: put({kind, before(e.a)}); break;
      }
    }
  });
}

// ---- texts

void RecordingWriter::write_texts() {
  json_.key("texts").array([&] {
    write_pyrender(0, r_.ast_);  // of stage 0: what it begins with; of stage n: what the n-th left
    for (size_t i = 0; i < r_.stages_.size(); i++)
      if (const auto& s = r_.stages_[i]; s.result && !(s.result == s.input) && s.name != "linear")
        write_pyrender(i + 1, s.result);
    for (auto& [kind, text] : choice_.given) write_text(kind, text);
    if (list_.empty()) return;
    write_list(list_);
    write_source(list_);
    if (auto text = of_->output(row_of("program"))) write_text("program", *text);
    if (!choice_.assembly) return;
    if (of_->target().renderer != RendererKind::LLVM) write_compiled("llvm-ir", "llvm-ir");
    write_compiled("asm", "asm");
  });
}

void RecordingWriter::write_text(std::string_view kind, std::string_view text) {
  json_.line().object([&] { json_.member("kind", kind).member("text", text); });
}

void RecordingWriter::write_pyrender(size_t stage, UOp graph) {
  auto placed = pyrender_with_places(graph);
  json_.line().object([&] {
    json_.member("kind", "pyrender").member("stage", stage);
    if (!placed) {
      json_.member("error", placed.diag().text());
      return;
    }
    json_.member("text", placed->text);
    json_.key("nodes").array([&] {  // node, line
      for (auto [u, line] : placed->lines) json_.value(number(u)).value(line);
    });
  });
}

void RecordingWriter::write_list(const std::vector<UOp>& list) {
  json_.line().object([&] {
    json_.member("kind", "linear").member("text", ansistrip(print_uops(list)));
    json_.key("nodes").array([&] {
      for (size_t i = 0; i < list.size(); i++) json_.value(number(list[i])).value(i);
    });
  });
}

void RecordingWriter::write_source(const std::vector<UOp>& list) {
  auto map = source_map(of_->target(), list);
  json_.line().object([&] {
    json_.member("kind", "source");
    if (!map) {
      json_.member("error", map.diag().text());
      return;
    }
    std::string text;
    for (const std::string& line : map->lines) text += line + "\n";
    json_.member("text", text);
    json_.key("nodes").array([&] {
      for (size_t i = 0; i < list.size(); i++)
        for (size_t k = 0; k < map->of_node[i].count; k++)
          json_.value(number(list[i])).value(map->of_node[i].first + k - 1);
    });
  });
}

void RecordingWriter::write_compiled(std::string_view row, std::string_view kind) {
  auto text = of_->output(row_of(row));
  json_.line().object([&] {
    json_.member("kind", kind);
    if (!text) json_.member("error", text.diag().message);  // without the file that the compiler was given
    else json_.member("text", *text);
  });
}

}  // namespace tgc
