# Times the same work on a plain directory, on bindfs and on a view, in turn, and prints ratios.
#
# The places take turns in every round, and a ratio is made within a round, so that a machine that
# others use disturbs all three alike. Started by scripts/bench, which builds and installs first.

import argparse
import io
import json
import os
import platform
import pwd
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

IDENTIFIER = "org.sandboxfs.bench"
SLOW = 2.0


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


# The jobs. Each takes an empty directory and returns {name: seconds}.


def fio(directory, name, *options):
    """The seconds that one fio job spent on its bytes."""
    command = ["fio", "--name=" + name, "--directory=" + directory, "--filename=data"]
    command += ["--ioengine=psync", "--output-format=json", "--overwrite=1", *options]
    result = json.loads(run(*command))["jobs"][0]
    side = result["write"] if "write" in options[0] else result["read"]
    return side["runtime"] / 1000 if side["runtime"] else side["io_bytes"] / side["bw_bytes"]


def transfers(directory, scale):
    size = "--size=%dM" % (256 * scale)
    few = "--io_size=%dM" % max(1, int(64 * scale))
    large, small, warm = "--bs=1M", "--bs=4k", "--invalidate=0"
    return {
        "write 1 MiB, in order": fio(directory, "a", "--rw=write", large, size, "--end_fsync=1"),
        "read 1 MiB, in order": fio(directory, "b", "--rw=read", large, size, warm),
        "write 4 KiB, at random": fio(directory, "c", "--rw=randwrite", small, size, few),
        "read 4 KiB, at random": fio(directory, "d", "--rw=randread", small, size, few, warm),
    }


def many_files(directory, scale):
    count = int(20000 * scale)
    folders = [os.path.join(directory, "d%d" % number) for number in range(20)]
    paths = [os.path.join(folders[n % 20], "f%d" % n) for n in range(count)]

    def create():
        for folder in folders:
            os.mkdir(folder)
        for path in paths:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))

    def status():
        for path in paths:
            os.stat(path)

    def opening():
        for path in paths:
            os.close(os.open(path, os.O_RDONLY))

    def listing():
        for folder in folders:
            for entry in os.scandir(folder):
                entry.stat(follow_symlinks=False)

    def unlink():
        for path in paths:
            os.unlink(path)

    named = "%d files" % count
    return {
        "create " + named: timed(create),
        "stat " + named: timed(status),
        "open " + named: timed(opening),
        "list and stat " + named: timed(listing),
        "unlink " + named: timed(unlink),
    }


def tree_archive(scale):
    """The bytes of an archive of small files such as a source tree has."""
    chance = random.Random(1)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for number in range(int(4000 * scale)):
            entry = tarfile.TarInfo("tree/d%d/e%d/file%d.c" % (number % 40, number % 7, number))
            entry.size = chance.choice([200, 900, 3000, 9000, 30000])
            tar.addfile(entry, io.BytesIO(chance.randbytes(entry.size)))
    return archive.getvalue()


def tree(directory, archive):
    extract = timed(lambda: run("tar", "-xf", archive, "-C", directory))
    git = ["git", "-C", os.path.join(directory, "tree"), "-c", "user.name=b", "-c", "user.email=b"]
    run(*git, "init", "-q")
    add = timed(lambda: run(*git, "add", "."))
    run(*git, "commit", "-q", "-m", "tree")
    return {
        "tar x": extract,
        "git add": add,
        "git status": statistics.median(timed(lambda: run(*git, "status")) for _ in range(3)),
        "rm -r": timed(lambda: shutil.rmtree(os.path.join(directory, "tree"))),
    }


