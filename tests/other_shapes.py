"""Proxy on loopback that answers undocumented parts of the interface in other sensible shapes.

Names in PascalCase, other words in logs, records instead of counts, null and 201 for writes, texts
as ids of files, additional and missing fields.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

WORDS = {"Pendente": "Na fila", "Processando": "Em andamento", "Finalizado": "Concluído"}

LOG_WORDS = "Na fila=pending; Em andamento=running; Concluído=finished"
"""``XLBRIDGE_LOG_WORDS`` for ``WORDS``."""

OTHER_SPELLINGS = {
    "Pendente": "PENDENTE",
    "Processando": "processando ",
    "Finalizado": "FINALIZADO",
}
"""Spellings that are understood without a setting."""

_UNDOCUMENTED_FIELDS = {
    "ultimaAtualizacao",
    "recurso",
    "nomeDoArquivo",
    "dataDeInclusao",
    "dataDeBaixa",
}
"""Fields that the interface does not document for all records."""

_ANSWERED_WITH_NULL = ("/v2/cliente/idws", "/processar/", "processar-arquivo", "/contagem/")
_CHANGED_WITH_NULL = ("/produto", "/nfse", "/previsao", "/planejamento", "/enderecamento")
"""Creations and changes whose answers the interface does not document."""


@contextmanager
def other_shapes(target: str, words: Mapping[str, str] = WORDS) -> Iterator[str]:
    """Run the proxy in front of ``target`` for the block, and yield its address.

    ``words`` replace the sandbox's words for the states of logs.
    """
    http = httpx.Client(base_url=target, timeout=60, verify=False)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one packet: a second one would wait 40 ms for the first one's receipt.
        wbufsize = -1

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            dropped = {"host", "content-length", "connection"}
            headers = {n: v for n, v in self.headers.items() if n.lower() not in dropped}
            try:
                answer = http.request(self.command, self.path, content=body, headers=headers)
            except httpx.TransportError:
                self.close_connection = True
                return
            status, content = reshaped(self.command, self.path.partition("?")[0], answer, words)
            self.send_response(status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = forward

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        http.close()


def reshaped(
    method: str, path: str, answer: httpx.Response, words: Mapping[str, str] = WORDS
) -> tuple[int, bytes]:
    """Return the status and body that replace a sandbox's answer."""
    if path.endswith("/autenticar") or "json" not in answer.headers.get("Content-Type", ""):
        return answer.status_code, answer.content
    document = json.loads(answer.content)
    if not isinstance(document, dict) or document.get("success") is not True:
        return answer.status_code, answer.content
    data = _other_data(method, path, document["data"], words)
    written = method != "GET" and answer.status_code == httpx.codes.OK
    status = httpx.codes.CREATED if written else answer.status_code
    return status, json.dumps({"versao": "6.0.303", "success": True, "data": data}).encode()


def _other_data(method: str, path: str, data: Any, words: Mapping[str, str]) -> Any:
    if path == "/v2/compras/pedido" and method == "POST":
        return data
    if method != "GET" and any(part in path for part in _ANSWERED_WITH_NULL):
        return None
    if method == "PUT" and any(part in path for part in _CHANGED_WITH_NULL):
        return None
    if path.endswith("/fila"):
        return {"Id": data}
    if "/importacao/" in path and method == "POST":
        return next(value for value in data.values() if isinstance(value, list))
    if "/log-importacao/" in path:
        return _other_log(data, words)
    return None if data == [] else _other_record(data)


def _other_log(log: dict[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    lines = [_other_line(line) for line in log["linhasRejeitadas"]]
    return {"Situacao": words[log["situacao"]], "LinhasRejeitadas": lines}


def _other_line(line: dict[str, Any]) -> Any:
    message = f"Linha {line['linha']}: {line['mensagem']}"
    return {"Key": line["coluna"], "Value": message} if line.get("coluna") else message


def _other_record(value: Any) -> Any:
    if isinstance(value, list):
        return [_other_record(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: one for name, one in value.items() if name not in _UNDOCUMENTED_FIELDS}
    record = {name[0].upper() + name[1:]: _other_record(one) for name, one in kept.items()}
    if {"Id", "Url"} <= record.keys():
        record["Id"] = f"arquivo-{record['Id']}"
    return record | {"NovidadeDaVersao": {"campo": 1}}
