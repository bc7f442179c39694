// Compiles graphs in a live pipeline (Session::live): a running tinygrad makes a golden record of each graph.
#pragma once
#include "lib/driver/session.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

// Returns the question that asks the live pipeline to compile `in`, the AST of a kernel or a tensor graph of any
// release, as the session's overrides say. in.info.settings are the settings that it was recorded with. Fails for a
// graph after a stage, for an unknown setting, and if the graph has no form in the release of the live pipeline.
Result<CompileQuestion> live_question(const Session& session, const InputGraph& in);

// Returns the graph of `record`, an answer to a question about a graph that was read from the file `file`. If the
// session imports, a kernel of another release is imported.
Result<InputGraph> live_graph(const Session& session, std::shared_ptr<const GoldenRecord> record,
                              const std::string& file);

// Lets the live pipeline run the ONNX model of the file `path`, and returns the records of its kernels. `sizes` are its
// symbolic dimensions.
Result<std::vector<GoldenRecord>> kernels_of_live_model(const Session& session, const std::string& path,
                                                        const std::string& name,
                                                        const std::map<std::string, int64_t>& sizes);

// Compiles `in` and returns it with the record.
Result<InputGraph> compile_live(const Session& session, InputGraph in);

// Compiles kernel number `kernel` of the schedule of `schedule`, a tensor graph that compile_live() returned, for the
// schedule's device. Fails if there is no such kernel.
Result<InputGraph> compile_live_kernel(const Session& session, const InputGraph& schedule, const std::string& kernel);

// Compiles `in`, which compile_live() returned, again, but without one match of a rule. Fails if there is no such
// match.
Result<InputGraph> compile_live_without(const Session& session, const InputGraph& in, const RuleMatch& match);

}  // namespace tgc
