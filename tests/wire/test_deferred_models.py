"""Models are built at first use, safely with many threads."""

import threading
from concurrent.futures import ThreadPoolExecutor

from pydantic import Field

from xlbridge.wire import WireModel

_THREADS = 16


def _new_model() -> type[WireModel]:
    class Part(WireModel):
        codigo: int

    class Whole(WireModel):
        numero: int
        partes: list[Part] = Field(default_factory=list)

    return Whole


def test_an_unused_model_is_not_built() -> None:
    model = _new_model()
    assert not model.__pydantic_complete__
    model(numero=1)
    assert model.__pydantic_complete__


def test_many_threads_may_use_a_new_model_at_once() -> None:
    for _ in range(20):
        model = _new_model()
        together = threading.Barrier(_THREADS)

        def read(number: int, model: type[WireModel], together: threading.Barrier) -> str:
            together.wait()
            read = model.model_validate({"Numero": number, "partes": [{"codigo": number}]})
            return read.model_dump_json()

        with ThreadPoolExecutor(_THREADS) as threads:
            results = list(
                threads.map(read, range(_THREADS), [model] * _THREADS, [together] * _THREADS)
            )
        assert results == [f'{{"numero":{n},"partes":[{{"codigo":{n}}}]}}' for n in range(_THREADS)]
