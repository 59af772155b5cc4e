"""Which commands there are: name, module and one line of help, as data."""

from typing import NamedTuple


class Entry(NamedTuple):
    """Where a command lives and what its line in ``turnout --help`` says."""

    name: str
    module: str
    summary: str


COMMANDS: tuple[Entry, ...] = (
    Entry("demo", "turnout.cli.demo", "Run agents, the receiver and the dashboards on one machine, to look around."),
    Entry("up", "turnout.cli.up", "Run the receiver and the dashboards over one lake."),
    Entry("serve", "turnout.cli.serve", "Receive OTLP and keep every turn with its outcome."),
    Entry("dashboard", "turnout.cli.dashboard", "Show the dashboards of a lake."),
    Entry("import", "turnout.cli.import_", "Bring logs and transcripts of agents into the lake."),
    Entry("classify", "turnout.cli.classify", "Say how each turn of a file ended; touches no lake."),
    Entry("turns", "turnout.cli.turns", "List turns with their verdicts, or show one in words."),
    Entry("metrics", "turnout.cli.metrics", "List the metrics, or compute one by model, tool, step, hour, …"),
    Entry("budget", "turnout.cli.budget", "What another limit would have done."),
    Entry("compare", "turnout.cli.compare", "Compare two versions, models, agents or windows, with intervals."),
    Entry("report", "turnout.cli.report", "Write outcomes to files, with a manifest."),
    Entry("sql", "turnout.cli.sql", "Run one read-only statement over the lake."),
    Entry("lake", "turnout.cli.lake", "Look after the lake: status, compact, retain, verify."),
    Entry("doctor", "turnout.cli.doctor", "What arrives, what is missing or unknown, and what to do about it."),
)
