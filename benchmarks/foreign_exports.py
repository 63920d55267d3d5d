"""Exports of other systems for the stories of ``analyst_steps.py``, and what a person knows about
them: the codes of their words, and values for columns that they lack."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class ForeignExport:
    """Export of another system, with names instead of codes; ``text`` has {mark} in its documents,
    so that the same export can be sent again.

    ``constants`` are values of columns that it lacks, ``words`` the codes of the words of a column,
    ``rows`` the number of its records.
    """

    system: str
    file: str
    resource: str
    rows: int
    text: str
    constants: Mapping[str, str | int] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, str | int]] = field(default_factory=dict)

    def write(self, folder: Path, mark: str) -> Path:
        """Write the file as the system exports it."""
        path = folder / self.file
        path.write_text(self.text.format(mark=mark), "utf-8-sig")
        return path


EXPORTS = (
    ForeignExport(
        "Conta Azul, receivables",
        "Contas a receber.csv",
        "contasreceber",
        4,
        """\
Data de Pagamento;Data de Vencimento;Data de Competência;Descrição;Categoria;Valor;\
Centro de Custo;Cliente/Fornecedor;CNPJ/CPF Cliente/Fornecedor;Observações
;05/12/2026;01/11/2026;Mensalidade {mark};Receita de serviços;1.234,56;Comercial;\
Pousada Nova Era Ltda;69.879.837/0001-59;
;10/12/2026;02/11/2026;Mensalidade {mark};Receita de serviços;99,90;Comercial;\
Adriana Medeiros Souza;765.181.887-31;
;15/12/2026;03/11/2026;Venda 4514 {mark};Vendas;250,00;Logística;\
Supermercado Serra Azul Ltda;56.528.337/0001-20;Entregue
;20/12/2026;04/11/2026;Venda 4515 {mark};Vendas;1.310,00;Comercial;\
Ana Paula Borges Pinheiro;718.605.611-36;
""",
        {"codigoDaFilial": "Matriz São Paulo", "codigoDaContaCorrente": 1},
        {"codigoDoItemDeLancamento": {"Receita de serviços": "1.01.002", "Vendas": "1.01.001"}},
    ),
    ForeignExport(
        "Omie, payables",
        "Omie_Contas_a_Pagar.csv",
        "contaspagar",
        4,
        """\
Código de Integração;Fornecedor * (Razão Social, Nome Fantasia, CNPJ ou CPF);Categoria *;\
Conta Corrente *;Valor da Conta *;Data de Emissão;Data de Registro *;Data de Vencimento *;\
Data de Previsão;Data de Pagamento;Número do Documento;Parcela;Observações
INT-1;Companhia Paulista de Energia;Energia Elétrica;Banco do Brasil;1.100,50;01/11/2026;\
01/11/2026;20/12/2026;20/12/2026;;FAT-77{mark};001/001;Energia de outubro
INT-2;Distribuidora Boa Vista Ltda;Compras de Mercadorias;Banco do Brasil;200,90;02/11/2026;\
02/11/2026;21/12/2026;21/12/2026;;FAT-78{mark};001/001;Pedido 981
INT-3;Distribuidora Boa Vista Ltda;Compras de Mercadorias;Banco do Brasil;310,00;03/11/2026;\
03/11/2026;21/01/2027;21/01/2027;;FAT-79{mark};001/001;Pedido 982
INT-4;Papelaria Central ME;Compras de Mercadorias;Banco do Brasil;89,00;15/11/2026;\
15/11/2026;30/12/2026;30/12/2026;;FAT-80{mark};001/001;Papel A4
""",
        {"codigoDaFilial": "Matriz São Paulo", "codigoDoCentroDeCusto": "Administrativo"},
        {
            "codigoDoItemDeLancamento": {
                "Energia Elétrica": "2.01.001",
                "Compras de Mercadorias": "2.02.001",
            },
            "codigoDaContaCorrente": {"Banco do Brasil": 1},
        },
    ),
    ForeignExport(
        "Tiny, products",
        "produtos_tiny.csv",
        "produto",
        3,
        """\
