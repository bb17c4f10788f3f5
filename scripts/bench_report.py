# What scripts/bench shows of its measurements: a page in Markdown, a picture, and a verdict.

import os
import statistics
import textwrap

import bench_seals

# How often who serves is killed.
DEATHS = 50
NAMES = {
    "bind": "bind mount", "bindfs": "bindfs", "overlay": "fuse-overlayfs", "hp": "passthrough_hp",
    "view": "view", "rules": "view, 10,000 rules", "limited": "view with a limit",
    "user": "a user's view",
}
# The file systems of others, in user space.
PEERS = ("bindfs", "overlay", "hp")
COLOURS = {
    "bindfs": "#c9a227", "overlay": "#8f6fb0", "hp": "#5b8fa8", "view": "#2e7d4f",
}
# What a view is to reach: at most this, as a ratio to the plain directory's time.
GOALS = {
    "write 1 MiB, in order": 1.03, "write 1 MiB again, in order": 1.03,
    "read 1 MiB, in order": 1.03, "write 4 KiB at random": 1.15,
    "read 4 KiB, warm, at random": 1.25, "read 128 KiB, warm": 1.05,
    "first touch of a mapped page": 1.1, "append 100 bytes": 2.5, "stat, warm": 1.3,
    "list them again": 0.5, "find, again": 1.1, "find, cold mount": 2, "git status, warm": 1.1,
    "git status, cold mount": 2.5, "tar x": 1.1, "cp -a": 1.3, "rm -r": 1.5, "sqlite, WAL": 1.1,
    "sqlite, WAL, each row synced": 1.1, "sqlite, journal, synced": 1.1,
    "sqlite, journal, not synced": 1.1, "gcc -c of 8 files": 1.1,
}
NOISY = 1.15
# What stands between these lines was written by a person, and is kept.
BEGIN, END = "<!-- by hand -->", "<!-- by scripts/bench -->"


def is_noisy(ratio):
    """Whether the two halves of the rounds have medians that differ by more than 15 %."""
    least, most = sorted(ratio["halves"])
    return most > NOISY * max(least, 0.01)


def shown(ratio):
    text = "%.2f (%.2f–%.2f)" % (ratio["median"], ratio["minimum"], ratio["maximum"])
    return text + " noisy" if is_noisy(ratio) else text


def by_hand(directory):
    """What a person has written into the page that is there."""
    try:
        with open(os.path.join(directory, "performance.md")) as file:
            return file.read().split(BEGIN)[1].split(END)[0].strip("\n")
    except (OSError, IndexError):
        return ""


