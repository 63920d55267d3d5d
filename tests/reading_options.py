"""Lines of foreign sheets that need declared reading options of a mapping."""

KEYS_IN_FIRST_ROWS = (
    "Nº do pedido;Emissão;Cliente;Código do produto;Qtde;Preço unitário;Total",
    "4501;23/11/2026;1311;;;;31,00",
    ";;;2001;2;10,50;21,00",
    ";;;2002;1;10,00;10,00",
    "4502;24/11/2026;1197;2001;1;10,50;10,50",
)
"""Orders with their keys in the first row only."""

SIGNED_TITLES = (
    (
        "Cliente;Filial;Item;CC;Conta;Histórico;Nº documento;Dia de vencimento;Mês do vencimento;"
        "Valor;Situação"
    ),
    "1311;1;1.01.001;01.001;1;Aluguel;A-1;todo dia 10;11/2026;99,90;Em aberto",
    "1197;1;1.01.001;01.001;1;Suporte;A-2;dia 5;12/2026;-50,10;Em aberto",
    "1197;1;1.01.001;01.001;1;Suporte;A-3;dia 5;12/2026;50,10;Pago",
    "1197;1;1.01.001;01.001;1;Suporte;A-4;dia 5;12/2026;50,10;Em aberto",
)
"""Titles with signs, days of a month, and a situation that selects rows."""
