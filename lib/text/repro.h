// Reads and writes repro bundles: one JSON text that reproduces a failure, with graph, arrays, device and failure
// signature. Every command accepts a bundle as its INPUT, and `tgc run` reports whether the failure still happens.
// README.md describes the format.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/text/graph_json.h"

namespace tgc {

struct ReproArray {
  std::string name;            // "data1"
  DType dtype;                 // a scalar with a size
  std::vector<int64_t> shape;
  std::string bytes;           // little-endian, row-major; the length follows from dtype and shape
};

// Everything in a bundle except the graph and its GraphInfo (name, stage, target, settings).
struct Repro {
  std::string symptom;         // failure kind, as named by `tgc reduce --while`: "wrong", "crash", ...
  std::string said;            // one-line description of the failure
  std::string script;          // for symptom "cmd": the command, with {} for this file
  std::string device;          // as --device takes it
  std::string fault;           // value of TGC_FAULT; empty: none
  std::map<std::string, std::string> blamed;   // culprit found by bisect: verdict, stage, rule, branch
  std::map<std::string, int64_t> variables;
  std::map<std::string, double> tolerance;     // those of rtol, atol, ulp that were set explicitly
  std::vector<ReproArray> inputs, expected;    // empty `expected`: REF's result of the stored graph
  std::map<std::string, std::string> made_by;  // versions of tgc, tinygrad and llvm; the cpu
};

// Returns the bundle's text, with a final newline. `graph` is the graph's JSON (graph_to_json, list_to_json).
std::string repro_to_json(const Repro& repro, std::string_view graph);

// True if a text that begins with `head` may be a bundle.
bool looks_like_repro(std::string_view head);

// Parses a bundle; returns its graph, and stores the rest in `repro`. Errors have line and column.
Result<GraphFile> repro_from_json(Graph& graph, std::string_view text, std::string_view file, Places* places,
                                  Repro& repro);

}  // namespace tgc
