# Times the same work on a plain directory, on views and on other file systems, in turn, and writes
# ratios. Started by scripts/bench, which builds and installs first.
#
# The places take turns in every round, and a ratio is made within a round, so that a machine that
# others use disturbs all of them alike. Nothing is removed before everything has been made in every
# round: ext4 passes over inodes that were removed a moment ago, and would be slow where others have
# just tidied up.

import argparse
import ctypes
import datetime
import io
import json
import os
import platform
import pwd
import random
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

import bench_seals
from bench_report import DEATHS, PEERS, by_hand, markdown, picture

IDENTIFIER = "org.sandboxfs.bench"
# Fewer rounds say nothing of how much they differ.
LEAST_ROUNDS = 4
KINDS = ("plain", "bind", "bindfs", "overlay", "hp", "view", "rules", "limited", "user")
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 2, 4, 8, 32
libc = ctypes.CDLL(None, use_errno=True)


def run(*command, **options):
    """Runs a command to its end; its output is shown only if it fails."""
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        sys.exit("bench: %s: status %d\n%s" % (" ".join(command), done.returncode, said))
    return done.stdout


def timed(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


# The jobs. Each takes the place's directory of this round and the options, and returns
# {row: seconds}.


def operations(directory, options, job, count):
    """What the program beside this one times: calls that take microseconds."""
    text = run(options.operations, directory, str(max(40, int(count * options.scale))), job)
    lines = (line.split("\t") for line in text.decode().splitlines())
    return {row: float(seconds) for row, seconds in lines}


def fio(directory, name, *words):
    """The seconds that one fio job spent on its bytes."""
    command = ["fio", "--name=" + name, "--directory=" + directory, "--filename=transfer"]
    # fio would drop the pages of what it reads and writes, which reaches the plain file's pages and
    # not those behind a view.
    command += ["--ioengine=psync", "--output-format=json", "--invalidate=0", *words]
    result = json.loads(run(*command))["jobs"][0]
    side = result["write"] if "write" in words[0] else result["read"]
    return side["runtime"] / 1000 if side["runtime"] else side["io_bytes"] / side["bw_bytes"]


def transfers(directory, options):
    size, few = "--size=%dM" % max(16, int(256 * options.scale)), "--loops=4"
    again = "--overwrite=1"
    write, large, middle = "--rw=write", "--bs=1M", "--bs=128k"
    return {
        "write 1 MiB, in order": fio(directory, "a", write, large, size),
        "write 1 MiB again, in order": fio(directory, "b", write, large, size, again, few),
        "write 128 KiB again, in order": fio(directory, "c", write, middle, size, again, few),
        "read 1 MiB, in order": fio(directory, "d", "--rw=read", large, size, few),
        "read 128 KiB, in order": fio(directory, "e", "--rw=read", middle, size, few),
    }


def tree_archive(scale):
    """The bytes of an archive of small files such as a source tree has."""
    chance = random.Random(1)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for number in range(max(40, int(3000 * scale))):
            entry = tarfile.TarInfo("tree/d%d/e%d/file%d.c" % (number % 40, number % 7, number))
            entry.size = chance.choice([200, 900, 3000, 9000, 30000])
            tar.addfile(entry, io.BytesIO(chance.randbytes(entry.size)))
        for number in range(8):
            text = "".join(
                "double f%d_%d(double x) { return x * %d + x; }\n" % (number, line, line)
                for line in range(400))
            entry = tarfile.TarInfo("tree/build/part%d.c" % number)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return archive.getvalue()


def git(directory, *words):
    identity = ["-c", "user.name=b", "-c", "user.email=b", "-c", "gc.auto=0"]
    run("git", "-C", directory, *identity, *words)


def making(directory, options):
    tree = os.path.join(directory, "tree")
    result = {"tar x": timed(lambda: run("tar", "-xf", options.archive, "-C", directory))}
    result["cp -a"] = timed(lambda: run("cp", "-a", tree, tree + "-copy"))
    git(tree, "init", "-q")
    result["git add"] = timed(lambda: git(tree, "add", "."))
    git(tree, "commit", "-q", "-m", "tree")
    result["git clone"] = timed(lambda: git(directory, "clone", "-q", "--no-hardlinks", "tree",
                                            "clone"))
    parts = [os.path.join(tree, "build", "part%d.c" % number) for number in range(8)]
    result["gcc -c of 8 files"] = timed(lambda: run("gcc", "-O1", "-c", *parts,
                                                   cwd=os.path.join(tree, "build")))
    return result


def searching_cold(directory, options):
    return {"find, cold mount": timed(lambda: run("find", directory, "-name", "*.none"))}


def searching(directory, options):
    def search():
        run("find", directory, "-size", "+100M")

    search()
    return {
        "find, again": timed(lambda: run("find", directory, "-name", "*.none")),
        "find with stat, again": timed(search),
    }


def status_cold(directory, options):
    return {"git status, cold mount": timed(lambda: git(directory + "/tree", "status"))}


def status(directory, options):
    git(directory + "/tree", "status")
    times = [timed(lambda: git(directory + "/tree", "status")) for _ in range(3)]
    return {"git status, warm": statistics.median(times)}


def removing(directory, options):
    return {"rm -r": timed(lambda: run("rm", "-r", *(os.path.join(directory, name)
                                                     for name in ("tree", "tree-copy", "clone"))))}


def database(directory, options):
    def inserts(name, mode, synchronous, transactions, rows):
        connection = sqlite3.connect(os.path.join(directory, name), isolation_level=None)
        connection.execute("PRAGMA journal_mode=" + mode)
        connection.execute("PRAGMA synchronous=" + synchronous)
        connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, text TEXT)")
        for _ in range(transactions):
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO t (text) VALUES (?)", [("x" * 100,)] * rows)
            connection.execute("COMMIT")
        connection.close()

    few, many = max(5, int(100 * options.scale)), max(20, int(2000 * options.scale))
    return {
        "sqlite, WAL": timed(lambda: inserts("a.db", "WAL", "NORMAL", many, 1)),
        "sqlite, WAL, each row synced": timed(lambda: inserts("b.db", "WAL", "FULL", few, 1)),
        "sqlite, journal, synced": timed(lambda: inserts("c.db", "DELETE", "FULL", few, 1)),
        "sqlite, journal, not synced": timed(lambda: inserts("d.db", "DELETE", "OFF", few * 4, 1)),
    }


