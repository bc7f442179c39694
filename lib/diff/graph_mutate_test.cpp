#include "lib/diff/testing.h"

#include <algorithm>
#include <map>

#include "lib/uop/facts.h"

namespace tgc::testing {
namespace {

constexpr OpSet kSwappable{Op::SUB, Op::IDIV, Op::MOD, Op::CMPLT, Op::SHL, Op::SHR, Op::FDIV, Op::POW};

// Returns the graph with make(target) in place of `target`. Simplifies nothing.
UOp rebuild(UOp root, UOp target, const std::function<UOp(UOp)>& make) {
  UOpMap<UOp> now(root.graph());
  for (UOp u : toposort(root)) {
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(*now.find(s));
    UOp same = root.graph().node(u.op(), u.dtype(), src, u.arg(), u.tag());
    now[u] = u == target ? make(same) : same;
  }
  return *now.find(root);
}

UOp with_source(UOp u, size_t i, UOp source) {
  std::vector<UOp> src(u.src().begin(), u.src().end());
  src[i] = source;
  return u.graph().node(u.op(), u.dtype(), src, u.arg(), u.tag());
}

UOp remade(UOp u, Op op, DType dtype, Arg arg) { return u.graph().node(op, dtype, u.src(), arg, u.tag()); }

bool is_number(UOp u) {
  return u.is_const() && u.arg().is_const() && !u.arg().is_invalid() && u.dtype().scalar() != dtypes::bool_;
}
bool is_value(UOp u) { return u.in({Op::CONST, Op::VCONST, Op::DEVICE}); }

using Shown = std::function<bool(const GraphDiff&)>;

// Returns a predicate: the diff has at most two changes, and one is the difference `what` of node number `a`.
Shown changed(size_t a, std::string what) {
  return [=](const GraphDiff& d) {
    if (d.changes.size() > 2) return false;
    for (const NodeChange& c : d.changes)
      for (const PropertyDifference& x : c.differences)
        if (c.position_a == int32_t(a) && x.property_name.starts_with(what)) return true;
    return false;
  };
}

Shown either(Shown x, Shown y) {
  return [=](const GraphDiff& d) { return x(d) || y(d); };
}

Shown came(std::string op) {
  return [=](const GraphDiff& d) {
    return d.changes.size() <= 2 && std::any_of(d.changes.begin(), d.changes.end(), [&](const NodeChange& c) {
             return c.kind == NodeChange::Kind::Added && c.after.find("= " + op) != std::string::npos;
           });
  };
}

Shown went(size_t a) {
  return [=](const GraphDiff& d) {
    return d.changes.size() <= 2 && std::any_of(d.changes.begin(), d.changes.end(), [&](const NodeChange& c) {
             return c.kind == NodeChange::Kind::Removed && c.position_a == int32_t(a);
           });
  };
}

class Mutator {
 public:
  Mutator(UOp root, std::mt19937& random) : root_(root), nodes_(toposort(root)), index_(root.graph()), random_(random) {
    for (size_t i = 0; i < nodes_.size(); i++) index_[nodes_[i]] = i;
  }

  std::optional<MutatedGraph> make(MutationKind kind) {
    switch (kind) {
      case MutationKind::AxisType: return axis_type();
      case MutationKind::Constant: return constant();
      case MutationKind::SwappedSources: return swapped();
      case MutationKind::DroppedStore: return dropped_store();
      case MutationKind::OtherOp: return other_op();
      case MutationKind::OtherDType: return other_dtype();
      case MutationKind::RangeSize: return range_size();
      case MutationKind::OtherArg: return other_arg();
      case MutationKind::OtherSource: return other_source();
      case MutationKind::Inserted: return inserted();
      case MutationKind::Removed: return removed();
      case MutationKind::Validity: return validity();
    }
    return {};
  }

 private:
  UOp pick(const std::function<bool(UOp)>& fits) {
    std::vector<UOp> found;
    for (UOp u : nodes_)
      if (fits(u)) found.push_back(u);
    return found.empty() ? UOp() : found[random_() % found.size()];
  }
  size_t at(UOp u) { return index_[u]; }
  // Returns nullopt if the graph has the new node already, unless `may_be_known` is set: two nodes would become one.
  std::optional<MutatedGraph> done(UOp target, const std::function<UOp(UOp)>& make, Shown shown,
                                   bool may_be_known = false) {
    UOp replacement = make(target);
    if (!may_be_known && index_.contains(replacement)) return {};
    return MutatedGraph{rebuild(root_, target, make), std::move(shown)};
  }

