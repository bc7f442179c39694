#include "lib/uop/release.h"

#include <array>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr std::string_view kReleases[] = {"0.11", "0.12", "0.13", "0.14", "other"};

struct Known {
  std::string_view name;
  int first, last;
};
constexpr Known kOps[] = {
#define X(name, first, last) {#name, first, last},
#include "lib/uop/ops.def"
#undef X
};

// ---- the ops of releases other than 0.12.0, each list in the order of the release's enum

#define TGC_ORDER_0_11(O)                                                                                              \
  O(NOOP)                                                                                                              \
  O(SINK) O(UNIQUE) O(DEVICE) O(KERNEL) O(PRECAST) O(REWRITE_ERROR) O(CHILD) O(CHILDREN) O(COPY) O(BUFFER)             \
      O(BUFFER_VIEW) O(MSELECT) O(MSTACK) O(BUFFERIZE) O(CONTIGUOUS) O(CONTIGUOUS_BACKWARD) O(DETACH) O(FUSE) O(BLOCK) \
          O(BLOCKSTART) O(BLOCKEND) O(BLOCKFINAL) O(RESHAPE) O(PERMUTE) O(EXPAND) O(PAD) O(SHRINK) O(FLIP) O(MULTI)    \
              O(VIEW) O(VALID) O(DEFINE_GLOBAL) O(DEFINE_LOCAL) O(DEFINE_REG) O(DEFINE_VAR) O(BIND) O(SPECIAL)         \
                  O(REDUCE_AXIS) O(REDUCE) O(ALLREDUCE) O(UNROLL) O(CONTRACT) O(GEP) O(VECTORIZE) O(CAT) O(PTRCAT)     \
                      O(CAST) O(BITCAST) O(EXP2) O(LOG2) O(SIN) O(SQRT) O(RECIP) O(NEG) O(TRUNC) O(LOAD) O(STORE)      \
                          O(ASSIGN) O(WMMA) O(INDEX) O(ADD) O(MUL) O(SHL) O(SHR) O(IDIV) O(MAX) O(MOD) O(CMPLT)        \
                              O(CMPNE) O(CMPEQ) O(XOR) O(OR) O(AND) O(THREEFRY) O(SUB) O(FDIV) O(POW) O(WHERE)         \
                                  O(MULACC) O(BARRIER) O(RANGE) O(IF) O(ENDRANGE) O(ENDIF) O(VCONST) O(CONST)          \
                                      O(CUSTOM) O(CUSTOMI)
#define TGC_ORDER_0_13(O)                                                                                              \
  O(DEFINE_VAR)                                                                                                        \
  O(BIND) O(SPECIAL) O(DEFINE_LOCAL) O(DEFINE_REG) O(NOOP) O(REWRITE_ERROR) O(PARAM) O(FUNCTION) O(CALL) O(PROGRAM)    \
      O(LINEAR) O(SOURCE) O(BINARY) O(SINK) O(AFTER) O(GROUP) O(GEP) O(STACK) O(TUPLE) O(GETTUPLE) O(GETADDR) O(INDEX) \
          O(LOAD) O(STORE) O(WMMA) O(SHAPED_WMMA) O(CAST) O(BITCAST) O(EXP2) O(LOG2) O(SIN) O(SQRT) O(RECIPROCAL)      \
              O(NEG) O(TRUNC) O(ADD) O(MUL) O(SHL) O(SHR) O(CDIV) O(MAX) O(CMOD) O(CMPLT) O(CMPNE) O(CMPEQ) O(XOR)     \
                  O(OR) O(AND) O(THREEFRY) O(SUB) O(FDIV) O(POW) O(FLOORDIV) O(FLOORMOD) O(WHERE) O(MULACC) O(BARRIER) \
                      O(RANGE) O(IF) O(END) O(ENDIF) O(WAIT) O(CONST) O(CUSTOM) O(CUSTOMI) O(INS) O(UNIQUE) O(DEVICE)  \
                          O(LUNIQUE) O(CONTIGUOUS) O(CONTIGUOUS_BACKWARD) O(DETACH) O(STAGE) O(COPY) O(BUFFER)         \
                              O(BUFFER_VIEW) O(MSELECT) O(MSTACK) O(CUSTOM_FUNCTION) O(RESHAPE) O(PERMUTE) O(EXPAND)   \
                                  O(PAD) O(SHRINK) O(FLIP) O(MULTI) O(REDUCE) O(ALLREDUCE) O(UNROLL) O(CONTRACT)       \
                                      O(VCAT) O(PTRCAT)
