"""Texts that explain the page: the first steps, and the help and purpose of each view, by the names
used in its scripts."""

from collections.abc import Mapping

from xlbridge.i18n import Text

HELP_TEXTS: Mapping[str, Text] = {
    "first_steps": Text(pt="Como funciona, em um minuto", en="How it works, in one minute"),
    "step_open": Text(
        pt="Abra a sua planilha do Excel, com as colunas que ela já tem. O xlbridge reconhece o "
        "que ela contém e mostra, célula por célula, o que o sistema não aceitaria.",
        en="Open your Excel sheet, with the columns it already has. xlbridge recognises what it "
        "contains and shows, cell by cell, what the system would not accept.",
    ),
    "step_correct": Text(
        pt="Corrija aqui mesmo, como no Excel. Cada alteração fica salva na hora; o arquivo "
        "original não muda.",
        en="Correct it here, as in Excel. Each change is saved at once; the original file stays "
        "as it is.",
    ),
    "step_send": Text(
        pt="Veja o plano, que diz o que será feito com cada linha, e envie. O que já está no "
        "sistema não é incluído outra vez.",
        en="See the plan, which says what will be done with each row, and send. What is already "
        "in the system is not created again.",
    ),
    "sample": Text(pt="Experimentar com um exemplo", en="Try it with a sample"),
    "sample_what": Text(
        pt="Cinco clientes inventados, com dois erros e um aviso; nada é enviado sem a sua "
        "confirmação.",
        en="Five invented clients, with two errors and a warning; nothing is sent without your "
        "confirmation.",
    ),
    "stays_here": Text(
        pt="Ficam só neste computador: a cópia da planilha, as suas correções e o histórico dos "
        "envios. Ao sistema vão apenas as consultas do plano e as linhas que você confirma. A "
        "pasta:",
        en="Only on this computer: the copy of the sheet, your corrections and the history of "
        "uploads. The system receives nothing but the look-ups of the plan and the rows that you "
        "confirm. The folder:",
    ),
    "help_begin": Text(
        pt="Arraste o arquivo para qualquer parte da página ou escolha-o. Servem .xlsx, .csv, "
        ".xls, .xlsb e .ods.\n"
        "Se os cabeçalhos são os da sua empresa, diga uma vez o que cada coluna significa; na "
        "próxima vez eles são reconhecidos.\n"
        "Se a planilha não foi reconhecida, escolha o tipo de registro e informe em que linha "
        "está o cabeçalho.\n"
        "Fechou a página no meio do trabalho? Ele está em “Continuar uma edição”.",
        en="Drag the file to any part of the page, or choose it: .xlsx, .csv, .xls, .xlsb or "
        ".ods.\n"
        "If the headers are your company's own, say once what each column means; the next time "
        "they are known.\n"
        "If the sheet was not recognised, choose the kind of record and enter the header's row.\n"
        "Closed the page in the middle of the work? It is under “Continue an edit”.",
    ),
    "help_mend": Text(
        pt="F8 vai ao próximo erro; a explicação aparece abaixo da grade.\n"
        "Digite, cole e desfaça (Ctrl+Z) como no Excel. Esc e depois Tab saem da grade.\n"
        "Na lista ao lado, cada problema tem as suas linhas. “Corrigir todos” mostra antes o que "
        "vai mudar; “Substituir em todas” troca um valor em todas as linhas.\n"
        "Em vermelho: o sistema não aceitaria. Em amarelo: confira; “Está certo” encerra o aviso.",
        en="F8 goes to the next error; its explanation is below the grid.\n"
        "Type, paste and undo (Ctrl+Z) as in Excel. Esc and then Tab leave the grid.\n"
        "In the list beside it, each finding has its rows. “Fix all” first shows what will change; "
        "“Replace in all” changes a value in all rows.\n"
        "Red: the system would not accept it. Yellow: check it; “This is right” ends the warning.",
    ),
    "help_send": Text(
        pt="O plano não grava nada: procura cada linha no sistema e diz se ela será incluída, "
        "alterada ou deixada como está.\n"
        "“Não enviadas, aguardando você” são linhas que dependem de uma decisão sua; o motivo e o "
        "que fazer estão na tabela.\n"
        "Confira o total em R$ antes de enviar e compare-o depois.\n"
        "Se a conexão cair, continue em Envios: o que já foi gravado não é enviado de novo.",
        en="The plan writes nothing: it looks up each row in the system and says whether it will "
        "be created, changed or left as it is.\n"
        "“Not sent, waiting for you” are rows that depend on your decision; the table has the "
        "reason and what to do.\n"
        "Check the total in R$ before you send, and compare it afterwards.\n"
        "If the connection breaks, continue under Uploads: what is written is not sent again.",
    ),
    "help_jobs": Text(
        pt="Cada envio fica aqui, também os feitos por outros programas.\n"
        "“Detalhes” mostra o histórico, as linhas rejeitadas com o motivo e a cópia da planilha "
        "com a situação de cada linha.\n"
        "“Desfazer este envio” só aparece onde o sistema permite; antes, mostra o que volta ao que "
        "era.\n"
        "Um envio em dúvida espera a sua resposta: confira no sistema e registre o que viu.",
        en="Each upload is here, also those that other programs made.\n"
        "“Details” shows the history, the rejected rows with their reasons, and the copy of the "
        "sheet with the status of each row.\n"
        "“Undo this upload” is only there where the system allows it; it first shows what "
        "returns to what it was.\n"
        "An upload in doubt waits for your answer: check in the system, and record what you saw.",
    ),
    "help_exports": Text(
        pt="Escolha a listagem e, se quiser, os filtros; campos vazios não filtram.\n"
        "O arquivo diz se a exportação está completa. Se faltar algo, o período está indicado.\n"
        "Nomes aparecem ao lado dos códigos.",
        en="Choose the listing and, if you like, filters; empty fields do not filter.\n"
        "The file says whether the export is complete. If something is missing, its period is "
        "named.\n"
        "Names are beside the codes.",
    ),
    "help_batches": Text(
        pt="Um lote envia várias planilhas na ordem certa, como as do fechamento do mês.\n"
        "Se uma etapa tem erros, corrija-os na grade e continue: as etapas prontas não são "
        "repetidas.\n"
        "No fim, a prova de fechamento compara o que foi enviado com o que está no sistema.",
        en="A batch sends several sheets in the right order, such as those of the month's end.\n"
        "If a step has errors, correct them in the grid and go on: finished steps are not "
        "repeated.\n"
        "At the end the closing proof compares what was sent with what is in the system.",
    ),
    "help_process": Text(
        pt="Processar leva registros que já estão no sistema ao próximo passo, como emitir notas "
        "ou encerrar inventários.\n"
        "Copie os números de uma exportação e cole-os aqui, separados por vírgula ou espaço.\n"
        "O plano mostra antes a situação de cada registro.",
        en="Processing takes records that are already in the system to their next step, such as "
        "issuing invoices or closing inventory counts.\n"
        "Copy the numbers from an export and paste them here, separated by commas or spaces.\n"
        "The plan first shows the state of each record.",
    ),
    "help_profiles": Text(
        pt="Um ambiente é um sistema com o seu endereço e usuário; o nome em uso está no alto da "
        "página.\n"
        "O ambiente de testes fica neste computador: nele se pode enviar de tudo, sem risco.\n"
        "Em produção, o envio pede que você digite um código antes de gravar.",
        en="An environment is a system with its address and user; the one in use is named at "
        "the top of the page.\nThe sandbox is on this computer: anything can be sent to it "
        "without risk.\nIn production, sending asks you to type a code before anything is "
        "written.",
    ),
    "batches_how": Text(
        pt="Um lote leva todas as planilhas do mês para o sistema, na ordem certa, uma vez só, e "
        "grava a prova de fechamento. Aqui você o começa, vê em que etapa está e o que falta "
        "corrigir, e o continua de onde parou.",
        en="A batch takes all workbooks of a month into the system, in the right order and only "
        "once, and writes the closing proof. Here you begin it, see its current step and what is "
        "left to correct, and continue it from where it stopped.",
    ),
    "begin_month_how": Text(
        pt="Abra a pasta deste computador com as planilhas do mês, ou com um plano. "
        "Nada é enviado antes de você confirmar.",
        en="Open the folder of this computer with the month's workbooks, or with a plan. "
        "Nothing is sent before you confirm it.",
    ),
    "unit_how": Text(
        pt="Cópia de um arquivo do lote {batch}: {path}. Depois de corrigir, use-a no lote; o "
        "arquivo anterior fica guardado. Em Lotes ela é validada de novo, com as outras.",
        en="Copy of a workbook of the batch {batch}: {path}. After correcting it, use it in the "
        "batch; the earlier file is kept. Under Batches it is validated again, with the others.",
    ),
    "process_what": Text(
        pt="Emite notas, processa pedidos e arquivos da fila, e valida, processa ou encerra "
        "inventários, vários de uma vez. O que foi processado não se desfaz.",
        en="Issues invoices, processes orders and queued files, and validates, processes or closes "
        "inventory counts, many at once. What has been processed cannot be undone.",
    ),
    "profiles_how": Text(
        pt="Um ambiente é um sistema com o seu usuário de integração. A senha fica no cofre de "
        "senhas deste computador e nunca é mostrada.",
        en="An environment is a system with its integration user. The password stays in this "
        "computer's keyring and is never shown.",
    ),
}
