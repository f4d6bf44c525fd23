"""The spellings that names and texts must have, each with the words that explain it to whoever misses it."""

from typing import Final

__all__ = ["LABEL_NAME", "LABEL_VALUE", "METRIC_NAME", "NAME", "RELATIVE_PATH", "RESOURCE_NAME", "SPELLINGS"]

# Names become folder and object names, so separators, dots and a leading dash are refused, not cleaned up.
NAME: Final = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
RESOURCE_NAME: Final = r"^[a-zA-Z0-9]([a-zA-Z0-9./_-]{0,251}[a-zA-Z0-9])?$"
LABEL_VALUE: Final = r"^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?$"
METRIC_NAME: Final = r"^[a-zA-Z_:][a-zA-Z0-9_:]*$"
LABEL_NAME: Final = r"^[a-zA-Z_][a-zA-Z0-9_]*$"
# Each part starts with something else than a dot, so neither `..` nor a leading or double slash gets through.
RELATIVE_PATH: Final = r"^[a-zA-Z0-9_-][a-zA-Z0-9._-]*(/[a-zA-Z0-9_-][a-zA-Z0-9._-]*)*$"

SPELLINGS: Final = {
    NAME: "a name of lower-case letters, digits and inner dashes, 63 at most",
    RESOURCE_NAME: "a Kubernetes resource or label key such as cpu or nvidia.com/gpu",
    LABEL_VALUE: "a Kubernetes label value: letters, digits and inner dashes, dots or underscores, 63 at most",
    METRIC_NAME: "a Prometheus metric name: letters, digits, underscores and colons",
    LABEL_NAME: "a Prometheus label name: letters, digits and underscores",
    RELATIVE_PATH: "a relative path inside the folder of this file, without dot-dot",
}
