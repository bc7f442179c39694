// Reads and writes repro bundles. A bundle is a JSON text that reproduces a failure: it has the graph, the arrays, the
// device, the tolerance, and the kind of the failure. `tgc run BUNDLE` reports whether the failure still happens.
// README.md describes the format.
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
  std::string name;            // name of the argument: "data1"
  DType dtype;                 // dtype of an element
  std::vector<int64_t> shape;
  std::string bytes;           // the elements in row-major order, little-endian
};

// Everything in a bundle except the graph and the graph's GraphInfo (name, stage, target, settings).
struct Repro {
  std::string symptom;         // failure kind, as named by `tgc reduce --while`: "wrong", "crash", ...
  std::string description;     // one-line description of the failure
  std::string script;          // if `symptom` is "cmd": the shell command; the bundle's file name replaces {} in it
  std::string device;          // the device, in the syntax of --device
  std::string seeded_fault;           // the seeded fault, as the value of TGC_FAULT; empty if there is none
  std::map<std::string, std::string> blamed_rewrite;   // result of bisect: verdict, stage, rule, branch
  std::map<std::string, int64_t> variables;
  std::map<std::string, double> tolerance;     // the tolerances rtol, atol, ulp that were set explicitly
  std::vector<ReproArray> inputs, expected;    // if `expected` is empty, REF's results for the graph are expected
  std::map<std::string, std::string> made_by;  // versions of tgc, tinygrad and llvm, and the name of the cpu
};

// Returns the bundle's text, with a final newline. `graph` is the graph's JSON (graph_to_json, list_to_json).
std::string repro_to_json(const Repro& repro, std::string_view graph);

// True if a text that begins with the bytes `head` may be a repro bundle.
bool looks_like_repro(std::string_view head);

// Parses a bundle. Returns its graph and stores the rest in `repro`. Errors have line and column.
Result<GraphFile> repro_from_json(Graph& graph, std::string_view text, std::string_view file, Places* places,
                                  Repro& repro);

}  // namespace tgc
