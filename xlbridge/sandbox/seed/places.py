"""Real places in Brazil: city, state, IBGE code, postcode and telephone prefixes that match."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A city. ``municipality`` is its IBGE code, ``postcode`` the first five digits of a CEP."""

    city: str
    state: str
    municipality: str
    postcode: str
    area_code: str
    districts: tuple[str, ...]


PLACES = (
    Place("São Paulo", "SP", "3550308", "01310", "11", ("Bela Vista", "Cerqueira César")),
    Place("Campinas", "SP", "3509502", "13010", "19", ("Centro",)),
    Place("Ribeirão Preto", "SP", "3543402", "14010", "16", ("Centro",)),
    Place("Santos", "SP", "3548500", "11010", "13", ("Centro", "Paquetá")),
    Place("Rio de Janeiro", "RJ", "3304557", "20040", "21", ("Centro",)),
    Place("Niterói", "RJ", "3303302", "24020", "21", ("Centro",)),
    Place("Belo Horizonte", "MG", "3106200", "30130", "31", ("Centro", "Funcionários")),
    Place("Uberlândia", "MG", "3170206", "38400", "34", ("Centro",)),
    Place("Juiz de Fora", "MG", "3136702", "36010", "32", ("Centro",)),
    Place("Vitória", "ES", "3205309", "29010", "27", ("Centro",)),
    Place("Curitiba", "PR", "4106902", "80010", "41", ("Centro",)),
    Place("Londrina", "PR", "4113700", "86010", "43", ("Centro",)),
    Place("Florianópolis", "SC", "4205407", "88010", "48", ("Centro",)),
    Place("Joinville", "SC", "4209102", "89201", "47", ("Centro",)),
    Place("Porto Alegre", "RS", "4314902", "90010", "51", ("Centro Histórico",)),
    Place("Salvador", "BA", "2927408", "40020", "71", ("Centro", "Centro Histórico")),
    Place("Recife", "PE", "2611606", "50010", "81", ("Santo Antônio", "São José")),
    Place("Fortaleza", "CE", "2304400", "60025", "85", ("Centro",)),
    Place("Natal", "RN", "2408102", "59025", "84", ("Cidade Alta",)),
    Place("Belém", "PA", "1501402", "66010", "91", ("Campina",)),
    Place("Manaus", "AM", "1302603", "69005", "92", ("Centro",)),
    Place("Brasília", "DF", "5300108", "70040", "61", ("Asa Norte", "Asa Sul")),
    Place("Goiânia", "GO", "5208707", "74003", "62", ("Setor Central",)),
    Place("Cuiabá", "MT", "5103403", "78005", "65", ("Centro Norte",)),
    Place("Campo Grande", "MS", "5002704", "79002", "67", ("Centro",)),
)

STREETS = (
    "Rua XV de Novembro",
    "Rua Sete de Setembro",
    "Avenida Brasil",
    "Rua Tiradentes",
    "Avenida Getúlio Vargas",
    "Rua Marechal Deodoro",
    "Rua Barão do Rio Branco",
    "Avenida Rui Barbosa",
    "Rua Santos Dumont",
    "Praça da República",
)
