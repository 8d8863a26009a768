// The server over a real Unix socket, with raw bytes. Deadlines are short limits and waiting for the end of the
// connection, never a sleep.
#include "api/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <atomic>
#include <boost/json.hpp>
#include <future>

#include "api/client.h"
#include "api/test_support.h"
#include "wire/channel.h"

namespace eider::api {
namespace {

using std::chrono::milliseconds;

/// A client that says exactly what the test says.
class RawClient {
 public:
  explicit RawClient(const std::string& path) : socket_(std::move(*wire::connect_to(path))) {
    ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) & ~O_NONBLOCK);
  }
  /// False: the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Reads until `end` is there (true) or the server closes (false; an empty `end` waits for that). A server that does
  /// neither for a minute is a failure.
  bool read_until(std::string_view end) {
    char buffer[4096];
    while (end.empty() || got.find(end) == std::string::npos) {
      pollfd look{socket_.get(), POLLIN, 0};
      if (::poll(&look, 1, 60'000) != 1) {
        ADD_FAILURE() << "the server neither answers nor closes; so far: " << got;
        return false;
      }
      const ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, 0);
      if (size <= 0) return false;
      got.append(buffer, static_cast<std::size_t>(size));
    }
    return true;
  }
  std::string all(std::string_view request) {
    send(request);
    read_until("");
    return got;
  }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

  std::string got;

 private:
  UniqueFd socket_;
};

/// A body whose end the test decides.
class ScriptedStream final : public BodyStream {
 public:
  struct Script {
    std::mutex mutex;
    std::string waiting;
    bool done = false;
    bool broken = false;
    std::promise<void> dropped;
  };
  explicit ScriptedStream(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  ~ScriptedStream() override { script_->dropped.set_value(); }
  Result<Chunk> read() override {
    const std::lock_guard hold(script_->mutex);
    if (script_->broken) return Error{ErrorCode::io, "broken on purpose"};
    return Chunk{std::exchange(script_->waiting, {}), script_->done};
  }

 private:
  std::shared_ptr<Script> script_;
};

class ServerTest : public testing::Test {
 protected:
  void start(ServerLimits limits = {}) {
    limits.stream_poll = milliseconds(1);
    server_ = std::make_unique<Server>(limits);
    path_ = folder_.path() + "/eider.sock";
    const auto listening = server_->listen(path_);
    ASSERT_TRUE(listening) << listening.error().message;
    server_->start([this](const Request& request, const Respond& respond) { handle(request, respond); });
  }
  void handle(const Request& request, const Respond& respond) {
    ++handled_;
    Response response;
    response.content_type = "text/plain";
    if (request.path == "/stream") {
      response.stream = std::make_shared<ScriptedStream>(script_);
    } else if (request.path == "/later") {
      std::thread([resume = server_->resume(), respond] {
        resume([respond] {
          Response late;
          late.body = "late";
          respond(late);
        });
      }).detach();
      return;
    } else if (request.path == "/never") {
      return;
    } else if (request.path == "/throw") {
      throw std::runtime_error("on purpose");
    } else if (request.path == "/big") {
      response.body = std::string(8 * 1024 * 1024, 'b');
    } else {
      response.body = request.method + " " + request.path + " " + request.body;
    }
    respond(response);
  }
  static std::string get(const std::string& path, const char* more = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
  }

