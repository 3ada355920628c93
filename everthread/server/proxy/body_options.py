"""The options for the memory in the body of a request, for SDKs that can't send headers."""

from __future__ import annotations

from dataclasses import dataclass

from everthread.errors import BadInput

OPTIONS_FIELD = "everthread"  # of the body


@dataclass(frozen=True, slots=True)
class BodyOptions:
    """The options in the body's field `everthread`; None where one is not given."""

    bank: str | None = None
    session: str | None = None
    memory: bool | None = None
    budget: int | None = None

    @classmethod
    def parse(cls, value: object) -> BodyOptions:
        """Parse the value of the field.

        Raises:
            BadInput: it is not an object, or has an unknown or invalid member.
        """
        if value is None:
            return cls()
        if not isinstance(value, dict):
            raise BadInput(f"invalid {OPTIONS_FIELD}: got {str(value)[:40]!r}, expected an object")
        types = {"bank": str, "session": str, "memory": bool, "budget": int}
        for name, option in value.items():
            if name not in types:
                expected = ", ".join(types)
                raise BadInput(f"unknown member {name[:40]!r} of {OPTIONS_FIELD}; expected one of {expected}")
            if option is not None and type(option) is not types[name]:
                raise BadInput(
                    f"invalid {OPTIONS_FIELD}.{name}: got {str(option)[:40]!r}, expected a {types[name].__name__}"
                )
        if (budget := value.get("budget")) is not None and budget < 1:
            raise BadInput(f"invalid {OPTIONS_FIELD}.budget: got {budget}, expected a number of tokens from 1")
        return cls(**value)