#define TGC_ORDER_0_14(O)                                                                                             \
  O(SPECIAL)                                                                                                          \
  O(BUFFER) O(NOOP) O(REWRITE_ERROR) O(PARAM) O(FUNCTION) O(CALL) O(PROGRAM) O(LINEAR) O(SOURCE) O(BINARY) O(SINK)    \
      O(AFTER) O(GROUP) O(STACK) O(TUPLE) O(GETTUPLE) O(GETADDR) O(INDEX) O(SHRINK) O(LOAD) O(STORE) O(WMMA) O(CAST)  \
          O(BITCAST) O(EXP2) O(LOG2) O(SIN) O(SQRT) O(RECIPROCAL) O(NEG) O(TRUNC) O(ADD) O(MUL) O(SHL) O(SHR) O(CDIV) \
              O(MAX) O(CMOD) O(CMPLT) O(CMPNE) O(CMPEQ) O(XOR) O(OR) O(AND) O(THREEFRY) O(SUB) O(FDIV) O(POW)         \
                  O(FLOORDIV) O(FLOORMOD) O(WHERE) O(MULACC) O(BARRIER) O(RANGE) O(IF) O(END) O(ENDIF) O(CONST)       \
                      O(CUSTOM) O(CUSTOMI) O(INS) O(CONTIGUOUS) O(CONTIGUOUS_BACKWARD) O(DETACH) O(STAGE) O(COPY)     \
                          O(MSELECT) O(MSTACK) O(CUSTOM_FUNCTION) O(RESHAPE) O(PERMUTE) O(EXPAND) O(PAD) O(FLIP)      \
                              O(UNSHARD) O(REDUCE) O(ALLREDUCE) O(PYLITERAL)

using Order = std::array<uint8_t, kNumAllOps>;  // sort keys, indexed by op; keys of missing ops exceed all others

template <size_t N>
constexpr Order order(const Op (&ops)[N]) {
  Order out{};
  for (int i = 0; i < kNumAllOps; i++) out[size_t(i)] = uint8_t(kNumAllOps + i);
  for (size_t i = 0; i < N; i++) out[size_t(ops[i])] = uint8_t(i + 1);
  return out;
}
constexpr Order plain_order() {
  Order out{};
  for (int i = 0; i < kNumAllOps; i++) out[size_t(i)] = uint8_t(i + 1);
  return out;
}

#define O(name) Op::name,
constexpr Op k0_11[] = {TGC_ORDER_0_11(O)}, k0_13[] = {TGC_ORDER_0_13(O)}, k0_14[] = {TGC_ORDER_0_14(O)};
#undef O
constexpr Order kOrders[] = {order(k0_11), plain_order(), order(k0_13), order(k0_14), order(k0_14)};

constexpr bool agrees(int release, const Order& order) {  // true if ops.def says that the release has these ops
  for (int i = 0; i < kNumAllOps; i++)
    if ((order[size_t(i)] < kNumAllOps) != (kOps[i].first <= release && release <= kOps[i].last)) return false;
  return true;
}
static_assert(agrees(11, kOrders[0]) && agrees(13, kOrders[2]) && agrees(14, kOrders[3]));

}  // namespace

std::string_view name_of(Release release) { return kReleases[int(release)]; }

Release release_of(std::string_view producer) {
  constexpr std::string_view kTinygrad = "tinygrad ";
  if (producer.empty()) return Release::v0_12;
  if (!producer.starts_with(kTinygrad)) return Release::Other;
  producer.remove_prefix(kTinygrad.size());
  for (int i = 0; i < int(Release::Other); i++)
    if (producer == kReleases[i] || producer.starts_with(std::string(kReleases[i]) + ".")) return Release(i);
  return Release::Other;
}

bool has_op(Release release, Op op) {
  int number = 11 + int(release);
  return release == Release::Other || (kOps[int(op)].first <= number && number <= kOps[int(op)].last);
}

Op op_of(std::string_view name) { return parse_op(name).value_or(Op::OTHER); }

int order_of(Release release, Op op) { return kOrders[int(release)][size_t(op)]; }

std::string_view shown_op(UOp u) { return u.is(Op::OTHER) ? u.arg()[0].text() : name_of(u.op()); }
Arg shown_arg(UOp u) { return u.is(Op::OTHER) ? u.arg()[1] : u.arg(); }
Arg other_arg(Graph& graph, std::string_view name, Arg arg) { return graph.tuple({graph.str(name), arg}); }

}  // namespace tgc
