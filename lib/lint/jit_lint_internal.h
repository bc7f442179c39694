#pragma once
#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/lint/jit_lint.h"

namespace tgc {

using Json = nlohmann::json;

// Returns the member `key` of the object `j` if it is a string, else "".
inline std::string text_of_member(const Json& j, const char* key) {
  auto at = j.find(key);
  return at != j.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// A call of a jitted function, as recorded (python/tgc/export/jit.py documents the format). A place or location is a
// line of Python, such as "train.py:12" or, with its function, "train.py:12::step".
struct JitLinter::JitCall {
  size_t jit = 0, call_number = 0;
  std::string function;
  std::string definition_location, call_location;
  std::string phase;                // "warmup", "capture" or "replay"
  std::string error;                // the exception that the call raised; "": none
  std::map<std::string, Json> args;
  std::map<std::string, std::string>
      outer_values;  // values of variables outside of the function, by name; a tensor is "buffer N" or "unrealized N"
  std::vector<std::string> changed_variables;  // the variables outside of the function that the function changed
  std::vector<std::string> reading_locations;  // the lines that read the value of a tensor into Python
  std::vector<std::string> pending_locations;  // the lines of assignments that are not computed when the call ends
  std::vector<int64_t> output_buffers;
  std::vector<std::string> output_sizes;       // the symbolic dimensions of the outputs
  struct Kernel {
    std::string name, place;
    std::vector<std::string> devices;
    std::vector<int64_t> reads, writes;
  };
  std::vector<Kernel> kernels;
  struct VariableRebind {       // a variable that the capture set to another tensor or buffer
    std::string name;
    int64_t old_buffer = -1, new_buffer = -1;
    bool is_computed = false;
  };
  std::vector<VariableRebind> rebinds;
  std::vector<std::string> unread_arguments;  // the arguments that no captured kernel uses

  // Returns the place of the call or, if it is unknown, that of the function's definition.
  const std::string& shown_location() const { return call_location.empty() ? definition_location : call_location; }
  // Returns the name of the first kernel whose member `which` (reads or writes) contains the buffer, else "".
  std::string kernel_of_buffer(int64_t buffer, std::vector<int64_t> Kernel::*which) const {
    for (const Kernel& k : kernels)
      if (std::find((k.*which).begin(), (k.*which).end(), buffer) != (k.*which).end()) return k.name;
    return {};
  }
};

// The event "late": a tensor that the capture made is computed outside of all jits.
struct JitLinter::LateTensor {
  size_t jit, call;
  std::string place;
  // numbers of buffers that the tensor reads: those that the memory planner replaced, and those of the call's arguments
  std::vector<int64_t> moved_buffers, input_buffers;
};

struct JitLinter::JitState {
  std::string function, definition_location;
  std::optional<JitCall> capturing_call;
  std::map<int64_t, std::set<size_t>> calls_by_output;  // for each new buffer: the calls that returned it
  std::set<int64_t> replaced_buffers;  // buffers of the capture's arguments for which a replay had other buffers
  std::set<std::string> lost_read_locations;  // lines that read a gradient to which no captured kernel adds
  std::set<std::string> aliased_arguments;  // arguments of the first replay whose buffer is an output of the capture
  size_t num_replays = 0;
};

}  // namespace tgc
