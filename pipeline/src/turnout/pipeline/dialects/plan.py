"""Which turn each span belongs to: the tree of readings cut into turns.

The rules, for every dialect that tells its turns by spans:

- A model request belongs to the nearest agent above it. Under a tool call without an agent between, it is a sub-agent's turn of its own.
  A request inside a request is the same one told by another library; one beside it may be, too (`doubles`).
- An agent below a tool call is a sub-agent: a turn whose parent is the turn of that call. An agent directly below an agent is a sub-agent too, except
  where the outer one makes no request of its own and holds only the inner one: then both are the same turn.
- An envelope of runs is no turn where it holds agents; what lies beside an agent in it belongs to the agent at work at that time.
- A span whose way up is broken belongs to the agent of its trace that was at work when it started; where there is none, all that hangs from the same
  missing span is one turn, named by that span, so that it keeps its name when the span comes.
"""

from collections import defaultdict
from collections.abc import Iterable

from turnout.pipeline.dialects.doubles import Placed, doubles_in
from turnout.pipeline.dialects.draft import Draft, giver_of, latest_around
from turnout.pipeline.dialects.reading import Node, Role
from turnout.pipeline.dialects.tree import Key, Tree
from turnout.pipeline.telemetry import Span

_TURNS = frozenset({Role.RUN, Role.AGENT})
_ANCHORS = _TURNS | {Role.CALL, Role.TOOL}


