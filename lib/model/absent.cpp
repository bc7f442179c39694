// In builds without TGC_ONNX, defines functions of OnnxModel and of conformance.h: each fails and names TGC_ONNX.
#include "lib/model/conformance.h"
#include "lib/support/version.h"

namespace tgc {
namespace {

Diag absent() { return absent_part_error("ONNX models", "TGC_ONNX"); }

}  // namespace

Result<OnnxModel> OnnxModel::open(const std::string&, const std::string&) { return absent(); }
std::string OnnxModel::folder() const { throw Failure(absent()); }
Result<std::vector<ModelInput>> OnnxModel::inputs(const std::map<std::string, int64_t>&) const { return absent(); }
std::vector<const onnx::ValueInfo*> OnnxModel::declared_inputs() const { throw Failure(absent()); }
std::vector<std::string> OnnxModel::output_names() const { throw Failure(absent()); }
Result<ModelOutputs> OnnxModel::build_graph(Graph&, const std::map<std::string, Value>&) const { return absent(); }
Value make_input_value(Graph&, onnx::ValueProto, const onnx::TypeProto&) { throw Failure(absent()); }
Value make_input_value(Graph&, const Array&) { throw Failure(absent()); }
OnnxCaseResult run_onnx_case(const std::string&, const OnnxCaseOptions&) { throw Failure(absent()); }
std::vector<std::string> find_onnx_cases(const std::vector<std::string>&) { throw Failure(absent()); }

}  // namespace tgc
