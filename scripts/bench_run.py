# Times starts, for scripts/bench-run: each way in turn, many times over, so that whatever else the
# machine does is shared by all.
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

PLIST = "{ CFBundleIdentifier = org.example.First; CFBundleExecutable = First; }"
HOME = "/home/app"


def started(command, environment):
    """Milliseconds until the program has begun."""
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return (int(done.stdout.split()[-1]) - before) / 1e6


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


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench-run",
        description="Times starts: from the command line to the program's first instruction.")
    parser.add_argument("--runs", type=int, default=30, metavar="N", help="how often; else 30")
    parser.add_argument("--json", metavar="FILE", help="write every time in milliseconds there")
    parser.add_argument("--programs", help=argparse.SUPPRESS)
    parser.add_argument("--first-instruction", help=argparse.SUPPRESS)
    options = parser.parse_args()
    times = measure(options)
    print("| milliseconds to the first instruction | least | median |")
    print("|---|---|---|")
    for name, found in sorted(times.items(), key=lambda item: min(item[1])):
        print(f"| {name} | {min(found):.1f} | {statistics.median(found):.1f} |")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(times, file, indent=2)


main()
