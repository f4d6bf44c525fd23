"""What one profile sees of the fleet: the cells it can use, by domain, and their lots that have machines left.

A view is looked up by (profile, unit, dimensions) and lives across cycles; it re-reads a pool only when the pool says
that its cells or lots changed.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Final

from scaletest.engine.decide.fleet import Fleet
from scaletest.engine.decide.lines import Ask, Line
from scaletest.engine.decide.lots import Amounts, Cell, Holding, Lot, Pool, Shape, Sight
from scaletest.engine.decide.matching import counted, matches, visible_keys
from scaletest.engine.decide.rules import Rules
from scaletest.engine.decide.values import Choice, Rule
from scaletest.engine.decide.vectors import Place, Vector
from scaletest.model import MachineState, NeedProfile, Resources
from scaletest.model.attribution import penalty_uusd

__all__ = ["Offers", "Rank", "View", "Views", "keep_rank"]

Offers = list[tuple[Lot, Vector]]
"""Lots with machines to take, and what one machine counts for."""
Rank = Callable[[Lot], tuple[int, ...]]

_PPM: Final = 1_000_000
_MOST_VIEWS: Final = 16_384
_FEW_ASKS: Final = 1_024
"""So many short cuts may be of asks that have gone: plain rows ask for something new with every roll-up."""


keep_rank: Rank = attrgetter("keep")
"""Rank bound lots: cheap ones and those whose loss costs most are kept first."""


class View:
    """One profile's sight of the fleet, with amounts as tuples over the dimensions it asks for."""

    __slots__ = (
        "_cells",
        "_domains",
        "_kinds",
        "_placed",
        "_types",
        "_vectors",
        "dims",
        "places",
        "profile",
        "rank_idle",
        "rank_spec",
        "rules",
        "unit",
    )

    def __init__(self, ask: Ask, rules: Rules, *, floor: bool) -> None:
        self.profile: NeedProfile = ask.profile
        self.dims = ask.dims
        self.unit = ask.min_unit if floor else Resources()
        self.rules = rules
        self._types, _ = visible_keys(ask.profile, as_gang=True)
        penalty = penalty_uusd(ask.profile.interruption)
        self.rank_idle: Rank = lambda lot: (lot.price_uusd,)
        self.rank_spec: Rank = lambda lot: (lot.price_uusd * _PPM + lot.interruption_ppm * penalty,)
        self.places: dict[Shape, Place | None] = {}
        """What `place` has answered so far."""
        self._kinds: dict[Place, Place] = {}
        self._vectors: dict[Vector, Vector] = {}
        self._cells: dict[Pool, tuple[int, list[tuple[Cell, Vector]]]] = {}
        self._placed: dict[Pool, tuple[int, list[tuple[str, Cell, Vector]]]] = {}
        self._domains: dict[Pool, tuple[int, dict[str, list[tuple[Cell, Vector]]]]] = {}

    def place(self, shape: Shape) -> Place | None:
        """Return what a machine of this shape counts for and its domain, or None if the profile cannot use it.

        Equal answers are the same object, and so are their equal parts.
        """
        try:
            return self.places[shape]
        except KeyError:
            found = self._look(shape)
            if found is not None:
                found = self._kinds.setdefault(found, found)
            self.places[shape] = found
            return found

    def _look(self, shape: Shape) -> Place | None:
        if not shape.allocatable.covers(self.unit) or not matches(self.profile, shape.label):
            return None
        worth = counted(shape.allocatable, self.unit, counting=self.rules.counting)
        key = self.profile.same_key
        vector = tuple([worth[name] for name in self.dims])
        return self._vectors.setdefault(vector, vector), (shape.label(key) or "") if key else ""

    def sight(self, holding: Holding) -> Sight | None:
        """Return what a holding is to this profile, or None if its machines differ in kind or domain.

        The answer is kept with the holding, and forgotten when a machine of it comes or goes.
        """
        if holding.viewer is not self:
            holding.viewer, holding.seen = self, self._sight(holding)
        return holding.seen

    def _sight(self, holding: Holding) -> Sight | None:
        lots = holding.lots
        place = self.place(lots[0].cell.shape)
        if place is None or any(self.place(lot.cell.shape) is not place for lot in lots):
            return None
        names = tuple(sorted([name for lot in lots for name in lot.ids]))
        claims = [(lot, 0, lot.count) for lot in lots]
        return Sight(place, len(names), claims, names, Choice(place[1], Rule.OWN, satisfiable=True))

    def cells(self, pool: Pool) -> list[tuple[Cell, Vector]]:
        """Return the pool's cells that the profile can use."""
        known = self._cells.get(pool)
        if known is not None and known[0] == pool.version:
            return known[1]
        found = [(cell, place[0]) for cell in self._candidates(pool) if (place := self.place(cell.shape)) is not None]
        self._cells[pool] = (pool.version, found)
        return found

    def _candidates(self, pool: Pool) -> Iterable[Cell]:
        """Return the pool's cells of the instance types that the profile names: of all others it can use none."""
        if self._types is None:
            return pool.cells.values()
        return [cell for kind in self._types for cell in pool.cells_by_type.get(kind, ())]

    def domains(self, pool: Pool) -> dict[str, list[tuple[Cell, Vector]]]:
        """Return the usable cells by value of the gang's topology key."""
        known = self._domains.get(pool)
        if known is not None and known[0] == pool.version:
            return known[1]
        found: dict[str, list[tuple[Cell, Vector]]] = {}
        for cell in self._candidates(pool):
            place = self.place(cell.shape)
            if place is not None:
                found.setdefault(place[1], []).append((cell, place[0]))
        self._domains[pool] = (pool.version, found)
        return found

    def placed(self, pool: Pool) -> list[tuple[str, Cell, Vector]]:
        """Return the usable cells with their domain, as one flat list: the domain choice walks it for every gang."""
        known = self._placed.get(pool)
        if known is not None and known[0] == pool.version:
            return known[1]
        found = [(value, cell, vector) for value, cells in self.domains(pool).items() for cell, vector in cells]
        self._placed[pool] = (pool.version, found)
        return found

    def offers(self, pool: Pool) -> Offers:
        """Return the pool's usable lots that have machines left."""
        return _with_machines(self.cells(pool))

    def domain_offers(self, pool: Pool, domain: str) -> Offers:
        """Return the usable lots of one domain that have machines left."""
        return _with_machines(self.domains(pool).get(domain, ()))

    def rank(self, state: MachineState) -> Rank:
        """Return how lots in a state are ordered for this profile."""
        if state is MachineState.IDLE:
            return self.rank_idle
        return self.rank_spec if state is MachineState.SPECULATIVE else keep_rank


