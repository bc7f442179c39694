// Simulates a list of kernel calls: finds which contents each kernel reads, and which contents the list leaves in
// memory, without running the kernels. A content is a number: two contents are equal if the same kernels computed them
// from the same contents. Private to lib/run.
#pragma once
#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/execute/executable.h"
#include "passes/tensor/schedule.h"

namespace tgc::calls {

inline constexpr int64_t kUndefinedContent = -1;  // content of memory between kernels, before any store

struct MemoryPlace {
  bool is_parameter = false;  // true: a PARAM, which has a content before the list runs; false: memory between kernels
  int64_t slot = 0;
  size_t device = 0;
  auto operator<=>(const MemoryPlace&) const = default;

  std::string name() const { return (is_parameter ? "data" : "memory ") + std::to_string(slot); }
};
struct CallArgument {
  MemoryPlace place;
  int64_t begin = 0, bytes = 0;
};
// The bytes of a place from `begin` to `end` hold those of `content` from byte `offset` on.
struct MemoryPiece {
  int64_t begin = 0, end = 0, content = kUndefinedContent, offset = 0;
  bool operator==(const MemoryPiece&) const = default;
};
using MemoryPieces = std::vector<MemoryPiece>;
using ByteRanges = std::vector<std::pair<int64_t, int64_t>>;  // ranges of bytes: begin and end

class MemoryContents {
 public:
  void write_piece(const MemoryPiece& p);
  // Positions in the result are relative to `begin`. `initial`: the content of bytes that no write_piece() covers.
  MemoryPieces read_pieces(int64_t begin, int64_t end, int64_t initial) const;

 private:
  void split_piece_at(int64_t at);
  std::map<int64_t, MemoryPiece> memory_pieces_;  // the keys are MemoryPiece::begin
};

struct KernelEvent {
  size_t call_index = 0, device = 0;
  uint32_t body_number = 0;
  bool is_copy = false;
  std::vector<CallArgument> arguments;
  // the contents that the kernel reads, by argument
  std::vector<MemoryPieces> read_contents;
  std::vector<bool> is_argument_written;
  int64_t content = 0;  // identifies the kernel together with all that it reads
};

struct SimulatedRun {
  std::vector<KernelEvent> kernel_events;
  std::map<MemoryPlace, MemoryContents> memory;

  const KernelEvent* find_event(int64_t content) const {
    auto it = std::ranges::find(kernel_events, content, &KernelEvent::content);
    return it == kernel_events.end() ? nullptr : &*it;
  }
};

class CallSimulator {
 public:
  CallSimulator(const Session& session, const VariableValues& variables)
      : session_(session), variable_values_(variables) {}

  // For each argument in memory that `list` stores to more than once (for the memory of a PARAM: at least once), tracks
  // single elements instead of the whole argument.
  void track_shared_arguments(UOp list);
  void track_elements(uint32_t body, size_t argument);
  SimulatedRun run_list(UOp list);

  // Returns the kernel of `in` that stored the content, or null.
  const KernelEvent* kernel_event_of(const SimulatedRun& in, int64_t stored) const;
  int64_t initial_content_of(const MemoryPlace& place) {
    return content({-1, place.slot, int64_t(place.device)});
  }
  MemoryPieces contents_of_place(const SimulatedRun& run, const MemoryPlace& place);

 private:
  struct KernelBody {
    std::shared_ptr<Graph> graph;
    UOp ast;
    std::vector<BufferAccess> accesses;
  };
  template <class Work>
  void for_each_kernel(UOp list, Work work);
  const KernelBody& kernel_body_of(UOp root, size_t arguments);
  // The bytes that a kernel may load or, with `stores`, store, relative to the argument's begin. `bytes` is the
  // argument's size.
  const ByteRanges& byte_ranges_of(const KernelBody& body, uint32_t number, size_t argument, bool stores,
                                   int64_t bytes);
  int64_t content(std::vector<int64_t> key) {
    return content_numbers_.emplace(std::move(key), int64_t(content_numbers_.size())).first->second;
  }

  const Session& session_;
  const VariableValues& variable_values_;
  std::map<uint32_t, KernelBody> kernel_bodies_;
  std::map<std::tuple<uint32_t, size_t, bool>, ByteRanges> accessed_bytes_;
  std::set<std::pair<uint32_t, size_t>> tracked_arguments_;
  std::map<std::vector<int64_t>, int64_t> content_numbers_;
  // from a stored content to KernelEvent::content of the kernel that stored it
  std::map<int64_t, int64_t> kernels_by_stored_content_;
};

}  // namespace tgc::calls
