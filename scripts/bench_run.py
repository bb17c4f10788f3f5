# Times starts, for scripts/bench-run: each way in turn, many times over, so that whatever else the
# machine does is shared by all. Writes docs/start.md, with what the machine was.
import argparse
import ctypes
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

PLIST = "{ CFBundleIdentifier = org.example.First; CFBundleExecutable = First; }"
HOME = "/home/app"


def started(command, environment):
    """Milliseconds until the program has begun, and those that the processors worked for it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(measured(command, environment)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text)


def measured(command, environment):
    # Whoever is left behind by its parent becomes a child of ours, so that it is counted.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    wall = (int(done.stdout.split()[-1]) - before) / 1e6
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, (usage.ru_utime + usage.ru_stime) * 1e3


def bubblewrap(bundle):
    """Bubblewrap's command line for the namespaces and the places of a container."""
    words = ["bwrap", "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc"]
    words += ["--unshare-uts", "--unshare-cgroup", "--unshare-net", "--cap-drop", "ALL"]
    words += ["--die-with-parent", "--new-session", "--hostname", "app", "--clearenv"]
    words += ["--ro-bind", "/usr", "/usr"]
    for name in ["bin", "lib", "lib32", "lib64", "libx32", "sbin"]:
        path = "/" + name
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            words += ["--ro-bind", path, path]
    for name in ["alternatives", "fonts", "ld.so.cache", "localtime", "nsswitch.conf", "ssl/certs"]:
        words += ["--ro-bind-try", "/etc/" + name, "/etc/" + name]
    words += ["--proc", "/proc", "--dev", "/dev", "--bind", bundle, HOME, "--chdir", HOME]
    return words + ["--remount-ro", "/", "--", HOME + "/First"]


class Scene:
    """A store with one app, in a directory of its own."""

    def __init__(self, options, directory):
        self.bundle = directory + "/First.app"
        self.environment = {
            "PATH": options.programs + ":/usr/bin:/bin", "HOME": directory,
            "SANDBOXFS_STORE": directory + "/store", "SANDBOXFS_SETTINGS": directory + "/settings",
        }
        os.mkdir(self.bundle)
        with open(self.bundle + "/Info.plist", "w", encoding="utf-8") as file:
            file.write(PLIST)
        shutil.copy(options.first_instruction, self.bundle + "/First")
        self.sandboxfs("install", self.bundle)

    def sandboxfs(self, *words):
        return subprocess.run(
            ["sandboxfs", *words], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def ways(self):
        program = self.bundle + "/First"
        ways = {
            "program alone": [program],
            "unshare": ["unshare", "-m", "-p", "-f", "-i", "-u", "-n", "-C", program],
            "bubblewrap": bubblewrap(self.bundle),
            "sandboxfs run": ["sandboxfs", "run", "org.example.First"],
        }
        if shutil.which("firejail"):
            ways["firejail"] = ["firejail", "--quiet", "--noprofile", "--net=none", program]
        return ways


def measure(options):
    times = {}
    with tempfile.TemporaryDirectory(prefix="sandboxfs-bench-") as directory:
        scene = Scene(options, directory)

        def once(name, command):
            times.setdefault(name, []).append(started(command, scene.environment))

        run = scene.ways()["sandboxfs run"]
        for _ in range(options.runs):
            once("sandboxfs run, view not mounted", run)
        view = directory + "/view"
        os.mkdir(view)
        scene.sandboxfs("mount", "org.example.First", view)
        # Another run shares its view with those that are timed.
        keeper = subprocess.Popen(
            ["sandboxfs", "run", "org.example.First", "--", "sh", "-c", "echo; exec sleep 1d"],
            env=scene.environment, stdout=subprocess.PIPE)
        keeper.stdout.readline()
        try:
            for _ in range(options.runs):
                for name, command in scene.ways().items():
                    once(name + (", view mounted" if name == "sandboxfs run" else ""), command)
        finally:
            keeper.terminate()
            keeper.wait()
            scene.sandboxfs("unmount", view)
    return times


PAGE = """# How soon a program begins

Written by `scripts/bench-run`: from the command line to the first instruction of a small static
program, in milliseconds, each way in turn. Bubblewrap has the same namespaces as a container and
binds the few places that such a program needs. *Noisy*: the medians of the two halves differ by
more than 15 %, so that the figures are a hint. The processors' time is that of all processes from
the first to the last, without the view's daemon where it is there already.

| | least | median | | processors' time, median |
|---|---|---|---|---|
{rows}

Goals: a view that is mounted already costs at most 5 ms more than bubblewrap, one that is not at
most 30 ms more.

{runs} runs on {processor}, {count} processors, Linux {kernel}; the load was {before} before and
{after} after, of which these runs make less than 1.
"""


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def is_noisy(found):
    """Whether the two halves of some times tell different stories."""
    half = len(found) // 2
    first, second = statistics.median(found[:half] or found), statistics.median(found[half:])
    return max(first, second) > 1.15 * min(first, second)


def cpu(found):
    return [worked for _, worked in found]


def page(times, runs, before):
    rows = []
    for name, found in sorted(times.items(), key=lambda item: statistics.median(cpu(item[1]))):
        walls = [wall for wall, _ in found]
        rows.append(
            f"| {name} | {min(walls):.1f} | {statistics.median(walls):.1f} | "
            f"{'noisy' if is_noisy(walls) else ''} | {statistics.median(cpu(found)):.1f} |")
    return PAGE.format(
        rows="\n".join(rows), runs=runs, processor=processor(), count=os.cpu_count(),
        kernel=platform.release().split("-")[0], before=f"{before:.1f}",
        after=f"{os.getloadavg()[0]:.1f}")


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench-run",
        description="Times starts: from the command line to the program's first instruction.")
    parser.add_argument("--runs", type=int, default=30, metavar="N", help="how often; else 30")
    parser.add_argument("--json", metavar="FILE", help="write every time in milliseconds there")
    parser.add_argument(
        "--page", metavar="FILE", help="write the page there instead of docs/start.md")
    parser.add_argument("--programs", help=argparse.SUPPRESS)
    parser.add_argument("--first-instruction", help=argparse.SUPPRESS)
    options = parser.parse_args()
    before = os.getloadavg()[0]
    times = measure(options)
    text = page(times, options.runs, before)
    print(text)
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(options.page or here + "/docs/start.md", "w", encoding="utf-8") as file:
        file.write(text)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(times, file, indent=2)


main()
