#include "lib/uop/release.h"

#include <algorithm>
#include <array>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

struct ReleaseEntry {
  enum class Kind : uint8_t { Release, Op, Name, Class } kind;
  std::string_view text, fields;  // `text` is the name; `fields` are the names of a class's fields
};
constexpr ReleaseEntry kEntries[] = {
#define RELEASE(name) {ReleaseEntry::Kind::Release, name, {}},
#define OP(name) {ReleaseEntry::Kind::Op, #name, {}},
#define NAME(name) {ReleaseEntry::Kind::Name, name, {}},
#define CLASS(name, fields) {ReleaseEntry::Kind::Class, name, fields},
#include "lib/uop/releases.def"
#undef RELEASE
#undef OP
#undef NAME
#undef CLASS
};
constexpr std::string_view kOpNames[] = {
#define X(name) #name,
#include "lib/uop/ops.def"
#undef X
};

constexpr bool is_release(const ReleaseEntry& e) { return e.kind == ReleaseEntry::Kind::Release; }
constexpr size_t kListed = size_t(std::ranges::count_if(kEntries, is_release));
constexpr auto kEnumerators = size_t(Release::Other);  // a later release is above Other and has no enumerator

constexpr size_t position_of(Release release) {
  return release == Release::Other ? kListed - 1 : size_t(release) - (release > Release::Other);
}
constexpr Release release_at_position(size_t position) { return Release(position + (position >= kEnumerators)); }

using OpOrder = std::array<uint8_t, kNumAllOps>;  // sort keys, indexed by op; keys of missing ops exceed all others

constexpr auto kOrders = [] {
  std::array<OpOrder, kListed> out{};
  for (OpOrder& order : out)
    for (size_t op = 0; op < order.size(); op++) order[op] = uint8_t(order.size() + op);
  size_t releases = 0;
  uint8_t ops = 0;
  for (const ReleaseEntry& e : kEntries) {
    if (is_release(e)) releases++, ops = 0;
    if (e.kind != ReleaseEntry::Kind::Op) continue;
    auto op = std::ranges::find(kOpNames, e.text);
    if (ops++; op != std::end(kOpNames)) out[releases - 1][size_t(op - kOpNames)] = ops;
  }
  return out;
}();
static_assert([] {  // the ops of 0.12.0 come first in ops.def, in their order
  for (int op = 0; op < kNumOps; op++)
    if (kOrders[size_t(Release::v0_12)][size_t(op)] != op + 1) return false;
  return true;
}());

std::span<const ReleaseEntry> entries_of(Release release) {
  static const std::vector<std::span<const ReleaseEntry>> all = [] {
    std::vector<std::span<const ReleaseEntry>> out;
    for (auto at = std::begin(kEntries); at != std::end(kEntries);) {
      auto end = std::find_if(at + 1, std::end(kEntries), is_release);
      out.emplace_back(at, end);
      at = end;
    }
    return out;
  }();
  return release == Release::Other ? std::span<const ReleaseEntry>() : all[position_of(release)];
}

const ReleaseEntry* find_entry(Release release, ReleaseEntry::Kind kind, std::string_view text) {
  for (const ReleaseEntry& e : entries_of(release))
    if (e.kind == kind && e.text == text) return &e;
  return nullptr;
}

}  // namespace

std::string_view name_of(Release release) {
  return release == Release::Other ? "other" : entries_of(release)[0].text;
}

Release release_of(std::string_view producer) {
  constexpr std::string_view kTinygrad = "tinygrad ";
  if (producer.empty()) return Release::v0_12;
  if (!producer.starts_with(kTinygrad)) return Release::Other;
  producer.remove_prefix(kTinygrad.size());
  for (Release release : known_releases()) {
    const std::string_view name = name_of(release);
    if (!producer.starts_with(name)) continue;
    if (producer.size() == name.size() || producer[name.size()] == '.') return release;
  }
  return Release::Other;
}

std::string producer_name(Release release) {
  return release == Release::Other ? "unknown" : "tinygrad " + std::string(name_of(release));
}

std::span<const Release> known_releases() {
  static constexpr auto all = [] {
    std::array<Release, kListed> out{};
    for (size_t i = 0; i < kListed; i++) out[i] = release_at_position(i);
    return out;
  }();
  return all;
}

bool has_op(Release release, Op op) {
  return release == Release::Other || kOrders[position_of(release)][size_t(op)] < kNumAllOps;
}
bool has_op(Release release, std::string_view op) { return find_entry(release, ReleaseEntry::Kind::Op, op); }
bool has_name(Release release, std::string_view name) { return find_entry(release, ReleaseEntry::Kind::Name, name); }

bool has_field(Release release, std::string_view record, std::string_view field) {
  const ReleaseEntry* found = find_entry(release, ReleaseEntry::Kind::Class, record);
  if (!found || field.empty()) return found;
  return (" " + std::string(found->fields) + " ").find(" " + std::string(field) + " ") != std::string::npos;
}

Op op_of(std::string_view name) { return parse_op(name).value_or(Op::OTHER); }

int op_order_of(Release release, Op op) { return kOrders[position_of(release)][size_t(op)]; }

std::string_view printed_op_name(UOp u) { return u.is(Op::OTHER) ? u.arg()[0].text() : name_of(u.op()); }
Arg printed_arg(UOp u) { return u.is(Op::OTHER) ? u.arg()[1] : u.arg(); }
Arg other_node_arg(Graph& graph, std::string_view name, Arg arg) { return graph.tuple({graph.str(name), arg}); }

}  // namespace tgc