def database(directory, scale):
    def inserts(name, mode, transactions, rows):
        connection = sqlite3.connect(os.path.join(directory, name), isolation_level=None)
        connection.execute("PRAGMA journal_mode=" + mode)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, text TEXT)")
        for _ in range(transactions):
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO t (text) VALUES (?)", [("x" * 100,)] * rows)
            connection.execute("COMMIT")
        connection.close()

    few, many = int(300 * scale), int(3000 * scale)
    return {
        "sqlite, WAL, a row each": timed(lambda: inserts("a.db", "WAL", many, 1)),
        "sqlite, journal, a row each": timed(lambda: inserts("b.db", "DELETE", few, 1)),
        "sqlite, 1000 rows each": timed(lambda: inserts("c.db", "WAL", max(1, few // 3), 1000)),
    }


# The places.


class Places:
    """A plain directory, bindfs over another, and a view, all on one file system."""

    def __init__(self, base, programs):
        self.base = base
        self.sandboxfs = os.path.join(programs, "sandboxfs") if programs else None
        self.mounts = []
        self.paths = {}

    def make(self, *parts):
        path = os.path.join(self.base, *parts)
        os.makedirs(path)
        return path

    def plain(self):
        self.paths["plain"] = self.make("plain")

    def bindfs(self):
        source, target = self.make("bindfs-source"), self.make("bindfs")
        run("bindfs", source, target)
        self.mounts.append(target)
        self.paths["bindfs"] = target

    def view(self):
        self.mount("view", IDENTIFIER, [])

    def rules(self):
        """A view whose container has a rule for each of ten thousand names."""
        lines = ["/Documents/name%d/*.x%d -exec" % (n, n) for n in range(10000)]
        self.mount("rules", IDENTIFIER + ".rules", lines)

    def mount(self, name, identifier, rules):
        bundle, target = self.make(name + ".app"), self.make(name)
        with open(os.path.join(bundle, "Info.plist"), "w") as plist:
            plist.write(
                '<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict>'
                "<key>CFBundleIdentifier</key><string>%s</string>"
                "<key>CFBundleExecutable</key><string>bench</string>"
                "</dict></plist>\n" % identifier
            )
        shutil.copy("/bin/true", os.path.join(bundle, "bench"))
        store = os.path.join(self.base, "store")
        # One owner for all places: the same process works in each of them.
        run(self.sandboxfs, "--store", store, "install", "--owner", "nobody", bundle)
        if rules:
            with open(os.path.join(store, "containers", identifier, "profile"), "w") as profile:
                profile.write("\n".join(rules) + "\n")
        run(self.sandboxfs, "--store", store, "mount", identifier, target)
        self.mounts.append(target)
        self.paths[name] = os.path.join(target, "Documents")

    def give_to_one_owner(self):
        """Gives all places to nobody, as the containers are; its passwd entry."""
        owner = pwd.getpwnam("nobody")
        os.chmod(self.base, 0o755)
        for path in self.paths.values():
            os.chown(path, owner.pw_uid, owner.pw_gid)
        return owner

    def remove(self):
        for target in reversed(self.mounts):
            for command in (["umount", "-R", target], ["umount", "-R", "-l", target]):
                if subprocess.run(command, capture_output=True).returncode == 0:
                    break
        # Never into what could not be unmounted.
        subprocess.run(["rm", "-rf", "--one-file-system", "--", self.base])


def measure(places, rounds, scale):
    """{job: {place: [seconds of each round]}}, measured as who owns the container.

    An app is its owner. For others, root among them, the kernel asks for the ACL of a view's root
    at every path.
    """
    archive = os.path.join(places.base, "tree.tar")
    with open(archive, "wb") as file:
        file.write(tree_archive(scale))
    owner = places.give_to_one_owner()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            os.setgroups([])
            os.setresgid(*[owner.pw_gid] * 3)
            os.setresuid(*[owner.pw_uid] * 3)
            os.environ["HOME"] = places.base
            with os.fdopen(writing, "w") as answer:
                json.dump(measure_here(places, archive, rounds, scale), answer)
            status = 0
        except BaseException as failure:
            print("scripts/bench: %s" % failure, file=sys.stderr)
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit("scripts/bench: the measuring process has failed")
    return json.loads(text)


def measure_here(places, archive, rounds, scale):
    jobs = [
        lambda directory: transfers(directory, scale),
        lambda directory: many_files(directory, scale),
        lambda directory: tree(directory, archive),
        lambda directory: database(directory, scale),
    ]
    seconds = {}
    names = list(places.paths)
    for number in range(rounds):
        for job in jobs:
            for name in names:
                directory = os.path.join(places.paths[name], "round%d" % number)
                os.mkdir(directory)
                os.sync()
                for what, took in job(directory).items():
                    seconds.setdefault(what, {}).setdefault(name, []).append(took)
                shutil.rmtree(directory)
        names = names[1:] + names[:1]
        print("round %d of %d" % (number + 1, rounds), file=sys.stderr, flush=True)
    return seconds


def ratios(seconds):
    """{job: {place: {median, minimum, maximum}}}, each place's time over the plain directory's."""
    result = {}
    for what, places in seconds.items():
        for name, times in places.items():
            if name != "plain":
                each = [time / max(plain, 1e-6) for time, plain in zip(times, places["plain"])]
                result.setdefault(what, {})[name] = {
                    "median": round(statistics.median(each), 2),
                    "minimum": round(min(each), 2),
                    "maximum": round(max(each), 2),
                }
    return result


def table(seconds, result):
    names = [name for name in next(iter(seconds.values())) if name != "plain"]
    lines = ["%-30s %9s" % ("", "plain, ms") + "".join("%25s" % name for name in names)]
    for what, places in seconds.items():
        line = "%-30s %9.1f" % (what, 1000 * statistics.median(places["plain"]))
        for name in names:
            ratio = result[what][name]
            line += "%10.2f (%5.2f –%6.2f)" % tuple(ratio.values())
        lines.append(line)
    lines.append("time, as a ratio to the plain directory's: median (minimum – maximum)")
    return lines


def verdict(result):
    """What is slow, slowest first, and where a view is behind bindfs."""
    views = {what: places["view"]["median"] for what, places in result.items() if "view" in places}
    slow = [
        "%s: %.1f times a plain directory's time" % (what, views[what])
        for what in sorted(views, key=lambda what: -views[what])
        if views[what] > SLOW
    ]
    behind = [
        "%s: slower than bindfs" % what
        for what in views
        if "bindfs" in result[what] and views[what] > 1.1 * result[what]["bindfs"]["median"]
    ]
    return slow + behind


def parsed():
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Times the same work on a plain directory, on bindfs and on a view.",
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often (5)")
    parser.add_argument("--scale", type=float, default=1, help="how much work each time (1)")
    parser.add_argument("--places", default="plain,bindfs,view",
                        help="where (plain,bindfs,view); also rules, a view with 10,000 rules")
    parser.add_argument("--directory", default="/var/tmp", help="on which file system (/var/tmp)")
    parser.add_argument("--json", action="store_true", help="print all times and ratios as JSON")
    parser.add_argument("--programs", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.places = options.places.split(",")
    unknown = set(options.places) - {"plain", "bindfs", "view", "rules"}
    if unknown or "plain" not in options.places or options.rounds < 1:
        parser.error(
            "--places takes plain, bindfs, view and rules, plain always; --rounds at least 1")
    return options


def main():
    options = parsed()
    # Whatever ends us, the finally below takes the mounts away.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    os.environ.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", LC_ALL="C.UTF-8")
    base = tempfile.mkdtemp(prefix="sandboxfs-bench.", dir=options.directory)
    places = Places(base, options.programs)
    try:
        for name in options.places:
            getattr(places, name)()
        seconds = measure(places, options.rounds, options.scale)
    finally:
        places.remove()
    result = ratios(seconds)
    if options.json:
        machine = {"kernel": platform.release(), "cores": os.cpu_count(), "rounds": options.rounds}
        print(json.dumps({"machine": machine, "seconds": seconds, "ratios": result}, indent=2))
        return
    print("Linux %s, %d cores, %d rounds" % (platform.release(), os.cpu_count(), options.rounds))
    print("\n".join(table(seconds, result)))
    if "view" in options.places:
        print("slow: " + ("\n      ".join(verdict(result)) or "nothing"))


main()
