#include "watch/watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/log.h"
#include "watch/place.h"

namespace eider::watch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t most_unanswered = 50;  ///< what one turn of the loop decides delays others that long
constexpr std::size_t portion = 10;          ///< of one folder, before the others have their turn
constexpr Micros shortest_delay = milliseconds(100);
constexpr Micros after_an_error = seconds(1);  ///< of the loop's
constexpr std::uint32_t events_of_interest = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MODIFY | IN_DELETE |
                                             IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

using Assets = std::map<std::string, model::ExternalAsset>;

/// What the loop said of a file.
struct Reply {
  std::uint64_t number;  ///< Watched::number
  Place::Whole whole;
  std::string error;  ///< empty: it is recorded
};

/// A place with its watch. It is not watched while its folder is not there.
struct Watched {
  std::uint64_t number;
  Place place;
  int watch = -1;
  struct stat folder {};  ///< the one that is watched
  Micros look_at{};       ///< when the path is looked at again: it may lead elsewhere by then
  Micros delay = shortest_delay;
  bool said = false;          ///< that it is not there
  bool said_refusal = false;  ///< that the loop refused a file of it
};

std::string reason_of(int error) {
  return error == ENOSPC ? std::string("the limit fs.inotify.max_user_watches of this machine is reached")
                         : std::string(std::strerror(error));
}

}  // namespace

/// What the two sides and late replies share.
struct Watcher::Shared {
  explicit Shared(WatcherParts its_parts) : parts(std::move(its_parts)) {}
  void ring() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = ::write(bell.get(), &one, sizeof one);  // full: it rings already
  }

  const WatcherParts parts;
  UniqueFd inotify;
  UniqueFd bell;  ///< eventfd: there is something under the mutex
  std::mutex mutex;
  bool stop = false;
  std::optional<Assets> assets;
  std::vector<Reply> replies;
};