  std::optional<MutatedGraph> axis_type() {
    UOp u = pick([](UOp u) { return u.is(Op::RANGE) && u.arg().is_tuple(); });
    if (!u) return {};
    return done(u, [](UOp r) {
      std::vector<Arg> arg(r.arg().items().begin(), r.arg().items().end());
      arg.back() = arg.back().axis_type() == AxisType::REDUCE ? AxisType::LOOP : AxisType::REDUCE;
      return remade(r, r.op(), r.dtype(), r.graph().tuple(arg));
    }, changed(at(u), "axis type"));
  }

  std::optional<MutatedGraph> constant() {
    UOp u = pick([](UOp u) { return u.in(ops::ALU) && std::any_of(u.src().begin(), u.src().end(), is_number); });
    if (!u) return {};
    size_t i = 0;
    while (!is_number(u.src(i))) i++;
    UOp c = u.src(i), other = remade(c, c.op(), c.dtype(), py_add(c.arg().to_const(), 7));
    return done(u, [=](UOp r) { return with_source(r, i, other); }, changed(at(u), "source " + std::to_string(i)));
  }

  std::optional<MutatedGraph> swapped() {
    UOp u = pick([](UOp u) {
      return (u.in(kSwappable) && !(u.src(0) == u.src(1))) || (u.is(Op::WHERE) && !(u.src(1) == u.src(2)));
    });
    if (!u) return {};
    size_t i = u.is(Op::WHERE) ? 1 : 0;
    return done(u, [=](UOp r) { return with_source(with_source(r, i, r.src(i + 1)), i + 1, r.src(i)); },
                either(changed(at(u), "order"), changed(at(u), "source")));
  }

  std::optional<MutatedGraph> dropped_store() {
    UOp u = root_;
    if (!u.is(Op::SINK) || u.num_src() < 2) return {};
    size_t i = random_() % u.num_src();
    if (std::count(u.src().begin(), u.src().end(), u.src(i)) > 1) return {};
    for (UOp s : u.src())  // not a store that another source of `u` uses, because it would stay in the graph
      if (!(s == u.src(i)) && in_backward_slice_with_self(s, u.src(i))) return {};
    return done(
        u,
        [=](UOp r) {
          std::vector<UOp> src(r.src().begin(), r.src().end());
          src.erase(src.begin() + int64_t(i));
          return r.graph().node(r.op(), r.dtype(), src, r.arg(), r.tag());
        },
        [gone = at(u.src(i))](const GraphDiff& d) {
          return !d.changes.empty() && d.changes.size() <= 4 &&
                 std::any_of(d.changes.begin(), d.changes.end(), [&](const NodeChange& c) {
                   return c.kind == NodeChange::Kind::Removed && c.position_a == int32_t(gone);
                 });
        });
  }

  std::optional<MutatedGraph> other_op() {
    UOp u = pick([](UOp u) {
      return u.in(
          {Op::ADD, Op::MUL, Op::MAX, Op::CMPLT, Op::EXP2, Op::LOG2, Op::SQRT, Op::AND, Op::IDIV, Op::RECIPROCAL});
    });
    if (!u) return {};
    auto other = [](Op op) {
      switch (op) {
        case Op::ADD: return Op::MUL;
        case Op::MUL: return Op::MAX;
        case Op::MAX: return Op::ADD;
        case Op::CMPLT: return Op::CMPNE;
        case Op::EXP2: return Op::LOG2;
        case Op::AND: return Op::OR;
        case Op::IDIV: return Op::MOD;
        default: return Op::EXP2;
      }
    };
    return done(
        u, [=](UOp r) { return remade(r, r.is(Op::EXP2) ? Op::LOG2 : other(r.op()), r.dtype(), r.arg()); },
        changed(at(u), "op"));
  }

