#include "lib/profile/lane_access.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"

namespace tgc::profile {
namespace {

constexpr size_t kMaxEvaluatedNodes = 10000;

std::optional<size_t> local_axis(UOp u) {
  if (!u.is(Op::SPECIAL) || !u.arg().is_str() || u.num_src() != 1) return {};
  std::string_view name = u.arg().text();
  bool is_local = name.starts_with("lidx") && name.size() == 5 && name[4] >= '0' && name[4] <= '2';
  return is_local ? std::optional(size_t(name[4] - '0')) : std::nullopt;
}

// Evaluates index expressions for one lane, with variables and loops, except `second_iteration_loop_`, at 0.
class LaneEvaluator {
 public:
  // Lanes are numbered along x first.
  LaneEvaluator(uint32_t lane, const std::array<int64_t, 3>& sizes)
      : local_ids_{lane % sizes[0], lane / sizes[0] % sizes[1], lane / sizes[0] / sizes[1]} {}
  // Evaluates for the first thread, in the second iteration of `loop`.
  explicit LaneEvaluator(UOp loop) : local_ids_{}, second_iteration_loop_(loop) {}

  // Returns nullopt if the value is unknown, or the expression too large.
  std::optional<Arg> value(UOp root) {
    for (UOp u : toposort(root)) {
      if (values_.size() > kMaxEvaluatedNodes) return {};
      if (auto made = evaluate(u)) values_[u] = *made;
      else if (u == root) return {};
    }
    return values_.at(root);
  }

 private:
  std::optional<Arg> evaluate(UOp u) {
    if (u.is(Op::CONST)) return u.arg();
    if (u.is(Op::RANGE) || u.is(Op::DEFINE_VAR))
      return Arg(int64_t(second_iteration_loop_ && u == second_iteration_loop_));
    if (u.is(Op::SPECIAL)) {
      auto axis = local_axis(u);
      return Arg(axis ? local_ids_[*axis] : int64_t(0));
    }
    std::vector<Arg> sources;
    for (UOp s : u.src()) {
      auto known = values_.find(s);
      if (known == values_.end()) return {};
      sources.push_back(known->second);
    }
    if (u.is(Op::CAST)) return sources[0].is_integral() ? std::optional(sources[0]) : std::nullopt;
    if (!ops::ALU.contains(u.op())) return {};
    auto made = catch_failures([&] { return exec_alu(u.graph(), u.op(), u.dtype(), sources); });
    return made ? std::optional(*made) : std::nullopt;
  }

