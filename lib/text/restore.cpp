#include "lib/text/restore.h"

#include <algorithm>
#include <set>

#include "lib/uop/facts.h"

namespace tgc {
namespace {

constexpr std::string_view kUnknownDevice = "?";

bool is_unknown_device(UOp u) { return u.is(Op::DEVICE) && u.arg().is_str() && u.arg().text() == kUnknownDevice; }

UOp unknown_device(Graph& g) { return g.node(Op::DEVICE, dtypes::void_, {}, g.str(kUnknownDevice)); }

// Rebuilds the graph under `root`, sources first, and returns the new root. replace(before, after) returns the node
// that replaces the node `before`; `after` is `before` with its sources already replaced.
template <class Replace>
UOp rebuild(UOp root, Replace replace) {
  UOpMap<UOp> done(root.graph());
  std::vector<UOp> src;
  for (UOp u : toposort(root)) {
    src.clear();
    for (UOp s : u.src()) src.push_back(*done.find(s));
    done[u] = replace(u, u.with_src(src));
  }
  return *done.find(root);
}

// In a graph with several devices, finds the device of a stand-in from the nodes that use the stand-in.
class NearbyDevices {
 public:
  explicit NearbyDevices(std::span<const UOp> nodes) : users_(nodes[0].graph()) {
    for (UOp u : nodes)
      for (UOp s : u.src()) users_[s].push_back(u);
  }

  // Searches users, users' users and so on, but not beyond a COPY, for a source on a known device. Returns the device.
  Arg of(UOp stand_in) {
    UOpSet seen(stand_in.graph());
    std::vector<UOp> level{stand_in};
    while (!level.empty()) {
      std::vector<UOp> next;
      for (UOp below : level)
        for (UOp user : users_[below]) {
          if (user.is(Op::COPY) || !seen.insert(user)) continue;
          for (UOp s : user.src())
            if (Arg device = device_of(s); device.is_str() && device.text() != kUnknownDevice) return device;
          next.push_back(user);
        }
      level = std::move(next);
    }
    return {};
  }

 private:
  UOpMap<std::vector<UOp>> users_;
};

}  // namespace

bool is_stand_in(UOp u) { return u.is(Op::CONST) && u.num_src() > 0 && is_unknown_device(u.src(0)); }

UOp local_unique_constant(UOp c, int64_t occurrence) {
  Graph& g = c.graph();
  UOp src[] = {unknown_device(g), g.node(Op::LUNIQUE, dtypes::void_, {}, -1 - occurrence)};
  return c.with_src(src);
}

UOp assign_to_local_unique(UOp c, UOp value, const UOpSet& named, int64_t occurrence) {
  UOp unique = local_unique_constant(c, occurrence);
  UOpMap<UOp> done(c.graph());
  std::vector<UOp> src;
  for (UOp u : toposort(value, [&](UOp u) { return !named.contains(u); })) {
    src.clear();
    for (UOp s : u.src()) src.push_back(done.contains(s) ? *done.find(s) : s);
    bool same = u == c || (is_stand_in(u) && u.num_src() == 2 && u.with_src({}) == c);
    done[u] = same ? unique : u.with_src(src);
  }
  return unique.assign(done.contains(value) ? *done.find(value) : value);
}

UOp constant_on_some_device(UOp c) { return c.with_src(unknown_device(c.graph())); }

UOp restore_constants(UOp root) {
  Graph& g = root.graph();
  std::set<Int> taken;
  std::vector<UOp> unique;
  Arg device;  // the first device that occurs in the graph; None: the graph has no device
  bool in_kernel = false, several = false;
  auto nodes = toposort(root);
  for (UOp u : nodes) {
    if (is_stand_in(u) && u.num_src() == 2) unique.push_back(u);
    else if (u.is(Op::LUNIQUE) && u.arg().is_integral()) taken.insert(u.arg().as_int());
    else if (u.is(Op::DEVICE) && u.arg().is_str() && !is_unknown_device(u))
      device.is_none() ? void(device = u.arg()) : void(several |= device != u.arg());
    else if (u.is(Op::DEFINE_GLOBAL)) in_kernel = true;
    else if (u.is(Op::BUFFERIZE) && device.is_none() && device_of(u).is_str()) device = device_of(u);
  }
  bool known = !device.is_none();
  auto device_node = [&](Arg d) { return g.node(Op::DEVICE, dtypes::void_, {}, d); };
  UOp place = device_node(known ? device : g.str("CPU"));
  std::optional<NearbyDevices> nearby;
  if (several) nearby.emplace(nodes);
  auto place_of = [&](UOp stand_in) {
    Arg near = nearby ? nearby->of(stand_in) : Arg();
    return near.is_none() ? place : device_node(near);
  };
  std::sort(unique.begin(), unique.end(),
            [](UOp a, UOp b) { return b.src(1).arg().as_int() < a.src(1).arg().as_int(); });
  UOpMap<Int> number(g);
  Int next = 0;
  for (UOp u : unique) {
    while (taken.contains(next)) next += 1;
    number[u] = next;
    next += 1;
  }
  return rebuild(root, [&](UOp before, UOp after) {
    if (!is_stand_in(before)) return after;
    if (in_kernel) return before.with_src({});
    if (before.num_src() == 1) return known ? before.with_src(place_of(before)) : before.with_src({});
    UOp src[] = {place_of(before), g.node(Op::LUNIQUE, dtypes::void_, {}, *number.find(before))};
    return before.with_src(src);
  });
}

}  // namespace tgc