def milliseconds(times):
    middle = sorted(times)[len(times) // 2] * 1000
    return "%.1f" % middle if middle < 100 else "%d" % middle


def markdown(report, prose):
    """The page: figures, what was written by hand, memory, machine."""
    places = report["places"]
    lines = [
        "# How fast a view is", "",
        "Written by `scripts/bench`. Each figure is time as a ratio to the same work in a plain",
        "directory, within one round: the median, the least and the most of %d. *Noisy*: the"
        % report["machine"]["rounds"],
        "medians of the two halves of the rounds differ by more than 15 %, so that the figure is",
        "a hint. *Cold mount*: the kernel has forgotten what it knew of the mount, and the store's",
        "file system has not.", "",
        "![Ratios to a plain directory](performance.svg)", "",
        "| | plain, ms | " + " | ".join(NAMES[name] for name in places) + " | goal |",
        "|---|---" + "|---" * len(places) + "|---|",
    ]
    for row, ratios in report["ratios"].items():
        cells = [shown(ratios[name]) if name in ratios else "–" for name in places]
        goal = "≤ %s" % GOALS[row] if row in GOALS else ""
        lines.append("| %s | %s | %s | %s |" % (
            row, milliseconds(report["seconds"][row]["plain"]), " | ".join(cells), goal))
    lines += [""] + bench_seals.markdown(report.get("seals", []))
    if prose:
        lines += [BEGIN, prose, END, ""]
    lines += ["## The daemons", "",
              "Resident memory, and how much of it is anonymous, in MiB: idle, and when all was",
              "done. What is not anonymous are pages of programs and libraries, which processes",
              "share. Then the time from the command that mounts to the first answer.", "",
              "| | idle | afterwards | mounted after |", "|---|---|---|---|"]
    for name, daemon in report["daemons"].items():
        lines.append("| %s | %s | %s | %.0f ms |" % (
            NAMES[name], memory(daemon["idle"]), memory(daemon["afterwards"]),
            daemon["mounting"] * 1000))
    lines += ["", "## Deaths", "",
              "For how long nobody serves when who does is killed, in ms: the median and the most",
              "of %d. Then the memory of the process that watches, as above." % DEATHS, "",
              "| | pause | watcher |", "|---|---|---|"]
    for name, daemon in report["daemons"].items():
        if "pauses" in daemon:
            pauses = [pause / 1000 for pause in daemon["pauses"]]
            lines.append("| %s | %.1f, %.1f | %s |" % (
                NAMES[name], statistics.median(pauses), max(pauses), memory(daemon["supervisor"])))
    lines += ["", "## The machine", "", "| | |", "|---|---|"]
    lines += ["| %s | %s |" % fact for fact in report["machine"].items()]
    lines += ["| left out: %s | %s |" % (NAMES[name], why)
              for name, why in report["left out"].items()]
    slow = verdict(report) + bench_seals.missed(report.get("seals", []))
    if slow:
        lines += ["", "## What is not reached", ""]
        lines += [textwrap.fill("- " + line, 90, subsequent_indent="  ") for line in slow]
    return "\n".join(lines) + "\n"


def memory(sizes):
    if not sizes:
        return "–"
    return "%.1f, %.1f" % (sizes["resident"] / 1024, sizes["anonymous"] / 1024)


def verdict(report):
    """Where a view misses its goal, and where it is behind another file system in user space."""
    found = []
    for row, ratios in report["ratios"].items():
        if "view" not in ratios:
            continue
        view = ratios["view"]["median"]
        note = ", but the row is noisy" if is_noisy(ratios["view"]) else ""
        if row in GOALS and view > GOALS[row]:
            found.append("%s: %.2f, and not %s%s" % (row, view, GOALS[row], note))
        behind = [NAMES[name] for name in PEERS
                  if name in ratios and view > 1.1 * ratios[name]["median"]]
        if behind:
            names = " and ".join([", ".join(behind[:-1])] * (len(behind) > 1) + behind[-1:])
            found.append("%s: slower than %s%s" % (row, names, note))
    return found


# The picture: a bar a place in each row, on a logarithmic scale from a quarter to a hundred.

LEFT, WIDTH, BAR, GAP = 260, 900, 6, 10
LEAST, MOST = 0.25, 100.0


def x_of(ratio):
    from math import log
    inside = min(max(ratio, LEAST), MOST)
    return LEFT + (WIDTH - LEFT - 20) * log(inside / LEAST) / log(MOST / LEAST)


def picture(report):
    """The ratios as an SVG."""
    shown_places = [name for name in report["places"] if name in COLOURS]
    rows = list(report["ratios"].items())
    step = BAR * len(shown_places) + GAP
    height = 60 + step * len(rows)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" '
           'font-size="11">' % (WIDTH, height),
           '<rect width="100%" height="100%" fill="#ffffff"/>']
    place_x = LEFT
    for name in shown_places:
        out.append('<rect x="%d" y="10" width="10" height="10" fill="%s"/>'
                   '<text x="%d" y="19">%s</text>' % (place_x, COLOURS[name], place_x + 14,
                                                      NAMES[name]))
        place_x += 130
    for tick in (0.5, 1, 2, 5, 10, 20, 50):
        out.append('<line x1="%.1f" y1="34" x2="%.1f" y2="%d" stroke="%s"/>'
                   '<text x="%.1f" y="32" text-anchor="middle" fill="#666666">%g</text>'
                   % (x_of(tick), x_of(tick), height - 10, "#444444" if tick == 1 else "#dddddd",
                      x_of(tick), tick))
    for number, (row, ratios) in enumerate(rows):
        top = 44 + number * step
        out.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>'
                   % (LEFT - 8, top + step / 2, row))
        for position, name in enumerate(shown_places):
            if name not in ratios:
                continue
            start, end = sorted((x_of(1), x_of(ratios[name]["median"])))
            out.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>'
                       % (start, top + position * BAR, max(end - start, 1.5), BAR - 1,
                          COLOURS[name]))
    return "\n".join(out + ["</svg>"]) + "\n"
