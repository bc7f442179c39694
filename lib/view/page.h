// Assembles the page from its code and the recorded graphs, which are compressed so that the page need not unpack all
// of them to show one.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/bench/peaks.h"
#include "lib/view/recording.h"

namespace tgc {

struct ViewContent {
  std::string input_title;              // name of the input, or "A and B"
  std::vector<std::string> input_names;  // the names of two inputs; empty for one input
  std::vector<RecordedGraph> graphs;
  std::string schedule_json;              // JSON (schedule_text.h) for a tensor graph that tgc compiled, or ""
  std::string measuring_device;      // the device that ran kernels; empty if none ran
  std::vector<double> item_seconds;  // the time of each schedule item; 0: not timed
  std::optional<PeakRates> device_peaks;  // the peaks of `measuring_device`, if measured
};

// Returns the page's index as JSON, {"title","graphs":[{"name","target",...}],"schedule",...}: what the page shows of
// graphs that are not unpacked.
std::string view_index_json(const ViewContent& content);

// Compresses with zlib. Set `is_mostly_numbers` if the text mostly consists of columns of numbers.
std::string compress_text(std::string_view text, bool is_mostly_numbers = false);
// Encodes bytes as printable text: each 13 bits as two of 91 characters. A rest of at most 6 bits becomes one
// character.
std::string encode_bytes(std::string_view bytes);

// Returns an HTML element with data that encode_bytes() encoded.
std::string html_data_element(const std::string& id, const std::string& letters);

// Returns a graph as text for the page: `data_json`, a space, and `events_json`, each compressed and encoded.
std::string encode_graph(const RecordedGraph& graph);

// Returns `page_code`, the HTML of the page without data, with kDataPlaceholder replaced by the content. Compresses
// with at most `num_jobs` threads.
constexpr std::string_view kDataPlaceholder = "<!--data-->";
std::string make_view_page(std::string_view page_code, const ViewContent& content, unsigned num_jobs = 1);

}  // namespace tgc
