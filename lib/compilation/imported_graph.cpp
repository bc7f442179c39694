#include "lib/compilation/imported_graph.h"

namespace tgc {

const ImportedFrom& imported_from(const InputGraph& in) { return in.graph->extension<ImportedFrom>(); }

std::string producer_of(const InputGraph& in) {
  if (is_imported(in)) return imported_from(in).producer;
  if (!in.info.producer.empty()) return in.info.producer;
  const Release release = in.graph->release();
  return release == Release::v0_12 ? "tinygrad 0.12.0" : "tinygrad " + std::string(name_of(release));
}

}  // namespace tgc
