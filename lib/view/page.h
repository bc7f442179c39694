// The page: its code, which is given, around the graphs that were recorded, each packed on its own so that one is
// unpacked when it is opened.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/view/recording.h"

namespace tgc {

// What a page shows.
struct ViewContent {
  std::string title;                  // of the input, as people call it
  std::vector<RecordedGraph> graphs;
  std::string schedule;               // JSON (schedule_listing.h), where there is a tensor graph with one; else empty
  std::string measured_on;            // where it was run; empty: nowhere
  std::vector<double> measured;       // of the schedule's items: seconds, 0 of what was not timed
};

// The list of graphs, without what each holds, as JSON: {"title","graphs":[{"name","target",...}],"schedule"}.
std::string view_index(const ViewContent& content);

// zlib's format. `of_numbers`: most of the text is columns of numbers, of which few are repeated.
std::string packed(std::string_view text, bool of_numbers = false);
// Bytes as text for a page, 13 bits as two of 91 letters, at the end 6 bits as one: a fourteenth less than base64.
std::string as_letters(std::string_view bytes);

// A graph as the page reads it: its data, and behind a space its events, each packed on its own.
std::string graph_letters(const RecordedGraph& graph);

// `page_code` with the content in the place of kDataMark.
constexpr std::string_view kDataMark = "<!--data-->";
std::string view_page(std::string_view page_code, const ViewContent& content);

}  // namespace tgc
