// Repro bundles: one JSON text that repeats a failure: the graph, the arrays, where it ran and what went wrong. Every
// command reads one as its INPUT, and `tgc run` says whether it still happens. README.md describes the format.
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
  std::string bytes;           // little-endian, in row-major order; as many as dtype and shape say
};

// All but the graph, with its name, stage, target and settings, which GraphInfo holds.
struct Repro {
  std::string symptom;         // what goes wrong, by a name of `tgc reduce --while`: "wrong", "crash", ...
  std::string said;            // in a line, when the bundle was made
  std::string script;          // of symptom "cmd": the command, {} for this file
  std::string device;          // as --device takes it
  std::string fault;           // of TGC_FAULT; empty: none
  std::map<std::string, std::string> blamed;   // whom bisect accused: verdict, stage, rule, branch
  std::map<std::string, int64_t> variables;
  std::map<std::string, double> tolerance;     // of rtol, atol, ulp those that were asked for
  std::vector<ReproArray> inputs, expected;    // expected: empty: what REF makes of the graph as it stands
  std::map<std::string, std::string> made_by;  // versions: tgc, tinygrad, llvm; cpu
};

// With a final newline. `graph` is the JSON of the graph (graph_to_json, list_to_json).
std::string repro_to_json(const Repro& repro, std::string_view graph);

// Whether a text that begins so may be a bundle.
bool looks_like_repro(std::string_view head);

// `repro` receives all that is no graph. Errors carry line and column.
Result<GraphFile> repro_from_json(Graph& graph, std::string_view text, std::string_view file, Places* places,
                                  Repro& repro);

}  // namespace tgc
