// Assembles the page from its code and the recorded graphs. The graphs are compressed alone or in groups, so that the
// page need not unpack all graphs to show one.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/bench/peaks.h"
#include "lib/view/recording.h"

namespace tgc {

// The content of a page.
struct ViewContent {
  std::string title;                    // name of the input, or "A and B" for two inputs
  std::vector<std::string> side_names;  // names of the two inputs; empty if there is one input
  std::vector<RecordedGraph> graphs;
  std::string schedule;              // schedule of a tensor graph that tgc compiled, as JSON (schedule_text.h), or ""
  std::string measuring_device;      // the device that ran the kernels; empty: no kernel was run
  std::vector<double> item_seconds;  // seconds of each item of the schedule; 0: not timed
  std::optional<Peaks> peaks;        // peak rates of the device `measuring_device`; nullopt: not measured
};

// Returns the page's index as JSON: {"title","graphs":[{"name","target",...}],"schedule",...}. The page reads it first;
// it has what the page shows of graphs that are not unpacked.
std::string view_index(const ViewContent& content);

// Compresses `text` with zlib. Set `of_numbers` for text that mostly consists of columns of numbers.
std::string pack_text(std::string_view text, bool of_numbers = false);
// Encodes bytes as printable text for the page: each 13 bits as two of 91 characters, and up to 6 bits at the end as
// one character. The result is 1/13 shorter than base64.
std::string encode_bytes(std::string_view bytes);

// Returns an HTML element of the page with this id, for data that encode_bytes() encoded.
std::string data_element(const std::string& id, const std::string& letters);

// Returns a graph as text for the page: `data`, a space, and `events`, each compressed and encoded separately.
std::string encoded_graph(const RecordedGraph& graph);

// view_page() returns the page: `page_code`, the HTML of the page without data, with kDataMark replaced by the content.
// Compresses graphs with at most `jobs` threads.
constexpr std::string_view kDataMark = "<!--data-->";
std::string view_page(std::string_view page_code, const ViewContent& content, unsigned jobs = 1);

}  // namespace tgc
