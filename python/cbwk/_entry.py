"""Own code of a study: how it is described in study files, found again, and called by the engine."""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._native import TaskHandle
from ._own import Oracle, Policy
from ._task import Task

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Made = TypeVar("Made", Policy, Oracle)


class Entry:
    """A policy, oracle, conversion or context law of the user's own: a class, an object, or a function."""

    def __init__(self, code: Any) -> None:
        self.code = code

    def describe(self) -> dict[str, Any]:
        """The keys of a study file: module, class, arguments, whether it is an object, and the hash of the source."""
        target: Any = self.code
        arguments: dict[str, Any] = {}
        instance = False
        if isinstance(target, functools.partial):
            if target.args:
                raise ValueError(f"own code: found {target!r:.60}; accepted: functools.partial with arguments by name")
            target, arguments = target.func, target.keywords
        elif not isinstance(target, type) and not inspect.isroutine(target):
            instance, arguments, target = True, _arguments(target), type(target)
        keys: dict[str, Any] = {"module": target.__module__, "class": target.__qualname__}
        if arguments:
            keys["arguments"] = ", ".join(f"{name}={_literal(value)}" for name, value in arguments.items())
        if instance:
            keys["instance"] = True
        source = _hash(target)
        return {**keys, "source": source} if source else keys

    @property
    def name(self) -> str:
        """Its name in results, if none is given."""
        target = self.code.func if isinstance(self.code, functools.partial) else self.code
        own = getattr(target, "name", None)
        if isinstance(own, str):
            return own
        target = target if hasattr(target, "__name__") else type(target)
        return str(target.__name__).strip("<>")

    def policy(self, handle: TaskHandle, seeds: NDArray[np.uint64]) -> tuple[Policy, bool, bool, bool]:
        """The policy of a wave; whether it decides by step, observes by step, and is told when an episode starts."""
        made = self._made(Policy, Task.of_handle(handle), seeds)
        made.seeds = seeds
        kind = type(made)
        by_step = kind.choose is not Policy.choose
        return made, by_step, kind.observe is not Policy.observe, kind.start_episode is not Policy.start_episode

    def oracle(self, handle: TaskHandle) -> Oracle:
        """The oracle of a replication."""
        return self._made(Oracle, Task.of_handle(handle))

    def _made(self, base: type[Made], task: Task, *more: Any) -> Made:
        """A new object: a copy, or made with the task if the class or function takes it."""
        target = self.code.func if isinstance(self.code, functools.partial) else self.code
        if isinstance(target, base):
            made: Any = copy.deepcopy(target)
        elif isinstance(target, type) and not {"task", "args"} & set(inspect.signature(target.__init__).parameters):  # type: ignore[misc]
            made = self.code()
        else:
            made = self.code(task, *more)
        if not isinstance(made, base):
            raise TypeError(f"found {made!r:.60} made by {self.name}; accepted: a cbwk.{base.__name__}")
        made.task = task
        return made

    def conversion(self, contexts: Floats, steps: Ints, values: Floats) -> ArrayLike:
        """The probabilities of contexts and actions."""
        found: ArrayLike = self.code(contexts, steps, values)
        return found

    def contexts(self, seed: int, steps: Ints) -> ArrayLike:
        """Contexts for some steps."""
        found: ArrayLike = self.code(np.random.default_rng(seed), steps)
        return found


def stated(table: Mapping[str, Any], objects: list[Entry]) -> dict[str, Any]:
    """The tables of a study with own code described, as a study file has it; the objects are appended to ``objects``."""
    if not isinstance(table, Mapping):
        raise ValueError(f"study: found {table!r:.60}; accepted: a dictionary")
    study = dict(table)
    if "policies" in study:
        study["policies"] = policies(study["policies"], objects)
    for part in ("conversion", "contexts"):
        if part in study:
            study[part] = _part(part, study[part], objects)
    return study


def policies(choices: Any, objects: list[Entry]) -> list[str | dict[str, Any]]:
    """Policies by name, or as a study file states them."""
    if isinstance(choices, (str, Mapping)) or not hasattr(choices, "__iter__"):
        raise ValueError(f"policies: found {choices!r:.60}; accepted: a list")
    return [choice if isinstance(choice, str) else _policy(choice, objects) for choice in choices]


def _policy(choice: Any, objects: list[Entry]) -> dict[str, Any]:
    if isinstance(choice, Mapping):
        table = dict(choice)
        if "oracle" in table and not isinstance(table["oracle"], Mapping):
            named = _part("oracle", table["oracle"], objects)
            table.setdefault("name", objects[-1].name)
            table["oracle"] = named
        return _part("policies", table, objects)
    table = _part("policies", choice, objects)
    return {"name": objects[-1].name, **table}


def _part(part: str, value: Any, objects: list[Entry]) -> dict[str, Any]:
    """A table whose key ``code`` is an object, or the object itself."""
    table = dict(value) if isinstance(value, Mapping) else {"kind": "own", "code": value}
    if "code" not in table or not isinstance(table.get("kind"), str) or table["kind"] != "own":
        return table
    code = table.pop("code")
    kinds = {"policies": Policy, "oracle": Oracle}
    base = kinds.get(part)
    fits = callable(code) or (base is not None and isinstance(code, base))
    if base and isinstance(code, type):
        fits = issubclass(code, base)
    if not fits:
        accepted = f"a class, an object or a maker of cbwk.{base.__name__}" if base else "a function"
        more = "names, tables, or " if part == "policies" else "a table, or "
        raise ValueError(f"{part}: found {code!r:.60}; accepted: {more}{accepted}")
    entry = Entry(code)
    objects.append(entry)
    if base is Policy:
        table.setdefault("name", entry.name)
    return {**table, **entry.describe(), "object": len(objects) - 1}


def find(what: str, module: str, name: str, arguments: str, instance: bool, source: str) -> Entry:
    """Imports own code that a study file names."""
    where = f"found own {what} {name} of module {module}"
    here = "pass it in policies" if what in ("policy", "oracle") else "make the study with it"
    try:
        target: Any = importlib.import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{where}, which cannot be imported here ({error}); accepted: a module on the path, or {here}") from None
    if source and _hash(target) != source:
        raise ValueError(f"{where}, whose source has changed; accepted: the source of the run, or {here}")
    if not arguments and not instance:
        return Entry(target)
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        given = {word.arg: ast.literal_eval(word.value) for word in getattr(call, "keywords", [])}
        if None in given:
            raise ValueError(arguments)
    except (SyntaxError, ValueError):
        raise ValueError(f"{where} with arguments `{arguments:.60}`, which cannot be read back; accepted: {here}") from None
    named = {str(word): value for word, value in given.items()}
    return Entry(target(**named) if instance else functools.partial(target, **named))


def _arguments(made: Any) -> dict[str, Any]:
    """The arguments an object was made with, by name; its attributes if they were not recorded."""
    recorded = getattr(made, "_arguments", None)
    if recorded is None:
        return dict(getattr(made, "__dict__", {}))
    bound = inspect.signature(type(made).__init__).bind(made, *recorded[0], **recorded[1])
    named = dict(list(bound.arguments.items())[1:])
    for name, parameter in inspect.signature(type(made).__init__).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(named.pop(name, {}))
    return named


def _literal(value: Any) -> str:
    """A value as Python writes it, on one line."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    return " ".join(repr(value).split())


def _hash(target: Callable[..., Any] | type) -> str:
    """SHA-256 of the source of a class or function; empty if there is no source."""
    try:
        return hashlib.sha256(inspect.getsource(target).encode()).hexdigest()
    except (OSError, TypeError):
        return ""
