# SPDX-License-Identifier: Apache-2.0
"""Several machines on one, for tests: each host has a network, a name, processes and shared memory of its own
(namespaces of the kernel), and reaches the others through a virtual switch, by TCP alone.

    with Hosts(3) as hosts:
        launch.Group(6, ["fuzz.py", "60"], hosts=hosts)
        hosts.unplug(2)        # the cable of the third host

The folders of the machine are shared by all hosts, as by a network file system; /dev/shm is not.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

AGENT = "TESSERA_TEST_HOSTS"  # the prefix of the namespaces, for the processes that mpirun starts on other hosts
TOOLS = ("ip", "unshare", "mount")


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def why_not():
    """What this machine lacks for hosts of their own, as a sentence; None where it has everything."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"there is no {', no '.join(missing)} here"
    try:
        with Hosts(1) as hosts:
            subprocess.run(hosts.inside(0, ["true"]), check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        return f"namespaces cannot be made here: {error.stderr.strip()}"
    return None


class Hosts:
    """`count` hosts, 10.77.0.1 and on; nothing of them is left when the block ends."""

    def __init__(self, count):
        self.prefix = f"tessera{os.getpid()}"
        self.names = [f"{self.prefix}host{k}" for k in range(count)]
        self.addresses = [f"10.77.0.{k + 1}" for k in range(count)]
        self.switch = f"{self.prefix}switch"

    def __enter__(self):
        try:
            ip("netns", "add", self.switch)
            ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
            ip("-n", self.switch, "link", "set", "bridge", "up")
            for k, (name, address) in enumerate(zip(self.names, self.addresses, strict=True)):
                ip("netns", "add", name)
                ip("-n", name, "link", "add", "cable", "type", "veth", "peer", "name", f"port{k}", "netns", self.switch)
                ip("-n", self.switch, "link", "set", f"port{k}", "master", "bridge", "up")
                ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
                ip("-n", name, "link", "set", "cable", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for k in range(len(self.names)):
            self.kill(k)
        for name in [*self.names, self.switch]:
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)

    def inside(self, k, command):
        """The command line that runs `command` on host k."""
        return [sys.executable, __file__, self.prefix, str(k), *command]

    def mpirun(self, ranks, folder):
        """Words of mpirun (which runs on host 0) that distribute `ranks` ranks over the hosts, block by block."""
        each = -(-ranks // len(self.names))
        file = Path(folder) / "hostfile"
        file.write_text("".join(f"{address} slots={each}\n" for address in self.addresses))
        near = "10.77.0.0/24"
        words = ["--hostfile", str(file), "--mca", "plm_rsh_agent", f"{sys.executable} {__file__}"]
        return [*words, "--mca", "oob_tcp_if_include", near, "--mca", "btl_tcp_if_include", near]

    def unplug(self, k):
        ip("-n", self.names[k], "link", "set", "cable", "down")

    def processes(self, k):
        """Process ids on host k, as this machine counts them."""
        listed = subprocess.run(["ip", "netns", "pids", self.names[k]], capture_output=True, text=True)
        return [int(pid) for pid in listed.stdout.split()]

    def kill(self, k):
        """The power of host k."""
        for pid in self.processes(k):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def run_inside(prefix, k, command):
    """This process becomes `command` on host k: with a name, processes and shared memory of its own."""
    name = f"{prefix}host{k}"
    begin = 'hostname "$0" && mount -t tmpfs tmpfs /dev/shm && exec "$@"'
    spaces = ["unshare", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    os.environ[AGENT] = prefix
    os.execvp("ip", ["ip", "netns", "exec", name, *spaces, "sh", "-c", begin, f"host{k}", *command])


if __name__ == "__main__":
    if AGENT in os.environ:  # mpirun starts its daemon on another host: hosts.py ADDRESS COMMAND...
        address, *command = sys.argv[1:]
        run_inside(os.environ[AGENT], int(address.rsplit(".", 1)[1]) - 1, ["sh", "-c", " ".join(command)])
    else:
        run_inside(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
