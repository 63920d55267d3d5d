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
        pt="A página perdeu a conexão com o xlbridge; a última alteração pode não ter sido feita. "
        "Se o terminal foi fechado, rode xlbridge ui de novo: o que foi corrigido continua em "
        "Abrir.",
        en="The page lost its connection to xlbridge; the last change may not have been made. If "
        "the terminal was closed, run xlbridge ui again: what was corrected goes on under Open.",
    ),
    "drop": Text(
        pt="Solte aqui a sua planilha: .xlsx, .csv, .xls, .xlsb ou .ods",
        en="Drop your workbook here: .xlsx, .csv, .xls, .xlsb or .ods",
    ),
    "one_file": Text(
        pt="Solte um arquivo de cada vez; a página corrige um por um. Vários juntos: Lotes.",
        en="Drop one file at a time: the page corrects one after the other. Several together: "
        "Batches.",
    ),
    "choose_file": Text(pt="Escolher o arquivo", en="Choose the file"),
    "original": Text(
        pt="O arquivo original nunca é alterado; nada é enviado sem a sua confirmação.",
        en="The original file is never changed; nothing is sent without your confirmation.",
    ),
    "reading": Text(pt="Conferindo…", en="Checking…"),
    "reading_file": Text(pt="Conferindo {file} ({mb} MB)…", en="Checking {file} ({mb} MB)…"),
    "rows_so_far": Text(pt="Linhas lidas: {rows}", en="Rows read: {rows}"),
    "checking_column": Text(
        pt="Coluna {number} de {count}: {column}", en="Column {number} of {count}: {column}"
    ),
    "resource": Text(pt="O que a planilha traz", en="What the sheet holds"),
    "recognise": Text(pt="reconhecer pela planilha", en="recognise by the sheet"),
    "sheet": Text(pt="Planilha", en="Sheet"),
    "dates": Text(pt="Datas em texto", en="Dates as text"),
    "dates_dmy": Text(pt="dia/mês/ano", en="day/month/year"),
    "dates_mdy": Text(pt="mês/dia/ano", en="month/day/year"),
    "numbers": Text(pt="Números em texto", en="Numbers as text"),
    "by_column": Text(pt="conforme a coluna", en="as the column shows"),
    "csv_delimiter": Text(pt="Separador do .csv", en="Delimiter of the .csv"),
    "csv_encoding": Text(pt="Codificação do .csv", en="Encoding of the .csv"),
    "by_content": Text(pt="conforme o conteúdo", en="as the content shows"),
    "own_header": Text(pt="Na planilha", en="In the sheet"),
    "meaning": Text(pt="No sistema", en="In the system"),
    "not_used": Text(pt="não usada", en="not used"),
    "header_row": Text(pt="Cabeçalho na linha {n}", en="Header in row {n}"),
    "counts": Text(
        pt="Linhas: {rows} · erros: {errors} · avisos: {warnings}",
        en="Rows: {rows} · errors: {errors} · warnings: {warnings}",
    ),
    "all_good": Text(
        pt="Nenhum erro: a planilha pode ser enviada.", en="No errors: the sheet can be sent."
    ),
    "refused": Text(pt="recusadas pelo sistema: {n}", en="refused by the system: {n}"),
    "rules": Text(pt="O que foi encontrado", en="What was found"),
    "only_wrong": Text(pt="Só linhas com problema", en="Rows with findings only"),
    "all_rows": Text(pt="Todas as linhas", en="All rows"),
    "of_rule": Text(pt="Linhas escolhidas", en="Chosen rows"),
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
    "outside": Text(
        pt="O que foi colado passa da última coluna, ou das linhas que esta visualização mostra; "
        "nada foi alterado. Linhas novas cabem em “Todas as linhas”.",
        en="What was pasted reaches beyond the last column, or the rows that this view shows; "
        "nothing was changed. New rows fit into “All rows”.",
    ),
    "not_copied": Text(
        pt="São linhas demais para copiar daqui, e nada foi copiado nem apagado; baixe a planilha "
        "corrigida.",
        en="These are too many rows to copy from here, and nothing was copied or erased; download "
        "the corrected workbook.",
    ),
    "row_title": Text(pt="Linha", en="Row"),
    "record": Text(pt="Registro", en="Record"),
    "action": Text(pt="No plano", en="In the plan"),
    "reason": Text(pt="Motivo", en="Reason"),
    "differences": Text(
        pt="Diferenças: no sistema → na planilha", en="Differences: in the system → in the sheet"
    ),
    "more_rows": Text(
        pt="… e mais {n}; as retidas vêm primeiro, e a grade mostra todas.",
        en="… and {n} more; those that are held come first, and the grid shows all.",
    ),
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
    "create": Text(pt="a incluir", en="to create"),
    "update_action": Text(pt="a alterar", en="to update"),
    "unchanged": Text(pt="sem alteração", en="unchanged"),
    "held": Text(pt="retidas", en="held"),
    "row_held": Text(pt="retida", en="held"),
    "unread": Text(pt="a incluir sem conferir", en="to create without a look-up"),
    "environment": Text(pt="Ambiente", en="Environment"),
    "production": Text(pt="PRODUÇÃO", en="PRODUCTION"),
    "no_production": Text(pt="não é produção", en="not production"),
    "practice": Text(pt="sistema de ensaio", en="practice system"),
    "type_token": Text(
        pt="Para gravar em produção, digite {token}", en="To write to production, type {token}"
    ),
    "send_rows": Text(pt="Enviar · linhas: {n}", en="Send · rows: {n}"),
    "nothing_to_send": Text(pt="Nada a enviar.", en="Nothing to send."),
    "cancel": Text(pt="Interromper", en="Stop"),
    "stopping": Text(
        pt="Interrompendo, assim que o passo atual terminar…",
        en="Stopping, as soon as the present step ends…",
    ),
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
    "accepted": Text(pt="Aceitas", en="Accepted"),
    "rejected": Text(pt="Rejeitadas", en="Rejected"),
    "rows_read": Text(pt="Linhas", en="Rows"),
    "rows_unchanged": Text(pt="Sem alteração", en="Unchanged"),
    "rows_held": Text(pt="Retidas", en="Held"),
    "listing": Text(pt="Listagem", en="Listing"),
    "export_run": Text(pt="Exportar", en="Export"),
    "preview": Text(pt="Primeiras linhas", en="First rows"),
    "export_done": Text(pt="Registros: {n}.", en="Records: {n}."),
    "download_export": Text(pt="Baixar", en="Download"),
    "batches": Text(pt="Lotes", en="Batches"),
    "process": Text(pt="Processar", en="Process"),
    "profiles": Text(pt="Ambientes", en="Environments"),
    "header_at": Text(pt="Linha do cabeçalho", en="Header row"),
    "samples": Text(pt="Exemplos", en="Samples"),
    "why": Text(pt="Por quê", en="Why"),
    "mapping": Text(pt="Colunas usadas: {used}/{all}", en="Columns used: {used}/{all}"),
    "mapping_own": Text(
        pt="Os cabeçalhos são os do sistema. Se uma coluna estiver errada, escolha outra e "
        "confirme.",
        en="The headers are the system's own. Where a column is wrong, choose another and confirm.",
    ),
    "mapping_proposed": Text(
        pt="Esta planilha tem cabeçalhos próprios. Confira a que coluna do sistema corresponde "
        "cada um, e confirme; fica lembrado para a próxima vez.",
        en="This sheet has headers of its own. Check which column of the system each one is, and "
        "confirm; it is remembered for the next time.",
    ),
    "mapping_remembered": Text(
        pt="Este cabeçalho é conhecido: as colunas são as que foram confirmadas da última vez.",
        en="This header is known: the columns are those that were confirmed the last time.",
    ),
    "mapping_confirmed": Text(pt="As colunas estão confirmadas.", en="The columns are confirmed."),
    "map": Text(pt="Confirmar as colunas", en="Confirm the columns"),
    "header_twice": Text(
        pt="aparece mais de uma vez; para usá-la, dê outro nome na planilha",
        en="is there more than once; to use it, rename it in the sheet",
    ),
    "constants": Text(
        pt="A planilha não tem estas colunas; um valor vale para todas as linhas (* obrigatória):",
        en="The sheet lacks these columns; one value goes for all rows (* required):",
    ),
    "fill_in": Text(
        pt="Preencha os valores que só você sabe.", en="Fill in the values that only you know."
    ),
    "confirm_first": Text(
        pt="Confira as colunas abaixo e confirme.", en="Check the columns below and confirm."
    ),
    "say_resource": Text(
        pt="Diga o que a planilha traz, ou em que linha está o cabeçalho.",
        en="Say what the sheet holds, or in which row its header is.",
    ),
    "drafts": Text(pt="Continuar uma edição", en="Continue an edit"),
    "continue_draft": Text(pt="Continuar", en="Continue"),
    "discard": Text(pt="Descartar", en="Discard"),
    "changed_cells": Text(pt="Células alteradas", en="Cells changed"),
    "templates": Text(pt="Começar de um modelo", en="Begin with a template"),
    "templates_why": Text(
        pt="O modelo tem as colunas certas e uma planilha de instruções.",
        en="A template has the right columns and a sheet of instructions.",
    ),
    "template": Text(pt="Baixar o modelo", en="Download the template"),
    "set_aside": Text(pt="Deixar de fora: não é registro", en="Set aside: no record"),
    "cell": Text(pt="Célula", en="Cell"),
    "as_text": Text(pt="texto", en="text"),
    "before": Text(pt="Antes", en="Before"),
    "after": Text(pt="Depois", en="After"),
    "in_grid": Text(pt="ver na grade", en="show in the grid"),
    "retry_of": Text(
        pt="As linhas recusadas do envio {job} vão de novo; as aceitas não.",
        en="The refused rows of the upload {job} go again; the accepted ones do not.",
    ),
    "to_refused": Text(pt="Ver as linhas recusadas", en="Show the refused rows"),
    "status_copy": Text(
        pt="Baixar a cópia com a situação de cada linha",
        en="Download the copy with each row's state",
    ),
    "doubt_page": Text(
        pt="Baixar o que se sabe da dúvida", en="Download what is known of the doubt"
    ),
    "history": Text(pt="Histórico", en="History"),
    "details": Text(pt="Detalhes", en="Details"),
    "doubt": Text(
        pt="Só uma pessoa pode decidir. Confira no sistema se as linhas sem prova estão lá, e se "
        "alguma importação ainda está em andamento; o que você disser fica registrado com seu "
        "nome e a hora. Se só algumas estão, complete ou desfaça à mão no sistema primeiro.",
        en="Only a person can decide. Look in the system whether the rows without proof are there, "
        "and whether an import is still running; what you say is recorded with your name and the "
        "time. If only some are there, complete or undo it by hand in the system first.",
    ),
    "doubt_reason": Text(pt="O que foi visto, e onde", en="What was seen, and where"),
    "doubt_applied": Text(pt="Estão todas no sistema", en="All of them are in the system"),
    "doubt_not_applied": Text(pt="Nenhuma está no sistema", en="None of them is in the system"),
    "yes": Text(pt="sim", en="yes"),
    "no": Text(pt="não", en="no"),
    "reading_records": Text(pt="Lendo os registros…", en="Reading the records…"),
    "complete": Text(pt="A exportação está completa.", en="The export is complete."),
    "incomplete": Text(
        pt="Não há prova de que a exportação está completa; use um período menor.",
        en="It is not proven that the export is complete; use a shorter period.",
    ),
    "no_batches": Text(pt="Nenhum lote ainda.", en="No batch yet."),
    "batches_how": Text(
        pt="Um lote começa no terminal: xlbridge batch run PLANO.yaml. Aqui se vê em que etapa "
        "está e o que falta corrigir, e ele continua de onde parou.",
        en="A batch begins in the terminal: xlbridge batch run PLAN.yaml. Here is which step it is "
        "at and what is left to correct, and it goes on from where it stopped.",
    ),
    "batch_rows": Text(
        pt="Linhas: {read} · aceitas: {accepted} · sem alteração: {unchanged} · retidas: {held} · "
        "rejeitadas: {rejected} · sem prova: {unknown} · não enviadas: {unsent}",
        en="Rows: {read} · accepted: {accepted} · unchanged: {unchanged} · held: {held} · "
        "rejected: {rejected} · without proof: {unknown} · not sent: {unsent}",
    ),
    "correct_unit": Text(
        pt="Corrigir na grade · erros: {n}", en="Correct in the grid · errors: {n}"
    ),
    "unit_how": Text(
        pt="Cópia de um arquivo do lote {batch}. Depois de corrigir, baixe a planilha corrigida, "
        "guarde-a no lugar de {path} com o mesmo nome, e continue o lote em Lotes: o arquivo é "
        "conferido de novo. O que envolve vários arquivos só aparece lá.",
        en="Copy of a workbook of the batch {batch}. When it is corrected, download the corrected "
        "workbook, save it in place of {path} under the same name, and go on with the batch under "
        "Batches: it is checked again. What concerns several workbooks is only shown there.",
    ),
    "run_batch": Text(pt="Conferir e continuar", en="Check and go on"),
    "step_rows": Text(
        pt="arquivos: {files} · linhas: {rows}", en="workbooks: {files} · rows: {rows}"
    ),
    "left_out": Text(pt="Ficam de fora, com erros: {n}", en="Left out, with errors: {n}"),
    "proof_written": Text(pt="Prova de fechamento: {file}, {at}", en="Closing proof: {file}, {at}"),
    "proof": Text(pt="Baixar a prova de fechamento", en="Download the closing proof"),
    "process_what": Text(
        pt="Emite notas e processa pedidos, inventários e arquivos da fila, em lote.",
        en="Emits invoices and processes orders, inventories and queued files, in bulk.",
    ),
    "process_numbers": Text(pt="Números dos registros", en="Numbers of the records"),
    "process_which": Text(
        pt="Diga os números dos registros, como 1831, 1833.",
        en="Say the numbers of the records, such as 1831, 1833.",
    ),
    "process_run": Text(pt="Processar · registros: {n}", en="Process · records: {n}"),
    "record_unknown": Text(pt="processar", en="process"),
    "record_already": Text(pt="já processado", en="processed already"),
    "record_rejected": Text(pt="fica de fora", en="left out"),
    "profiles_how": Text(
        pt="Um ambiente novo se cria no terminal, que pede a senha; ela nunca passa por aqui: "
        "xlbridge login --profile NOME --url ENDEREÇO --email USUÁRIO --no-production. A marca de "
        "produção só se retira lá.",
        en="A new environment is made in the terminal, which asks for the password; it never "
        "passes through here: xlbridge login --profile NAME --url ADDRESS --email USER "
        "--no-production. The mark of production is only taken away there.",
    ),
    "use_profile": Text(pt="Usar este", en="Use this one"),
    "test_login": Text(pt="Testar o acesso", en="Test the login"),
    "mark_production": Text(pt="Marcar como produção", en="Mark as production"),
    "address": Text(pt="Endereço", en="Address"),
    "user": Text(pt="Usuário", en="User"),
    "chosen": Text(pt="o desta página", en="that of this page"),
}


def page_texts() -> dict[str, str]:
    """Return all texts by name, in the active language."""
    return {name: str(text) for name, text in _TEXTS.items()}
