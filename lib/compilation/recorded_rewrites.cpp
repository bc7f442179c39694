#include "lib/compilation/recorded_rewrites.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <set>

#include "lib/text/graph_json.h"
#include "lib/text/json_scan.h"

namespace tgc {

const StageRow& row_of_recorded(const GoldenRecord& record, size_t index) {
  const auto kind = record.target.empty() ? StageRow::Kind::Tensor : StageRow::Kind::Kernel;
  return recorded_row(kind, record.stages[index].name, index + 1);
}

Result<std::vector<Rewrite>> read_rewrites(Graph& graph, const GoldenRecord& record, std::string_view producer,
                                           std::string_view file) {
  return catch_failures([&] {
    std::vector<Rewrite> out;
    if (record.rewrites.empty()) return out;
    std::string_view nodes;
    std::vector<int64_t> wanted;  // two indices into the nodes per rewrite, in order: `before` and `after`
    std::map<std::pair<const StageRow*, std::string>, uint64_t> in_stage;
    JsonScanner in(record.rewrites, file, 1);
    in.object([&](std::string_view key) {
      if (key == "nodes") nodes = in.skip();
      else if (key != "list") in.skip();
      else
        in.array([&] {
          Rewrite made{.number = out.size() + 1};
          size_t at = in.position(), item = 0;
          in.array([&] {
            if (item == 0) {
              const auto index = size_t(in.int64());
              if (index < record.stages.size()) made.stage = &row_of_recorded(record, index);
            } else if (item == 1) {
              made.place = in.string();
            } else if (item == 4) {
              made.depth = int(std::clamp<int64_t>(in.int64(), 0, INT_MAX));
            } else if (item > 4) {
              in.skip();
            } else {
              wanted.push_back(in.int64());
            }
            item++;
          });
          if (item < 4 || item > 5 || made.place.empty())
            in.fail(at, "a match of " + std::to_string(item) + " items", "[stage, place, before, after, depth]");
          made.in_stage = ++in_stage[{made.stage, made.place}];
          out.push_back(std::move(made));
        });
    });
    if (out.empty()) return out;
    std::string text = "{\"format\":\"tgc-graph\",\"version\":1,\"producer\":";
    append_json_string(text, producer);
    text.append(",\"nodes\":").append(nodes).append(",\"list\":[");
    for (size_t i = 0; i < wanted.size(); i++) text += (i ? "," : "") + std::to_string(wanted[i]);
    GraphFile read = graph_from_json(graph, text + "]}", file).value_or_throw();
    for (size_t i = 0; i < out.size(); i++) out[i].before = read.list[2 * i], out[i].after = read.list[2 * i + 1];
    return out;
  });
}

std::vector<std::span<const Rewrite>> split_by_stage(const GoldenRecord& record, std::span<const Rewrite> rewrites) {
  std::vector<std::span<const Rewrite>> out;
  for (size_t index = 0; index < record.stages.size(); index++) {
    const StageRow& row = row_of_recorded(record, index);
    size_t n = 0;
    while (n < rewrites.size() && rewrites[n].stage && rewrites[n].stage->number <= row.number) n++;
    out.push_back(rewrites.first(n));
    rewrites = rewrites.subspan(n);
  }
  return out;
}

namespace {

// Returns a copy of the text that is never freed, because trace consumers refer to it.
std::string_view intern(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> texts;
  std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

constexpr std::string_view kDiscarded = "discarded";  // see is_discarded(TraceRule)

// A recording names a rule by its file and line in tinygrad.
TraceRule rule_of(const Rewrite& match) {
  std::string_view place = intern(match.place);
  const size_t colon = std::min(place.rfind(':'), place.size() - 1);
  const auto line = uint32_t(std::strtoul(match.place.c_str() + colon + 1, nullptr, 10));
  return {.name = place, .file = place.substr(0, colon), .line = line, .branch = match.is_discarded ? kDiscarded : ""};
}

}  // namespace

// Applies matches to a graph, as a graph_rewrite does, to find the nodes that it rebuilds with new sources.
class RewriteRebuilder {
 public:
  struct Rebuilt {
    UOp before, after;
  };

  // `matches`: those that the stage's own rewrite made.
  RewriteRebuilder(Graph& graph, std::span<const Rewrite* const> matches)
      : matches_(matches), match_of_(graph), known_(graph), open_(graph), behind_(matches.size() + 1) {
    for (size_t i = 0; i < matches.size(); i++)
      if (UOp u = matches[i]->before; !match_of_.contains(u)) match_of_[u] = i;
  }

  void run(UOp root) {
    std::vector<UOp> stack{root};
    while (!stack.empty()) {
      UOp u = stack.back();
      if (!known_.contains(u)) {
        open_.insert(u);
        const size_t waiting = stack.size();
        step(u, stack);
        if (stack.size() > waiting) continue;
        open_.erase(u);
      }
      stack.pop_back();
    }
  }