def many_entries(directory, options):
    return operations(os.path.join(os.path.dirname(directory), "many"), options, "list", 40)


# How many files single operations are timed with, at scale 1.
MANY = 20000
# (name, job, whether the mount is made cold before)
MAKING = [
    ("transfers", transfers, False),
    ("data", lambda directory, options: operations(directory, options, "data", 20000), False),
    ("files", lambda directory, options: operations(directory, options, "files", MANY), False),
    ("stat", lambda directory, options: operations(directory, options, "cold", MANY), True),
    ("operations", lambda directory, options: operations(directory, options, "known", MANY), False),
    ("listing", many_entries, True),
    ("tree", making, False),
    ("find-cold", searching_cold, True),
    ("find", searching, False),
    ("status-cold", status_cold, True),
    ("status", status, False),
    ("sqlite", database, False),
]
# After everything was made, in every round.
REMOVING = [
    ("rm", removing, False),
    ("unlink", lambda directory, options: operations(directory, options, "gone", MANY), False),
]
SEALS = "seals"
JOBS = [name for name, _, _ in MAKING + REMOVING] + [SEALS]
NEEDS = {
    "stat": ["files"], "operations": ["files"], "unlink": ["files", "operations"],
    "find-cold": ["files", "tree"], "find": ["files", "tree"],
    "status-cold": ["tree"], "status": ["tree"],
    "rm": ["tree"],
}


# The places.


class Place:
    """Where work is done: `path`, as `uid`, and what it is that serves it."""

    def __init__(self, name, path, uid, target=None, flags=0):
        self.name, self.path, self.uid, self.target, self.flags = name, path, uid, target, flags
        self.daemon = None
        self.mounting = None
        # The jobs that it could not do.
        self.failed = set()
        # The program that knows who serves it, where we are that.
        self.sandboxfs = None

    def make_cold(self):
        """Has the kernel forget what it keeps of a FUSE mount, and of no other."""
        if self.daemon is None:
            return
        flags = MS_REMOUNT | self.flags
        if libc.mount(None, self.target.encode(), None, flags, None) != 0:
            sys.exit("bench: remount of %s: %s" % (self.name, os.strerror(ctypes.get_errno())))

    def memory(self):
        """Resident and anonymous KiB of the daemon, or nothing."""
        try:
            with open("/proc/%d/status" % self.daemon) as status:
                fields = dict(line.split(":", 1) for line in status)
        except (OSError, TypeError):
            return None
        return {key: int(fields[field].split()[0])
                for key, field in (("resident", "VmRSS"), ("anonymous", "RssAnon"))}


    def status(self):
        """What the view says about itself."""
        views = json.loads(run(*self.sandboxfs, "status", "--json"))
        return next(view for view in views if view["target"] == self.target)

    def pauses(self):
        """Microseconds in which nobody served, death by death; and the memory of who watches."""
        pauses = []
        for _ in range(DEATHS):
            # One that has answered nothing counts as one that can't, and is replaced slowly. Root
            # has no say in a user's view, and is not asked about.
            as_user(self.uid, lambda: {"free": os.statvfs(self.target).f_bfree})
            before = self.status()
            os.kill(before["worker"], signal.SIGKILL)
            while (after := self.status())["restarts"] == before["restarts"]:
                time.sleep(0.001)
            pauses.append(after["lastPauseMicroseconds"])
        self.daemon = self.status()["supervisor"]
        return {"pauses": pauses, "supervisor": self.memory()}


