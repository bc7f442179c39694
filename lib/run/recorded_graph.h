#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/run/run.h"
#include "lib/run/tensor_reference.h"

namespace tgc {

// Returns "data3" for a buffer, "value0" for a value of the sink.
std::string array_name_of(int64_t slot);

// Returns true if --expect, --reference, --save and --bench are all unset: then other inputs may be tried, too.
bool is_ref_only_comparison(const RunOptions& options);

// A recorded tensor graph and the inputs of one run of it. Throws Failure.
class RecordedTensorGraph {
 public:
  RecordedTensorGraph(const Session& session, const InputGraph& in, const RunOptions& options, ModelReport& report)
      : session(session), input_graph(in), options(options), report(report), release(in.graph->release()) {}

  // Reads the graph and its schedule from the record, and the arrays of --inputs.
  void read_record();
  // Returns the number of UOps that REF evaluates for the recorded kernels or, if it is larger, for the tensor graph; 0
  // before read_record().
  double estimated_work() const;
  // Returns values of the variables to try besides those of the run: all at their smallest, and all at their largest.
  // Variables that --var or --inputs set keep their values.
  std::vector<VariableValues> variable_choices() const;

  // Call after draw_buffers(). Throws Failure if the file of --inputs is for this graph only and has an array that the
  // graph and its stages lack.
  void check_array_names() const;
  // Fill buffers with the arrays of --inputs, or with random numbers; draw_missing_buffers() fills those of `reference`
  // that have no content. `others` replaces the distribution of floats that suits the graph.
  void draw_buffers(std::optional<FloatKind> others = {});
  void draw_missing_buffers(const TensorReference& reference);
  // draw_all_magnitudes() refills the buffers that may have values of all sizes (all_sizes.h), and returns whether
  // there are any. draw_whole_numbers() refills buffers of floats with small whole numbers. Neither changes the arrays
  // of --inputs.
  bool draw_all_magnitudes(uint64_t turn);
  void draw_whole_numbers();

  const Session& session;
  const InputGraph& input_graph;
  const RunOptions& options;
  ModelReport& report;
  const Release release;
  TensorParameters parameters;
  TensorReference reference;
  std::optional<RecordedSchedule> schedule;  // unset if the record has no kernels
  Arrays given_arrays;
  TensorArrays buffers;
  InputDistribution float_distribution;

 private:
  std::set<int64_t> read_slots_;
  void read_variables();
  void find_read_slots();
  InputDistribution distribution() const;  // returns a distribution without a seed
  std::map<int64_t, BufferSize> buffer_sizes() const;
  // `copies`: number of parts of the array, which have the same content.
  void draw_buffer(int64_t slot, DType dtype, int64_t size, int64_t copies = 1);
};

}  // namespace tgc