  // Returns the nodes that are rebuilt when the first `matches` matches have been made.
  std::span<const Rebuilt> behind(size_t matches) const { return behind_[matches]; }

 private:
  struct Known {
    UOp node;      // what a node becomes
    size_t after;  // number of matches after which it is that
  };

  // Finds what `u` becomes, or pushes the nodes that must be known before.
  void step(UOp u, std::vector<UOp>& stack) {
    auto is_ready = [&](UOp s) {
      if (!known_.contains(s) && !open_.contains(s)) stack.push_back(s);
      return stack.back() == u;
    };
    if (const size_t* i = match_of_.find(u)) {
      UOp after = matches_[*i]->after;
      if (!is_ready(after)) return;
      const Known* to = known_.find(after);  // null: `after` is above `u`
      known_[u] = to ? Known{to->node, std::max(to->after, *i + 1)} : Known{after, *i + 1};
      return;
    }
    for (size_t i = u.num_src(); i-- > 0;)
      if (UOp s = u.src(i); !known_.contains(s) && !open_.contains(s)) stack.push_back(s);
    if (!(stack.back() == u)) return;
    std::vector<UOp> src;
    size_t after = 0;
    for (UOp s : u.src()) {
      const Known* to = known_.find(s);
      src.push_back(to ? to->node : s);
      if (to) after = std::max(after, to->after);
    }
    if (std::ranges::equal(src, u.src())) {
      known_[u] = {u, after};
      return;
    }
    UOp made = u.with_src(src);
    if (!is_ready(made)) return;
    const Known* to = known_.find(made);
    behind_[after].push_back({u, made});
    known_[u] = to ? Known{to->node, std::max(to->after, after)} : Known{made, after};
  }

  std::span<const Rewrite* const> matches_;
  UOpMap<size_t> match_of_;
  UOpMap<Known> known_;
  UOpSet open_;  // nodes whose sources are being handled
  std::vector<std::vector<Rebuilt>> behind_;
};

void mark_discarded(std::span<Rewrite> rewrites, UOp input, UOp result) {
  if (rewrites.empty() || !result) return;
  const int own_depth = std::ranges::min_element(rewrites, {}, &Rewrite::depth)->depth;
  for (size_t i = rewrites.size(); i-- > 0 && (input == result || rewrites[i].depth > own_depth);)
    rewrites[i].is_discarded = true;
}

void RecordedTrace::add(UOp root) {
  for (UOp u : toposort(root, [&](UOp s) { return !numbers_.contains(s); })) {
    if (u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel)) add(u.arg()[0].uop());
    if (!numbers_.contains(u)) numbers_[u] = next_++;
  }
}

void RecordedTrace::stage(std::string_view name, UOp input, UOp result, std::span<const Rewrite> matches) {
  add(input);
  name = intern(std::string(name));
  to_.stage(name, input);
  to_.begin({.name = name, .set = name}, 0, input);
  int least = INT_MAX;  // releases run the pipeline inside a rule, so the stage's own matches may have a depth
  for (const Rewrite& m : matches) least = std::min(least, m.depth);
  std::vector<const Rewrite*> own;
  for (const Rewrite& m : matches)
    if (m.depth == least) own.push_back(&m);
  RewriteRebuilder rebuilt(input.graph(), own);
  rebuilt.run(input);
  send(matches, least, 0, &rebuilt);
  add(result);
  to_.end(0, result);
  to_.stage_end(result);
}

// Sends matches of depth `level`, each behind the matches of greater depth that its rule made.
void RecordedTrace::send(std::span<const Rewrite> matches, int level, int depth, RewriteRebuilder* rebuilt) {
  size_t count = 0;
  if (rebuilt) send_rebuilt(*rebuilt, count);
  for (size_t first = 0, i = 0; first < matches.size(); first = i + 1) {
    for (i = first; i < matches.size() && matches[i].depth > level; i++) {}
    const auto inside = matches.subspan(first, i - first);
    const bool is_whole = i < matches.size();  // false: the rule made no match of its own
    if (is_whole) add(matches[i].before);
    const uint32_t made_from = next_;
    if (!inside.empty()) {
      const std::string_view name = intern("inside " + (is_whole ? matches[i].place : "a rule"));
      add(inside[0].before);
      to_.begin({.name = name, .set = name}, depth + 1, inside[0].before);
      int least = INT_MAX;
      for (const Rewrite& m : inside) least = std::min(least, m.depth);
      send(inside, least, depth + 1, nullptr);
      to_.end(depth + 1, UOp());
    }
    if (!is_whole) return;
    add(matches[i].before), add(matches[i].after);
    to_.rewrite(depth, rule_of(matches[i]), matches[i].before, matches[i].after, {made_from, next_});
    if (rebuilt) send_rebuilt(*rebuilt, ++count);
  }
}

void RecordedTrace::send_rebuilt(RewriteRebuilder& of, size_t behind) {
  for (auto [before, after] : of.behind(behind)) {
    add(before), add(after);
    to_.rebuilt(0, before, after);
  }
}

}  // namespace tgc