/// The thread.
class Watcher::Watching {
 public:
  explicit Watching(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  void run() {
    while (take_orders()) {
      read_events();
      for (auto& [name, watched] : all_) {
        if (watched.look_at <= now()) look_at(watched);
      }
      tell();
      wait();
    }
  }

 private:
  Micros now() const { return shared_->parts.clock.boottime(); }
  Micros longer(Micros delay) const { return std::min(2 * delay, shared_->parts.look_every); }

  /// What the other threads left here. False: the end.
  bool take_orders() {
    std::optional<Assets> assets;
    std::vector<Reply> replies;
    {
      const std::lock_guard hold(shared_->mutex);
      if (shared_->stop) return false;
      assets = std::exchange(shared_->assets, std::nullopt);
      replies = std::exchange(shared_->replies, {});
    }
    for (const Reply& reply : replies) note(reply);
    if (assets) follow(*assets);
    return true;
  }

  void follow(const Assets& assets) {
    for (auto old = all_.begin(); old != all_.end();) {
      const auto kept = assets.find(old->first);
      if (kept != assets.end() && kept->second == old->second.place.asset()) {
        ++old;
        continue;
      }
      end_watch(old->second);
      old = all_.erase(old);
    }
    for (const auto& [name, asset] : assets) {
      if (all_.contains(name)) continue;
      all_.emplace(name, Watched{++last_number_, Place(asset, shared_->parts.root)});
    }
  }

  void note(const Reply& reply) {
    --unanswered_;
    for (auto& [name, watched] : all_) {
      if (watched.number != reply.number) continue;
      if (reply.error.empty()) {
        watched.said_refusal = false;
        return;
      }
      if (!std::exchange(watched.said_refusal, true)) {
        log::warning(fmt::format("{}: a file in {} can't be recorded, and is tried again: {}", name,
                                 watched.place.asset().watch, reply.error));
      }
      return watched.place.put_back(reply.whole, now() + after_an_error);
    }
  }

  void read_events() {
    alignas(inotify_event) std::array<char, 64 * 1024> buffer;
    while (true) {
      const ssize_t size = ::read(shared_->inotify.get(), buffer.data(), buffer.size());
      if (size <= 0) return;
      for (const char* at = buffer.data(); at < buffer.data() + size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        at += sizeof(inotify_event) + event->len;
        if ((event->mask & IN_Q_OVERFLOW) != 0) {
          scan_all();
          continue;
        }
        for (auto& [name, watched] : all_) {
          if (watched.watch == event->wd) handle(watched, *event);
        }
      }
    }
  }

  void handle(Watched& watched, const inotify_event& event) {
    constexpr std::uint32_t end = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;
    if ((event.mask & end) != 0) return lose(watched, "is gone");
    if (event.len == 0 || (event.mask & IN_ISDIR) != 0) return;
    const std::string file(event.name);  // padded with zeros
    if ((event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) watched.place.landed(file, now());
    if ((event.mask & IN_CREATE) != 0) watched.place.created(file, now());
    if ((event.mask & IN_MODIFY) != 0) watched.place.written(file);
    if ((event.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) watched.place.gone(file);
  }

  void scan_all() {
    for (auto& [name, watched] : all_) {
      if (watched.watch >= 0) scan(watched);
    }
  }

  void scan(Watched& watched) {
    if (const auto scanned = watched.place.scan(now()); !scanned) {
      lose(watched, fmt::format("can't be read ({})", scanned.error().message));
    }
  }

  /// Begins to watch the folder, or sees whether what is watched still lies there.
  void look_at(Watched& watched) {
    watched.look_at = now() + shared_->parts.look_every;
    const UniqueFd folder(::open(watched.place.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const int error = errno;
    struct stat found {};
    const bool there = folder && ::fstat(folder.get(), &found) == 0;
    if (watched.watch >= 0) {
      if (there && found.st_ino == watched.folder.st_ino && found.st_dev == watched.folder.st_dev) return;
      lose(watched, "is gone, or another one is in its place");
    }
    if (!there) return miss(watched, fmt::format("is not there ({})", std::strerror(error)));
    // By its descriptor: the path could lead elsewhere by now.
    const std::string exactly = fmt::format("/proc/self/fd/{}", folder.get());
    watched.watch = ::inotify_add_watch(shared_->inotify.get(), exactly.c_str(), events_of_interest);
    if (watched.watch < 0) return miss(watched, fmt::format("can't be watched ({})", reason_of(errno)));
    watched.folder = found;
    scan(watched);
    if (watched.watch < 0) return;
    watched.delay = shortest_delay;
    if (std::exchange(watched.said, false)) {
      log::info(fmt::format("{}: the folder {} is watched", watched.place.asset().name, watched.place.asset().watch));
    }
  }

  void lose(Watched& watched, const std::string& why) {
    end_watch(watched);
    watched.place.forget();
    miss(watched, why);
  }

  void miss(Watched& watched, const std::string& why) {
    watched.look_at = now() + watched.delay;
    watched.delay = longer(watched.delay);
    if (std::exchange(watched.said, true)) return;
    log::warning(fmt::format("{}: the folder {} {}; it is looked for until it can be watched",
                             watched.place.asset().name, watched.place.asset().watch, why));
  }

  /// Two assets may watch one folder: then they have one watch.
  void end_watch(Watched& watched) {
    const int watch = std::exchange(watched.watch, -1);
    const bool shared =
        std::any_of(all_.begin(), all_.end(), [&](const auto& one) { return one.second.watch == watch; });
    if (watch >= 0 && !shared) ::inotify_rm_watch(shared_->inotify.get(), watch);
  }

  /// Each folder with whole files has its turn, until as much is unanswered as may be.
  void tell() {
    if (all_.empty() || now() < tell_at_) return;
    std::size_t idle = 0;
    while (unanswered_ < most_unanswered && idle < all_.size()) {
      auto next = all_.upper_bound(last_told_);
      if (next == all_.end()) next = all_.begin();
      last_told_ = next->first;
      const auto files = next->second.place.take(now(), std::min(portion, most_unanswered - unanswered_));
      idle = files.empty() ? idle + 1 : 0;
      for (auto file = files.begin(); file != files.end(); ++file) {
        if (post(next->second, *file)) continue;
        for (; file != files.end(); ++file) next->second.place.put_back(*file, now());
        tell_at_ = now() + tell_delay_;
        tell_delay_ = longer(tell_delay_);
        return;
      }
    }
    tell_delay_ = shortest_delay;
  }

  bool post(const Watched& watched, const Place::Whole& whole) {
    engine::Materialize command = watched.place.command_for(whole);
    command.reply = [shared = shared_, number = watched.number,
                     whole](const Result<engine::Materialize::Answer>& answer) {
      const std::lock_guard hold(shared->mutex);
      shared->replies.push_back({number, whole, answer ? std::string() : answer.error().message});
      shared->ring();
    };
    ++unanswered_;  // before it is posted: the answer may come at once
    if (shared_->parts.inbox.post(std::move(command))) return true;
    --unanswered_;
    return false;
  }

  void wait() {
    std::optional<Micros> until;
    const auto no_later_than = [&](Micros at) { until = until ? std::min(*until, at) : at; };
    for (const auto& [name, watched] : all_) {
      no_later_than(watched.look_at);
      const auto whole = watched.place.next();
      if (whole && unanswered_ < most_unanswered) no_later_than(std::max(*whole, tell_at_));
    }
    int timeout_ms = -1;
    if (until) {
      const auto left = std::chrono::ceil<milliseconds>(std::max(*until - now(), Micros(0)));
      timeout_ms = static_cast<int>(left.count());
    }
    std::array<pollfd, 2> ready{{{shared_->inotify.get(), POLLIN, 0}, {shared_->bell.get(), POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), timeout_ms) <= 0 || (ready[1].revents & POLLIN) == 0) return;
    std::uint64_t rung = 0;
    [[maybe_unused]] const auto ignored = ::read(shared_->bell.get(), &rung, sizeof rung);
  }

  const std::shared_ptr<Shared> shared_;
  std::map<std::string, Watched> all_;  ///< by asset
  std::uint64_t last_number_ = 0;
  std::size_t unanswered_ = 0;
  std::string last_told_;
  Micros tell_at_{};
  Micros tell_delay_ = shortest_delay;
};

Watcher::Watcher(WatcherParts parts) : shared_(std::make_shared<Shared>(std::move(parts))) {}

Watcher::~Watcher() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard hold(shared_->mutex);
    shared_->stop = true;
  }
  shared_->ring();
  thread_.join();
}

Result<void> Watcher::start() {
  shared_->inotify.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!shared_->inotify) return io_error("folders can't be watched: inotify_init1", errno);
  shared_->bell.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!shared_->bell) return io_error("folders can't be watched: eventfd", errno);
  thread_ = std::thread([shared = shared_] { Watching(shared).run(); });
  return {};
}

Result<void> Watcher::follow(const Assets& assets) {
  if (assets == followed_) return {};
  followed_ = assets;
  Assets watched;
  for (const auto& [name, asset] : assets) {
    if (!asset.watch.empty()) watched.emplace(name, asset);
  }
  if (!thread_.joinable()) {
    if (watched.empty()) return {};
    if (auto started = start(); !started) return started;
  }
  {
    const std::lock_guard hold(shared_->mutex);
    shared_->assets = std::move(watched);
  }
  shared_->ring();
  return {};
}

}  // namespace eider::watch
