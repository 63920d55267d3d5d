"""Texts of the page, in both languages; the script finds them by their names."""

from collections.abc import Mapping

from xlbridge.i18n import Text

_TEXTS: Mapping[str, Text] = {
    "begin": Text(pt="Abrir", en="Open"),
    "mend": Text(pt="Corrigir", en="Correct"),
    "send": Text(pt="Enviar", en="Send"),
    "jobs": Text(pt="Envios", en="Uploads"),
    "exports": Text(pt="Exportar", en="Export"),
    "end": Text(pt="Encerrar", en="End"),
    "ended": Text(
        pt="A página foi encerrada. Para abrir de novo: xlbridge ui",
        en="The page has ended. To open it again: xlbridge ui",
    ),
    "lost": Text(
        pt="A página perdeu a conexão com o xlbridge. Se o terminal foi fechado, rode xlbridge ui "
        "de novo.",
        en="The page lost its connection to xlbridge. If the terminal was closed, run xlbridge ui "
        "again.",
    ),
    "drop": Text(
        pt="Solte aqui a sua planilha: .xlsx, .csv, .xls, .xlsb ou .ods",
        en="Drop your workbook here: .xlsx, .csv, .xls, .xlsb or .ods",
    ),
    "choose_file": Text(pt="Escolher o arquivo", en="Choose the file"),
    "original": Text(
        pt="O arquivo original nunca é alterado; nada é enviado sem a sua confirmação.",
        en="The original file is never changed; nothing is sent without your confirmation.",
    ),
    "reading": Text(pt="Conferindo…", en="Checking…"),
    "resource": Text(pt="O que a planilha traz", en="What the sheet holds"),
    "recognise": Text(pt="reconhecer pela planilha", en="recognise by the sheet"),
    "sheet": Text(pt="Planilha", en="Sheet"),
    "dates": Text(pt="Datas em texto", en="Dates as text"),
    "dates_dmy": Text(pt="dia/mês/ano", en="day/month/year"),
    "dates_mdy": Text(pt="mês/dia/ano", en="month/day/year"),
    "numbers": Text(pt="Números em texto", en="Numbers as text"),
    "by_column": Text(pt="conforme a coluna", en="as the column tells"),
    "columns": Text(pt="Colunas", en="Columns"),
    "own_header": Text(pt="Na planilha", en="In the sheet"),
    "meaning": Text(pt="No sistema", en="In the system"),
    "not_used": Text(pt="não usada", en="not used"),
    "required": Text(pt="obrigatória", en="required"),
    "header_row": Text(pt="Cabeçalho na linha {n}", en="Header in row {n}"),
    "counts": Text(
        pt="Linhas: {rows} · erros: {errors} · avisos: {warnings}",
        en="Rows: {rows} · errors: {errors} · warnings: {warnings}",
    ),
    "all_good": Text(
        pt="Nenhum erro: a planilha pode ser enviada.", en="No errors: the sheet can be sent."
    ),
    "rules": Text(pt="O que foi encontrado", en="What was found"),
    "only_wrong": Text(pt="Só linhas com problema", en="Rows with findings only"),
    "all_rows": Text(pt="Todas as linhas", en="All rows"),
    "of_rule": Text(pt="Linhas desta regra", en="Rows of this rule"),
    "next_error": Text(pt="Próximo erro (F8)", en="Next error (F8)"),
    "undo": Text(pt="Desfazer", en="Undo"),
    "redo": Text(pt="Refazer", en="Redo"),
    "fix_all": Text(pt="Corrigir todos: {n}", en="Fix all: {n}"),
    "fix_what": Text(pt="Células que serão corrigidas: {n}", en="Cells to be corrected: {n}"),
    "fix_do": Text(pt="Corrigir", en="Correct"),
    "close": Text(pt="Voltar", en="Back"),
    "edited": Text(pt="células alteradas: {n}", en="cells changed: {n}"),
    "download": Text(pt="Baixar a planilha corrigida", en="Download the corrected workbook"),
    "grid": Text(
        pt="Células da planilha; Tab sai da grade, F8 vai ao próximo erro",
        en="Cells of the sheet; Tab leaves the grid, F8 goes to the next error",
    ),
    "row": Text(pt="linha", en="row"),
    "empty_view": Text(pt="Nenhuma linha para mostrar.", en="No rows to show."),
    "plan": Text(pt="Ver o plano", en="See the plan"),
    "plan_first": Text(
        pt="O plano diz o que acontece com cada linha; nada é gravado ainda.",
        en="The plan says what happens to each row; nothing is written yet.",
    ),
    "planning": Text(pt="Procurando os registros no sistema…", en="Looking up the records…"),
    "has_errors": Text(
        pt="Erros na planilha: {n}. Corrija-os, ou envie só as linhas boas.",
        en="Errors in the sheet: {n}. Correct them, or send the good rows only.",
    ),
    "good_rows": Text(pt="Enviar só as linhas boas", en="Send the good rows only"),
    "update_existing": Text(
        pt="Alterar registros que já existem com outros valores",
        en="Change records that exist with other values",
    ),
    "create": Text(pt="criar", en="create"),
    "update_action": Text(pt="alterar", en="update"),
    "unchanged": Text(pt="sem alteração", en="unchanged"),
    "held": Text(pt="retidas", en="held"),
    "unread": Text(pt="criar sem conferir", en="create without a look-up"),
    "environment": Text(pt="Ambiente", en="Environment"),
    "production": Text(pt="PRODUÇÃO", en="PRODUCTION"),
    "practice": Text(pt="ensaio", en="practice"),
    "type_token": Text(
        pt="Para gravar em produção, digite {token}", en="To write to production, type {token}"
    ),
    "send_rows": Text(pt="Enviar · linhas: {n}", en="Send · rows: {n}"),
    "nothing_to_send": Text(pt="Nada a enviar.", en="Nothing to send."),
    "cancel": Text(pt="Interromper", en="Stop"),
    "sending": Text(pt="Enviando…", en="Sending…"),
    "rejects": Text(pt="Baixar as linhas rejeitadas", en="Download the rejected rows"),
    "back_to_grid": Text(
        pt="As linhas recusadas estão na grade, com o motivo. Corrija-as e envie de novo: o que já "
        "foi gravado não vai outra vez.",
        en="The refused rows are in the grid, with the reason. Correct them and send again: what "
        "was written does not go twice.",
    ),
    "job": Text(pt="Envio", en="Upload"),
    "kind": Text(pt="Recurso", en="Resource"),
    "no_jobs": Text(pt="Nenhum envio ainda.", en="No upload yet."),
    "resume": Text(pt="Continuar", en="Continue"),
    "file": Text(pt="Arquivo", en="File"),
    "state": Text(pt="Situação", en="State"),
    "when": Text(pt="Data", en="Date"),
    "accepted": Text(pt="aceitas", en="accepted"),
    "rejected": Text(pt="rejeitadas", en="rejected"),
    "listing": Text(pt="Listagem", en="Listing"),
    "export_run": Text(pt="Exportar", en="Export"),
    "export_done": Text(pt="Registros: {n}.", en="Records: {n}."),
    "download_export": Text(pt="Baixar", en="Download"),
}


def page_texts() -> dict[str, str]:
    """Return all texts by name, in the active language."""
    return {name: str(text) for name, text in _TEXTS.items()}
