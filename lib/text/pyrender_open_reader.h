// Reads pyrender text of tinygrad 0.13 and later (uop/render.py prints it; uop/ops.py and mixin/ define its meaning).
// Also reads texts of any release other than 0.12.0 in which every node is written as UOp(...).
#pragma once
#include "lib/text/pyrender_reader.h"

namespace tgc {

// Returns a reader for the release of `graph`, which must not be 0.12.0; arguments: see read_pyrender. The reader makes
// exactly the nodes that the text names: it does not add casts or broadcasts and does not fold, as tinygrad's methods
// do. Dtypes that the text omits are inferred by the rules of the release. A dtype that these rules cannot infer, such
// as that of a LOAD that differs from its pointer's, must be stated by a comment.
std::unique_ptr<PyrenderReader> open_pyrender_reader(Graph& graph, std::string_view text, std::string_view file,
                                                     Places* places);

// Guesses the release of a text without a header from its ops, dtypes, methods and the order of UOp.const's arguments.
// Returns 0.14 if only 0.13 and 0.14 are possible; returns 0.12.0 if all three are, or none.
Release release_in_text(std::string_view text);

}  // namespace tgc
