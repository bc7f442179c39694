#include "lib/trace/provenance.h"

#include <algorithm>

#include "lib/trace/trace_print.h"

namespace tgc {

void Provenance::kernel(std::string_view, std::string_view, UOp ast) {
  ast_ = ast;
  events_.clear();
  stages_.clear();
}

void Provenance::stage(std::string_view name, UOp input) {
  names_.push_back(std::make_unique<std::string>(name));
  stages_.push_back({*names_.back(), input, {}, events_.size(), events_.size()});
}

void Provenance::stage_end(UOp result) {
  stages_.back().result = result;
  stages_.back().last = events_.size();
}

void Provenance::begin(const TraceRewrite& rewrite, int, UOp input) {
  if (!stages_.empty()) stages_.back().begun.push_back({rewrite, input});
}

// Returns the first rewrite of the stage whose input contains the node. Ignores rewrites of the stage's own input.
TraceRewrite Provenance::first_rewrite_of(const StageEvents& stage, UOp node) const {
  for (const Begun& b : stage.begun)
    if (!(b.input == stage.input) && is_in(b.input, node)) return b.rewrite;
  return {};
}

void Provenance::rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) {
  if (stages_.empty()) return;
  events_.push_back({before, after, rule, cost.made_from, cost.made_to, uint32_t(stages_.size() - 1), depth});
}

void Provenance::rebuilt(int depth, UOp before, UOp after) {
  if (stages_.empty()) return;
  events_.push_back({before, after, {}, 0, 0, uint32_t(stages_.size() - 1), depth});
}

const Provenance::StageEvents* Provenance::find(std::string_view stage) const {
  for (const StageEvents& s : stages_)
    if (s.name == stage) return &s;
  return nullptr;
}

UOp Provenance::result_of(std::string_view stage) const {
  if (stage.empty()) return ast_;
  const StageEvents* s = find(stage);
  return s ? s->result : UOp();
}

std::vector<std::string_view> Provenance::stages() const {
  std::vector<std::string_view> out;
  for (const StageEvents& s : stages_) out.push_back(s.name);
  return out;
}

bool Provenance::is_in(UOp root, UOp node) const { return root && in_backward_slice_with_self(root, node); }

