"""Reads access.log and delivers what was slow. The threshold is the first number of milliseconds in the prompt."""

import csv
import os
import re
from collections import defaultdict

REQUEST = re.compile(r"^(\S+) (\S+) (\S+) (\d{3}) (\d+)ms$")


def threshold() -> int:
    with open(os.environ["GLOVEBOX_PROMPT_FILE"], encoding="utf-8") as prompt:
        found = re.search(r"(\d+)\s*ms", prompt.read())
    return int(found.group(1)) if found else 500


def main() -> None:
    limit = threshold()
    slow = defaultdict(list)
    unreadable = []
    with open("access.log", encoding="utf-8") as log:
        for number, line in enumerate(log, start=1):
            request = REQUEST.match(line.rstrip("\n"))
            if request is None:
                unreadable.append(number)
                continue
            _, method, path, _, took = request.groups()
            if int(took) > limit:
                slow[f"{method} {path.split('?')[0]}"].append(int(took))

    ranked = sorted(slow.items(), key=lambda entry: -max(entry[1]))
    with open("/deliverables/slow.csv", "w", newline="", encoding="utf-8") as table:
        writer = csv.writer(table)
        writer.writerow(["request", "count", "longest_ms"])
        writer.writerows([request, len(times), max(times)] for request, times in ranked)
    with open("/deliverables/report.md", "w", encoding="utf-8") as report:
        report.write(f"# Requests that took longer than {limit} ms\n\n")
        report.writelines(f"- `{request}`: {len(times)}, at most {max(times)} ms\n" for request, times in ranked)
        if unreadable:
            report.write(f"\nNot understood: line {', '.join(map(str, unreadable))}.\n")
    print(f"{sum(map(len, slow.values()))} slow requests, {len(unreadable)} line not understood")


if __name__ == "__main__":
    main()
