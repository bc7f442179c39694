// Reads pyrender of releases from 0.13 on (printed by uop/render.py; semantics in uop/ops.py and mixin/), and the form
// with every node as UOp(...) of any release other than 0.12.0.
#pragma once
#include "lib/text/pyrender_reader.h"

namespace tgc {

// Makes a reader for the release of `graph`, which must not be 0.12.0; arguments as for read_pyrender. Nodes are made
// as written: tinygrad's methods would cast, broadcast or fold, but its pyrender prints the nodes that exist. Facts
// that the text leaves out are inferred by the release's own rules; what cannot be inferred (a LOAD whose dtype differs
// from its pointer's) is lost unless a comment states it.
std::unique_ptr<PyrenderReader> open_pyrender_reader(Graph& graph, std::string_view text, std::string_view file,
                                                     Places* places);

// Guesses the release of a text without a header from its content: ops and dtypes of a single release, and the order of
// UOp.const's arguments. Returns 0.12.0 if there is no evidence or it is contradictory.
Release release_in_text(std::string_view text);

}  // namespace tgc
