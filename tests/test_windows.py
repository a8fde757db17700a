"""What only Unix has is not needed to import the package."""

import subprocess

WINDOWS = """
import builtins, importlib, pkgutil, sys, types

OURS = "workbench", "pomdps", "proofs"
UNIX = "fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"
HIDDEN = {
    "os": "fork getuid geteuid killpg getpgid setsid sched_getaffinity statvfs sysconf uname",
    "signal": "SIGALRM SIGHUP SIGKILL SIGUSR1 alarm setitimer ITIMER_REAL pthread_sigmask",
}
SAID = {"sys": {"platform": "win32"}, "os": {"name": "nt"}, "signal": {}}


class Seen(types.ModuleType):
    # A module as it is on Windows. Only the package sees it: other packages chose for this machine.
    def __getattr__(self, name):
        if name in HIDDEN.get(self.__name__, "").split():
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(REAL[self.__name__], name)


REAL = {name: importlib.import_module(name) for name in SAID}
SHOWN = {name: Seen(name) for name in SAID} | {"msvcrt": types.ModuleType("msvcrt")}
for name, said in SAID.items():
    vars(SHOWN[name]).update(said)
usual = builtins.__import__


def of_windows(name, names=None, local=None, fromlist=(), level=0):
    importer = (names or {}).get("__name__", "").partition(".")[0]
    if importer in OURS and not level:
        if name in UNIX:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in SHOWN:
            return SHOWN[name]
    return usual(name, names, local, fromlist, level)


builtins.__import__ = of_windows
for package in OURS:
    whole = importlib.import_module(package)
    for found in pkgutil.walk_packages(whole.__path__, package + "."):
        if not found.name.endswith("__main__"):
            try:
                importlib.import_module(found.name)
            except ModuleNotFoundError as missing:  # of an extra
                top = missing.name.partition(".")[0]
                assert top not in (*OURS, *UNIX, *sys.stdlib_module_names), missing
import pomdps, workbench.sweeps.lock
from workbench.core.footprint import free_bytes
from workbench.executors.executor import cores

assert cores() > 0
assert workbench.sweeps.lock.msvcrt is SHOWN["msvcrt"]
assert workbench.evaluate(pomdps.recall4(), workbench.uniform(pomdps.recall4())).value is not None
assert free_bytes() > 0
print("imported")
"""


def test_every_module_is_imported_without_what_only_unix_has(processes):
    child = processes.python("-c", WINDOWS, stdout=subprocess.PIPE, text=True)
    assert child.communicate(timeout=900)[0] == "imported\n"
