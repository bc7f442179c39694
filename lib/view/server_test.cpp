#include "lib/view/server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <thread>

#include "lib/driver/session.h"
#include "lib/records/input_file.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

namespace fs = std::filesystem;

std::string status_of(const std::string& response) { return response.substr(9, 3); }

struct Served {
  std::unique_ptr<ViewServer> server;
  std::string host, path;

  Served() {
    ViewContent content{
        .input_title = "x", .graphs = {{.name = "a", .events_json = "[]", .data_json = "{}"}}, .schedule_json = {}};
    content.graphs.push_back(
        {.name = "late", .compile_later = [] { return Result<RecordedGraph>(RecordedGraph{.data_json = "{1}"}); }});
    content.graphs.push_back(
        {.name = "bad", .compile_later = [] { return Result<RecordedGraph>(Diag{"no such kernel"}); }});
    auto made = ViewServer::start_server(0, "<p>" + std::string(kDataPlaceholder) + "</p>", std::move(content));
    REQUIRE(made);
    server = std::move(*made);
    std::string page_address = server->page_address().substr(7);
    host = page_address.substr(0, page_address.find('/')), path = page_address.substr(page_address.find('/'));
  }
  std::string get(const std::string& where, const std::string& at, const std::string& more = "") const {
    return server->answer_request("GET " + where + " HTTP/1.1\r\nHost: " + at + "\r\n" + more + "\r\n");
  }
};

}  // namespace

TEST_CASE("view server: serves the page and its graphs to requests with the token") {
  Served s;
  CHECK(status_of(s.get(s.path, s.host)) == "200");
  CHECK(s.get(s.path, s.host).find("id=\"index\"") != std::string::npos);
  CHECK(s.get(s.path, s.host).find("id=\"graph") == std::string::npos);
  auto letters = [](std::string data, std::string events) {
    return "\r\n\r\n" + encode_bytes(compress_text(data)) + " " + encode_bytes(compress_text(events));
  };
  CHECK(s.get(s.path + "graph/0", s.host).ends_with(letters("{}", "[]")));
  CHECK(s.get(s.path + "graph/1", s.host).ends_with(letters("{1}", "")));
  CHECK(status_of(s.get(s.path + "graph/2", s.host)) == "500");
  CHECK(status_of(s.get(s.path, "localhost" + s.host.substr(9))) == "200");
  CHECK(status_of(s.get(s.path, s.host, "Origin: http://" + s.host + "\r\n")) == "200");
}

TEST_CASE("view server: refuses a foreign Host or Origin and a missing token") {
  Served s;
  for (std::string host : {"evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:80", "127.0.0.1.evil.example", ""})
    CHECK(status_of(s.get(s.path, host)) == "403");
  for (std::string origin : {"http://evil.example", "null", "https://127.0.0.1", "http://localhost:1"})
    CHECK(status_of(s.get(s.path, s.host, "Origin: " + origin + "\r\n")) == "403");
  std::string wrong = s.path;
  wrong[5] = wrong[5] == 'a' ? 'b' : 'a';
  std::string cut = s.path.substr(0, 20) + "/", without_slash = s.path.substr(0, s.path.size() - 1);
  for (std::string path : {std::string("/"), std::string("/graph/0"), wrong, cut, without_slash})
    CHECK(status_of(s.get(path, s.host)) == "403");
}

TEST_CASE("view server: the file that a browser opens is readable by its user only and is removed at the end") {
  std::string path;
  {
    Served s;
    auto file = s.server->redirect_file();
    REQUIRE(file);
    path = *file;
    CHECK((fs::status(path).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(read_file(path)->find("url=" + s.server->page_address()) != std::string::npos);
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("view server: waits while no descriptor is free") {
  for (rlim_t most : {0, 1}) {  // poll fails with a limit of 0, accept with 1
    Served s;
    Session session;
    CancelRequest stop;
    session.cancel = &stop;
    sockaddr_in where{};
    where.sin_family = AF_INET, where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(uint16_t(std::stoi(s.host.substr(s.host.find(':') + 1))));
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(connect(client, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0);
    rlimit before, few;
    getrlimit(RLIMIT_NOFILE, &before);
    few = {.rlim_cur = most, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    std::clock_t begin = std::clock();
    std::thread server([&] { s.server->serve_requests(session); });
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    stop.request_cancel();
    server.join();
    double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
    setrlimit(RLIMIT_NOFILE, &before);
    close(client);
    CHECK(seconds < 0.1);  // without pauses, the server would use nearly 0.5 s of processor time
  }
}

TEST_CASE("view server: serves no other paths") {
  Served s;
  for (std::string path : {"graph/", "graph/3", "graph/99999999999999999999", "graph/-1", "graph/0x0", "../etc/passwd",
                           "graph/../0", "index.html", "%2e%2e/"})
    CHECK(status_of(s.get(s.path + path, s.host)) == "404");
}

TEST_CASE("view server: refuses requests other than GET of HTTP/1") {
  Served s;
  auto asked = [&](const std::string& head) { return status_of(s.server->answer_request(head)); };
  std::string host = "Host: " + s.host + "\r\n";
  for (std::string method : {"POST", "PUT", "OPTIONS", "HEAD", "get", "GETX"})
    CHECK(asked(method + " " + s.path + " HTTP/1.1\r\n" + host + "\r\n") == "405");
  for (std::string head : {"", "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
                           "GET x HTTP/1.1\r\n\r\n"})
    CHECK(asked(head) == "400");
  CHECK(asked("GET " + s.path + " HTTP/1.1\r\n\r\n") == "400");
  CHECK(asked("GET " + s.path + " HTTP/1.1\r\n" + host + host + "\r\n") == "400");
  CHECK(asked("GET " + s.path + " HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\n") == "400");
  CHECK(asked("GET " + s.path + " HTTP/1.1\r\n" + host + ": x\r\n\r\n") == "400");
  CHECK(asked("GET " + s.path + " HTTP/1.1\r\n" + host + "no colon\r\n\r\n") == "400");
  std::string long_header = "x: " + std::string(kMaxHeadBytes, 'x') + "\r\n";
  CHECK(asked("GET " + s.path + " HTTP/1.1\r\n" + host + long_header + "\r\n") == "400");
}

}  // namespace tgc
