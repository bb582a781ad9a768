// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/error_of_all.hpp"

#include <new>

#include "tessera/base/axis_error.hpp"
#include "tessera/kernels/linalg/linalg_error.hpp"

namespace tessera::dist {
namespace {

// The class of an error as a letter, and back: derived ones stand before their bases.
template <class... Es>
struct Classes {
  static char letter(const Error& e) {
    char c = 'A';
    (void)((dynamic_cast<const Es*>(&e) != nullptr || (++c, false)) || ...);
    return c;
  }
  [[noreturn]] static void raise(char letter, const std::string& text) {
    char c = 'A';
    (void)((c++ == letter ? throw Es(text) : false) || ...);
    throw Error(text);
  }
};

using All = Classes<LinAlgError, ArgumentError, ShapeError, DimError, DTypeError, OverflowError,
                    AxisError, IndexError, DeviceError, OutOfMemory, SplitError, NotAvailable,
                    PlanError, CommError, IoError, BackendError>;

}  // namespace

void error_of_all(const Communicator& comm, const std::function<void()>& work) {
  std::string problem;
  try {
    work();
  } catch (const Error& e) {
    problem = cat(std::string(1, All::letter(e)), e.what());
  } catch (const std::bad_alloc&) {
    problem = cat(std::string(1, All::letter(OutOfMemory(""))), "a rank has no memory left");
  }
  if (const std::string text = comm.first_problem(problem); !text.empty())
    All::raise(text.front(), text.substr(1));
}

}  // namespace tessera::dist
