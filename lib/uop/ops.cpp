#include "lib/uop/ops.h"

#include <iterator>

#include "lib/support/name_table.h"

namespace tgc {
namespace {

constexpr std::string_view kOps[] = {
#define X(name, ...) #name,
#include "lib/uop/ops.def"
#undef X
};

struct AxisTypeInfo {
  std::string_view name;
  char letter;
  std::string_view color;
  int pos;
};
constexpr AxisTypeInfo kAxes[] = {
    {"GLOBAL", 'g', "blue", 0},   {"WARP", 'w', "CYAN", 1},        {"LOCAL", 'l', "cyan", 2},
    {"LOOP", 'L', "WHITE", -1},   {"GROUP_REDUCE", 'G', "RED", 2}, {"REDUCE", 'R', "red", 4},
    {"UPCAST", 'u', "yellow", 3}, {"UNROLL", 'r', "magenta", 5},   {"THREAD", 't', "BLUE", 0},
    {"OUTER", 'O', "green", -2},  {"PLACEHOLDER", '?', "", 0},
};
static_assert(std::size(kAxes) == kNumAxisTypes);

constexpr std::string_view kOptOps[] = {"TC",    "UPCAST",   "UNROLL",   "LOCAL", "THREAD",
                                        "GROUP", "GROUPTOP", "NOLOCALS", "PADTO", "SWAP"};
static_assert(std::size(kOptOps) == kNumOptOps);

}  // namespace

std::string_view name_of(Op op) { return kOps[int(op)]; }

std::optional<Op> parse_op(std::string_view name) {
  static const NameTable kTable(kOps);
  int i = kTable.find(name);
  return i < 0 ? std::nullopt : std::optional(Op(i));
}

std::string_view name_of(AxisType type) { return kAxes[int(type)].name; }
char axis_letter(AxisType type) { return kAxes[int(type)].letter; }
std::string_view axis_color(AxisType type) { return kAxes[int(type)].color; }
int axis_to_pos(AxisType type) { return kAxes[int(type)].pos; }

std::optional<AxisType> parse_axis_type(std::string_view name) {
  for (int i = 0; i < kNumAxisTypes; i++)
    if (kAxes[i].name == name) return AxisType(i);
  return std::nullopt;
}

std::string_view name_of(OptOps op) { return kOptOps[int(op)]; }

std::optional<OptOps> parse_opt_op(std::string_view name) {
  for (int i = 0; i < kNumOptOps; i++)
    if (kOptOps[i] == name) return OptOps(i);
  return std::nullopt;
}

}  // namespace tgc
