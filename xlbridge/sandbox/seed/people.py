"""Brazilian names of people and firms, and documents with right check digits."""

import unicodedata
from random import Random

from stdnum.br import cnpj

_FIRST = (
    "Adriana", "Alessandro", "Ana Paula", "Antônio", "Beatriz", "Bruno", "Camila", "Cláudia",
    "Daniel", "Débora", "Eduardo", "Elisângela", "Fábio", "Fernanda", "Flávio", "Gabriela",
    "Gustavo", "Helena", "Igor", "Isabela", "João Pedro", "José Carlos", "Juliana", "Larissa",
    "Leandro", "Luciana", "Luís Fernando", "Márcio", "Maria Clara", "Mateus", "Natália", "Otávio",
    "Patrícia", "Paulo Henrique", "Rafael", "Renata", "Rodrigo", "Sandra", "Thiago", "Vitória",
)  # fmt: skip
_LAST = (
    "Almeida", "Andrade", "Araújo", "Barbosa", "Batista", "Borges", "Campos", "Cardoso",
    "Carvalho", "Castro", "Cavalcanti", "Correia", "Costa", "Dias", "Duarte", "Farias",
    "Fernandes", "Ferreira", "Freitas", "Gonçalves", "Lima", "Machado", "Magalhães", "Martins",
    "Medeiros", "Melo", "Mendes", "Monteiro", "Moraes", "Moreira", "Nascimento", "Nunes",
    "Oliveira", "Pereira", "Pinheiro", "Ribeiro", "Rocha", "Rodrigues", "Santos", "Silva", "Souza",
    "Teixeira", "Vasconcelos", "Vieira",
)  # fmt: skip
_TRADE = (
    "Açougue", "Auto Peças", "Boutique", "Clínica", "Comercial", "Confecções", "Construtora",
    "Distribuidora", "Farmácia", "Ferragens", "Gráfica", "Hotel", "Indústria", "Laticínios",
    "Livraria", "Madeireira", "Mercado", "Metalúrgica", "Móveis", "Ótica", "Padaria", "Papelaria",
    "Pousada", "Restaurante", "Supermercado", "Tecidos", "Transportes", "Vidraçaria",
)  # fmt: skip
_FIRM = (
    "Água Viva", "Alvorada", "Bom Jesus", "Boa Esperança", "Bela Vista", "Cruzeiro do Sul",
    "Estrela do Sul", "Flor do Campo", "Horizonte", "Ipê Amarelo", "Maravilha", "Monte Alto",
    "Nova Era", "Novo Mundo", "Ouro Branco", "Planalto", "Porto Seguro", "Primavera",
    "Rio Claro", "Santa Luzia", "Santa Rita", "São Francisco", "São João", "São José",
    "Serra Azul", "Sol Nascente", "Três Irmãos", "União", "Vale Verde", "Vitória Régia",
)  # fmt: skip
_FORM = ("Ltda", "Ltda", "Ltda", "ME", "EPP", "S.A.")
_LETTERS_AND_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def person(random: Random) -> str:
    """Return a person's name."""
    first, second = random.sample(_LAST, 2)
    return f"{random.choice(_FIRST)} {first} {second}"


def firm(random: Random) -> str:
    """Return a firm's name."""
    return f"{random.choice(_TRADE)} {random.choice(_FIRM)} {random.choice(_FORM)}"


def email_of(name: str, number: int) -> str:
    """Return an e-mail address, under a domain that belongs to nobody."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = "".join(c if c.isalnum() else " " for c in plain).split()
    return f"{'.'.join(words[:2])}{number}@example.com"


def cpf_number(random: Random) -> str:
    """Return a CPF with right check digits, without mask."""
    digits = [random.randrange(10) for _ in range(9)]
    for length in (10, 11):
        total = sum(digit * (length - place) for place, digit in enumerate(digits))
        digits.append(-total % 11 % 10 if -total % 11 < 10 else 0)
    return "".join(map(str, digits))


def cnpj_number(random: Random, *, letters: bool) -> str:
    """Return a CNPJ with right check digits, without mask; ``letters`` makes it alphanumeric."""
    symbols = _LETTERS_AND_DIGITS if letters else _LETTERS_AND_DIGITS[:10]
    stem = "".join(random.choices(symbols, k=8)) + "0001"
    return stem + cnpj.calc_check_digits(stem)