std::vector<Step> Provenance::back(UOp node, std::string_view stage, bool& from_ast) const {
  std::vector<Step> out;
  from_ast = false;
  const StageEvents* s = stage.empty() ? nullptr : find(stage);
  if (!s) {
    from_ast = stage.empty() && is_in(ast_, node);
    return out;
  }
  for (size_t k = size_t(s - stages_.data()) + 1; k-- > 0;) {
    const StageEvents& here = stages_[k];
    size_t end = here.last;
    while (!is_in(here.input, node)) {
      // Find the rewrite that resulted in the node, else the innermost rewrite that created the node.
      size_t found = end;
      auto kind = Step::Kind::Rewrite;
      for (size_t i = here.first; i < end && found == end; i++)
        if (events_[i].after == node && !(events_[i].before == node)) found = i;
      for (size_t i = here.first; i < end && found == end; i++)
        if (uint32_t n = number(node);
            !events_[i].rule.name.empty() && n >= events_[i].made_from && n < events_[i].made_to)
          found = i, kind = Step::Kind::Part;
      for (size_t i = here.first; i < end && found == end; i++)  // else a substitution that inserted an older node
        if (const Event& e = events_[i]; !e.rule.name.empty() && is_in(e.after, node) && !is_in(e.before, node))
          found = i, kind = Step::Kind::Part;
      if (found == end) {
        out.push_back({Step::Kind::Stage, here.name, {}, UOp(), node, first_rewrite_of(here, node)});
        std::reverse(out.begin(), out.end());
        return out;
      }
      const Event& e = events_[found];
      if (e.rule.name.empty()) kind = Step::Kind::Rebuilt;
      out.push_back({kind, here.name, e.rule, e.before, node});
      node = e.before;
      end = found;
    }
  }
  from_ast = is_in(ast_, node);
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Step> Provenance::forward(UOp node, std::string_view stage, UOp& last) const {
  std::vector<Step> out;
  size_t k = 0;
  if (!stage.empty()) {
    const StageEvents* s = find(stage);
    if (!s) return out;
    k = size_t(s - stages_.data()) + 1;
  }
  for (; k < stages_.size(); k++) {
    const StageEvents& here = stages_[k];
    bool is_root = node == here.input;
    auto follow = [&](const Event& e) {
      out.push_back(
          {e.rule.name.empty() ? Step::Kind::Rebuilt : Step::Kind::Rewrite, here.name, e.rule, node, e.after});
      node = e.after;
    };
    for (size_t i = here.first; i < here.last; i++)
      if (const Event& e = events_[i]; !e.depth && e.before == node) follow(e);
    if (is_in(here.result, node)) continue;
    // Otherwise, a rewrite inside a rule may have replaced the node.
    for (size_t i = here.first; i < here.last && !is_in(here.result, node); i++)
      if (const Event& e = events_[i]; e.depth && e.before == node && is_in(here.result, e.after)) follow(e);
    if (is_in(here.result, node)) continue;
    if (is_root) {  // code of the stage outside its rules replaced the root, as in the optimizer
      out.push_back({Step::Kind::Stage, here.name, {}, node, here.result});
      node = here.result;
      continue;
    }
    last = UOp();
    Step gone{Step::Kind::Gone, here.name, {}, node, UOp()};
    for (size_t i = here.first; i < here.last; i++)
      if (const Event& e = events_[i];
          !e.depth && !e.rule.name.empty() && is_in(e.before, node) && !is_in(e.after, node))
        gone.rule = e.rule;
    out.push_back(gone);
    return out;
  }
  last = node;
  return out;
}

namespace {

class Story {
 public:
  Story(const Provenance& p, bool color) : p_(p), color_(color) {}

  std::string tell(UOp node, std::string_view stage) {
    bool from_ast = false;
    auto before = p_.back(node, stage, from_ast);
    head(stage.empty() ? "the AST's node" : "the node of '" + std::string(stage) + "'");
    line("    ", node);
    head("where it comes from");
    if (before.empty())
      out_ += from_ast ? "    it is a node of the AST as it stands\n" : "    unknown: the trace does not reach back\n";
    else if (from_ast) out_ += "    in the AST:\n", line("    ", before.front().before);
    steps(before);
    UOp last;
    auto after = p_.forward(node, stage, last);
    head("what becomes of it");
    if (after.empty()) out_ += "    nothing changes it\n";
    steps(after);
    return std::move(out_);
  }

 private:
  void head(const std::string& text) { out_ += (color_ ? "\x1b[1m" : "") + text + (color_ ? "\x1b[0m" : "") + "\n"; }
  void line(std::string_view prefix, UOp u) { out_ += std::string(prefix) + trace_line(u, p_) + "\n"; }

  void steps(const std::vector<Step>& list) {
    std::string_view stage;
    for (const Step& s : list) {
      if (s.stage != stage) out_ += "  " + std::string(s.stage) + "\n";
      stage = s.stage;
      switch (s.kind) {
        case Step::Kind::Rewrite:
          out_ += "    " + name_with_place(s.rule) + "\n";
          break;
        case Step::Kind::Part:
          out_ += "    a part of what " + name_with_place(s.rule) + " made of\n";
          line("      ", s.before);
          break;
        case Step::Kind::Rebuilt: out_ += "    with the sources that its sources became\n"; break;
        case Step::Kind::Stage: out_ += "    made by the stage itself" + given_to(s.rewrite) + "\n"; break;
        case Step::Kind::Gone:
          out_ += s.rule.name.empty() ? "    gone: nothing uses it any more\n"
                                      : "    gone: " + name_with_place(s.rule) +
                                            " made something else of what used it\n";
          break;
      }
      if (s.after) line("      ", s.after);
    }
  }

  static std::string given_to(const TraceRewrite& rewrite) {
    if (rewrite.name.empty()) return "";
    bool own_set = rewrite.set == rewrite.name;
    return ", for the rewrite '" + std::string(rewrite.name) + "'" + (own_set ? "" : " by " + std::string(rewrite.set));
  }

  const Provenance& p_;
  bool color_;
  std::string out_;
};

}  // namespace

std::string to_text(const Provenance& provenance, UOp node, std::string_view stage, bool color) {
  return Story(provenance, color).tell(node, stage);
}

}  // namespace tgc