  TestFolder folder_;
  std::string path_;
  std::shared_ptr<ScriptedStream::Script> script_ = std::make_shared<ScriptedStream::Script>();
  std::atomic<int> handled_{0};
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, KeepsTheConnectionAndAnswersPipelinedRequestsInOrder) {
  start();
  RawClient client(path_);
  const std::string three = get("/one") + "POST /two HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody" +
                            get("/three", "Connection: close\r\n");
  const std::string got = client.all(three);
  const auto one = got.find("GET /one "), two = got.find("POST /two body"), three_at = got.find("GET /three ");
  ASSERT_NE(three_at, std::string::npos) << got;
  EXPECT_LT(one, two);
  EXPECT_LT(two, three_at);
  EXPECT_EQ(handled_, 3);
}

TEST_F(ServerTest, ARequestMayComeByteByByte) {
  start();
  RawClient client(path_);
  const std::string request =
      "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (const char c : request) ASSERT_TRUE(client.send({&c, 1}));
  ASSERT_TRUE(client.read_until("POST /x abcde"));
}

TEST_F(ServerTest, AClientThatAsksBeforeItSendsItsBodyIsTold) {
  start();
  RawClient client(path_);
  client.send("POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  ASSERT_TRUE(client.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  client.send("body");
  EXPECT_TRUE(client.read_until("POST /x body"));
}

TEST_F(ServerTest, MalformedAndSmugglingRequestsAreRefusedAndEndTheConnection) {
  start();
  const std::pair<const char*, const char*> cases[] = {
      {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled "
       "HTTP/1.1\r\n\r\n",
       "400"},
      {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", "400"},
      {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "400"},
      {"GET /x HTTP/1.1\r\nHost : x\r\n\r\n", "400"},
      {"G\x01T /x HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
      {"GET /x HTTP/2.0\r\nHost: x\r\n\r\n", "400"},
      {"hello\r\n\r\n", "400"},
      {"GET /x HTTP/1.1\r\nConnection: close\r\n\r\n", "400"},
      {"GET /x HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n", "400"},
      {"GET http://evil/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "400"},
      {"GET /x?a=%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "400"},
      {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n", "413"},
  };
  for (const auto& [request, status] : cases) {
    RawClient client(path_);
    const std::string got = client.all(request);
    EXPECT_EQ(got.substr(0, 12), std::string("HTTP/1.1 ") + status) << request << got;
    EXPECT_NE(got.find("application/problem+json"), std::string::npos) << request;
    EXPECT_EQ(got.find("smuggled"), std::string::npos);
  }
  EXPECT_EQ(handled_, 0);
}

TEST_F(ServerTest, HeadersAndBodiesAreBounded) {
  start();
  RawClient header(path_);
  header.send("GET /x HTTP/1.1\r\nHost: x\r\nA: ");
  const std::string more(4096, 'a');
  for (int i = 0; i < 1000 && header.send(more); ++i) {
  }
  header.read_until("");
  EXPECT_EQ(header.got.substr(0, 12), "HTTP/1.1 431");
  RawClient body(path_);
  body.send("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 1000 && body.send("1000\r\n" + more + "\r\n"); ++i) {
  }
  body.read_until("");
  EXPECT_EQ(body.got.substr(0, 12), "HTTP/1.1 413");
  EXPECT_EQ(handled_, 0);
}

TEST_F(ServerTest, ASlowRequestIsCutOff) {
  ServerLimits limits;
  limits.header_timeout = milliseconds(20);
  limits.body_timeout = milliseconds(20);
  start(limits);
  RawClient header(path_);
  EXPECT_EQ(header.all("GET /x HT").substr(0, 12), "HTTP/1.1 408");
  RawClient body(path_);
  EXPECT_EQ(body.all("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab").substr(0, 12), "HTTP/1.1 408");
}

TEST_F(ServerTest, AnIdleConnectionIsClosed) {
  ServerLimits limits;
  limits.idle_timeout = milliseconds(20);
  start(limits);
  RawClient silent(path_);
  EXPECT_EQ(silent.all(""), "");
  // The first request may come too late as well on a busy machine: then there is no answer.
  std::string got;
  while (got.empty()) got = RawClient(path_).all(get("/x"));
  EXPECT_EQ(got.substr(0, 12), "HTTP/1.1 200");
}

TEST_F(ServerTest, AClientThatReadsNothingHoldsUpNobodyAndIsCutOff) {
  ServerLimits limits;
  limits.write_timeout = milliseconds(50);
  start(limits);
  RawClient slow(path_);
  slow.send(get("/big"));
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(std::make_unique<RawClient>(path_));
  RawClient quick(path_);
  quick.send(get("/quick"));
  EXPECT_TRUE(quick.read_until("GET /quick "));
  // The peer's end shows the cut without anything being read.
  pollfd look{slow.fd(), POLLRDHUP, 0};
  ASSERT_EQ(::poll(&look, 1, 60'000), 1);
  slow.read_until("");
  EXPECT_LT(slow.got.size(), 8u * 1024 * 1024);
}

TEST_F(ServerTest, TooManyClientsAreToldSo) {
  ServerLimits limits;
  limits.max_connections = 2;
  start(limits);
  RawClient a(path_), b(path_);
  a.send(get("/a"));
  b.send(get("/b"));
  ASSERT_TRUE(a.read_until("GET /a "));
  ASSERT_TRUE(b.read_until("GET /b "));
  RawClient c(path_);
  EXPECT_EQ(c.all("").substr(0, 12), "HTTP/1.1 503");
}

TEST_F(ServerTest, HeadHasNoBodyAndStreamsNothing) {
  start();
  RawClient client(path_);
  const std::string got = client.all("HEAD /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(got.find("Content-Length: 8\r\n"), std::string::npos) << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\n")) << got;
}

TEST_F(ServerTest, RepliesOfOtherThreadsAndFaultsOfHandlersAreAnswered) {
  start();
  RawClient client(path_);
  client.send(get("/later"));
  EXPECT_TRUE(client.read_until("late"));
  client.send(get("/throw"));
  EXPECT_TRUE(client.read_until("HTTP/1.1 500"));
  EXPECT_EQ(client.got.find("on purpose"), std::string::npos) << "what went wrong inside stays inside";
  client.send(get("/still"));
  EXPECT_TRUE(client.read_until("GET /still "));
}

TEST_F(ServerTest, AStreamGrowsAndEnds) {
  start();
  RawClient client(path_);
  client.send(get("/stream") + get("/after", "Connection: close\r\n"));
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  EXPECT_NE(client.got.find("Transfer-Encoding: chunked"), std::string::npos);
  {
    const std::lock_guard hold(script_->mutex);
    script_->waiting = "first line\n";
  }
  ASSERT_TRUE(client.read_until("b\r\nfirst line\n\r\n"));
  {
    const std::lock_guard hold(script_->mutex);
    script_->waiting = "last\n";
    script_->done = true;
  }
  ASSERT_TRUE(client.read_until("5\r\nlast\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(client.read_until("GET /after ")) << "the connection goes on after a stream";
}

TEST_F(ServerTest, AStreamIsDroppedWhenItsClientVanishes) {
  start();
  auto client = std::make_unique<RawClient>(path_);
  client->send(get("/stream"));
  ASSERT_TRUE(client->read_until("\r\n\r\n"));
  client->close();
  EXPECT_EQ(script_->dropped.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
}

TEST_F(ServerTest, AHalfClosedClientStillGetsItsStream) {
  start();
  RawClient client(path_);
  client.send("GET /stream HTTP/1.0\r\n\r\n");
  ::shutdown(client.fd(), SHUT_WR);
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  {
    const std::lock_guard hold(script_->mutex);
    script_->waiting = "text";
    script_->done = true;
  }
  client.read_until("");
  EXPECT_TRUE(client.got.ends_with("\r\n\r\ntext")) << client.got;
}

TEST_F(ServerTest, AStreamThatBreaksIsNotTakenForWhole) {
  start();
  script_->broken = true;
  RawClient client(path_);
  const std::string got = client.all(get("/stream"));
  EXPECT_FALSE(got.ends_with("0\r\n\r\n"));
  const Client polite(path_);
  script_ = std::make_shared<ScriptedStream::Script>();
  script_->broken = true;
  Request request;
  request.path = "/stream";
  const auto answer = polite.stream(request, [](std::string_view) { return true; });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
}

TEST_F(ServerTest, StopClosesIdleOnesFinishesAnswersAndRemovesTheSocket) {
  ServerLimits limits;
  limits.stop_grace = milliseconds(50);
  start(limits);
  RawClient idle(path_), hanging(path_), asks(path_);
  idle.send(get("/x"));
  ASSERT_TRUE(idle.read_until("GET /x "));
  hanging.send(get("/never"));
  asks.send(get("/stream"));
  ASSERT_TRUE(asks.read_until("\r\n\r\n"));
  const auto resume = server_->resume();
  server_->stop();
  EXPECT_FALSE(idle.read_until("nothing more"));
  EXPECT_FALSE(hanging.read_until("nothing more"));
  EXPECT_FALSE(asks.read_until("nothing more"));
  EXPECT_FALSE(std::filesystem::exists(path_));
  server_.reset();
  resume([] { FAIL() << "after the end nothing runs"; });
}

TEST_F(ServerTest, TheSocketIsPrivateAndReplacesALeftOne) {
  start();
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // The socket of a server that died without removing it, and which a process that it was spawning still holds.
  const std::string dead = folder_.path() + "/dead.sock";
  const auto left = wire::listen_at(dead);
  ASSERT_TRUE(left);
  Server second{ServerLimits{}};
  EXPECT_TRUE(second.listen(dead));
}

TEST_F(ServerTest, LongPathsWork) {
  std::string folder = folder_.path();
  for (int i = 0; i < 4; ++i) folder += "/" + std::string(50, 'd');
  std::filesystem::create_directories(folder);
  Server server{ServerLimits{}};
  const auto listening = server.listen(folder + "/eider.sock");
  ASSERT_TRUE(listening) << listening.error().message;
  server.start([](const Request&, const Respond& respond) { respond({}); });
  EXPECT_TRUE(Client(folder + "/eider.sock").call({}));
}

// ---- the client
// ------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, ClientCalls) {
  start();
  const Client client(path_);
  const auto answer = client.call({"POST", "/" + encode_segment("a b"), {{"q", "1&2"}}, {}, "text"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->content_type, "text/plain");
  EXPECT_EQ(answer->body, "POST /a%20b text");
  const auto big = client.call({"GET", "/big", {}, {}, ""});
  ASSERT_TRUE(big);
  EXPECT_EQ(big->body.size(), 8u * 1024 * 1024);
  const auto head = client.call({"HEAD", "/x", {}, {}, ""});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->body, "");
  const auto large = client.call({"POST", "/x", {}, {}, std::string(3 * 1024 * 1024, 'x')});
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->status, 413);
}

TEST_F(ServerTest, ClientStreamsUntilTheEndOrUntilItHasEnough) {
  start();
  script_->waiting = "one\ntwo\n";
  script_->done = true;
  const Client client(path_);
  std::string got;
  const auto whole =
      client.stream({"GET", "/stream", {}, {}, ""}, [&](std::string_view bytes) { return got += bytes, true; });
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(got, "one\ntwo\n");
  script_ = std::make_shared<ScriptedStream::Script>();
  script_->waiting = "one\n";
  EXPECT_TRUE(client.stream({"GET", "/stream", {}, {}, ""}, [](std::string_view) { return false; }));
}

TEST_F(ServerTest, ClientSaysWhenNobodyAnswers) {
  const auto nobody = Client(folder_.path() + "/none.sock").call({});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::no_server);
  start();
  const auto silent = Client(path_, milliseconds(20)).call({"GET", "/never", {}, {}, ""});
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace eider::api
