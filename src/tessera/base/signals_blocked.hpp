// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals are the business of the threads that the program made: threads that are started while one
// of these lives take none, ever. Private to the library.
//   const SignalsBlocked quiet;   std::thread worker(work);

#include <signal.h>

namespace tessera {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tessera