class Places:
    """All places, on one file system."""

    def __init__(self, base, options):
        self.base, self.options = base, options
        self.owner = pwd.getpwnam("nobody")
        self.mounts, self.all, self.left_out = [], [], {}
        os.chmod(base, 0o755)

    def make(self, *parts, uid=0):
        path = os.path.join(self.base, *parts)
        os.makedirs(path, exist_ok=True)
        os.chown(path, uid, uid)
        return path

    def fill(self, directory, uid):
        """The many files that listings are timed with, made before anything is mounted."""
        many = os.path.join(directory, "many")
        os.mkdir(many)
        for number in range(int(100000 * self.options.scale)):
            os.close(os.open("%s/entry-%d" % (many, number), os.O_CREAT | os.O_WRONLY, 0o644))
        os.chown(many, uid, uid)

    def add(self, kind):
        try:
            place = getattr(self, kind)()
        except LookupError as missing:
            self.left_out[kind] = str(missing)
            print("bench: %s is left out: %s" % (kind, missing), file=sys.stderr)
            return
        self.all.append(place)

    def plain(self):
        uid = self.owner.pw_uid
        path = self.make("plain", uid=uid)
        self.fill(path, uid)
        return Place("plain", path, uid)

    def over(self, kind, uid, *command):
        """A place over a directory of its own, mounted by `command`."""
        if shutil.which(command[0]) is None:
            raise LookupError("there is no " + command[0])
        source, target = self.make(kind + "-source", uid=uid), self.make(kind)
        self.fill(source, uid)
        return self.mounted(Place(kind, target, uid, target), *(
            word.format(source=source, target=target, work=self.base) for word in command))

    def mounted(self, place, *command, **options):
        before = processes()
        start = time.monotonic()
        run(*command, **options)
        if place.name != "user":
            os.stat(place.path)
        place.mounting = time.monotonic() - start
        self.mounts.append(place.target)
        place.daemon = daemon_among(processes() - before)
        return place

    def bind(self):
        return self.over("bind", self.owner.pw_uid, "mount", "--bind", "{source}", "{target}")

    def bindfs(self):
        return self.over("bindfs", self.owner.pw_uid, "bindfs", "{source}", "{target}")

    def overlay(self):
        self.make("upper", uid=self.owner.pw_uid)
        self.make("work")
        return self.over(
            "overlay", self.owner.pw_uid, "fuse-overlayfs", "-o",
            "lowerdir={source},upperdir={work}/upper,workdir={work}/work,allow_other", "{target}")

    def hp(self):
        """passthrough_hp makes all files root's own, so that only root can work in it."""
        program = self.options.passthrough_hp
        if not program or not os.path.exists(program):
            raise LookupError("passthrough_hp was not built")
        return self.over("hp", 0, program, "{source}", "{target}")

    def view(self):
        return self.sandboxfs("view", [])

    def rules(self):
        """A view whose container has a rule for each of ten thousand names."""
        return self.sandboxfs(
            "rules", ["/Documents/name%d/*.x%d -exec" % (n, n) for n in range(10000)])

    def limited(self):
        """A view whose container may hold a terabyte: every write comes to the daemon."""
        return self.sandboxfs("limited", [], limit="1024G")

    def user(self):
        """A view that its owner has mounted: without passthrough."""
        return self.sandboxfs("user", [], isUsers=True)

    def sandboxfs(self, kind, rules, isUsers=False, limit=None):
        uid = self.owner.pw_uid
        identifier = IDENTIFIER + "." + kind
        bundle, target = self.make(kind + ".app"), self.make(kind, uid=uid if isUsers else 0)
        with open(os.path.join(bundle, "Info.plist"), "w") as plist:
            plist.write(
                '<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict>'
                "<key>CFBundleIdentifier</key><string>%s</string>"
                "<key>CFBundleExecutable</key><string>bench</string>"
                "</dict></plist>\n" % identifier)
        shutil.copy("/bin/true", os.path.join(bundle, "bench"))
        self.make(kind + "-store", uid=uid if isUsers else 0)
        words = [os.path.join(self.options.programs, "sandboxfs"), "--store",
                 os.path.join(self.base, kind + "-store", "store")]
        if isUsers:
            # The key by which a store knows its seals is its owner's alone.
            words = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "env",
                     "SANDBOXFS_SETTINGS=" + self.make("user-settings", uid=uid), *words]
            run(*words, "install", bundle)
        else:
            run(*words, "install", "--owner", self.owner.pw_name, bundle)
        container = os.path.join(self.base, kind + "-store", "store", "containers", identifier)
        if rules:
            with open(os.path.join(container, "profile"), "w") as profile:
                profile.write("\n".join(rules) + "\n")
        if limit:
            run(*words, "quota", "--set", limit, identifier)
        self.fill(os.path.join(container, "data", "Documents"), uid)
        flags = MS_NOSUID | MS_NODEV | (0 if isUsers else MS_NOEXEC)
        place = Place(kind, os.path.join(target, "Documents"), uid, target, flags)
        place.sandboxfs = words
        if isUsers:
            with open_device():
                return self.mounted(place, *words, "mount", identifier, target)
        return self.mounted(place, *words, "mount", identifier, target)

    def remove(self):
        for target in reversed(self.mounts):
            for command in (["umount", "-R", target], ["umount", "-R", "-l", target]):
                if subprocess.run(command, capture_output=True).returncode == 0:
                    break
        # Never into what could not be unmounted.
        subprocess.run(["rm", "-rf", "--one-file-system", "--", self.base])


