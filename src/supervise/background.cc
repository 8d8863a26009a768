#include "supervise/background.h"

#include <sys/eventfd.h>
#include <unistd.h>
#include <csignal>

namespace eider::supervise {

Background::Background(Reactor& reactor) : reactor_(reactor), done_signal_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  EIDER_CHECK(static_cast<bool>(done_signal_), "an eventfd at the start");
  reactor_.watch(done_signal_.get(), [this] { take_completions(); });
  // Signals are for the thread that started us.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Background::~Background() {
  {
    const std::lock_guard guard(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
  reactor_.unwatch(done_signal_.get());
}

void Background::post(Work work) {
  {
    const std::lock_guard guard(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void Background::run() {
  while (true) {
    Work work;
    {
      std::unique_lock guard(mutex_);
      changed_.wait(guard, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    Completion completion = work();
    work = nullptr;  // what it holds (descriptors) goes before anybody hears of its end
    if (!completion) continue;
    {
      const std::lock_guard guard(mutex_);
      completions_.push_back(std::move(completion));
    }
    const std::uint64_t one = 1;
    EIDER_CHECK(::write(done_signal_.get(), &one, sizeof one) == sizeof one, "an eventfd takes a signal");
  }
}

void Background::take_completions() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(done_signal_.get(), &count, sizeof count);
  std::vector<Completion> completions;
  {
    const std::lock_guard guard(mutex_);
    completions.swap(completions_);
  }
  for (const Completion& completion : completions) completion();
}

}  // namespace eider::supervise
