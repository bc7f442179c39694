// Reads pyrender of releases from 0.13 on (printed by uop/render.py; semantics in uop/ops.py and mixin/), and the form
// with every node as UOp(...) of any release other than 0.12.0.
#pragma once
#include "lib/text/pyrender_reader.h"

namespace tgc {

// Makes a reader for the release of `graph`, which must not be 0.12.0; arguments: see read_pyrender. Nodes are made
// as written, without the casts, broadcasts and folding of tinygrad's methods, because pyrender prints existing nodes.
// Facts that the text leaves out are inferred by the release's own rules. If they cannot be inferred (a LOAD whose
// dtype differs from its pointer's), a comment must state them, or they are lost.
std::unique_ptr<PyrenderReader> open_pyrender_reader(Graph& graph, std::string_view text, std::string_view file,
                                                     Places* places);

// Guesses the release of a text without a header from its ops, dtypes, methods and the order of UOp.const's arguments.
// Returns 0.14 if only 0.13 and 0.14 are possible; returns 0.12.0 if all three are, or none.
Release release_in_text(std::string_view text);

}  // namespace tgc
