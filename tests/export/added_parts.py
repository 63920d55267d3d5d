"""Parts of workbooks that no library at hand writes: pivot tables, slicers, external links."""

from collections.abc import Callable

DATA = "xl/worksheets/sheet1.xml"
BOOK = "xl/workbook.xml"
HEADERS = (
    "Número da transação",
    "Exercício",
    "Filial (codigo)",
    "codigoDaFilial",
    "Sequência da transação",
    "Data de vencimento",
    "Valor do lançamento",
    "Com juros",
)
"""Headers in her order: titles, a column of her own, an interface name, and one that is filled
down."""


def add_pivot(source: str) -> Callable[[dict[str, bytes], int], None]:
    def add(parts: dict[str, bytes], count: int) -> None:
        main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        fields = "".join(f'<cacheField name="{h}"><sharedItems/></cacheField>' for h in HEADERS)
        parts["xl/pivotCache/pivotCacheDefinition1.xml"] = (
            f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<pivotCacheDefinition '
            f'xmlns="{main}" xmlns:r="{office}" recordCount="0" saveData="0" '
            f'createdVersion="6" refreshedVersion="6" minRefreshableVersion="3">'
            f'<cacheSource type="worksheet"><worksheetSource {source.format(last=count + 1)}/>'
            f'</cacheSource><cacheFields count="{len(HEADERS)}">{fields}</cacheFields>'
            "</pivotCacheDefinition>"
        ).encode()
        axes = "".join(
            '<pivotField axis="axisRow" showAll="0"><items count="1"><item t="default"/></items>'
            "</pivotField>"
            if header == "codigoDaFilial"
            else '<pivotField dataField="1" showAll="0"/>'
            if header == "Valor do lançamento"
            else '<pivotField showAll="0"/>'
            for header in HEADERS
        )
        parts["xl/pivotTables/pivotTable1.xml"] = (
            f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<pivotTableDefinition '
            f'xmlns="{main}" name="Dinâmica" cacheId="7" dataCaption="Valores" '
            'updatedVersion="6" minRefreshableVersion="3" createdVersion="6" outline="1">'
            '<location ref="E3:F5" firstHeaderRow="1" firstDataRow="1" firstDataCol="1"/>'
            f'<pivotFields count="{len(HEADERS)}">{axes}</pivotFields>'
            '<rowFields count="1"><field x="3"/></rowFields><rowItems count="1"><i t="grand"/>'
            '</rowItems><colItems count="1"><i/></colItems><dataFields count="1"><dataField '
            'name="Soma" fld="6"/></dataFields></pivotTableDefinition>'
        ).encode()
        relate(
            parts,
            "xl/pivotTables/pivotTable1.xml",
            "pivotCacheDefinition",
            "/xl/pivotCache/pivotCacheDefinition1.xml",
        )
        relate(parts, "xl/worksheets/sheet2.xml", "pivotTable", "/xl/pivotTables/pivotTable1.xml")
        rid = relate(
            parts, BOOK, "pivotCacheDefinition", "/xl/pivotCache/pivotCacheDefinition1.xml"
        )
        caches = (
            f'<pivotCaches><pivotCache cacheId="7" xmlns:r="{office}" r:id="{rid}"/>'
            "</pivotCaches></workbook>"
        )
        parts[BOOK] = parts[BOOK].replace(b"</workbook>", caches.encode())
        for name, kind in (
            ("pivotTables/pivotTable1", "pivotTable"),
            ("pivotCache/pivotCacheDefinition1", "pivotCacheDefinition"),
        ):
            declare(
                parts,
                f"/xl/{name}.xml",
                f"application/vnd.openxmlformats-officedocument.spreadsheetml.{kind}+xml",
            )

    return add


def relate(parts: dict[str, bytes], owner: str, kind: str, target: str, mode: str = "") -> str:
    folder, _, name = owner.rpartition("/")
    rels = f"{folder}/_rels/{name}.rels"
    empty = (
        b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        b"</Relationships>"
    )
    content = parts.get(rels, empty).replace(
        b'package/2006/relationships"/>', b'package/2006/relationships"></Relationships>'
    )
    rid = f"rIdT{content.count(b'<Relationship ') + 1}"
    full = (
        kind
        if kind.startswith("http")
        else (f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}")
    )
    one = f'<Relationship Id="{rid}" Type="{full}" Target="{target}"{mode}/></Relationships>'
    parts[rels] = content.replace(b"</Relationships>", one.encode())
    return rid


def declare(parts: dict[str, bytes], part: str, content_type: str) -> None:
    one = f'<Override PartName="{part}" ContentType="{content_type}"/></Types>'
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(b"</Types>", one.encode())


def add_slicer(parts: dict[str, bytes], _count: int) -> None:
    x15 = "http://schemas.microsoft.com/office/spreadsheetml/2010/11/main"
    x14 = "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"
    parts["xl/slicerCaches/slicerCache1.xml"] = (
        f'<slicerCacheDefinition xmlns="{x14}" name="Segmentação" sourceName="codigoDaFilial">'
        '<extLst><x:ext xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        f'uri="{{2F2917AC-EB37-4324-AD4E-5DD8C200BD13}}" xmlns:x15="{x15}">'
        '<x15:tableSlicerCache tableId="1" column="4"/></x:ext></extLst></slicerCacheDefinition>'
    ).encode()
    parts["xl/slicers/slicer1.xml"] = (
        f'<slicers xmlns="{x14}"><slicer name="codigoDaFilial" cache="Segmentação" '
        'caption="Filial" rowHeight="241300"/></slicers>'
    ).encode()
    base = "http://schemas.microsoft.com/office/2007/relationships"
    relate(parts, DATA, f"{base}/slicer", "/xl/slicers/slicer1.xml")
    relate(parts, BOOK, f"{base}/slicerCache", "/xl/slicerCaches/slicerCache1.xml")
    for name, kind in (("slicers/slicer1", "slicer"), ("slicerCaches/slicerCache1", "slicerCache")):
        declare(parts, f"/xl/{name}.xml", f"application/vnd.ms-excel.{kind}+xml")


def add_external(parts: dict[str, bytes], _count: int) -> None:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts["xl/externalLinks/externalLink1.xml"] = (
        f'<externalLink xmlns="{main}"><externalBook xmlns:r="{office}" r:id="rIdT1"><sheetNames>'
        '<sheetName val="Dados"/></sheetNames><sheetDataSet><sheetData sheetId="0"><row r="2">'
        '<cell r="G2"><v>77</v></cell></row></sheetData></sheetDataSet></externalBook>'
        "</externalLink>"
    ).encode()
    relate(
        parts,
        "xl/externalLinks/externalLink1.xml",
        "externalLinkPath",
        "outro.xlsx",
        ' TargetMode="External"',
    )
    rid = relate(parts, BOOK, "externalLink", "/xl/externalLinks/externalLink1.xml")
    links = (
        f'<externalReferences><externalReference xmlns:r="{office}" r:id="{rid}"/>'
        "</externalReferences><definedNames"
    )
    parts[BOOK] = parts[BOOK].replace(b"<definedNames", links.encode(), 1)
    declare(
        parts,
        "/xl/externalLinks/externalLink1.xml",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.externalLink+xml",
    )
