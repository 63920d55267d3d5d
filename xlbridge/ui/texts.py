"""Texts of the page in both languages, by the names used in its scripts."""

from collections.abc import Mapping

from xlbridge import titles
from xlbridge.i18n import Text
from xlbridge.ui.help_texts import HELP_TEXTS
from xlbridge.upload.planning import RowAction

FILL_IN = Text(pt="Preencha este valor.", en="Fill in this value.")
NOT_CONFIRMED = Text(
    pt="As colunas ainda não estão confirmadas: corrija o que está marcado abaixo.",
    en="The columns are not confirmed yet: correct what is marked below.",
)

_TEXTS: Mapping[str, Text] = {
    **HELP_TEXTS,
    "begin": Text(pt="Abrir", en="Open"),
    "mend": Text(pt="Corrigir", en="Correct"),
    "send": Text(pt="Enviar", en="Send"),
    "jobs": titles.UPLOADS,
    "upload": titles.UPLOAD,
    "exports": Text(pt="Exportar", en="Export"),
    "end": Text(pt="Encerrar", en="End"),
    "ended": Text(
        pt="A página foi encerrada. Para abrir de novo, inicie o xlbridge como antes.",
        en="The page is closed. To open it again, start xlbridge as before.",
    ),
    "lost": Text(
        pt="A página perdeu a conexão com o xlbridge; a última alteração pode não ter sido salva. "
        "Se o xlbridge foi fechado, inicie-o de novo: a planilha reabre com as suas correções.",
        en="The page lost its connection to xlbridge; the last change may not have been saved. If "
        "xlbridge was closed, start it again: the sheet opens again with your corrections.",
    ),
    "lost_work": Text(
        pt="A página perdeu a conexão com o xlbridge. Se o xlbridge foi fechado, inicie-o de "
        "novo: Envios e Lotes mostram o que foi gravado e continuam de onde parou.",
        en="The page lost its connection to xlbridge. If xlbridge was closed, start it again: "
        "Uploads and Batches show what was written, and continue from where it stopped.",
    ),
    "drop": Text(
        pt="Solte aqui a sua planilha: .xlsx, .csv, .xls, .xlsb ou .ods",
        en="Drop your workbook here: .xlsx, .csv, .xls, .xlsb or .ods",
    ),
    "help": Text(pt="Ajuda", en="Help"),
    "menu": Text(pt="Menu", en="Menu"),
    "language": Text(pt="Idioma (language)", en="Language (idioma)"),
    "theme": Text(pt="Cores", en="Colours"),
    "theme_": Text(pt="as do computador", en="as the computer"),
    "theme_light": Text(pt="claras", en="light"),
    "theme_dark": Text(pt="escuras", en="dark"),
    "needs_sheet": Text(
        pt="Abra uma planilha e confira as colunas primeiro.",
        en="Open a sheet and check its columns first.",
    ),
    "one_file": Text(
        pt="Solte um arquivo por vez. Para vários arquivos, use Lotes.",
        en="Drop one file at a time. For several files, use Batches.",
    ),
    "choose_file": Text(pt="Escolher o arquivo", en="Choose the file"),
    "original": Text(
        pt="O arquivo original nunca é alterado; nada é enviado sem a sua confirmação.",
        en="The original file is never changed; nothing is sent without your confirmation.",
    ),
    "reading": Text(pt="Validando…", en="Validating…"),
    "reading_file": Text(pt="Validando {file} ({mb} MB)…", en="Validating {file} ({mb} MB)…"),
    "share_done": Text(pt="{percent}% · {done} de {total}", en="{percent}% · {done} of {total}"),
    "steps_done": Text(pt="Respostas do sistema: {done}", en="Answers of the system: {done}"),
    "time_left": Text(pt="faltam {time}", en="{time} left"),
    "rows_so_far": Text(pt="Linhas lidas: {rows}", en="Rows read: {rows}"),
    "checking_column": Text(
        pt="Coluna {number} de {count}: {column}", en="Column {number} of {count}: {column}"
    ),
    "resource": titles.RESOURCE,
    "recognise": Text(pt="reconhecer automaticamente", en="recognise automatically"),
    "sheet": titles.SHEET,
    "dates": Text(pt="Datas em texto", en="Dates as text"),
    "dates_dmy": Text(pt="dia/mês/ano", en="day/month/year"),
    "dates_mdy": Text(pt="mês/dia/ano", en="month/day/year"),
    "numbers": Text(pt="Números em texto", en="Numbers as text"),
    "by_column": Text(pt="detectar por coluna", en="detect by column"),
    "csv_delimiter": Text(pt="Separador do .csv", en="Delimiter of the .csv"),
    "csv_encoding": Text(pt="Codificação do .csv", en="Encoding of the .csv"),
    "by_content": Text(pt="detectar pelo conteúdo", en="detect from the content"),
    "own_header": Text(pt="Na planilha", en="In the sheet"),
    "meaning": titles.IN_SYSTEM,
    "not_used": Text(pt="não usada", en="not used"),
    "header_row": Text(pt="Cabeçalho na linha {n}", en="Header in row {n}"),
    "rules": Text(pt="Problemas encontrados", en="Findings"),
    "no_rules": Text(pt="Nenhum problema.", en="No findings."),
    "only_wrong": Text(pt="Só linhas com problema", en="Only rows with findings"),
    "all_rows": Text(pt="Todas as linhas", en="All rows"),
    "of_rule": Text(pt="Linhas selecionadas", en="Selected rows"),
    "next_error": Text(pt="Próximo erro (F8)", en="Next error (F8)"),
    "undo": Text(pt="Desfazer", en="Undo"),
    "redo": Text(pt="Refazer", en="Redo"),
    "fix_all": Text(pt="Corrigir todos: {n}", en="Fix all: {n}"),
    "accept": Text(pt="Está certo", en="This is right"),
    "fix_what": Text(pt="Células que serão corrigidas: {n}", en="Cells to be corrected: {n}"),
    "fix_do": Text(pt="Corrigir", en="Correct"),
    "close": Text(pt="Voltar", en="Back"),
    "replace_values": Text(pt="Substituir em todas…", en="Replace in all…"),
    "replace_all": Text(pt="Substituir em todas: {n}", en="Replace in all: {n}"),
    "replace_by": Text(pt="Substituir “{value}” por", en="Replace “{value}” with"),
    "empty_cell": Text(pt="(vazia)", en="(empty)"),
    "more_values": Text(pt="… mais valores: {n}", en="… more values: {n}"),
    "cells": Text(pt="Células", en="Cells"),
    "download": Text(pt="Baixar a planilha corrigida", en="Download the corrected workbook"),
    "grid": Text(
        pt="Células da planilha; Esc e depois Tab saem da grade, F8 vai ao próximo erro",
        en="Cells of the sheet; Esc and then Tab leave the grid, F8 goes to the next error",
    ),
    "undo_what": Text(pt="Desfazer: {what}", en="Undo: {what}"),
    "saving": Text(pt="Salvando…", en="Saving…"),
    "saved": Text(pt="Tudo salvo", en="All saved"),
    "reopened": Text(
        pt="Reaberta onde você parou, com as correções salvas",
        en="Reopened where you left it, with your corrections",
    ),
    "reopened_elsewhere": Text(
        pt="Reaberta com as correções salvas. Era do ambiente {name}; a página usa o que está "
        "acima.",
        en="Reopened with your corrections. It was of the environment {name}; the page uses the "
        "one above.",
    ),
    "saved_at": Text(pt="Tudo salvo às {time}", en="All saved at {time}"),
    "not_saved": Text(pt="A última alteração não foi salva", en="The last change was not saved"),
    "find": Text(pt="Localizar", en="Find"),
    "find_by": Text(pt="Substituir por", en="Replace with"),
    "find_in": Text(pt="em", en="in"),
    "find_everywhere": Text(pt="todas as colunas", en="all columns"),
    "find_whole": Text(pt="célula inteira", en="whole cell"),
    "find_next": Text(pt="Próxima", en="Next"),
    "find_replace_one": Text(pt="Substituir", en="Replace"),
    "find_replace_all": Text(pt="Substituir todas…", en="Replace all…"),
    "find_close": Text(pt="Fechar", en="Close"),
    "found_cells": Text(pt="Células encontradas: {n}", en="Cells found: {n}"),
    "edit_menu": Text(pt="Editar", en="Edit"),
    "column": titles.COLUMN,
    "sort_up": Text(pt="Crescente", en="Ascending"),
    "sort_down": Text(pt="Decrescente", en="Descending"),
    "filter_contains": Text(pt="Mostrar as linhas que contêm", en="Show the rows that contain"),
    "filter_values": Text(pt="Valores da coluna", en="Values of the column"),
    "filter_all": Text(pt="Todos / nenhum", en="All / none"),
    "filter_do": Text(pt="Filtrar", en="Filter"),
    "filter_clear": Text(pt="Limpar", en="Clear"),
    "clear_arrangement": Text(
        pt="Limpar filtros e ordenação · linhas à vista: {n}",
        en="Remove filters and order · rows shown: {n}",
    ),
    "hide_column": Text(pt="Ocultar a coluna", en="Hide the column"),
    "show_hidden": Text(pt="Mostrar as colunas ocultas: {n}", en="Show the hidden columns: {n}"),
    "freeze": Text(pt="Congelar até esta coluna", en="Freeze up to this column"),
    "unfreeze": Text(pt="Descongelar as colunas", en="Unfreeze the columns"),
    "fit_column": Text(pt="Ajustar a largura ao texto", en="Fit the width to the text"),
    "fill_down": Text(pt="Preencher para baixo", en="Fill down"),
    "fill_series": Text(pt="Preencher em série", en="Fill as a series"),
    "insert_above": Text(pt="Inserir linhas acima", en="Insert rows above"),
    "insert_below": Text(pt="Inserir linhas abaixo", en="Insert rows below"),
    "delete_rows": Text(pt="Excluir as linhas", en="Delete the rows"),
    "open_choices": Text(pt="Escolher um valor", en="Choose a value"),
    "keys_of_grid": Text(
        pt="Na planilha baixada, linhas novas ficam onde estão aqui (no fim, se o arquivo tem "
        "fórmulas) e as excluídas ficam vazias. F2 edita, Ctrl+F localiza, Esc e depois Tab saem "
        "da grade.",
        en="In the downloaded workbook, new rows are where they are here (at the end, if the file "
        "has formulas), and deleted ones are empty. F2 edits, Ctrl+F finds, Esc and then Tab leave "
        "the grid.",
    ),
    "outside": Text(
        pt="Os dados colados passam da última coluna ou das linhas desta visualização; nada foi "
        "alterado. Para incluir linhas, use “Todas as linhas”.",
        en="The pasted data exceeds the last column or the rows of this view; nothing was changed. "
        "To add rows, use “All rows”.",
    ),
    "too_long": Text(
        pt="São linhas demais para copiar ou apagar de uma vez (o limite é 5.000); nada foi "
        "copiado nem apagado. Baixe a planilha corrigida e continue no Excel.",
        en="Too many rows to copy or erase at once (the limit is 5,000); nothing was copied or "
        "erased. Download the corrected workbook, and continue in Excel.",
    ),
    "row_title": titles.ROW,
    "empty_view": Text(
        pt="Nenhuma linha aqui. Escolha “Todas as linhas” para ver a planilha inteira, ou Enviar "
        "para ver o plano.",
        en="No rows here. Choose “All rows” to see the whole sheet, or Send to see the plan.",
    ),
    "plan": Text(pt="Ver o plano", en="See the plan"),
    "plan_first": Text(
        pt="O plano mostra o que será feito com cada linha; nada é gravado ainda.",
        en="The plan shows what will be done with each row; nothing is written yet.",
    ),
    "planning": Text(pt="Procurando os registros no sistema…", en="Looking up the records…"),
    "has_errors": Text(
        pt="Erros na planilha: {n}. Corrija-os ou envie só as linhas sem erros.",
        en="Errors in the sheet: {n}. Correct them, or send only the rows without errors.",
    ),
    "good_rows": Text(pt="Enviar só as linhas sem erros", en="Send only rows without errors"),
    "update_existing": Text(
        pt="Alterar registros que já existem com outros valores",
        en="Change records that exist with other values",
    ),
    "foreign_numbers": Text(
        pt="Os números dos registros vêm de outro sistema: procurar só pelas chaves",
        en="Record numbers are another system's: look up by keys only",
    ),
    "more_choices": Text(pt="Outras opções", en="More options"),
    "clear_empty": Text(
        pt="Apagar no sistema o que está vazio na planilha",
        en="Clear in the system what is empty in the sheet",
    ),
    "create_unread": Text(
        pt="Incluir também o que não dá para conferir no sistema",
        en="Also create what cannot be looked up in the system",
    ),
    "again_reason": Text(pt="Motivo, que fica registrado", en="Reason, which is recorded"),
    "create_again": Text(pt="Incluir de novo, de propósito", en="Create again on purpose"),
    "create": Text(pt="a incluir", en="to create"),
    "delete": Text(pt="a excluir", en="to delete"),
    "update_action": Text(pt="a alterar", en="to update"),
    "unchanged": Text(pt="sem alteração", en="unchanged"),
    "held": Text(pt="não enviadas, aguardando você", en="not sent, waiting for you"),
    "aside": Text(pt="deixadas de fora, não são registros", en="set aside, not records"),
    "all_update": Text(pt="Alterar todas: {n}", en="Change all: {n}"),
    "all_clear": Text(pt="Apagar em todas: {n}", en="Clear in all: {n}"),
    "all_create_unread": Text(pt="Incluir todas assim mesmo: {n}", en="Create all anyway: {n}"),
    "all_again": Text(pt="Incluir todas de novo: {n} …", en="Create all again: {n} …"),
    "all_foreign_numbers": Text(
        pt="Ignorar os números de todas: {n}", en="Ignore the numbers of all: {n}"
    ),
    "more_undone": Text(pt="… mais linhas: {n}", en="… more rows: {n}"),
    "unread": Text(pt="a incluir sem conferir", en="to create without a look-up"),
    "environment": titles.ENVIRONMENT,
    "quirks": titles.QUIRKS,
    "production": Text(pt="PRODUÇÃO", en="PRODUCTION"),
    "no_production": Text(pt="não é produção", en="not production"),
    "practice": Text(pt="ambiente de testes", en="sandbox"),
    "type_token": Text(
        pt="Para gravar em produção, digite {token}", en="To write to production, type {token}"
    ),
    "send_rows": Text(pt="Enviar · linhas: {n}", en="Send · rows: {n}"),
    "nothing_to_send": Text(pt="Nada a enviar.", en="Nothing to send."),
    "nothing_but_held": Text(
        pt="Nada a enviar ainda: decida abaixo o que fazer com as linhas que aguardam você.",
        en="Nothing to send yet: decide below what to do with the rows that wait for you.",
    ),
    "cancel": Text(pt="Interromper", en="Stop"),
    "progress": Text(pt="Andamento", en="Progress"),
    "stopping": Text(
        pt="Interrompendo assim que o passo atual terminar…",
        en="Stopping after the current step…",
    ),
    "sending": Text(pt="Enviando…", en="Sending…"),
    "rejects": Text(pt="Baixar as linhas rejeitadas", en="Download the rejected rows"),
    "back_to_grid": Text(
        pt="As linhas rejeitadas estão na grade, com o motivo. Corrija-as e envie de novo: o que "
        "já foi gravado não será enviado outra vez.",
        en="The rejected rows are in the grid, with the reason. Correct them and send again: rows "
        "already written are not sent twice.",
    ),
    "no_jobs": Text(
        pt="Nenhum envio ainda. Abra uma planilha em Abrir e envie-a: cada envio fica aqui, com o "
        "que foi gravado.",
        en="No upload yet. Open a sheet under Open and send it: each upload is kept here, with "
        "what was written.",
    ),
    "resume": Text(pt="Continuar", en="Continue"),
    "file": titles.FILE,
    "when": titles.DATE,
    "listing": titles.LISTING,
    "format": Text(pt="Formato", en="Format"),
    "format_xlsx": Text(pt="Planilha Excel (.xlsx)", en="Excel workbook (.xlsx)"),
    "format_csv-br": Text(
        pt="CSV brasileiro: ponto e vírgula, vírgula decimal, dd/mm/aaaa",
        en="Brazilian CSV: semicolons, decimal commas, dd/mm/yyyy",
    ),
    "format_csv": Text(
        pt="CSV para programas: vírgula, ponto decimal, aaaa-mm-dd",
        en="CSV for programs: commas, decimal points, yyyy-mm-dd",
    ),
    "format_import": Text(
        pt="Planilha de importação: para alterar e enviar de volta",
        en="Import sheet: to be changed and sent back",
    ),
    "export_run": Text(pt="Exportar", en="Export"),
    "preview": Text(pt="Primeiras linhas", en="First rows"),
    "download_export": Text(pt="Baixar", en="Download"),
    "batches": titles.BATCHES,
    "process": Text(pt="Processar", en="Process"),
    "profiles": Text(pt="Ambientes", en="Environments"),
    "header_at": Text(pt="Linha do cabeçalho", en="Header row"),
    "samples": Text(pt="Exemplos", en="Samples"),
    "why": titles.REASON,
    "mapping": Text(pt="Colunas usadas: {used} de {all}", en="Columns used: {used} of {all}"),
    "mapping_own": Text(
        pt="Os cabeçalhos são os do sistema. Se uma coluna estiver errada, escolha outra e "
        "confirme.",
        en="The headers are the system's own. If a column is wrong, choose another and confirm.",
    ),
    "mapping_proposed": Text(
        pt="Esta planilha tem cabeçalhos próprios. Confira a que coluna do sistema cada um "
        "corresponde e confirme; a escolha fica salva para a próxima vez.",
        en="This sheet has headers of its own. Check which column of the system each one stands "
        "for, and confirm; the choice is saved for the next time.",
    ),
    "mapping_remembered": Text(
        pt="Este cabeçalho é conhecido: as colunas são as confirmadas da última vez.",
        en="This header is known: the columns are those confirmed last time.",
    ),
    "names_not_looked_up": Text(
        pt="Os nomes não foram procurados no sistema: {why}",
        en="The names were not looked up in the system: {why}",
    ),
    "mapping_confirmed": Text(pt="As colunas estão confirmadas.", en="The columns are confirmed."),
    "map": Text(pt="Confirmar as colunas", en="Confirm the columns"),
    "header_twice": Text(
        pt="aparece mais de uma vez; para usá-la, dê outro nome na planilha",
        en="occurs more than once; to use it, rename it in the sheet",
    ),
    "constants": Text(
        pt="A planilha não tem estas colunas; informe um valor para todas as linhas "
        "(* obrigatória):",
        en="The sheet lacks these columns; enter one value for all rows (* required):",
    ),
    "differs": Text(
        pt="Diferente em cada registro; escolha acima a coluna da planilha: {names}.",
        en="Different in each record; choose the column of the sheet above: {names}.",
    ),
    "rows_read": Text(pt="as linhas entram", en="the rows are read"),
    "rows_left_out": Text(pt="ficam de fora", en="are left out"),
    "month_of_days": Text(pt="Coluna com o mês", en="Column with the month"),
    "months_later": Text(
        pt="Meses depois desse (0: no mesmo mês)", en="Months after that one (0: in the same month)"
    ),
    "fill_in": FILL_IN,
    "not_confirmed": NOT_CONFIRMED,
    "confirm_first": Text(
        pt="Confira as colunas abaixo e confirme.", en="Check the columns below and confirm."
    ),
    "say_resource": Text(
        pt="Escolha abaixo o tipo de registro ou a planilha, ou informe a linha do cabeçalho.",
        en="Choose the kind of record or the sheet below, or enter the row of the header.",
    ),
    "drafts": Text(pt="Continuar uma edição", en="Continue an edit"),
    "continue_draft": Text(pt="Continuar", en="Continue"),
    "discard": Text(pt="Descartar", en="Discard"),
    "changed_cells": Text(pt="Células alteradas", en="Cells changed"),
    "templates": Text(pt="Começar com um modelo", en="Start with a template"),
    "templates_why": Text(
        pt="O modelo tem as colunas certas e uma planilha de instruções.",
        en="A template has the right columns and a sheet of instructions.",
    ),
    "template": Text(pt="Baixar o modelo", en="Download the template"),
    "template_lists": Text(
        pt="com as listas do sistema (clientes, filiais…)",
        en="with the system's lists (clients, branches…)",
    ),
    "set_aside": Text(pt="Deixar de fora: não é registro", en="Set aside: not a record"),
    "cell": titles.CELL,
    "as_text": Text(pt="texto", en="text"),
    "before": titles.BEFORE,
    "after": titles.AFTER,
    "in_grid": Text(pt="ver na grade", en="show in the grid"),
    "retry_of": Text(
        pt="As linhas rejeitadas do envio {job} serão enviadas de novo; as aceitas, não.",
        en="The rejected rows of the upload {job} are sent again; the accepted ones are not.",
    ),
    "to_refused": Text(pt="Ver as linhas rejeitadas", en="Show the rejected rows"),
    "to_held": Text(pt="Ver as linhas que aguardam você", en="Show the rows that wait for you"),
    "status_copy": Text(
        pt="Baixar a cópia com a situação de cada linha",
        en="Download the copy with each row's status",
    ),
    "doubt_page": Text(pt="Baixar as evidências", en="Download the evidence"),
    "history": Text(pt="Histórico", en="History"),
    "details": titles.DETAILS,
    "undo_upload": Text(pt="Desfazer este envio", en="Undo this upload"),
    "to_undo": Text(pt="a desfazer", en="to undo"),
    "not_undone": Text(pt="ficam como estão", en="left as they are"),
    "undo_run": Text(pt="Desfazer · linhas: {n}", en="Undo · rows: {n}"),
    "nothing_to_undo": Text(pt="Nenhuma linha pode ser desfeita.", en="No row can be undone."),
    "doubt": Text(
        pt="Este envio depende de uma decisão sua. Confira no sistema se as linhas em dúvida "
        "estão lá e se alguma importação ainda está em andamento; sua resposta fica registrada com "
        "nome e hora. Se só algumas linhas estão lá, complete ou desfaça antes no sistema.",
        en="This upload needs your decision. Check in the system whether the rows in "
        "doubt are there, and whether an import is still running; your answer is recorded with "
        "your name and the time. If only some rows are there, complete or undo them in the system "
        "first.",
    ),
    "doubt_reason": Text(pt="O que foi visto, e onde", en="What you saw, and where"),
    "doubt_applied": Text(pt="Estão todas no sistema", en="All of them are in the system"),
    "doubt_not_applied": Text(pt="Nenhuma está no sistema", en="None of them is in the system"),
    "yes": titles.YES,
    "no": titles.NO,
    "reading_records": Text(pt="Lendo os registros…", en="Reading the records…"),
    "no_batches": Text(
        pt="Nenhum lote ainda. Abra acima a pasta com as planilhas do mês.",
        en="No batch yet. Open the folder with the month's workbooks above.",
    ),
    "this_computer": Text(pt="neste computador", en="on this computer"),
    "begin_month": Text(pt="Começar um mês", en="Begin a month"),
    "folder": Text(pt="Pasta", en="Folder"),
    "folder_open": Text(pt="Abrir a pasta", en="Open the folder"),
    "folder_above": Text(pt="↑ pasta acima", en="↑ folder above"),
    "folder_empty": Text(
        pt="Esta pasta não tem planilhas nem plano.", en="This folder has no workbooks and no plan."
    ),
    "folder_workbooks": Text(pt="Planilhas nesta pasta: {n}", en="Workbooks in this folder: {n}"),
    "plan_from_folder": Text(
        pt="Montar o plano com estas planilhas", en="Make a plan of these workbooks"
    ),
    "plan_steps": titles.STEPS,
    "plan_which": Text(
        pt="Quais planilhas entram no lote?", en="Which workbooks are part of the batch?"
    ),
    "plan_name": Text(pt="Nome do lote", en="Name of the batch"),
    "plan_make": Text(pt="Criar o plano e conferir", en="Create the plan and check"),
    "month": Text(pt="Mês", en="Month"),
    "begin_batch": Text(pt="Conferir e começar", en="Check and begin"),
    "prove_batch": Text(pt="Gravar a prova com a situação atual", en="Write the proof as of now"),
    "workbook_counts": Text(
        pt="Linhas: {rows} · erros: {errors}", en="Rows: {rows} · errors: {errors}"
    ),
    "replace_unit": Text(
        pt="Usar esta planilha corrigida no lote", en="Use this corrected workbook in the batch"
    ),
    "correct_unit": Text(
        pt="Corrigir na grade · erros: {n}", en="Correct in the grid · errors: {n}"
    ),
    "run_batch": Text(pt="Conferir e continuar", en="Check and go on"),
    "confirm_writes": Text(pt="Confirme o que será gravado", en="Confirm what will be written"),
    "proof_written": Text(
        pt="Prova de fechamento de {at} ({name}):", en="Closing proof of {at} ({name}):"
    ),
    "proof_html": Text(pt="Baixar a prova, para imprimir", en="Download the proof, to print"),
    "proof_xlsx": Text(pt="Baixar a prova em Excel", en="Download the proof in Excel"),
    "process_kind": Text(pt="O que processar", en="What to process"),
    "process_numbers": Text(
        pt="Números dos registros (ex.: 1831, 1833)",
        en="Numbers of the records, such as 1831, 1833",
    ),
    "process_which": Text(
        pt="Informe os números dos registros (ex.: 1831, 1833).",
        en="Enter the numbers of the records, such as 1831, 1833.",
    ),
    "process_run": Text(pt="Processar · registros: {n}", en="Process · records: {n}"),
    "nothing_to_process": Text(pt="Nada a processar.", en="Nothing to process."),
    "new_profile": Text(pt="Adicionar um ambiente", en="Add an environment"),
    "profile_name": Text(pt="Nome (ex.: homologacao)", en="Name, such as staging"),
    "profile_name_how": Text(
        pt="Só letras minúsculas sem acento, algarismos, - e _.",
        en="Only lower-case letters without accents, digits, - and _.",
    ),
    "email_how": Text(
        pt="Escreva o e-mail inteiro, como nome@empresa.com.br.",
        en="Enter the whole e-mail address, such as name@example.com.",
    ),
    "email": Text(pt="E-mail do usuário de integração", en="E-mail of the integration user"),
    "password": Text(pt="Senha", en="Password"),
    "is_production": Text(pt="É o sistema de produção?", en="Is it the production system?"),
    "profile_add": Text(pt="Testar o acesso e salvar", en="Test the login and save"),
    "use_profile": Text(pt="Usar este", en="Use this one"),
    "of_it": Text(pt="mantido pela TI", en="kept by IT"),
    "test_login": Text(pt="Testar o acesso", en="Test the login"),
    "testing": Text(pt="Testando o acesso…", en="Testing the login…"),
    "mark_production": Text(pt="Marcar como produção", en="Mark as production"),
    "mark_production_what": Text(
        pt="Cada envio a {name} ({address}) passa a pedir que você digite um código antes de "
        "gravar, e o ambiente precisa ser escolhido a cada vez.",
        en="Each upload to {name} ({address}) will ask you to type a code before anything is "
        "written, and the environment has to be chosen each time.",
    ),
    "unmark_production": Text(pt="Retirar a marca de produção", en="Remove the production mark"),
    "unmark_production_what": Text(
        pt="Sem a marca, um clique basta para gravar em {name} ({address}): nenhum código é "
        "pedido. Retire-a só se este não for o sistema que a empresa usa no dia a dia.",
        en="Without the mark, one click is enough to write to {name} ({address}): no code is asked "
        "for. Remove it only if this is not the system that the company uses every day.",
    ),
    "address": Text(pt="Endereço", en="Address"),
    "user": Text(pt="Usuário", en="User"),
    "chosen": Text(pt="em uso nesta página", en="in use in this page"),
}


def action_text(action: RowAction) -> Text:
    """Return what becomes of a row in the plan."""
    return _TEXTS["update_action" if action is RowAction.UPDATE else action.value]


def page_texts() -> dict[str, str]:
    """Return all texts by name, in the active language."""
    return {name: str(text) for name, text in _TEXTS.items()}
