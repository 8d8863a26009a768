#include "base/reactor.h"

#include <atomic>
#include <unordered_map>
#include <vector>

// g++ 12 sees null pointers in Asio that are not there.
#pragma GCC diagnostic ignored "-Wnull-dereference"
#include <fcntl.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/check.h"

namespace eider {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// The longest delay that the timer's nanoseconds hold with room to spare.
constexpr Micros kLongestDelay = std::chrono::hours(24 * 365 * 100);

}  // namespace

// Waits are armed at the start of run_once() and poll(), never inside a handler. So each source is handled at most
// once a call, and a handler that reads nothing or starts a timer of zero can't keep the call from returning.
struct Reactor::Impl {
  using Handlers = std::shared_ptr<Handler>;  // shared, so that a handler may end its own watch

  struct Watch {
    explicit Watch(asio::io_context& io) : descriptor(io) {}
    asio::posix::stream_descriptor descriptor;
    bool blocking = false;
    Handlers on_ready[2];  // by Direction
    bool armed[2] = {false, false};
  };
  enum Direction { reading, writing };

  struct Timer {
    Timer(asio::io_context& io, Micros delay, Handler handler)
        : timer(io, std::clamp(delay, Micros(0), kLongestDelay)), on_time(std::move(handler)) {}
    asio::steady_timer timer;
    Handler on_time;
  };

  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{io.get_executor()};
  std::unordered_map<int, std::shared_ptr<Watch>> watches;
  std::vector<std::pair<std::weak_ptr<Watch>, Direction>> unarmed;
  std::unordered_map<TimerId, std::unique_ptr<Timer>> timers;
  std::vector<TimerId> unstarted;
  TimerId last_timer = 0;
  std::size_t handled = 0;
  std::atomic<bool> wake_posted{false};

  ~Impl() {
    // The descriptors are the callers': let go of them, don't close them.
    for (auto& [fd, watch] : watches) watch->descriptor.release();
  }

  void watch(int fd, Direction direction, Handler handler) {
    std::shared_ptr<Watch>& watch = watches[fd];
    if (!watch) {
      watch = std::make_shared<Watch>(io);
      const int flags = ::fcntl(fd, F_GETFL);
      EIDER_CHECK(flags >= 0, "a descriptor that is watched must be open");
      error_code error;
      watch->descriptor.assign(fd, error);
      EIDER_CHECK(!error, error.message());
      watch->blocking = (flags & O_NONBLOCK) == 0;
      if (!watch->blocking) watch->descriptor.non_blocking(true);
    }
    const bool first = watch->on_ready[direction] == nullptr;
    watch->on_ready[direction] = std::make_shared<Handler>(std::move(handler));
    if (first && !watch->armed[direction]) unarmed.emplace_back(watch, direction);
  }

  void unwatch(int fd) {
    const auto found = watches.find(fd);
    if (found == watches.end()) return;
    found->second->on_ready[reading] = found->second->on_ready[writing] = nullptr;
    found->second->descriptor.release();
    watches.erase(found);
  }

  void arm(const std::shared_ptr<Watch>& watch, Direction direction) {
    if (!watch->on_ready[direction] || watch->armed[direction]) return;
    watch->armed[direction] = true;
    const auto what =
        direction == reading ? asio::posix::descriptor_base::wait_read : asio::posix::descriptor_base::wait_write;
    watch->descriptor.async_wait(what, [this, watch, direction](error_code error) {
      watch->armed[direction] = false;
      const Handlers handler = watch->on_ready[direction];
      if (!handler) return;  // unwatched after it became ready
      EIDER_CHECK(!error, "this kind of descriptor can't be watched: " + error.message());
      ++handled;
      unarmed.emplace_back(watch, direction);
      (*handler)();
    });
    // Asio makes the open file non-blocking, for everybody who shares it; the mode is the caller's to choose.
    if (watch->blocking) watch->descriptor.non_blocking(false);
  }

  void start(TimerId id) {
    const auto found = timers.find(id);
    if (found == timers.end()) return;
    found->second->timer.async_wait([this, id](error_code) {
      const auto due = timers.find(id);
      if (due == timers.end()) return;  // cancelled
      const Handler handler = std::move(due->second->on_time);
      timers.erase(due);
      ++handled;
      handler();
    });
  }

  void arm_all() {
    const auto watches_now = std::exchange(unarmed, {});
    for (const auto& [weak, direction] : watches_now) {
      if (const std::shared_ptr<Watch> watch = weak.lock()) arm(watch, direction);
    }
    const auto timers_now = std::exchange(unstarted, {});
    for (const TimerId id : timers_now) start(id);
  }
};

Reactor::Reactor() : impl_(std::make_unique<Impl>()) {}
Reactor::~Reactor() = default;

void Reactor::watch(int fd, Handler on_readable) { impl_->watch(fd, Impl::reading, std::move(on_readable)); }
void Reactor::watch_writable(int fd, Handler on_writable) { impl_->watch(fd, Impl::writing, std::move(on_writable)); }
void Reactor::unwatch(int fd) { impl_->unwatch(fd); }

Reactor::TimerId Reactor::call_after(Micros delay, Handler on_time) {
  const TimerId id = ++impl_->last_timer;
  impl_->timers.emplace(id, std::make_unique<Impl::Timer>(impl_->io, delay, std::move(on_time)));
  impl_->unstarted.push_back(id);
  return id;
}

void Reactor::cancel_timer(TimerId id) { impl_->timers.erase(id); }

void Reactor::run_once() {
  impl_->handled = 0;
  impl_->arm_all();
  // What was cancelled completes too, and is not handled: so wait on until something is.
  while (impl_->handled == 0) impl_->io.run_one();
  impl_->io.poll();
}

bool Reactor::poll() {
  impl_->handled = 0;
  impl_->arm_all();
  impl_->io.poll();
  return impl_->handled > 0;
}

void Reactor::wake() {
  if (impl_->wake_posted.exchange(true)) return;
  asio::post(impl_->io, [impl = impl_.get()] {
    impl->wake_posted.store(false);
    ++impl->handled;
  });
}

}  // namespace eider