  std::optional<MutatedGraph> other_dtype() {
    UOp u = pick([](UOp u) { return u.in(ops::ALU | OpSet{Op::CAST, Op::LOAD}) && !u.dtype().is_ptr(); });
    if (!u) return {};
    DType other = u.dtype().scalar() == dtypes::float64 ? dtypes::int64 : dtypes::float64;
    return done(
        u,
        [=](UOp r) { return remade(r, r.op(), r.dtype().count() > 1 ? other.vec(r.dtype().count()) : other, r.arg()); },
        changed(at(u), "dtype"));
  }

  std::optional<MutatedGraph> range_size() {
    UOp u = pick([](UOp u) { return u.in({Op::RANGE, Op::SPECIAL}) && u.src(0).is_const(); });
    if (!u) return {};
    return done(
        u,
        [](UOp r) {
          return with_source(r, 0, remade(r.src(0), Op::CONST, r.src(0).dtype(), py_add(r.src(0).arg().to_const(), 3)));
        },
        changed(at(u), "size"));
  }

  std::optional<MutatedGraph> other_arg() {
    UOp u = pick([](UOp u) { return u.in({Op::REDUCE, Op::SPECIAL, Op::DEFINE_GLOBAL, Op::GEP}); });
    if (!u) return {};
    return done(
        u,
        [](UOp r) {
          Arg arg = r.is(Op::REDUCE)    ? Arg(r.arg().is(Op::ADD) ? Op::MAX : Op::ADD)
                    : r.is(Op::SPECIAL) ? r.graph().str("gidx7")
                    : r.is(Op::GEP)     ? r.graph().tuple({Arg(11)})
                                        : Arg(int64_t(77));
          return remade(r, r.op(), r.dtype(), arg);
        },
        either(changed(at(u), "arg"), changed(at(u), "reduce op")));
  }

  std::optional<MutatedGraph> other_source() {
    for (int tries = 0; tries < 50; tries++) {
      UOp u = pick([](UOp u) { return u.in(ops::ALU | OpSet{Op::INDEX, Op::STORE}) && u.num_src(); });
      if (!u) return {};
      size_t i = random_() % u.num_src();
      if (is_value(u.src(i))) continue;
      UOp other = nodes_[random_() % at(u)];
      if (other == u.src(i) || other.dtype() != u.src(i).dtype() || is_value(other)) continue;
      return done(u, [&](UOp r) { return with_source(r, i, other); }, either(changed(at(u), ""), went(at(u.src(i)))));
    }
    return {};
  }

  std::optional<MutatedGraph> inserted() {
    UOp u = pick([](UOp u) {
      return u.in(ops::ALU | OpSet{Op::STORE, Op::REDUCE}) && u.num_src() &&
             !is_value(u.src(u.is(Op::STORE) && u.num_src() > 1));
    });
    if (!u) return {};
    size_t i = u.is(Op::STORE) && u.num_src() > 1;
    return done(
        u, [=](UOp r) { return with_source(r, i, r.graph().node(Op::TRUNC, r.src(i).dtype(), r.src(i))); },
        came("TRUNC"));
  }

  std::optional<MutatedGraph> removed() {
    UOp u = pick([](UOp u) { return u.in(ops::Unary | ops::Binary | OpSet{Op::CAST}) && !is_value(u.src(0)); });
    if (!u || u == root_) return {};
    // the argument `true`: src(0), which replaces the node, is in the graph already
    return done(u, [](UOp r) { return r.src(0); }, [gone = at(u)](const GraphDiff& d) {
      return !d.changes.empty() && std::any_of(d.changes.begin(), d.changes.end(), [&](const NodeChange& c) {
        return c.kind == NodeChange::Kind::Removed && c.position_a == int32_t(gone);
      });
    }, true);
  }

  std::optional<MutatedGraph> validity() {
    UOp u =
        pick([](UOp u) { return (u.is(Op::WHERE) && u.src(2).is_invalid()) || (u.is(Op::INDEX) && u.num_src() > 2); });
    if (!u) return {};
    if (u.is(Op::WHERE)) return done(u, [](UOp r) { return r.src(1); }, went(at(u)), true);
    return done(
        u, [](UOp r) { return r.graph().node(r.op(), r.dtype(), r.src().first(2), r.arg(), r.tag()); },
        either(changed(at(u), "validity"),
               [](const GraphDiff& d) { return d.count_changes(NodeChange::Kind::Removed) == 1; }));
  }

