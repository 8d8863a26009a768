"""Writes the report of the `daily` pipeline: reads the extract of this run, writes to the staged path it is given."""

import csv
import json
import os

with open(os.environ["EIDER_OUT_WORST_AIRPORTS"], newline="") as extract:
    rows = list(csv.DictReader(extract))

lines = [
    "# Where flights leave late",
    "",
    "| Airport | City | Flights | More than 15 min late |",
    "|---|---|---:|---:|",
]
for row in rows:
    lines.append(f"| {row['airport']} {row['name']} | {row['city']}, {row['state']} | {int(float(row['flights']))} | {row['late_percent']} % |")
lines += ["", f"Made by run {os.environ['EIDER_RUN_ID']}, attempt {os.environ['EIDER_ATTEMPT']}."]

with open(os.environ["EIDER_OUT_DELAYS"], "w") as report:
    report.write("\n".join(lines) + "\n")

# Facts of this step: shown by `eider runs show`, given to later steps.
with open(os.environ["EIDER_OUTPUT"], "w") as facts:
    facts.write(json.dumps({"rows": len(rows), "worst": rows[0]["airport"] if rows else None}) + "\n")

print(f"the report names {len(rows)} airports")