class open_device:
    """Lets ordinary users open /dev/fuse, which a machine without udev keeps from them."""

    def __enter__(self):
        self.mode = os.stat("/dev/fuse").st_mode & 0o7777
        os.chmod("/dev/fuse", 0o666)

    def __exit__(self, *_):
        os.chmod("/dev/fuse", self.mode)


def processes():
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def daemon_among(started):
    """The process that has /dev/fuse open, of those that have just started."""
    for process in sorted(started, reverse=True):
        try:
            names = os.listdir("/proc/%d/fd" % process)
            if any(os.readlink("/proc/%d/fd/%s" % (process, name)) == "/dev/fuse"
                   for name in names):
                return process
        except OSError:
            continue
    return None


# Measuring.


class JobFailed(Exception):
    """What was to be measured can't be done in a place."""


def as_user(uid, work):
    """What `work` returns in a process of that user, who has a place to himself as an app has."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            answer = os.fdopen(writing, "w")
            try:
                json.dump(work(), answer)
                code = 0
            except BaseException as failure:
                answer.write(str(failure))
            answer.close()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    _, code = os.waitpid(child, 0)
    if code != 0:
        raise JobFailed(text or "the measuring process has failed")
    return json.loads(text)


def wanted(jobs, only):
    names = set()
    for name in only:
        names |= {name, *NEEDS.get(name, [])}
    return [job for job in jobs if not only or job[0] in names]


def note_failure(places, place, job, failure):
    """A file system of others that can't do a job is left out of it; ours must do all."""
    if place.name not in PEERS:
        sys.exit(str(failure))
    place.failed.add(job)
    why = str(failure).strip().splitlines()[-1]
    places.left_out.setdefault(place.name, "of some rows, since it failed: " + why)
    print("bench: %s is left out of %s: %s" % (place.name, job, why), file=sys.stderr)


def measure(places, options):
    """{row: {place: [seconds of each round]}}."""
    seconds = {}
    order = list(places.all)
    # Removing takes less than a fifth of the time, and as many rounds.
    end = time.monotonic() + options.minutes * 60 * 0.8
    for phase, jobs in (("making", MAKING), ("removing", REMOVING)):
        for number in range(options.rounds):
            if phase == "making" and number >= LEAST_ROUNDS and time.monotonic() > end:
                options.rounds = number
                break
            for name, job, isCold in wanted(jobs, options.only):
                for place in order:
                    if place.failed & {name, *NEEDS.get(name, [])}:
                        continue
                    directory = os.path.join(place.path, "round%d" % number)
                    os.sync()
                    if isCold:
                        place.make_cold()

                    def work():
                        os.makedirs(directory, exist_ok=True)
                        return job(directory, options)

                    try:
                        rows = as_user(place.uid, work)
                    except JobFailed as failure:
                        note_failure(places, place, name, failure)
                        continue
                    for row, took in rows.items():
                        seconds.setdefault(row, {}).setdefault(place.name, []).append(took)
            order = order[1:] + order[:1]
            print("%s: round %d of %d" % (phase, number + 1, options.rounds), file=sys.stderr,
                  flush=True)
    return seconds


