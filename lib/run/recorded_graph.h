// A recorded tensor graph and the inputs of one run of it: the values of its variables, and the initial content of its
// buffers. Private to lib/run.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/run/run.h"
#include "lib/run/tensor_reference.h"

namespace tgc {

// Returns the name of the array of a buffer, "data3", or of a value of the sink, "value0".
std::string data_name(int64_t slot);

// Returns whether the run only compares its results with REF's (no --expect, --reference, --save or --bench), so that
// other inputs may be tried as well.
bool only_compares_with_ref(const RunOptions& options);

// A recorded tensor graph and its inputs. Functions that can fail throw Failure.
class RecordedTensorGraph {
 public:
  RecordedTensorGraph(const Session& session, const InputGraph& in, const RunOptions& options, ModelReport& report)
      : session(session), input_graph(in), options(options), report(report), release(in.graph->release()) {}

  // Reads the variables, the graph and its schedule from the record, and the arrays of --inputs from their file.
  void read_record();
  // Returns the number of UOps that REF evaluates for the recorded kernels or, if that is larger, for the tensor graph;
  // 0 before read_record().
  double estimated_work() const;
  // Returns values of the variables to try besides those of the run: all at their smallest, and all at their largest.
  // Variables that --var or --inputs set keep their values.
  std::vector<VariableValues> more_values() const;

  // Throws Failure if the file of --inputs is for this graph only and has an array that is neither a buffer nor a
  // variable of the graph or of one of its stages. To be called after draw_buffers().
  void check_array_names() const;
  // Fill buffers with the arrays of --inputs, or with random numbers. draw_buffers() fills all; `others` is a
  // distribution of floats to use instead of the one that suits the graph. draw_missing_buffers() fills the buffers of
  // `reference` that have no content.
  void draw_buffers(std::optional<Floats> others = {});
  void draw_missing_buffers(const TensorReference& reference);
  // Both fill buffers that have no array of --inputs. draw_all_sizes() fills those that may have values of all sizes
  // (all_sizes.h), and returns whether there are any. draw_whole_numbers() fills floats with small whole numbers.
  bool draw_all_sizes(uint64_t turn);
  void draw_whole_numbers();

  const Session& session;
  const InputGraph& input_graph;
  const RunOptions& options;
  ModelReport& report;
  const Release release;
  TensorParameters parameters;
  TensorReference reference;
  std::optional<RecordedSchedule> schedule;  // unset if the record has no kernels
  Arrays given_arrays;                       // arrays of the file of --inputs
  TensorArrays buffers;
  InputDistribution float_distribution;  // the distribution of the random floats in `buffers`

 private:
  std::set<int64_t> read_slots_;  // the buffers that a kernel of the graph or of the schedule reads
  void read_variables();
  void find_read_slots();
  InputDistribution distribution() const;              // the distribution of floats that suits the graph; has no seed
  std::map<int64_t, BufferSize> buffer_sizes() const;  // the dtype and size of each buffer of the graph, by slot
  // `copies`: the number of parts of the array, all of which have the same content.
  void draw_buffer(int64_t slot, DType dtype, int64_t size, int64_t copies = 1);
};

}  // namespace tgc
