"""What the engine on a card knows, and what is refused there by name."""

from typing import Any

import numpy as np

from ngmca.engines import Counts, Engine, by_part
from ngmca.task.known import Known

METHODS = ("soft", "hard", "anls")


def check_on_card(
    engine: Engine,
    method: str,
    known: Known,
    noise: Any,
    *,
    robust: bool,
    posterior: bool = False,
    auto: bool = False,
    out: bool = False,
) -> None:
    """Refuse what the card would not heed, a number of sources to find too; nothing elsewhere."""
    if engine.place != "gpu":
        return
    if method not in METHODS:
        raise ValueError(
            f"device='cuda' knows the methods {', '.join(METHODS)}, got method={method!r}: take 'cpu'."
        )
    unknown = set(known.given)
    unknown |= {"robust"} if robust else set()
    unknown |= {"posterior"} if posterior else set()
    unknown |= {"a number of sources 'auto'"} if auto else set()
    unknown |= {"out"} if out else set()
    noise = by_part(noise, engine)
    entries = np.ndim(noise) == 2 and min(np.shape(noise)) > 1
    if isinstance(noise, str | Counts) or entries:
        unknown.add("a level for each number")
    for name in sorted(unknown):
        later = ", or sample afterwards (`ngmca posterior OUT`)" if name == "posterior" else ""
        raise ValueError(f"{name} and device='cuda' do not go together: take device='cpu'{later}.")
