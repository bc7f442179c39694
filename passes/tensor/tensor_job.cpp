#include "passes/tensor/tensor_job.h"

#include "passes/tensor/indexing.h"

namespace tgc {

TensorJob::TensorJob(Graph& graph) : graph(graph), indexing(std::make_unique<IndexingContext>(graph)) {}
TensorJob::~TensorJob() = default;

}  // namespace tgc
