"""proof.json: the matrix of ablations and worlds as a document of version 1."""

from typing import Any, Final

from scaletest.gates.matrix import Cell, Figure, Matrix, World
from scaletest.report.canonical import canonical_text

__all__ = ["PROOF_VERSION", "proof_document", "proof_text"]

PROOF_VERSION: Final = 1


def proof_text(matrix: Matrix) -> str:
    """Return proof.json: equal matrices give the same bytes."""
    return canonical_text(proof_document(matrix))


def proof_document(matrix: Matrix) -> dict[str, Any]:
    """Return the matrix as plain values."""
    return {
        "version": PROOF_VERSION,
        "conclusion": str(matrix.conclusion),
        "ablations": [
            {
                "id": rule.ablation,
                "removes": rule.removes,
                "byRun": rule.by_run,
                "standing": str(matrix.standing(rule)),
            }
            for rule in matrix.rules
        ],
        "worlds": [_world(world) for world in matrix.worlds],
        "cells": [_cell(cell) for cell in matrix.cells],
    }


def _world(world: World) -> dict[str, Any]:
    runs = (world.complete[seed] for seed in world.seeds if seed in world.complete)
    return {
        "profile": world.profile,
        "seeds": list(world.seeds),
        "complete": [{"seed": run.seed, "outcome": run.outcome, "reason": run.reason} for run in runs],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "profile": cell.world.profile,
        "ablation": cell.rule.ablation,
        "maskedBy": list(cell.masked_by),
        "claimed": bool(cell.claimed),
        "finding": str(cell.finding),
        "why": cell.why(),
        "caughtSeeds": list(cell.caught),
        "gates": [_figure(figure) for figure in cell.figures()],
        "repeat": cell.repeat(cell.world.seeds[0]),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.gate,
        "bar": figure.bar,
        "failedSeeds": list(figure.failed),
        "withoutRule": None if figure.without is None else list(figure.without),
        "withRule": None if figure.with_rule is None else list(figure.with_rule),
    }
