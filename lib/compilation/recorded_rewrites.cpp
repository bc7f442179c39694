#include "lib/compilation/recorded_rewrites.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>

#include "lib/text/graph_json.h"
#include "lib/text/json_scan.h"

namespace tgc {

const StageRow& row_of_recorded_stage(const GoldenRecord& record, size_t index) {
  const auto kind = record.target.empty() ? StageRow::Kind::Tensor : StageRow::Kind::Kernel;
  return recorded_stage_row(kind, record.stages[index].name, index + 1);
}

Result<std::vector<Rewrite>> read_rewrites(Graph& graph, const GoldenRecord& record, std::string_view producer,
                                           std::string_view file) {
  return catch_failures([&] {
    std::vector<Rewrite> out;
    if (record.rewrites_json.empty()) return out;
    std::string_view nodes;
    std::vector<int64_t> wanted;  // for each rewrite, the indices of `before` and `after` in "nodes"
    std::map<std::pair<const StageRow*, std::string>, uint64_t> in_stage;
    JsonScanner in(record.rewrites_json, file, 1);
    in.object([&](std::string_view key) {
      if (key == "nodes") nodes = in.skip_any();
      else if (key != "list") in.skip_any();
      else
        in.array([&] {
          Rewrite made{.rewrite_number = out.size() + 1};
          size_t at = in.position(), item = 0;
          in.array([&] {
            if (item == 0) {
              const auto index = size_t(in.read_int64());
              if (index < record.stages.size()) made.stage = &row_of_recorded_stage(record, index);
            } else if (item == 1) {
              made.source_location = in.string();
            } else if (item == 4) {
              made.depth = int(std::clamp<int64_t>(in.read_int64(), 0, INT_MAX));
            } else if (item > 4) {
              in.skip_any();
            } else {
              wanted.push_back(in.read_int64());
            }
            item++;
          });
          if (item < 4 || item > 5 || made.source_location.empty())
            in.throw_error(at, "a match of " + std::to_string(item) + " items", "[stage, place, before, after, depth]");
          made.number_in_stage = ++in_stage[{made.stage, made.source_location}];
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
    const StageRow& row = row_of_recorded_stage(record, index);
    size_t n = 0;
    while (n < rewrites.size() && rewrites[n].stage && rewrites[n].stage->position_in_level <= row.position_in_level)
      n++;
    out.push_back(rewrites.first(n));
    rewrites = rewrites.subspan(n);
  }
  return out;
}

namespace {

// Copies the text and never frees the copy, because trace consumers keep views of it.
std::string_view intern_text(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> texts;
  std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

constexpr std::string_view kDiscarded = "discarded";

TraceRule trace_rule_of(const Rewrite& match) {
  std::string_view place = intern_text(match.source_location);
  const size_t colon = std::min(place.rfind(':'), place.size() - 1);
  const auto line = uint32_t(std::strtoul(match.source_location.c_str() + colon + 1, nullptr, 10));
  return {.name = place, .file = place.substr(0, colon), .line = line, .branch = match.is_discarded ? kDiscarded : ""};
}

}  // namespace

// Applies recorded matches to a graph, to find the nodes that the graph rewrite only rebuilds with new sources.
class RewriteRebuilder {
 public:
  struct RebuiltNode {
    UOp before, after;
  };

  // Applies the `matches` of the smallest depth, except the first `skipped` of them and discarded ones.
  RewriteRebuilder(Graph& graph, std::span<const Rewrite> matches, size_t skipped = 0)
      : match_index_of_(graph), final_nodes_(graph), num_matches_at_creation_(graph), nodes_in_progress_(graph) {
    for (const Rewrite& m : matches) match_depth_ = std::min(match_depth_, m.depth);
    for (const Rewrite& m : matches)
      if (m.depth == match_depth_) matches_.push_back(&m);
    for (size_t i = skipped; i < matches_.size(); i++)
      if (const Rewrite& m = *matches_[i]; !m.is_discarded && !match_index_of_.contains(m.before))
        match_index_of_[m.before] = i;
    rebuilt_after_match_.resize(matches_.size() + 1);
  }

  int match_depth() const { return match_depth_; }
  std::span<const Rewrite* const> matches() const { return matches_; }
  // To be called after rebuild_graph(root).
  UOp result(UOp root) const { return final_nodes_.find(root)->node; }

  void rebuild_graph(UOp root) {
    auto add = [&](UOp made, size_t after) {
      for (UOp u : toposort(made, [&](UOp s) { return !num_matches_at_creation_.contains(s); }))
        if (!num_matches_at_creation_.contains(u)) num_matches_at_creation_[u] = after;
    };
    add(root, 0);
    for (size_t i = 0; i < matches_.size(); i++) add(matches_[i]->before, i), add(matches_[i]->after, i + 1);
    std::vector<UOp> stack{root};
    while (!stack.empty()) {
      UOp u = stack.back();
      if (!final_nodes_.contains(u)) {
        nodes_in_progress_.insert(u);
        const size_t waiting = stack.size();
        resolve_node(u, stack);
        if (stack.size() > waiting) continue;
        nodes_in_progress_.erase(u);
      }
      stack.pop_back();
    }
  }

  // Drops rebuilt nodes whose final node is not in the graph of `result`, because tinygrad may not have made them.
  void drop_nodes_outside(UOp result) {
    UOpSet in_result(result.graph());
    for (UOp u : toposort(result)) in_result.insert(u);
    for (auto& list : rebuilt_after_match_)
      std::erase_if(list, [&](const RebuiltNode& r) { return !in_result.contains(final_nodes_.find(r.before)->node); });
  }

  // Returns the nodes that are rebuilt after the first `matches` matches, and before the next one.
  std::span<const RebuiltNode> behind(size_t matches) const { return rebuilt_after_match_[matches]; }

 private:
  struct FinalNode {
    UOp node;      // the result of all matches on a node
    size_t after;  // number of matches after which the node has become `node`
  };

  // Sets final_nodes_[u], or pushes onto `stack` the nodes whose entries in final_nodes_ must be set before.
  void resolve_node(UOp u, std::vector<UOp>& stack) {
    auto is_ready = [&](UOp s) {
      if (!final_nodes_.contains(s) && !nodes_in_progress_.contains(s)) stack.push_back(s);
      return stack.back() == u;
    };
    if (const size_t* i = match_index_of_.find(u)) {
      UOp after = matches_[*i]->after;
      if (!is_ready(after)) return;
      const FinalNode* to = final_nodes_.find(after);  // null if `after` needs the final node of `u`
      final_nodes_[u] = to ? FinalNode{to->node, std::max(to->after, *i + 1)} : FinalNode{after, *i + 1};
      return;
    }
    for (size_t i = u.num_src(); i-- > 0;) is_ready(u.src(i));
    if (!(stack.back() == u)) return;
    std::vector<UOp> src;
    size_t after = *num_matches_at_creation_.find(u);
    for (UOp s : u.src()) {
      const FinalNode* to = final_nodes_.find(s);
      src.push_back(to ? to->node : s);
      if (to) after = std::max(after, to->after);
    }
    if (std::ranges::equal(src, u.src())) {
      final_nodes_[u] = {u, after};
      return;
    }
    UOp made = u.with_src(src);
    if (const size_t* known = num_matches_at_creation_.find(made); !known || *known > after)
      num_matches_at_creation_[made] = after;
    if (!is_ready(made)) return;
    const FinalNode* to = final_nodes_.find(made);
    rebuilt_after_match_[after].push_back({u, made});
    final_nodes_[u] = to ? FinalNode{to->node, std::max(to->after, after)} : FinalNode{made, after};
  }

  int match_depth_ = INT_MAX;
  std::vector<const Rewrite*> matches_;
  UOpMap<size_t> match_index_of_;
  UOpMap<FinalNode> final_nodes_;
  UOpMap<size_t> num_matches_at_creation_;  // by node: the number of matches after which it exists
  UOpSet nodes_in_progress_;
  std::vector<std::vector<RebuiltNode>> rebuilt_after_match_;
};

namespace {

// Returns the rebuilder of a stage, after its rebuild_graph(). A stage may first make graph rewrites whose results it
// drops. So if all matches together do not give `result`, tries to skip the first matches: those before each of the
// last kMostTried matches whose rule is in another file than the previous one. Returns the first rebuilder that gives
// `result` or, if there is none, that of all matches.
std::unique_ptr<RewriteRebuilder> make_stage_rebuilder(UOp input, UOp result, std::span<const Rewrite> matches) {
  constexpr size_t kMostTried = 64;
  auto rebuilder = [&](size_t skipped) {
    auto out = std::make_unique<RewriteRebuilder>(input.graph(), matches, skipped);
    out->rebuild_graph(input);
    return out;
  };
  auto all = rebuilder(0);
  if (!result || all->result(input) == result) return all;
  auto file = [&](size_t i) {
    const std::string_view place = all->matches()[i]->source_location;
    return place.substr(0, place.rfind(':'));
  };
  std::vector<size_t> starts;
  for (size_t i = all->matches().size(); i-- > 1 && starts.size() < kMostTried;)
    if (file(i) != file(i - 1)) starts.push_back(i);
  for (size_t start : starts)
    if (auto rest = rebuilder(start); rest->result(input) == result) return rest;
  return all;
}

}  // namespace

void mark_discarded(std::span<Rewrite> rewrites, UOp input, UOp result) {
  if (rewrites.empty() || !result) return;
  const int own_depth = std::ranges::min_element(rewrites, {}, &Rewrite::depth)->depth;
  for (size_t i = rewrites.size(); i-- > 0 && (input == result || rewrites[i].depth > own_depth);)
    rewrites[i].is_discarded = true;
}

void RecordedTraceSender::assign_node_numbers(UOp root) {
  for (UOp u : toposort(root, [&](UOp s) { return !node_numbers_.contains(s); })) {
    if (u.is(Op::KERNEL) && u.arg().is(RecordClass::Kernel)) assign_node_numbers(u.arg()[0].uop());
    if (!node_numbers_.contains(u)) node_numbers_[u] = next_number_++;
  }
}

void RecordedTraceSender::send_stage(std::string_view name, UOp input, UOp result, std::span<const Rewrite> matches,
                                     bool wanted) {
  stage_consumer_ = wanted ? &trace_consumer_ : &null_consumer_;
  assign_node_numbers(input);
  name = intern_text(std::string(name));
  stage_consumer_->begin_stage(name, input);
  stage_consumer_->begin_rewrite({.name = name, .rule_set = name}, 0, input);
  send_rewrites(matches, 0, *make_stage_rebuilder(input, result, matches));
  assign_node_numbers(result);
  stage_consumer_->end_rewrite(0, result);
  stage_consumer_->end_stage(result);
}

void RecordedTraceSender::send_rewrites(std::span<const Rewrite> matches, int depth, RewriteRebuilder& rebuilt) {
  size_t count = 0;
  send_rebuilt_nodes(rebuilt, count, depth);
  for (size_t first = 0, i = 0; first < matches.size(); first = i + 1) {
    for (i = first; i < matches.size() && matches[i].depth > rebuilt.match_depth(); i++) {}
    const auto inside = matches.subspan(first, i - first);
    const bool is_whole = i < matches.size();  // false if the rule declined after it made nested matches
    if (is_whole) assign_node_numbers(matches[i].before);
    const uint32_t first_made_node_number = next_number_;
    if (!inside.empty()) {
      const std::string_view name = intern_text("inside " + (is_whole ? matches[i].source_location : "a rule"));
      assign_node_numbers(inside[0].before);
      stage_consumer_->begin_rewrite({.name = name, .rule_set = name}, depth + 1, inside[0].before);
      // The recording does not have the graphs that the rule rewrote. Assume that the rule rewrote the graph of the
      // node that it matched, as a substitution of ranges does.
      RewriteRebuilder rebuilt_inside(inside[0].before.graph(), inside);
      if (is_whole)
        rebuilt_inside.rebuild_graph(matches[i].before), rebuilt_inside.drop_nodes_outside(matches[i].after);
      send_rewrites(inside, depth + 1, rebuilt_inside);
      stage_consumer_->end_rewrite(depth + 1, UOp());
    }
    if (!is_whole) return;
    assign_node_numbers(matches[i].before), assign_node_numbers(matches[i].after);
    stage_consumer_->on_rule_applied(depth, trace_rule_of(matches[i]), matches[i].before, matches[i].after,
                                     {first_made_node_number, next_number_});
    send_rebuilt_nodes(rebuilt, ++count, depth);
  }
}

void RecordedTraceSender::send_rebuilt_nodes(const RewriteRebuilder& of, size_t behind, int depth) {
  for (auto [before, after] : of.behind(behind)) {
    assign_node_numbers(before), assign_node_numbers(after);
    stage_consumer_->on_node_rebuilt(depth, before, after);
  }
}

}  // namespace tgc
