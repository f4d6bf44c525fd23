"""One cluster's demand as rows, kept up to date owner by owner: only rows that changed are built again."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from scaletest.model import Need, NeedProfile, Operator, Requirement, Resources, group_name, penalty_bucket
from scaletest.ports.cluster import Owner, PodTemplate

__all__ = ["RowBook", "profile_of"]


@lru_cache(maxsize=4096)
def profile_of(template: PodTemplate) -> NeedProfile:
    """Return the identity under which the engine sees the Pods of a template."""
    requirements = template.requirements
    if template.colocation_key is not None:
        requirements = (*requirements, Requirement(template.colocation_key, Operator.SAME))
    return NeedProfile.of(
        requirements=requirements,
        spread=template.spread,
        priority=template.priority,
        interruption=penalty_bucket(template.interruption_penalty_uusd),
        reclamation=penalty_bucket(template.reclamation_penalty_uusd),
    )


class _Row:
    """One (profile, group) with its Pods, counted by what each of them asks for."""

    __slots__ = ("counts", "group", "need", "profile")

    def __init__(self, profile: NeedProfile, group: str) -> None:
        self.profile = profile
        self.group = group
        self.counts: dict[Resources, int] = {}
        self.need: Need | None = None

    def add(self, unit: Resources, pods: int) -> None:
        count = self.counts.get(unit, 0) + pods
        if count:
            self.counts[unit] = count
        else:
            self.counts.pop(unit, None)

    def build(self, cluster: str) -> None:
        total, peak = _NOTHING, _NOTHING
        for unit, count in self.counts.items():
            total += unit.times(count)
            peak = peak.peak(unit)
        need = Need(cluster, self.profile, total, peak, self.group) if self.counts else None
        # A row that is as it was stays the same object: whoever remembers rows by identity knows it again.
        if need != self.need:
            self.need = need


_NOTHING: Final = Resources()


class RowBook:
    """The rows of one cluster."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._places: dict[int, tuple[_Row, Resources]] = {}
        self._counts: dict[int, int] = {}
        self._rows: dict[tuple[str, str], _Row] = {}
        self._uncounted: dict[int, int] = {}
        """What changed by owner since rows were last asked for, and all of owners that are not known yet."""
        self._needs: tuple[Need, ...] = ()

    def knows(self, owner: int) -> bool:
        """Say whether it is known what an owner's Pods ask for."""
        return owner in self._places

    def learn(self, owner: Owner) -> None:
        """Take in what an owner's Pods ask for; those already counted find their row when rows are next asked for."""
        if owner.id in self._places:
            return
        profile = profile_of(owner.template)
        group = "" if profile.same_key is None else group_name(self._cluster, owner.name)
        key = (profile.fingerprint, group)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = _Row(profile, group)
        self._places[owner.id] = row, owner.template.requests

    def add(self, owner: int, pods: int) -> None:
        """Count some Pods of an owner more, or less."""
        self._counts[owner] = self._counts.get(owner, 0) + pods
        self._uncounted[owner] = self._uncounted.get(owner, 0) + pods

    def set(self, counts: Mapping[int, int]) -> None:
        """Count exactly these Pods per owner, and none of any other."""
        for owner in tuple(self._counts):
            if owner not in counts and self._counts[owner]:
                self.add(owner, -self._counts[owner])
        for owner, count in counts.items():
            if count != (known := self._counts.get(owner, 0)):
                self.add(owner, count - known)

    def needs(self) -> tuple[Need, ...]:
        """Return one Need per row that has Pods, sorted by fingerprint and group."""
        if stale := self._count():
            for row in stale:
                row.build(self._cluster)
            rows = sorted(self._rows.items())
            self._needs = tuple([row.need for _, row in rows if row.need is not None])
        return self._needs

    def _count(self) -> dict[_Row, None]:
        """Bring rows up to date, and return those that changed."""
        changed, self._uncounted = self._uncounted, {}
        stale: dict[_Row, None] = {}
        for owner, pods in changed.items():
            place = self._places.get(owner)
            if place is None:
                self._uncounted[owner] = pods
            elif pods:
                row, unit = place
                row.add(unit, pods)
                stale[row] = None
        return stale
