#include "app/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>
#include <csignal>

#include "base/check.h"

namespace eider::app {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

void block_signals(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  EIDER_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0, "pthread_sigmask");
  for (const int as_error : {SIGPIPE, SIGXFSZ}) std::signal(as_error, SIG_IGN);
}

Signals::Signals(Reactor& reactor, std::initializer_list<int> signals, std::function<void(int)> on_signal)
    : reactor_(reactor) {
  const sigset_t set = set_of(signals);
  fd_ = UniqueFd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  EIDER_CHECK(static_cast<bool>(fd_), "signalfd");
  reactor_.watch(fd_.get(), [this, on_signal = std::move(on_signal)] {
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      on_signal(static_cast<int>(info.ssi_signo));
  });
}

Signals::~Signals() { reactor_.unwatch(fd_.get()); }

}  // namespace eider::app
