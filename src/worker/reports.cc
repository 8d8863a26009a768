#include "worker/reports.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>

namespace eider::worker {
namespace {

bool is_same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace

Reports::Reports(Reactor& reactor, UniqueFd channel, Handlers handlers)
    : reactor_(reactor), handlers_(std::move(handlers)) {
  add(std::move(channel)).is_server = true;
}

Reports::~Reports() {
  close_attempt_socket();
  if (listener_) reactor_.unwatch(listener_.get());
  for (const auto& peer : peers_) {
    if (!peer->gone) reactor_.unwatch(peer->channel.fd());
  }
}

Reports::Peer& Reports::add(UniqueFd socket) {
  peers_.push_back(std::make_unique<Peer>(std::move(socket)));
  Peer& peer = *peers_.back();
  reactor_.watch(peer.channel.fd(), [this, &peer] { read_from(peer); });
  return peer;
}

void Reports::accept() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket || !is_same_user(socket.get())) return;
  if (auto adopted = handlers_.adopted())
    send_to(add(std::move(socket)), wire::encode(wire::ToServer(std::move(*adopted))));
}

void Reports::read_from(Peer& peer) {
  std::vector<wire::Channel::Frame> frames;
  const auto open = peer.channel.receive(frames);
  for (wire::Channel::Frame& frame : frames) {
    auto message = wire::decode_to_worker(frame.text);
    if (message) {
      handlers_.on_message(std::move(*message), std::move(frame.descriptor));
      continue;
    }
    fmt::print(stderr, "eider worker: a frame from the server: {}\n", message.error().message);
    confused_ = confused_ || peer.is_server;
  }
  if (!open) fmt::print(stderr, "eider worker: {}\n", open.error().message);
  if (!open || !*open) drop(peer);
}

void Reports::send(const wire::ToServer& message) {
  forget_gone();
  if (peers_.empty()) return;
  const std::string frame = wire::encode(message);
  for (const auto& peer : peers_) send_to(*peer, frame);
}

void Reports::hold(const wire::ToServer& message) {
  const std::string frame = wire::encode(message);
  for (const auto& peer : peers_) {
    if (!peer->gone && !peer->channel.hold(frame)) drop(*peer);
  }
}

void Reports::release() {
  for (const auto& peer : peers_) {
    if (peer->channel.wants_write() && !peer->watched_for_writing) flush(*peer);
  }
}

void Reports::send_to(Peer& peer, const std::string& frame) {
  if (!peer.gone) mark(peer, peer.channel.send(frame));
}

void Reports::flush(Peer& peer) {
  if (!peer.gone) mark(peer, peer.channel.flush());
}

void Reports::mark(Peer& peer, const Result<void>& written) {
  if (!written) {
    drop(peer);
  } else if (peer.channel.wants_write() && !peer.watched_for_writing) {
    peer.watched_for_writing = true;
    reactor_.watch_writable(peer.channel.fd(), [this, &peer] { flush(peer); });
  } else if (!peer.channel.wants_write() && peer.watched_for_writing) {
    peer.watched_for_writing = false;
    reactor_.unwatch(peer.channel.fd());
    reactor_.watch(peer.channel.fd(), [this, &peer] { read_from(peer); });
  }
}

void Reports::drop(Peer& peer) {
  if (peer.gone) return;
  peer.gone = true;
  server_gone_ = server_gone_ || peer.is_server;
  reactor_.unwatch(peer.channel.fd());  // it is closed later: its handler may be running now
}

void Reports::forget_gone() {
  peers_.remove_if([](const std::unique_ptr<Peer>& peer) { return peer->gone; });
}

Result<void> Reports::open_attempt_socket(const std::string& worker_socket, const std::string& path) {
  if (!listener_) {
    auto listener = wire::listen_at(worker_socket);
    if (!listener) return listener.error();
    listener_ = std::move(*listener);
    reactor_.watch(listener_.get(), [this] { accept(); });
  }
  if (::link(worker_socket.c_str(), path.c_str()) != 0) {
    // What lies there is an earlier process's: who may listen is decided by the lock, not by this name.
    ::unlink(path.c_str());
    if (::link(worker_socket.c_str(), path.c_str()) != 0) return io_error(path, errno);
  }
  attempt_socket_ = path;
  return {};
}

void Reports::close_attempt_socket() {
  if (!attempt_socket_.empty()) ::unlink(attempt_socket_.c_str());
  attempt_socket_.clear();
}

void Reports::flush(Micros limit) {
  // Bounded by rounds, not by a clock: each round waits for a part of the limit at most.
  constexpr int kRounds = 20;
  const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit / kRounds);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<pollfd> waiting;
    for (const auto& peer : peers_) {
      flush(*peer);
      if (!peer->gone && peer->channel.wants_write()) waiting.push_back({peer->channel.fd(), POLLOUT, 0});
    }
    if (waiting.empty()) return;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(wait_ms.count()));
  }
}

}  // namespace eider::worker
