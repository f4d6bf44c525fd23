"""The door: strict YAML in, typed values or a full list of problems out."""

from scaletest.profile.catalog import Archetype, Catalog
from scaletest.profile.disk import file_text
from scaletest.profile.engine import EngineManifest, Metric
from scaletest.profile.problems import Problem, ProfileError, Severity
from scaletest.profile.profile import Profile
from scaletest.profile.reading import (
    KINDS,
    AnyFile,
    Reading,
    read_any,
    read_catalog,
    read_engine,
    read_profile,
    read_substrate,
)
from scaletest.profile.substrate import Substrate

__all__ = [
    "KINDS",
    "AnyFile",
    "Archetype",
    "Catalog",
    "EngineManifest",
    "Metric",
    "Problem",
    "Profile",
    "ProfileError",
    "Reading",
    "Severity",
    "Substrate",
    "file_text",
    "read_any",
    "read_catalog",
    "read_engine",
    "read_profile",
    "read_substrate",
]
