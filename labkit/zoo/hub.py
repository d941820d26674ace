"""Models of the Hugging Face hub: read its cache on this machine, and download on request.

No text that comes back from the hub, and no header, is ever shown: only our own words for what
happened. A token is left to huggingface_hub, which reads it from its own places.
"""

import errno
from pathlib import Path

from labkit.models.errors import DamagedModel, UnavailableModel
from labkit.models.folder import missing_files

_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model"]
_UNWANTED = ["*/*"]  # folders hold the same weights in other formats
_STATUS = {
    401: "the hub needs a valid token, or has no model of this name; `hf auth login` sets a token",
    403: "the hub does not let this token read the model; make one with read access",
    404: "the hub has no model of this name",
    429: "the hub says that too many requests come from here; wait a few minutes",
}


def cached_folder(name: str) -> tuple[Path | None, str]:
    """A model's folder in the hub's cache, or None and why not, in words."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        config = None
    if not isinstance(config, str):
        return None, "it is not in the hub's cache on this machine"
    folder = Path(config).parent
    if missing := missing_files(folder):
        return None, f"the hub's cache holds only a part of it ({missing[0]} is missing)"
    return folder, ""


def fetch(name: str, instead: str) -> Path:
    """Download a model, unless the cache has all of it, and return its folder.

    instead: what to do without it, a sentence for the error.
    Raises: UnavailableModel saying why, in words; DamagedModel if the hub has no safetensors of it.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    folder, _ = cached_folder(name)
    if folder is not None:
        return folder
    try:
        folder = Path(snapshot_download(name, allow_patterns=_WANTED, ignore_patterns=_UNWANTED))
    except HFValidationError:
        raise ValueError(f"{name!r} is no hub model; a name reads like Qwen/Qwen3-8B") from None
    except Exception as error:  # whatever it is, its text may hold a header
        raise UnavailableModel(f"cannot fetch {name}: {reason(error)}. {instead}") from None
    if missing := missing_files(folder):
        raise DamagedModel(
            f"the hub's copy of {name} has no {', '.join(missing)}, and labkit opens no other "
            f"format. {instead}"
        )
    return folder


def reason(error: BaseException) -> str:
    """Why the hub could not be asked or did not answer, in our words."""
    from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled

    chain = _chain(error)
    status = next((code for each in chain if (code := _status(each))), None)
    if any(isinstance(each, OfflineModeIsEnabled) for each in chain):
        return "HF_HUB_OFFLINE is set, which forbids asking the hub; unset it and restart Python"
    if any(isinstance(each, GatedRepoError) for each in chain):
        return _gated(status)
    if status is not None:
        return _STATUS.get(status) or (
            f"the hub has a fault of its own (status {status}); try again later"
            if status >= 500
            else f"the hub refused (status {status})"
        )
    if any(getattr(each, "errno", None) in (errno.ENOSPC, errno.EDQUOT) for each in chain):
        return "the disk is full; huggingface_hub keeps its cache where HF_HOME says"
    if any(isinstance(e, UnicodeError) or "LocalProtocol" in type(e).__name__ for e in chain):
        return "the request could not be sent; if HF_TOKEN is set, it may hold a stray character"
    if any(_is_connection(each) for each in chain):
        return f"this machine cannot reach the hub ({_host()})"
    return f"huggingface_hub gave up ({type(error).__name__})"


def _gated(status: int | None) -> str:
    who = "no valid token was sent" if status == 401 else "the token's account has no access to it"
    return (
        f"the model is gated and {who}; accept its licence on its page at the hub, then "
        "`hf auth login` with a token of that account"
    )


def _chain(error: BaseException) -> list[BaseException]:
    """The error, and what led to it."""
    chain: list[BaseException] = []
    step: BaseException | None = error
    while step is not None and step not in chain:
        chain.append(step)
        step = step.__cause__ or step.__context__
    return chain


def _status(error: BaseException) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _is_connection(error: BaseException) -> bool:
    return isinstance(error, (ConnectionError, TimeoutError)) or any(
        word in type(error).__name__
        for word in ("Connect", "Timeout", "Proxy", "Network", "RemoteProtocol")
    )


def _host() -> str:
    from urllib.parse import urlsplit

    from huggingface_hub import constants

    return urlsplit(constants.ENDPOINT).hostname or "its address in HF_ENDPOINT is not valid"
