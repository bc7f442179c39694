// pyrender of the releases from 0.13 on, read (uop/render.py prints it, uop/ops.py and mixin/ say what its words mean),
// and of any other release than 0.12.0 the form in which every node is UOp(...).
#pragma once
#include "lib/text/pyrender_reader.h"

namespace tgc {

// A reader for the release of `graph`, which is another than 0.12.0; arguments as of read_pyrender. Nodes are made as
// written: where tinygrad's methods would cast, broadcast or fold, its pyrender prints what is there. What the letters
// leave out follows from the release's own rules; what does not follow (a LOAD of another dtype than its pointer's) is
// lost unless a comment says it.
std::unique_ptr<PyrenderReader> open_pyrender_reader(Graph& graph, std::string_view text, std::string_view file,
                                                     Places* places);

// Whose text this is that says so nowhere, by what it holds: ops and dtypes that one release alone has, the order of
// UOp.const's arguments. Where nothing tells, or the text contradicts itself, 0.12.0's.
Release release_in_text(std::string_view text);

}  // namespace tgc
