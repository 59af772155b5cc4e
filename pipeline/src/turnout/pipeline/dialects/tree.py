"""The span tree of one group of records, whatever order, duplication or gaps they came with."""

from collections.abc import Callable, Iterable, Iterator

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
    """Parents by id, within a trace."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = {(span.trace_id, span.span_id): span for span in spans}

    def parent(self, span: Span) -> Span | None:
        """The parent, when it is here."""
        return self.spans.get((span.trace_id, span.parent_id)) if span.parent_id else None

    def ancestors(self, span: Span) -> Iterator[Span]:
        """From the parent upwards; ends at a root, at a parent that is not here, or where a circle closes."""
        seen = {span.span_id}
        above = self.parent(span)
        while above is not None and above.span_id not in seen:
            yield above
            seen.add(above.span_id)
            above = self.parent(above)

    def top(self, span: Span) -> Span:
        """The topmost ancestor that is here, or the span itself."""
        found = span
        for above in self.ancestors(span):
            found = above
        return found

    def nearest(self, span: Span, wanted: Callable[[Span], bool]) -> Span | None:
        """The nearest ancestor that is wanted."""
        return next((above for above in self.ancestors(span) if wanted(above)), None)

    def cut_off(self, span: Span) -> bool:
        """Whether the way up ends at a parent that should be here and is not."""
        top = self.top(span)
        return bool(top.parent_id) and not top.remote_parent
