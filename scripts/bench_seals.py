# What seals cost: bundles are verified beside openssl(1), which only hashes, large ones are
# launched beside tiny ones, and what is verified is read beside what is not. Part of scripts/bench.

import json
import os
import shutil
import statistics
import subprocess
import time

# The most that a row may be of what it is beside. What is beside a plain file has no goal, since
# the kernel keeps a plain file in larger pieces.
GOALS = {
    "verify files of 256 MiB": 1.1,
    "verify one file of 256 MiB": 1.1,
    "verify bundles in a bundle": 1.1,
    "read 4 KiB at random, warm, sealed": 1.1,
    "read 128 KiB in order, warm, sealed": 1.1,
}
IDENTIFIER = "org.sandboxfs.bench.seals"


class Seals:
    """Bundles of several kinds, and a store in which some of them are installed."""

    def __init__(self, base, options, run, uid):
        self.base, self.options, self.run = os.path.join(base, "seals"), options, run
        self.uid = uid
        self.views = []
        self.program = os.path.join(options.programs, "sandboxfs")
        self.store = os.path.join(self.base, "store")
        os.makedirs(self.base)

    def size(self, mebibytes):
        return max(1, int(mebibytes * self.options.scale)) << 20

    def path(self, *parts):
        return os.path.join(self.base, *parts)

    def sandboxfs(self, *words):
        return self.run(self.program, "--store", self.store, *words)

    def as_user(self, *words):
        return ["setpriv", "--reuid", str(self.uid), "--regid", str(self.uid), "--clear-groups",
                *words]

    def directory(self, name, uid=0):
        path = self.path(name)
        os.mkdir(path)
        os.chown(path, uid, uid)
        return path

    def bundle(self, name, files):
        """A bundle with files of these sizes; its directory."""
        directory = self.path(name + ".app")
        os.makedirs(directory)
        with open(os.path.join(directory, "Info.plist"), "w") as plist:
            plist.write(
                '<?xml version="1.0"?>\n<plist version="1.0"><dict>'
                "<key>CFBundleIdentifier</key><string>%s.%s</string>"
                "<key>CFBundleExecutable</key><string>bench</string>"
                "</dict></plist>\n" % (IDENTIFIER, name))
        shutil.copy("/bin/true", os.path.join(directory, "bench"))
        block = os.urandom(1 << 20)
        for path, size in files.items():
            path = os.path.join(directory, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                while size > 0:
                    file.write(block[:size])
                    size -= len(block)
        return directory

    # MARK: verifying

    def hashed(self, directory, at_once):
        """Every file's digest by openssl, with as many processes as there are processors."""
        cores = len(os.sched_getaffinity(0))
        self.run("sh", "-c", 'find "$0" -type f -print0 | xargs -0 -P%d -n%d openssl dgst -sha256'
                 % (cores, at_once), directory)

    def in_memory(self, count):
        """How long openssl takes for so many bytes that need not be read from anywhere."""
        cores = len(os.sched_getaffinity(0))
        text = self.run("openssl", "speed", "-seconds", "1", "-bytes", "65536", "-multi",
                        str(cores), "-evp", "sha256").decode()
        return count / (float(text.split()[-1].rstrip("k")) * 1000)

    def verifying(self):
        count = 2 * len(os.sched_getaffinity(0))
        small = max(100, int(10000 * self.options.scale))
        inner = ["Frameworks/F%d.framework" % number for number in range(count)]
        kinds = {
            # At every scale, or this would be how fast a program starts.
            "verify files of 256 MiB": {"data%d" % n: 256 << 20 for n in range(count)},
            "verify one file of 256 MiB": {"data": self.size(256)},
            "verify %d files of 3 KiB" % small: {
                "d%d/f%d" % (n % 50, n): 3000 for n in range(small)},
            "verify bundles in a bundle": {
                path + name: size for path in inner
                for name, size in (("/data", self.size(64)), ("/Info.plist", 0))},
        }
        for number, (row, files) in enumerate(kinds.items()):
            directory = self.bundle("verify%d" % number, files)
            nested = [path for path in inner if path + "/Info.plist" in files]
            words = ["--deep"] if nested else []
            for path in nested + [""]:
                self.run(self.program, "seal", os.path.join(directory, path))
            at_once = 1 if len(files) < 100 else 200
            self.hashed(directory, at_once)

            def verify(directory=directory, words=words):
                self.run(self.program, "verify", *words, directory)

            yield row, "openssl dgst -sha256", verify, (
                lambda directory=directory, at_once=at_once: self.hashed(directory, at_once))
            if number == 0:
                total = sum(files.values())
                yield row, "openssl speed, in memory", verify, (
                    lambda total=total: self.in_memory(total))
            shutil.rmtree(directory)

    # MARK: launching

    def launching(self):
        large, tiny = (IDENTIFIER + "." + name for name in ("large", "tiny"))
        for name, files in (("large", {"data": self.size(500)}), ("tiny", {})):
            self.sandboxfs("install", self.bundle(name, files))

        def launched(app):
            self.sandboxfs("run", app, "--", "/bin/true")

        yield "launch 500 MiB, mount included", "a tiny bundle", (
            lambda: launched(large)), (lambda: launched(tiny))
        for app in (large, tiny):
            self.mount(app, self.directory(app))
        yield "launch 500 MiB, mounted", "a tiny bundle", (
            lambda: launched(large)), (lambda: launched(tiny))

    def mount(self, app, target):
        self.sandboxfs("mount", app, target)
        self.views.append(target)

    # MARK: reading

    def reading(self):
        """Root reads unsealed files without the daemon, so a user's tell what a seal costs."""
        root = self.path(IDENTIFIER + ".large")
        user = self.directory("user", self.uid)
        words = self.as_user(
            "env", "SANDBOXFS_SETTINGS=" + os.path.join(user, "settings"), self.program, "--store",
            os.path.join(user, "store"))
        view = os.path.join(user, "view")
        self.run(*self.as_user("mkdir", view))
        self.run(*words, "install", self.path("large.app"))
        self.run(*words, "mount", IDENTIFIER + ".large", view)
        self.views.append(view)
        plain = self.path("plain")
        self.run(*self.as_user("cp", view + "/large.app/data", view + "/Documents/data"))
        shutil.copy(root + "/large.app/data", plain)

        def on(path, *command):
            return self.as_user(*command) if path.startswith(view) else command

        def read(path, *words):
            command = ["fio", "--name=read", "--filename=" + path, "--readonly", "--invalidate=0",
                       "--ioengine=psync", "--output-format=json", "--size=%d" % self.size(128),
                       "--loops=8", *words]
            side = json.loads(self.run(*on(path, *command)))["jobs"][0]["read"]
            return side["io_bytes"] / max(side["bw_bytes"], 1)

        def warm(*paths):
            """Both lie in memory as it is now: how scattered that is decides how fast they are."""
            for path in paths:
                self.run(*on(path, "sync", path))
                self.run(*on(path, "dd", "if=" + path, "iflag=nocache", "count=0"))
            for path in paths:
                self.run(*on(path, "dd", "if=" + path, "of=/dev/null", "bs=128k"))

        places = (
            (view + "/large.app/data", "an unsealed file, a user's view", view + "/Documents/data"),
            (root + "/large.app/data", "a plain file, root's view", plain))
        for row, words in (("read 4 KiB at random, warm, sealed", ("--rw=randread", "--bs=4k")),
                           ("read 128 KiB in order, warm, sealed", ("--rw=read", "--bs=128k"))):
            for sealed, beside, other in places:
                order = [sealed, other]

                def ours(words=words, path=sealed, order=order):
                    # Who comes first takes what the other has given back: they take turns.
                    order.reverse()
                    warm(*order)
                    return read(path, *words)

                yield row, beside, ours, lambda words=words, path=other: read(path, *words)

    def remove(self):
        for target in self.views:
            subprocess.run(["umount", "-l", target], capture_output=True)


def seconds(work):
    """What the work says that it took, or how long it did."""
    start = time.monotonic()
    said = work()
    return said if isinstance(said, float) else time.monotonic() - start


def measure(base, options, run, uid):
    """[{row, beside, ours, theirs}], with the seconds of each round."""
    seals = Seals(base, options, run, uid)
    rows = []
    try:
        for part in (seals.verifying, seals.launching, seals.reading):
            for row, beside, ours, theirs in part():
                times = [(seconds(ours), seconds(theirs)) for _ in range(options.rounds)]
                rows.append({"row": row, "beside": beside, "ours": [own for own, _ in times],
                             "theirs": [other for _, other in times]})
    finally:
        seals.remove()
    return rows


def ratios_of(row):
    return [own / max(other, 1e-9) for own, other in zip(row["ours"], row["theirs"])]


def goal_of(row):
    return None if row["beside"].startswith("a plain file") else GOALS.get(row["row"])


def missed(rows):
    """Which goals are not reached, a line each."""
    found = []
    for row in rows:
        ratio, goal = statistics.median(ratios_of(row)), goal_of(row)
        if goal and ratio > goal:
            found.append("%s, beside %s: %.2f, and not %s" % (
                row["row"], row["beside"], ratio, goal))
    return found


def markdown(rows):
    """The table of the rows, as lines."""
    if not rows:
        return []
    lines = ["## Seals", "",
             "Each beside what it is compared with, in turn: the median of the times, and of the",
             "ratios, with the least and the most.", "",
             "| | ms | beside | ms | ratio | goal |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratios = ratios_of(row)
        goal = goal_of(row)
        lines.append("| %s | %.1f | %s | %.1f | %.2f (%.2f–%.2f) | %s |" % (
            row["row"], statistics.median(row["ours"]) * 1000, row["beside"],
            statistics.median(row["theirs"]) * 1000, statistics.median(ratios), min(ratios),
            max(ratios), "≤ %s" % goal if goal else ""))
    return lines + [""]