  std::array<int64_t, 3> local_ids_;
  UOp second_iteration_loop_;
  std::unordered_map<UOp, Arg> values_;
};

// Returns the INDEX of a LOAD or STORE of a buffer that is a `definition` node; null for other nodes.
UOp index_node_of(UOp access, Op definition) {
  if (!access.in({Op::LOAD, Op::STORE}) || access.num_src() == 0) return {};
  UOp index = access.src(0);
  while (index.is(Op::CAST)) index = index.src(0);
  if (!index.is(Op::INDEX) || index.num_src() < 2) return {};
  UOp buffer = index.src(0);
  while (buffer.is(Op::AFTER)) buffer = buffer.src(0);
  return buffer.is(definition) ? index : UOp();
}
UOp global_index_node(UOp access) { return index_node_of(access, Op::DEFINE_GLOBAL); }

// Returns the byte offsets of lanes whose gate is true or unknown; nullopt if an offset is unknown.
std::optional<std::vector<int64_t>> lane_addresses(UOp index, uint32_t wave_size, const std::array<int64_t, 3>& sizes) {
  const int64_t item = index.src(0).dtype().base().itemsize(), threads = sizes[0] * sizes[1] * sizes[2];
  std::vector<int64_t> out;
  for (uint32_t lane = 0; lane < std::min<int64_t>(wave_size, threads); lane++) {
    LaneEvaluator evaluator(lane, sizes);
    if (index.num_src() > 2 && index.src(2).dtype() == dtypes::bool_)
      if (auto gate = evaluator.value(index.src(2)); gate && gate->is_integral() && !gate->to_const().truthy())
        continue;
    auto value = evaluator.value(index.src(1));
    if (!value || value->kind() != Arg::Kind::Int) return {};
    out.push_back(value->small_int() * item);
  }
  return out;
}

DType accessed_type(UOp access) { return access.is(Op::LOAD) ? access.dtype() : access.src(1).dtype(); }

LaneAccess lane_access_of_addresses(std::vector<int64_t> addresses, int64_t bytes) {
  LaneAccess out{.num_lanes = uint32_t(addresses.size()), .lane_bytes = uint32_t(bytes)};
  std::set<int64_t> lines;
  for (int64_t address : addresses)
    for (int64_t at = address / kCacheLineSize; at <= (address + bytes - 1) / kCacheLineSize; at++) lines.insert(at);
  out.num_cache_lines = uint32_t(lines.size());
  std::vector<int64_t> distinct = addresses;
  std::ranges::sort(distinct);
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  out.fewest_cache_lines = uint32_t((int64_t(distinct.size()) * bytes + kCacheLineSize - 1) / kCacheLineSize);
  out.stride_bytes = addresses[1] - addresses[0];
  for (size_t n = 2; n < addresses.size(); n++)
    if (addresses[n] - addresses[n - 1] != out.stride_bytes) out.stride_bytes = 0;
  out.addresses = std::move(addresses);
  return out;
}

BankAccess bank_access_of_addresses(std::vector<int64_t> addresses, int64_t bytes) {
  constexpr int64_t kBanks = 32, kWord = 4;
  const int64_t words = std::max<int64_t>(1, bytes / kWord);
  BankAccess out{.num_lanes = uint32_t(addresses.size()), .lane_bytes = uint32_t(bytes)};
  const size_t at_once = size_t(std::max<int64_t>(1, kBanks / words));
  for (size_t first = 0; first < addresses.size(); first += at_once) {
    std::array<std::set<int64_t>, kBanks> words_of;
    for (size_t n = first; n < std::min(first + at_once, addresses.size()); n++)
      for (int64_t w = 0; w < words; w++) {
        const int64_t word = addresses[n] / kWord + w;
        words_of[size_t(word % kBanks + kBanks) % kBanks].insert(word);
      }
    size_t most = 0;
    for (const auto& bank : words_of) most = std::max(most, bank.size());
    out.access_cycles += uint32_t(most), out.fewest_cycles++;
  }
  out.addresses = std::move(addresses);
  return out;
}

// Moves the addresses down, so that the first lane's is a multiple of `bytes`, as that of a wider access is.
std::vector<int64_t> aligned_addresses(std::vector<int64_t> addresses, uint32_t bytes) {
  for (const int64_t shift = addresses[0] % bytes; int64_t& address : addresses) address -= shift;
  return addresses;
}

}  // namespace

std::array<int64_t, 3> group_sizes(std::span<const UOp> list) {
  std::array<int64_t, 3> out{1, 1, 1};
  for (UOp u : list)
    if (auto axis = local_axis(u); axis && u.src(0).is(Op::CONST) && u.src(0).arg().kind() == Arg::Kind::Int)
      out[*axis] = std::max<int64_t>(1, u.src(0).arg().small_int());
  return out;
}

std::optional<LaneAccess> lane_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes) {
  const UOp index = global_index_node(access);
  if (!index) return {};
  auto addresses = lane_addresses(index, wave_size, sizes);
  if (!addresses || addresses->size() < 2) return {};
  return lane_access_of_addresses(std::move(*addresses), accessed_type(access).itemsize());
}

std::optional<BankAccess> bank_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes) {
  const UOp index = index_node_of(access, Op::DEFINE_LOCAL);
  if (!index) return {};
  auto addresses = lane_addresses(index, wave_size, sizes);
  if (!addresses || addresses->size() < 2) return {};
  return bank_access_of_addresses(std::move(*addresses), accessed_type(access).itemsize());
}

LaneAccess merged_access(const LaneAccess& access, uint32_t bytes) {
  return bytes > access.lane_bytes ? lane_access_of_addresses(aligned_addresses(access.addresses, bytes), bytes)
                                   : access;
}

BankAccess merged_access(const BankAccess& access, uint32_t bytes, uint32_t places) {
  BankAccess out =
      bytes > access.lane_bytes ? bank_access_of_addresses(aligned_addresses(access.addresses, bytes), bytes) : access;
  out.lane_bytes *= places, out.access_cycles *= places, out.fewest_cycles *= places;
  return out;
}

UOp loop_of_access(UOp access) {
  UOp index = index_node_of(access, Op::DEFINE_GLOBAL);
  if (!index) index = index_node_of(access, Op::DEFINE_LOCAL);
  if (!index) return {};
  UOp out;
  for (UOp u : toposort(index.src(1)))
    if (u.is(Op::RANGE)) out = u;
  return out;
}

std::optional<int64_t> loop_stride(UOp access, UOp loop) {
  const UOp index = global_index_node(access);
  if (!index) return {};
  auto first = LaneEvaluator(0, {1, 1, 1}).value(index.src(1)), second = LaneEvaluator(loop).value(index.src(1));
  if (!first || !second || !first->is_integral() || !second->is_integral()) return {};
  return (second->small_int() - first->small_int()) * index.src(0).dtype().base().itemsize();
}

std::optional<int64_t> first_address(UOp access) {
  const UOp index = global_index_node(access);
  if (!index) return {};
  const auto first = LaneEvaluator(0, {1, 1, 1}).value(index.src(1));
  if (!first || !first->is_integral()) return {};
  return first->small_int() * index.src(0).dtype().base().itemsize();
}

}  // namespace tgc::profile
