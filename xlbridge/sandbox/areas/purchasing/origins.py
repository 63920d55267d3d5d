"""Documents that others are made from: what may be taken of them, and what was approved.

Source: the spec, States (purchase flow); its approvals are not shown there.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, Table, select, update

from xlbridge.sandbox.problems import Problem
from xlbridge.wire.purchasing import PurchaseOrderItemInput, RequestedItemInput

AD_HOC = 0
"""The ``idProduto`` of an item that is no registered product."""

_Wanted = RequestedItemInput | PurchaseOrderItemInput


class Origin:
    """The document that another is made from, where one is named: its items are what may be taken.

    Approving it closes it; of each item it approves what was taken.
    """

    def __init__(
        self,
        connection: Connection,
        headers: Table,
        items: Table,
        names: tuple[str, str],
        number: Decimal | int | None,
    ) -> None:
        self._connection = connection
        self._headers, self._items = headers, items
        self._key, self._label = names
        self._number = number

    def problems(self, wanted: Sequence[_Wanted]) -> list[Problem]:
        """Return the problems of a document that is unknown, closed, or has not what is taken."""
        if self._number is None:
            return []
        (own_number,) = self._headers.primary_key
        this = own_number == self._number
        closed = self._connection.scalar(select(self._headers.c.encerrada).where(this))
        if closed is None:
            return [(self._key, f"{self._label} {self._number}: número não cadastrado.")]
        if closed:
            return [(self._key, f"{self._label} {self._number} já está encerrada.")]
        _, problems = self._taken(wanted)
        return problems

    def approve(self, wanted: Sequence[_Wanted]) -> None:
        """Close the document, and approve of its items what was taken."""
        if self._number is None:
            return
        (own_number,) = self._headers.primary_key
        closing = update(self._headers).where(own_number == self._number)
        self._connection.execute(closing.values(encerrada=True))
        taken, _ = self._taken(wanted)
        for seq, quantity in taken.items():
            this = (self._items.c.number == self._number) & (self._items.c.seq == seq)
            approving = update(self._items).where(this)
            self._connection.execute(approving.values(quantidadeAprovada=quantity))

    def _taken(self, wanted: Sequence[_Wanted]) -> tuple[dict[int, Decimal], list[Problem]]:
        """Return how much of each item is taken, and what is not to be had."""
        of_number = select(self._items).where(self._items.c.number == self._number)
        offered = self._connection.execute(of_number.order_by(self._items.c.seq)).all()
        left = {item.seq: item.quantidade for item in offered}
        problems: list[Problem] = []
        for index, want in enumerate(wanted):
            rest = want.quantidade
            fitting = [item.seq for item in offered if _is_wanted(item, want)]
            for seq in fitting:
                part = min(rest, left[seq])
                left[seq] -= part
                rest -= part
            if not fitting:
                message = f"{self._label} {self._number} não tem este item."
                problems.append((f"itens.{index}.idProduto", message))
            elif rest:
                message = f"{self._label} {self._number} não tem esta quantidade do item."
                problems.append((f"itens.{index}.quantidade", message))
        return {item.seq: item.quantidade - left[item.seq] for item in offered}, problems


def _is_wanted(item: Row[Any], want: _Wanted) -> bool:
    """Tell whether an item is meant: by its product, or by the words of one that is not registered.

    What was asked for in words may be registered by the time that it is bought.
    """
    if item.idProduto != AD_HOC:
        return bool(item.idProduto == want.idProduto)
    if isinstance(want, PurchaseOrderItemInput):
        return True
    asked, words = item.descricaoDoProduto, want.descricaoDoProduto or ""
    return want.idProduto == AD_HOC and asked.casefold().split() == words.casefold().split()
