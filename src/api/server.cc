#include "api/server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <set>
#include <thread>

#include "api/connection.h"
#include "base/fd.h"
#include "base/log.h"
#include "wire/channel.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

namespace eider::api {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Whoever may open the socket's file is the same person or root already; this holds where a folder's mode was
/// changed by hand.
bool peer_is_allowed(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

void refuse_crowd(int fd) {
  const Response answer = problem_response({503, "unavailable", "too many clients are connected; try again", {}});
  const std::string bytes = fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      answer.content_type, answer.body.size(), answer.body);
  // A new socket's empty buffer takes it whole.
  (void)!::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

struct Server::Impl {
  explicit Impl(ServerLimits given) : limits(given) {}

  // Shared with what resume() made: a reply of the loop may come after the server.
  std::shared_ptr<asio::io_context> io = std::make_shared<asio::io_context>(1);
  asio::executor_work_guard<asio::io_context::executor_type> guard{io->get_executor()};
  asio::posix::stream_descriptor listener{*io};
  asio::steady_timer timer{*io};
  ServerLimits limits;
  Handler handler;
  std::string path;
  std::set<std::shared_ptr<Connection>> connections;
  std::function<void(Connection*)> on_closed = [this](Connection* connection) {
    connections.erase(connection->shared_from_this());
    if (stopping) end_when_empty();
  };
  bool stopping = false;
  std::thread thread;

  void run();
  void accept_more();
  void accept_ready();
  void begin_stop();
  void end_when_empty();
};

void Server::Impl::run() {
  while (true) {
    try {
      io->run();
      return;
    } catch (const std::exception& error) {
      // One request's fault; its connection ends by its deadline or its client.
      log::error(std::string("the API thread goes on after: ") + error.what());
    }
  }
}

void Server::Impl::accept_more() {
  listener.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
    if (!error && !stopping) accept_ready();
  });
}

void Server::Impl::accept_ready() {
  while (true) {
    // Not Asio's accept: its sockets are not close-on-exec, and worker processes would inherit them.
    UniqueFd fd(::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && errno == EINTR) continue;
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
      // The waiting client keeps the listener readable: look again later instead of spinning.
      timer.expires_after(std::chrono::milliseconds(100));
      timer.async_wait([this](error_code error) {
        if (!error && !stopping) accept_ready();
      });
      return;
    }
    if (!fd) {
      if (errno == ECONNABORTED) continue;
      return accept_more();
    }
    if (!peer_is_allowed(fd.get())) continue;
    if (connections.size() >= static_cast<std::size_t>(limits.max_connections)) {
      refuse_crowd(fd.get());
      continue;
    }
    Connection::Socket socket(*io);
    error_code error;
    socket.assign(asio::local::stream_protocol(), fd.get(), error);
    if (error) continue;
    (void)fd.release();
    auto connection = std::make_shared<Connection>(std::move(socket), limits, handler, on_closed);
    connections.insert(connection);
    connection->start();
  }
}

void Server::Impl::begin_stop() {
  stopping = true;
  error_code ignored;
  listener.close(ignored);
  timer.expires_after(limits.stop_grace);
  timer.async_wait([this](error_code error) {
    if (error) return;
    for (const auto& connection : std::set(connections)) connection->close();
  });
  for (const auto& connection : std::set(connections)) connection->drain();
  end_when_empty();
}

void Server::Impl::end_when_empty() {
  if (!connections.empty()) return;
  timer.cancel();
  io->stop();
}

Server::Server(ServerLimits limits) : impl_(std::make_unique<Impl>(limits)) {}

Server::~Server() { stop(); }

Result<void> Server::listen(const std::string& path) {
  auto socket = wire::listen_at(path);
  if (!socket) return socket.error();
  error_code error;
  impl_->listener.assign(socket->get(), error);
  if (error) return Error{ErrorCode::io, path + ": " + error.message()};
  (void)socket->release();
  impl_->path = path;
  return {};
}

void Server::start(Handler handler) {
  EIDER_CHECK(impl_->listener.is_open() && !impl_->thread.joinable(), "listen() comes first, start() once");
  impl_->handler = std::move(handler);
  impl_->accept_more();
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

std::function<void(std::function<void()>)> Server::resume() const {
  return [io = impl_->io](std::function<void()> work) { asio::post(*io, std::move(work)); };
}

void Server::stop() {
  if (impl_->thread.joinable()) {
    asio::post(*impl_->io, [impl = impl_.get()] { impl->begin_stop(); });
    impl_->thread.join();
  }
  if (!impl_->path.empty()) ::unlink(impl_->path.c_str());
  impl_->path.clear();
}

}  // namespace eider::api