ID;Código (SKU);Descrição;Unidade;Classificação fiscal;Origem;Preço;Situação;Estoque;\
Preço de custo;Fornecedor;Peso líquido (Kg);Peso bruto (Kg);GTIN/EAN;Largura embalagem;\
Altura embalagem;Comprimento embalagem;Marca
700123451;PAR-101{mark};Parafuso sextavado 10mm;UN;7318.15.00;0;1,25;Ativo;100,00;0,60;Aços SA;\
0,010;0,011;7891000100103;10,00;2,00;3,00;Forte
700123452;PAR-102{mark};Parafuso sextavado 12mm;UN;7318.15.00;0;1,50;Ativo;50,00;0,70;Aços SA;\
0,012;0,013;7891000100110;12,00;2,00;3,00;Forte
700123453;POR-101{mark};Porca sextavada 10mm;UN;7318.16.00;0;0,90;Inativo;70,00;0,40;Aços SA;\
0,009;0,010;7891000100127;9,00;1,00;2,00;Forte
""",
    ),
    ForeignExport(
        "Banco do Brasil, statement",
        "extrato_bb.csv",
        "contasreceber",
        3,
        """\
Data;Lançamento;Detalhes;N° documento;Valor;Tipo Lançamento;Saldo
03/11/2026;Pix recebido;Pousada Nova Era Ltda;451200{mark};1.234,56;Entrada;5.234,56
04/11/2026;Pagamento de boleto;Companhia Paulista de Energia;451201{mark};-234,56;Saída;5.000,00
17/11/2026;TED recebida;Supermercado Serra Azul Ltda;451300{mark};99,90;Entrada;5.099,90
23/11/2026;Pix recebido;Ana Paula Borges Pinheiro;451400{mark};250,00;Entrada;5.349,90
""",
        {
            "codigoDaFilial": "Matriz São Paulo",
            "codigoDoItemDeLancamento": "1.01.001",
            "codigoDoCentroDeCusto": "Comercial",
            "codigoDaContaCorrente": 1,
        },
    ),
    ForeignExport(
        "Bling, orders with items",
        "Pedidos de venda.csv",
        "pedido",
        3,
        """\
Número pedido;Nome Comprador;Data;CPF/CNPJ Comprador;Produto;SKU;Un;Quantidade;Valor Unitário;\
Valor Total;Total Pedido;Valor Frete Pedido;Valor Desconto Pedido;Outras despesas;Nome Entrega;\
Endereço Entrega;Número Entrega;Cidade Entrega;UF Entrega;CEP Entrega;Transportadora;Observações;\
Qtd Parcela;Data Prevista;Vendedor;Forma Pagamento;ID Forma Pagamento
45{mark}1;Pousada Nova Era Ltda;23/11/2026;69.879.837/0001-59;Tinta;P002001;UN;2,00;10,50;\
21,00;40,00;9,00;0,00;0,00;Pousada Nova Era Ltda;Rua das Flores;10;Manaus;AM;69005-040;\
Rápido Norte;Entregar pela manhã;1;30/11/2026;Bruno Lima;Boleto;1203
45{mark}1;Pousada Nova Era Ltda;23/11/2026;69.879.837/0001-59;Torneira;P002002;UN;1,00;10,00;\
10,00;40,00;9,00;0,00;0,00;Pousada Nova Era Ltda;Rua das Flores;10;Manaus;AM;69005-040;\
Rápido Norte;Entregar pela manhã;1;30/11/2026;Bruno Lima;Boleto;1203
45{mark}2;Adriana Medeiros Souza;24/11/2026;765.181.887-31;Tinta;P002001;UN;1,00;10,50;\
10,50;10,50;0,00;0,00;0,00;Adriana Medeiros Souza;Rua B;20;Porto Velho;RO;76801-059;\
;;1;01/12/2026;Carla Dias;Pix;1204
45{mark}3;Supermercado Serra Azul Ltda;25/11/2026;56.528.337/0001-20;Lâmpada;P002003;UN;12,00;8,00;\
96,00;96,00;0,00;0,00;0,00;Supermercado Serra Azul Ltda;Av. Central;1500;São Paulo;SP;01310-100;\
;;1;02/12/2026;Carla Dias;Boleto;1203
""",
        {"codigoDaFilial": "Matriz São Paulo"},
        {
            "codigoDoVendedor": {"Bruno Lima": 1, "Carla Dias": 2},
            "codigoDaFormaDePagamento": {"Boleto": 1, "Pix": 2},
        },
    ),
)
"""Exports of the stories."""
