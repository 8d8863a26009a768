// How the threads of SQL steps reach the main thread.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "base/reactor.h"

namespace eider::worker {

class Mailbox {
 public:
  explicit Mailbox(Reactor& reactor) : reactor_(reactor) {}

  /// Any thread: `letter` is called on the main thread, in order.
  void post(std::function<void()> letter) {
    {
      const std::lock_guard lock(mutex_);
      letters_.push_back(std::move(letter));
    }
    reactor_.wake();
  }

  /// The main thread, after each turn of the reactor.
  void deliver() {
    std::vector<std::function<void()>> letters;
    {
      const std::lock_guard lock(mutex_);
      letters.swap(letters_);
    }
    for (const auto& letter : letters) letter();
  }

 private:
  Reactor& reactor_;
  std::mutex mutex_;
  std::vector<std::function<void()>> letters_;
};

}  // namespace eider::worker
