// In builds without TGC_ONNX, defines functions of OnnxModel and of conformance.h: each fails and names TGC_ONNX.
#include "lib/model/conformance.h"
#include "lib/support/version.h"

namespace tgc {
namespace {

Diag onnx_absent_error() { return absent_part_error("ONNX models", "TGC_ONNX"); }

}  // namespace

Result<OnnxModel> OnnxModel::open(const std::string&, const std::string&) { return onnx_absent_error(); }
std::string OnnxModel::folder() const { throw Failure(onnx_absent_error()); }
Result<std::vector<ModelInput>> OnnxModel::inputs(const std::map<std::string, int64_t>&) const {
  return onnx_absent_error();
}
std::vector<const onnx::ValueInfo*> OnnxModel::declared_inputs() const { throw Failure(onnx_absent_error()); }
std::vector<std::string> OnnxModel::output_names() const { throw Failure(onnx_absent_error()); }
Result<ModelOutputs> OnnxModel::build_graph(Graph&, const std::map<std::string, Value>&) const {
  return onnx_absent_error();
}
Value make_input_value(Graph&, onnx::ValueProto, const onnx::TypeProto&) { throw Failure(onnx_absent_error()); }
Value make_input_value(Graph&, const Array&) { throw Failure(onnx_absent_error()); }
OnnxCaseResult run_onnx_case(const std::string&, const OnnxCaseOptions&) { throw Failure(onnx_absent_error()); }
std::vector<std::string> find_onnx_cases(const std::vector<std::string>&) { throw Failure(onnx_absent_error()); }

}  // namespace tgc