  UOp root_;
  std::vector<UOp> nodes_;
  UOpMap<size_t> index_;
  std::mt19937& random_;
};

bool is_word(char c) { return std::isalnum(uint8_t(c)) || c == '_'; }

}  // namespace

std::string_view name_of(MutationKind m) {
  constexpr std::string_view kNames[] = {"axis type",    "constant",    "swapped sources", "dropped store",
                                         "other op",     "other dtype", "range size",      "other arg",
                                         "other source", "inserted",    "removed",         "validity"};
  return kNames[int(m)];
}

std::optional<MutatedGraph> mutate_graph(UOp root, MutationKind kind, std::mt19937& random) {
  return Mutator(root, random).make(kind);
}

std::string scramble_text(const std::string& text, std::mt19937& random) {
  if (text.find("def k") != text.npos) return text;  // texts with inner kernels are not supported
  struct Line {
    std::string name, expression;
    std::vector<size_t> needs;
  };
  std::vector<Line> lines;
  std::map<std::string, size_t> defined;
  size_t from = 0;
  auto words = [](const std::string& s, const std::function<std::string(const std::string&)>& replace) {
    std::string out;
    for (size_t i = 0; i < s.size();) {
      if (s[i] == '\'' || s[i] == '"') {
        size_t end = s.find(s[i], i + 1);
        out += s.substr(i, end + 1 - i), i = end + 1;
      } else if (is_word(s[i])) {
        size_t end = i;
        while (end < s.size() && is_word(s[end])) end++;
        bool attribute = i && s[i - 1] == '.';
        out += attribute ? s.substr(i, end - i) : replace(s.substr(i, end - i)), i = end;
      } else {
        out += s[i++];
      }
    }
    return out;
  };
  while (from < text.size()) {
    size_t end = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, end - from);
    from = end + 1;
    size_t eq = line.find(" = ");
    Line l{line.substr(0, eq), line.substr(eq + 3), {}};
    words(l.expression, [&](const std::string& w) {
      if (auto known = defined.find(w); known != defined.end()) l.needs.push_back(known->second);
      return w;
    });
    defined[l.name] = lines.size();
    lines.push_back(std::move(l));
  }
  // In pyrender text, the number of a range follows its size: UOp.range(SIZE, NUMBER, ...).
  std::vector<int> numbers(400);
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = int(i);
  std::shuffle(numbers.begin(), numbers.end(), random);
  for (Line& l : lines) {
    size_t at = l.expression.find("UOp.range(");
    if (at == std::string::npos) continue;
    size_t comma = l.expression.find(", ", at), end = l.expression.find(", AxisType", comma);
    if (comma == std::string::npos || end == std::string::npos) continue;
    std::string ids = l.expression.substr(comma, end - comma);
    l.expression.replace(comma, end - comma, words(ids, [&](const std::string& w) {
      size_t n = std::stoul(w);
      return std::to_string(n < numbers.size() ? numbers[n] : int(n));
    }));
  }
  // Keep each definition before its uses.
  std::vector<size_t> waiting(lines.size());
  std::vector<std::vector<size_t>> users(lines.size());
  for (size_t i = 0; i < lines.size(); i++) {
    std::sort(lines[i].needs.begin(), lines[i].needs.end());
    lines[i].needs.erase(std::unique(lines[i].needs.begin(), lines[i].needs.end()), lines[i].needs.end());
    waiting[i] = lines[i].needs.size();
    for (size_t k : lines[i].needs) users[k].push_back(i);
  }
  std::vector<size_t> ready, order;
  for (size_t i = 0; i < lines.size(); i++)
    if (!waiting[i]) ready.push_back(i);
  std::map<std::string, std::string> renamed;
  while (!ready.empty()) {
    size_t k = random() % ready.size(), i = ready[k];
    ready.erase(ready.begin() + int64_t(k));
    order.push_back(i);
    renamed[lines[i].name] = lines[i].name == "ast" ? "ast" : "c" + std::to_string(1000 + order.size());
    for (size_t user : users[i])
      if (--waiting[user] == 0) ready.push_back(user);
  }
  std::string out;
  for (size_t i : order) {
    out += out.empty() ? "" : "\n";
    out += renamed[lines[i].name] + " = " + words(lines[i].expression, [&](const std::string& w) {
      auto known = renamed.find(w);
      return known == renamed.end() ? w : known->second;
    });
  }
  return out;
}

}  // namespace tgc::testing
