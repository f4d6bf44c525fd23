"""A row's turn: the working record that the passes of one cycle fill in, and the value it becomes."""

from scaletest.engine.decide.lines import Line
from scaletest.engine.decide.lots import Claim
from scaletest.engine.decide.values import Choice, Outcome
from scaletest.engine.decide.views import View
from scaletest.model import Resources

__all__ = ["Turn"]


class Turn:
    """One row in one cycle: what it claimed, what it acquired, what it still wants (amounts over the view's dims)."""

    __slots__ = (
        "acquired", "ask", "choice", "claims", "gang", "line", "local", "names", "need", "outcome", "parked", "view",
        "wanted",
    )  # fmt: skip

    def __init__(self, line: Line, view: View, *, parked: bool) -> None:
        ask = line.ask
        self.line = line
        self.need = line.need
        self.ask = ask
        self.gang = ask.gang
        self.view = view
        self.parked = parked
        self.choice: Choice | None = None
        self.claims: list[Claim] = []
        self.names: tuple[str, ...] | None = None
        """The claimed machines, if somebody has listed them already."""
        self.acquired: list[Claim] = []
        self.local = False
        """Whether the pre-pass covered it by what is held for it, and looked at nothing that could be acquired."""
        self.outcome: Outcome | None = None
        self.wanted = list(ask.wanted)

    @property
    def domain(self) -> str | None:
        """Return the chosen domain, if the row is a gang that has one."""
        return self.choice.domain if self.choice is not None else None

    def deficit(self) -> Resources:
        """Return what is still missing."""
        if not any(self.wanted):
            return Resources()
        return Resources(tuple((name, want) for name, want in zip(self.view.dims, self.wanted, strict=True) if want))
