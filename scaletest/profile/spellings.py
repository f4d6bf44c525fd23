"""The spellings that names and texts must have, each with the words that explain it to whoever misses it."""

from typing import Final

__all__ = [
    "ABLATION",
    "DATE",
    "DIGEST",
    "LABEL_KEY",
    "LABEL_NAME",
    "LABEL_VALUE",
    "METRIC_NAME",
    "NAME",
    "RELATIVE_PATH",
    "RESOURCE_NAME",
    "SPELLINGS",
    "URL_PATH",
]

# Names become folder and object names, so separators, dots and a leading dash are refused, not cleaned up.
NAME: Final = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
# Kubernetes knows a few resources by a bare name; all others carry a domain. So a misspelt `cpu` is no new resource.
RESOURCE_NAME: Final = (
    r"^(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMG]i|"
    r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?)$"
)
LABEL_KEY: Final = r"^[a-zA-Z0-9]([a-zA-Z0-9./_-]{0,251}[a-zA-Z0-9])?$"
LABEL_VALUE: Final = r"^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?$"
METRIC_NAME: Final = r"^[a-zA-Z_:][a-zA-Z0-9_:]*$"
LABEL_NAME: Final = r"^[a-zA-Z_][a-zA-Z0-9_]*$"
# Each part starts with something else than a dot, so neither `..` nor a leading or double slash gets through.
RELATIVE_PATH: Final = r"^[a-zA-Z0-9_-][a-zA-Z0-9._-]*(/[a-zA-Z0-9_-][a-zA-Z0-9._-]*)*$"
URL_PATH: Final = r"^/[!-~]*$"
ABLATION: Final = r"^AB-[A-Z0-9]{1,16}$"
DATE: Final = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
DIGEST: Final = r"^[0-9a-f]{16}$"

SPELLINGS: Final = {
    NAME: "a name of lower-case letters, digits and inner dashes, 63 at most",
    RESOURCE_NAME: "a resource: cpu, memory, ephemeral-storage, hugepages-2Mi, or one with a domain as nvidia.com/gpu",
    LABEL_KEY: "a Kubernetes label key such as topology.kubernetes.io/zone",
    LABEL_VALUE: "a Kubernetes label value: letters, digits and inner dashes, dots or underscores, 63 at most",
    METRIC_NAME: "a Prometheus metric name: letters, digits, underscores and colons",
    LABEL_NAME: "a Prometheus label name: letters, digits and underscores",
    RELATIVE_PATH: "a relative path inside the folder of this file, without dot-dot",
    DATE: 'a day in quotes, such as "2026-11-18"',
    DIGEST: "a digest of 16 hexadecimal digits",
    ABLATION: "an ablation such as AB-16, as `scaletest ablations` lists them",
    URL_PATH: "a path of a URL, which starts with a slash and has no spaces",
}
