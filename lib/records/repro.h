// Reads and writes repro bundles: JSON texts that reproduce a failure. README.md describes the format.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/text/graph_json.h"

namespace tgc {

struct ReproArray {
  std::string name;  // name of the argument: "data1"
  DType dtype;
  std::vector<int64_t> shape;
  std::string bytes;  // elements in row-major order, little-endian
};

// A bundle without its graph and the graph's GraphInfo.
struct Repro {
  std::string symptom;  // as for `tgc reduce --while`: "wrong", "crash", ...
  std::string description;
  // for "cmd": a shell command with {} for the bundle's file; for "differs": the Python or command that runs tinygrad
  std::string script;
  std::string device;          // in the syntax of --device
  std::string seeded_fault;  // value of TGC_FAULT; or empty
  std::map<std::string, std::string> blamed_rewrite;  // result of bisect: verdict, stage, rule and branch, if known
  std::map<std::string, int64_t> variables;
  std::map<std::string, double> tolerance;     // rtol, atol, ulp, if set explicitly
  std::vector<ReproArray> inputs, expected;    // empty `expected`: REF's results are expected
  std::map<std::string, std::string> made_by;  // versions of tgc, tinygrad and llvm, and the cpu's name
};

// Returns the bundle's text, with a final newline. `graph` is the graph's JSON (graph_to_json, list_to_json).
std::string repro_to_json(const Repro& repro, std::string_view graph);

// True if a text that begins with `head` may be a bundle.
bool is_start_of_repro(std::string_view head);

// Parses a bundle. Returns its graph, and stores the rest in `repro`. Errors have line and column.
Result<GraphFile> repro_from_json(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places,
                                  Repro& repro);

}  // namespace tgc