def _with_machines(cells: Iterable[tuple[Cell, Vector]]) -> Offers:
    return [
        (lot, vector)
        for cell, vector in cells
        if cell.count > cell.taken
        for lot in cell.lots.values()
        if lot.count > lot.taken
    ]


class Views:
    """The views of one fleet under one set of rules."""

    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self.fleet = fleet
        self.rules = rules
        self._shown: set[tuple[str, bool]] = set()
        self._asked: dict[bool, dict[Ask, None]] = {False: {}, True: {}}
        """What rows asked for when they were last shown: most of it comes again."""
        self._views: dict[tuple[str, Amounts, tuple[str, ...], bool], View] = {}
        self._of: dict[Ask, View] = {}
        """Short cuts into the views, which asks come to by the thousand and views by the dozen."""
        self._holders: dict[tuple[str, Amounts], tuple[int, list[Shape]]] = {}
        self._fits: dict[tuple[str, Amounts], tuple[bool, list[Shape]]] = {}

    def show(self, lines: Iterable[Line], *, as_gangs: bool) -> None:
        """Make every label that these rows' profiles look at visible; if that is news, start all views anew."""
        asks = dict.fromkeys(map(attrgetter("ask"), lines))
        known = self._asked[as_gangs]
        self._show([ask for ask in asks if ask not in known], as_gangs=as_gangs)
        self._asked[as_gangs] = asks
        before = self.fleet.generation
        self.fleet.refresh()
        if before != self.fleet.generation or max(len(self._views), len(self._holders)) > _MOST_VIEWS:
            self._views.clear()
            self._of.clear()
            self._holders.clear()
        if len(self._of) > 2 * len(asks) + _FEW_ASKS:
            self._of.clear()
        # Which gangs fit is asked anew every cycle, once per profile and size.
        self._fits.clear()

    def _show(self, asks: Iterable[Ask], *, as_gangs: bool) -> None:
        for ask in asks:
            mark = (ask.fingerprint, as_gangs)
            if mark not in self._shown:
                self._shown.add(mark)
                self.fleet.see(*visible_keys(ask.profile, as_gang=as_gangs or self._never_fits(ask)))

    def _never_fits(self, ask: Ask) -> bool:
        """Say whether no machine was ever large enough for a gang: it cannot fold, so its domains can show at once."""
        types, _ = visible_keys(ask.profile, as_gang=True)
        makes = self.fleet.makes_holding(ask.aggregate)
        return ask.gang and not any(types is None or kind in types for kind, _ in makes)

    def of(self, ask: Ask) -> View:
        """Return the view of a row under the rules."""
        view = self._of.get(ask)
        if view is None:
            view = self._of[ask] = self.with_floor(ask, floor=self.rules.unit_floor)
        return view

    def with_floor(self, ask: Ask, *, floor: bool) -> View:
        """Return the view of a row; `floor` says whether machines must hold one unit."""
        key = (ask.fingerprint, ask.min_unit.amounts, ask.dims, floor)
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = View(ask, self.rules, floor=floor)
        return view

    def fits_one_machine(self, ask: Ask) -> bool:
        """Say whether a whole gang fits on some machine: bound or being bound to its cluster, Idle or Speculative."""
        key = (ask.fingerprint, ask.aggregate.amounts)
        known = self._fits.get(key)
        if known is None:
            shapes = self._holding(ask)
            pools = (self.fleet.pool(MachineState.IDLE), self.fleet.pool(MachineState.SPECULATIVE))
            known = self._fits[key] = (any(_has_one(pool, shapes) for pool in pools), shapes)
        anywhere, shapes = known
        if anywhere or not shapes:
            return anywhere
        return any(_has_one(pool, shapes) for pool in self.fleet.held(ask.cluster)[:2])

    def _holding(self, ask: Ask) -> list[Shape]:
        shapes = self.fleet.shapes
        key = (ask.fingerprint, ask.aggregate.amounts)
        known = self._holders.get(key)
        if known is not None and known[0] == len(shapes):
            return known[1]
        makes = self.fleet.makes_holding(ask.aggregate)
        found = [shape for (make, _), shape in shapes.items() if make in makes and matches(ask.profile, shape.label)]
        self._holders[key] = (len(shapes), found)
        return found


def _has_one(pool: Pool, shapes: list[Shape]) -> bool:
    cells = pool.cells
    return any((cell := cells.get(shape)) is not None and cell.count for shape in shapes)
