// SPDX-License-Identifier: Apache-2.0
// Groups of ranks and what they have sent.
#include "dist/dist.hpp"
#include "tessera/comm/plugin.hpp"
#include "tessera/comm/thread.hpp"

namespace tessera::python {

using nb::literals::operator""_a;

namespace {
bool world_is_made = false;  // under the interpreter's lock
}

Communicator comm_from(nb::handle h) {
  if (h.is_none()) {
    Communicator world = released([] { return Communicator::world(); });
    world_is_made = true;
    return world;
  }
  require<DTypeError>(nb::isinstance<Communicator>(h),
                      "comm: expected a Communicator or None, got ", Py_TYPE(h.ptr())->tp_name);
  return nb::cast<Communicator>(h);
}

namespace {

// The first exception of a rank is that of the call; the others are what followed from it.
nb::list over_threads(int ranks, nb::handle function) {
  nb::list results;
  for (int i = 0; i < ranks; ++i) results.append(nb::none());
  std::optional<nb::python_error> first;
  const auto body = [&](Communicator comm) {
    nb::gil_scoped_acquire locked;
    try {
      results[static_cast<std::size_t>(comm.rank())] = function(comm);
    } catch (nb::python_error& e) {
      if (!first) first.emplace(e);
      throw CommError(cat("rank ", comm.rank(), " has ended with an exception"));
    }
  };
  try {
    nb::gil_scoped_release unlocked;
    run_ranks(ranks, body);
  } catch (const CommError&) {
    if (!first) throw;
  }
  if (first) throw nb::python_error(*first);
  return results;
}

}  // namespace

void bind_dist_comm(nb::module_& m) {
  // Without a place in the interpreter's list it happens at exit.
  Py_AtExit([] { end_world(); });
  nb::class_<Traffic>(m, "Traffic",
                      "What a rank has sent: messages and bytes. Differences count what happened "
                      "between.\n\n"
                      ">>> before = ts.dist.world.traffic\n"
                      ">>> x = ts.dist.arange(10, split=0)[2:8]\n"
                      ">>> ts.dist.world.traffic - before\nTraffic(messages=0, bytes=0)\n")
      .def_ro("messages", &Traffic::messages, "How many messages left this rank.")
      .def_ro("bytes", &Traffic::bytes, "Payload that left this rank.")
      .def(
          "__sub__", [](const Traffic& a, const Traffic& b) { return a - b; },
          nb::sig("def __sub__(self, other: Traffic, /) -> Traffic"))
      .def(
          "__eq__",
          [](const Traffic& a, nb::handle b) {
            return nb::isinstance<Traffic>(b) && nb::cast<Traffic>(b) == a;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Traffic& a) { return a.messages ^ (a.bytes << 20); })
      .def(
          "__repr__",
          [](const Traffic& a) {
            return cat("Traffic(messages=", a.messages, ", bytes=", a.bytes, ")");
          },
          nb::sig("def __repr__(self) -> str"));
  nb::class_<Communicator>(
      m, "Communicator",
      "A group of ranks. ``ts.dist.world`` is all that mpirun started, one rank without it.\n\n"
      ">>> ts.dist.world.rank, ts.dist.world.size\n(0, 1)\n")
      .def_prop_ro("rank", &Communicator::rank, "This process among the ranks of the group.")
      .def_prop_ro("size", &Communicator::size, "How many ranks there are.")
      .def_prop_ro(
          "transport", [](const Communicator& c) { return std::string(c.transport()); },
          nb::sig("def transport(self) -> str"), "How they talk: 'self', 'threads' or 'mpi'.")
      .def_prop_ro(
          "traffic", [](const Communicator& c) { return c.traffic(); },
          nb::sig("def traffic(self) -> Traffic"), "What this rank has sent in this group so far.")
      .def(
          "split",
          [](const Communicator& c, int colour, nb::handle key) {
            const int order = key.is_none() ? c.rank() : static_cast<int>(int_from(key, "split"));
            return released([&] { return c.split(colour, order); });
          },
          "colour"_a, "key"_a = nb::none(),
          nb::sig("def split(self, colour: int, key: int | None = None) -> Communicator"),
          "The group of the ranks that gave the same colour, ordered by key. Collective.\n\n"
          ">>> ts.dist.world.split(ts.dist.world.rank % 2).size\n1\n")
      .def("barrier", &Communicator::barrier, nb::call_guard<nb::gil_scoped_release>(),
           "Returns when every rank of the group has come here.\n\n>>> ts.dist.world.barrier()\n")
      .def(
          "__eq__",
          [](const Communicator& a, nb::handle b) {
            return nb::isinstance<Communicator>(b) && nb::cast<Communicator>(b) == a;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Communicator& c) { return (c.size() << 8) ^ c.rank(); })
      .def(
          "__repr__", [](const Communicator& c) { return cat("<Communicator: ", c.str(), ">"); },
          nb::sig("def __repr__(self) -> str"));
  m.def("run_ranks", &over_threads, "ranks"_a, "function"_a,
        nb::sig("def run_ranks(ranks: int, function: typing.Callable[[Communicator], typing.Any]) "
                "-> list[typing.Any]"),
        "Calls ``function(comm)`` on as many threads of this process as there shall be ranks, and "
        "returns what each gave back: for tests, and for trying things out without mpirun. "
        "Factories inside take ``comm=comm``.\n\n"
        ">>> def counts(comm): return ts.dist.arange(10, split=0, comm=comm)[3:].counts\n"
        ">>> ts.dist.run_ranks(3, counts)[0]\n(1, 3, 3)\n");
  m.def(
      "_launched", [] { return launched_ranks() != 1; }, nb::sig("def _launched() -> bool"));
  m.def(
      "_give_up",
      [](const std::string& why) {
        if (!world_is_made) return;  // nobody can be waiting for us
        released([&] { Communicator::world().give_up(why); });
      },
      "why"_a, nb::sig("def _give_up(why: str) -> None"));
  m.def(
      "_world", [] { return comm_from(nb::none()); }, nb::sig("def _world() -> Communicator"));
}

}  // namespace tessera::python
