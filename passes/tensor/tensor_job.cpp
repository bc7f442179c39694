#include "passes/tensor/tensor_job.h"

#include "passes/tensor/stages.h"

namespace tgc {

TensorJob::TensorJob(Graph& graph) : graph(graph), indexing(std::make_unique<IndexingContext>(graph)) {}
TensorJob::~TensorJob() = default;

UOp TensorJob::original_buffer(UOp buffer) const {
  for (auto& [own, numbered] : input_buffers)
    if (numbered == buffer) return own;
  return buffer;
}

}  // namespace tgc
