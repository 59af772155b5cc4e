"""The span tree of one group of records, whatever order, duplication or gaps they came with."""

from collections.abc import Iterable, Iterator, Mapping

from turnout.pipeline.telemetry import Span

Key = tuple[str, str]


def distinct(spans: Iterable[Span]) -> list[Span]:
    """One span an id. Exports of one span that differ: the one that ended last, then the one that says most."""
    best: dict[Key, Span] = {}
    for span in spans:
        key = (span.trace_id, span.span_id)
        held = best.get(key)
        if held is None or (span is not held and _weight(span) > _weight(held)):
            best[key] = span
    return list(best.values())


def _weight(span: Span) -> tuple[int, int, int, str]:
    return (span.end or 0, len(span.events), len(span.attributes), repr(sorted(span.attributes.items(), key=repr)))


class Tree:
    """Parents by id, within a trace; a circle is cut above its smallest id."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = {(span.trace_id, span.span_id): span for span in spans}
        self._roots = _in_circles(self.spans)

    def parent(self, span: Span) -> Span | None:
        """The parent, when it is here."""
        if not span.parent_id or (self._roots and (span.trace_id, span.span_id) in self._roots):
            return None
        return self.spans.get((span.trace_id, span.parent_id))

    def ancestors(self, span: Span) -> Iterator[Span]:
        """From the parent upwards; ends at a root, or at a parent that is not here."""
        above = self.parent(span)
        while above is not None:
            yield above
            above = self.parent(above)

    def top(self, span: Span) -> Span:
        """The topmost ancestor that is here, or the span itself."""
        found = span
        for above in self.ancestors(span):
            found = above
        return found

    def cut_off(self, span: Span) -> bool:
        """Whether the way up ends at a parent that should be here and is not."""
        top = self.top(span)
        return bool(top.parent_id) and not top.remote_parent


def _in_circles(spans: Mapping[Key, Span]) -> frozenset[Key]:
    """One span of every circle, which is to count as a root."""
    cleared: set[Key] = set()
    cut: set[Key] = set()
    for start, span in spans.items():
        above = (start[0], span.parent_id)
        if above not in spans or above in cleared:
            cleared.add(start)
            continue
        path: dict[Key, None] = {}
        key = start
        while key in spans and key not in cleared and key not in path:
            path[key] = None
            key = (key[0], spans[key].parent_id)
        if key in path:
            walked = list(path)
            cut.add(min(walked[walked.index(key) :]))
        cleared.update(path)
    return frozenset(cut)