class Plan:
    """The drafts of one group of spans."""

    def __init__(self, nodes: Iterable[Node], tree: Tree) -> None:
        self._tree = tree
        self._nodes = {node.key: node for node in nodes}
        self._drop_stand_ins()
        self._by_role: dict[Role, list[Node]] = defaultdict(list)
        for key in sorted(self._nodes, key=self._order):
            self._by_role[self._nodes[key].reading.role].append(self._nodes[key])
        self._turns_of: dict[str, list[Node]] = defaultdict(list)
        for role in (Role.RUN, Role.AGENT):
            for node in self._by_role[role]:
                self._turns_of[node.span.trace_id].append(node)
        self.drafts: dict[Key, Draft] = {}
        self._below: dict[Key, dict[Key, Draft]] = defaultdict(dict)
        self._joined: dict[Key, Key] = {}
        self._folded: dict[Key, Node] = {}
        self._anchors: dict[Key, Node | None] = {}
        self._place_turns()
        self._place_calls()
        self._fold_doubles()
        self._place_tools()
        self._place_inner()
        self._settle_heads()

    def _drop_stand_ins(self) -> None:
        """Steps of a runtime below which the request itself is told are machinery."""
        if not any(node.reading.stand_in for node in self._nodes.values()):
            return
        for node in self._nodes.values():
            if node.reading.role is Role.CALL and not node.reading.stand_in:
                for above in self._tree.ancestors(node.span):
                    held = self._nodes.get((above.trace_id, above.span_id))
                    if held is not None and held.reading.stand_in:
                        held.reading.role = Role.INNER

    def _order(self, key: Key) -> tuple[int, str, str]:
        return (self._nodes[key].span.start or 0, *key)

    # --- what dialects with events ask and add

    def nodes(self, source: str, role: Role) -> list[Node]:
        """The spans of one dialect in one role, by time."""
        return [node for node in self._by_role[role] if node.reading.source == source]

    def above(self, node: Node, role: Role) -> Node | None:
        """The nearest span above in a role."""
        for span in self._tree.ancestors(node.span):
            found = self._nodes.get((span.trace_id, span.span_id))
            if found is not None and found.reading.role is role:
                return found
        return None

    def node(self, key: Key) -> Node | None:
        """The span of a key, when it is here."""
        return self._nodes.get(key)

    def make(self, key: Key) -> Draft:
        """The draft of a key, a new one if need be."""
        return self._draft(key)

    def owner_of(self, node: Node) -> Draft:
        """The draft to which a request belongs."""
        return self._owner(node)

    # --- where a span hangs

    def _anchor(self, span: Span) -> Node | None:
        """The nearest span above that is a turn, a request or a tool call."""
        key = (span.trace_id, span.span_id)
        if key not in self._anchors:
            self._anchors[key] = self._nearest(span)
        node = self._anchors[key]
        return self._folded.get(node.key, node) if node is not None and self._folded else node

    def _nearest(self, span: Span) -> Node | None:
        for above in self._tree.ancestors(span):
            node = self._nodes.get((above.trace_id, above.span_id))
            if node is not None and node.reading.role in _ANCHORS:
                return node
        return None

    def _at_work(self, span: Span) -> Node | None:
        """The agent of the same trace that was at work when a span with a broken way up started."""
        if span.start is None or not self._tree.cut_off(span):
            return None
        return latest_around(span, self._turns_of[span.trace_id])

    def _orphanage(self, span: Span) -> Draft:
        top = self._tree.top(span)
        cut_off = self._tree.cut_off(span)
        draft = self._draft((span.trace_id, top.parent_id if cut_off else top.span_id))
        draft.cut_off = draft.cut_off or cut_off
        return draft

    def _draft(self, key: Key) -> Draft:
        key = self._resolved(key)
        if key not in self.drafts:
            self.drafts[key] = Draft(key)
        return self.drafts[key]

    def _resolved(self, key: Key) -> Key:
        while key in self._joined:
            key = self._joined[key]
        return key

    def _hang(self, draft: Draft, parent: Key | None) -> None:
        """Make a turn the child of another, or of none."""
        if draft.parent is not None:
            self._below[draft.parent].pop(draft.key, None)
        draft.parent = parent
        if parent is not None:
            self._below[parent][draft.key] = draft

    def _drop(self, draft: Draft) -> None:
        self._hang(draft, None)
        del self.drafts[draft.key]

    # --- the turns

    def _place_turns(self) -> None:
        turns = [(node, self._anchor(node.span)) for nodes in self._turns_of.values() for node in nodes]
        for node, _ in turns:
            self._draft(node.key).heads.append(node)
        for node, anchor in turns:
            if anchor is not None and anchor.reading.role in _TURNS:
                self._hang(self.drafts[node.key], anchor.key)
        for node, anchor in turns:  # only now is it known which agents an envelope holds
            if anchor is not None and anchor.reading.role not in _TURNS:
                self._hang(self.drafts[node.key], self._owner(anchor).key)

    def _owner(self, node: Node) -> Draft:
        """The turn to which what hangs from this span belongs."""
        if node.reading.role in _TURNS:
            return self._draft(node.key)
        anchor = self._anchor(node.span)
        if node.reading.role is Role.TOOL and anchor is not None and anchor.reading.role is Role.TOOL:
            return self._owner(anchor)
        if anchor is None:
            anchor = self._at_work(node.span)
        if anchor is None:
            return self._orphanage(node.span)
        if node.reading.role is Role.CALL and anchor.reading.role is Role.TOOL:
            return self._of_tool(anchor)
        owner = self._owner(anchor)
        return self._narrowed(owner, node)

    def _of_tool(self, tool: Node) -> Draft:
        """The turn of a sub-agent that only its tool call stands for."""
        draft = self._draft(tool.key)
        if draft.parent is None:
            self._hang(draft, self._owner(tool).key)
        return draft

    def _narrowed(self, owner: Draft, node: Node) -> Draft:
        """In an envelope, the agent at work when the span started."""
        if not owner.heads or owner.heads[0].reading.role is not Role.RUN or node.span.start is None:
            return owner
        below = [draft.heads[0] for draft in self._below[owner.key].values() if draft.heads]
        found = latest_around(node.span, below)
        return self._narrowed(self._draft(found.key), node) if found is not None else owner

    # --- what belongs to them

    def _place_calls(self) -> None:
        for node in self._by_role[Role.CALL]:
            outer = self._outermost_call(node)
            if outer is None:
                self._owner(node).calls.append(node)
            else:
                self._owner(outer).retold.setdefault(outer.key, []).append(node)

    def _outermost_call(self, node: Node) -> Node | None:
        found: Node | None = None
        anchor = self._anchor(node.span)
        while anchor is not None and anchor.reading.role is Role.CALL:
            found = anchor
            anchor = self._anchor(anchor.span)
        return found

    def _fold_doubles(self) -> None:
        """Put each second telling of a request to the first."""
        if len({node.span.scope.name for node in self._by_role[Role.CALL]}) < 2:  # noqa: PLR2004 - nobody tells twice
            return
        traces: dict[str, list[Placed]] = defaultdict(list)
        for draft in self.drafts.values():
            for node in draft.calls:
                traces[node.span.trace_id].append(Placed(node, draft))
        for kept, other in (pair for placed in traces.values() for pair in doubles_in(placed)):
            self._fold(kept, other)

    def _fold(self, kept: Placed, other: Placed) -> None:
        other.draft.calls.remove(other.node)
        again = (other.node, *other.draft.retold.pop(other.node.key, ()))
        kept.draft.retold.setdefault(kept.node.key, []).extend(again)
        self._folded[other.node.key] = kept.node

    def _place_tools(self) -> None:
        for node in self._by_role[Role.TOOL]:
            anchor = self._anchor(node.span)
            draft = self._caller(node, anchor)
            if draft is None:
                continue
            draft.tools.append(node)
            if anchor is not None and anchor.reading.role is Role.CALL:
                draft.under_call[node.key] = (self._outermost_call(node) or anchor).key

    def _caller(self, node: Node, anchor: Node | None) -> Draft | None:
        """The turn that made a tool call; none where another call's own code made it, or told it twice."""
        if anchor is not None and anchor.reading.role is Role.TOOL:
            return self.drafts.get(anchor.key)
        return self._owner(node)

    def _place_inner(self) -> None:
        for node in self._by_role[Role.INNER]:
            if not node.reading.claims:
                continue
            anchor = self._anchor(node.span) or self._at_work(node.span)
            if anchor is not None and anchor.reading.role is not Role.TOOL:
                self._narrowed(self._owner(anchor), node).inner.append(node)

    # --- envelopes and doubles

    def _settle_heads(self) -> None:
        """From the innermost outwards: join what is one turn, dissolve envelopes."""
        for key in sorted((k for k, d in self.drafts.items() if d.heads), key=self._depth, reverse=True):
            draft = self.drafts[key]
            head = draft.heads[-1]
            below = [d for d in self._below[key].values() if d.heads and not self._by_tool(d)]
            own = draft.calls or draft.tools
            if own or not below:
                if head.reading.role is Role.RUN and not own:
                    self._drop(draft)
            elif len(below) == 1:
                self._join(draft, below[0])
            elif head.reading.role is Role.RUN and not any(node.reading.one_message for node in draft.heads):
                self._dissolve(draft, below)
        self._settle_echoes()

    def _settle_echoes(self) -> None:
        """Turn spans without anything in them, because what they did hangs beside them: no turns of their own."""
        for draft in list(self.drafts.values()):
            if draft.parent is None or draft.calls or draft.tools or not draft.heads or self._says_something(draft):
                continue
            tool = self._anchor(draft.heads[-1].span)
            if tool is not None and tool.reading.role is Role.TOOL:
                self._name_sub_agent(self.drafts.get(tool.key), draft)
            elif self._works_inside(self.drafts.get(draft.parent), draft):
                self._drop(draft)

    def _name_sub_agent(self, beside: Draft | None, draft: Draft) -> None:
        """Give the turn that only its tool call stands for the empty turn span that hangs from the same call."""
        if beside is not None and beside is not draft:
            beside.heads.extend(draft.heads)
            self._drop(draft)

    def _says_something(self, draft: Draft) -> bool:
        return bool(self._below[draft.key]) or any(node.reading.claims for node in draft.heads)

    def _works_inside(self, outer: Draft | None, draft: Draft) -> bool:
        """Whether requests of the outer turn ran in the time of this one."""
        return outer is not None and any(latest_around(call.span, draft.heads) is not None for call in outer.calls)

    def _depth(self, key: Key) -> tuple[int, Key]:
        return (sum(1 for _ in self._tree.ancestors(self._tree.spans[key])) if key in self._tree.spans else 0, key)

    def _by_tool(self, draft: Draft) -> bool:
        anchor = self._anchor(draft.heads[-1].span)
        return anchor is not None and anchor.reading.role is Role.TOOL

    def _join(self, outer: Draft, inner: Draft) -> None:
        inner.heads.extend(outer.heads)
        inner.inner.extend(outer.inner)
        self._hang(inner, outer.parent)
        self._joined[outer.key] = inner.key
        for draft in list(self._below[outer.key].values()):
            self._hang(draft, inner.key)
        self._drop(outer)

    def _dissolve(self, run: Draft, below: list[Draft]) -> None:
        """The agents of one run: each is a turn of its own, but one that another handed over to is that one's child."""
        below.sort(key=lambda draft: self._order(draft.heads[0].key))
        for position, draft in enumerate(below):
            giver = giver_of(draft, below[:position])
            self._hang(draft, giver.key if giver is not None else run.parent)
        self._drop(run)