def ratios(seconds):
    """{row: {place: {median, minimum, maximum}}}, each place's time over the plain directory's."""
    result = {}
    for row, places in seconds.items():
        for name, times in places.items():
            if name != "plain":
                each = [time / max(plain, 1e-9) for time, plain in zip(times, places["plain"])]
                half = (len(each) + 1) // 2
                result.setdefault(row, {})[name] = {
                    "median": round(statistics.median(each), 2),
                    "halves": [round(statistics.median(each[:half]), 2),
                               round(statistics.median(each[-half:]), 2)],
                    "minimum": round(min(each), 2),
                    "maximum": round(max(each), 2),
                }
    return result


def machine(options, base):
    with open("/proc/meminfo") as file:
        memory = int(file.readline().split()[1])
    kind = run("findmnt", "--noheadings", "--output", "FSTYPE", "--target", base).decode().strip()
    here = os.path.dirname(os.path.abspath(__file__))
    commit = subprocess.run(["git", "-C", here, "rev-parse", "--short", "HEAD"],
                            capture_output=True).stdout.decode().strip()
    return {
        "date": datetime.date.today().isoformat(), "commit": commit or "unknown",
        "kernel": re.match(r"[0-9.]*", platform.release()).group(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(), "memory GiB": round(memory / 2 ** 20),
        "store's file system": kind, "libfuse": options.libfuse or "unknown",
        "rounds": options.rounds, "scale": options.scale,
    }


def parsed():
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Times the same work on a plain directory, on views and on other file systems.",
        epilog="jobs for --only: " + ", ".join(JOBS))
    parser.add_argument("--rounds", type=int, default=9, help="how often, at most (9)")
    parser.add_argument("--minutes", type=float, default=20,
                        help="begin no further round, after the first %d, that would end later (20)"
                        % LEAST_ROUNDS)
    parser.add_argument("--scale", type=float, default=1, help="how much work each time (1)")
    parser.add_argument("--only", metavar="JOB", action="append", default=[],
                        help="only this job and what it needs; may be repeated")
    parser.add_argument("--places", default=",".join(KINDS),
                        help="where, plain always; all: " + ",".join(KINDS))
    parser.add_argument("--directory", default="/var/tmp", help="on which file system (/var/tmp)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument("--write", metavar="DIRECTORY",
                        help="write performance.md, .json and .svg there besides")
    for hidden in ("--programs", "--operations", "--passthrough-hp", "--libfuse"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.places = options.places.split(",")
    if set(options.places) - set(KINDS) or "plain" not in options.places:
        parser.error("--places takes %s; plain always" % ", ".join(KINDS))
    if set(options.only) - set(JOBS):
        parser.error("--only takes " + ", ".join(JOBS))
    if options.rounds < 1 or options.scale <= 0:
        parser.error("--rounds and --scale are above 0")
    return options


def main():
    options = parsed()
    # Whatever ends us, the finally below takes the mounts away.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    base = tempfile.mkdtemp(prefix="sandboxfs-bench.", dir=options.directory)
    os.environ.update(
        GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", LC_ALL="C.UTF-8", HOME=base,
        SANDBOXFS_SETTINGS=os.path.join(base, "settings"))
    places = Places(base, options)
    try:
        for kind in options.places:
            places.add(kind)
        idle = {place.name: place.memory() for place in places.all}
        options.archive = os.path.join(base, "tree.tar")
        with open(options.archive, "wb") as file:
            file.write(tree_archive(options.scale))
        seconds = measure(places, options)
        report = {"machine": machine(options, base), "left out": places.left_out,
                  "seconds": seconds}
        if not options.only or SEALS in options.only:
            with open_device():
                report["seals"] = bench_seals.measure(base, options, run, places.owner.pw_uid)
        report["daemons"] = {
            place.name: {"idle": idle[place.name], "afterwards": place.memory(),
                         "mounting": round(place.mounting, 4)}
            for place in places.all if place.daemon}
        for place in places.all:
            if place.sandboxfs:
                report["daemons"][place.name].update(place.pauses())
    finally:
        places.remove()
    report["ratios"] = ratios(report["seconds"])
    report["places"] = [place.name for place in places.all if place.name != "plain"]
    if options.write:
        for name, text in (("performance.json", json.dumps(report, indent=1) + "\n"),
                           ("performance.md", markdown(report, by_hand(options.write))),
                           ("performance.svg", picture(report))):
            with open(os.path.join(options.write, name), "w") as file:
                file.write(text)
    print(json.dumps(report, indent=1) if options.json else markdown(report, ""))


main()
