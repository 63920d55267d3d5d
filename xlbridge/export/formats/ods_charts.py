"""Charts of OpenDocument spreadsheets: a document of its own for each, and the frame that shows it.

Source: OpenDocument 1.3, Part 3 (``chart``, ``draw``).
"""

from itertools import cycle

from xlbridge.i18n import Text
from xlbridge.report_forms import Grade, Table
from xlbridge.workbook import column_letters, style

CHART_TYPE = "application/vnd.oasis.opendocument.chart"
SPACES = "".join(
    f' xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("table", "table"), ("text", "text"), ("style", "style"),
        ("number", "datastyle"), ("fo", "xsl-fo-compatible"), ("meta", "meta"),
        ("config", "config"), ("draw", "drawing"), ("svg", "svg-compatible"), ("chart", "chart"),
    )
) + (
    ' xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2"'
    ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/" office:version="1.3"'
)  # fmt: skip
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
MARKUP = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}

_ROW, _WIDTH, _MARGIN = 0.53, 16, 0.5
"""Height of a row beside a chart, width of a chart and its distance from the table, in
centimetres."""
CHART_STYLES = "".join(
    f'<style:style style:name="{name}" style:family="{family}"><style:{family}-properties '
    f"{properties}/></style:style>"
    for name, family, properties in (
        ("new-page", "table-row", 'fo:break-before="page"'),
        ("chart-row", "table-row", f'style:row-height="{_ROW}cm"'),
        ("chart-column", "table-column", f'style:column-width="{_WIDTH + 2 * _MARGIN}cm"'),
        ("chart-frame", "graphic", 'draw:stroke="none" draw:fill="none"'),
    )
)
"""Styles for the sheet with charts."""


def xml_attribute(text: str) -> str:
    """Return a text as the value of an attribute."""
    return text.translate(MARKUP).replace('"', "&quot;")


_THOUSANDS, _MILLIONS = Text(pt=" mil", en="k"), Text(pt=" mi", en="M")


def _axis_numbers(*, in_thousands: bool, is_signed: bool) -> str:
    """Return the format of numbers on an axis, in thousands or millions if they are large."""

    def number(name: str, factor: int, decimals: int, unit: object, content: str = "") -> str:
        scaled = f' number:display-factor="{factor}"' if factor > 1 else ""
        text = f"<number:text>{unit}</number:text>" if unit else ""
        return (
            f'<number:number-style style:name="{name}"><number:number number:decimal-places='
            f'"{decimals}" number:min-integer-digits="1" number:grouping="true"{scaled}/>{text}'
            f"{content}</number:number-style>"
        )

    large = {"value()>=1000": "thousands"}
    large |= {"value()<=-1000": "thousands"} if is_signed else {"value()>=1000000": "millions"}
    maps = "".join(
        f'<style:map style:condition="{xml_attribute(condition)}" style:apply-style-name="{name}"/>'
        for condition, name in reversed(large.items())
    )
    return (
        number("thousands", 1000, 0, _THOUSANDS)
        + number("millions", 1_000_000, 1, _MILLIONS)
        + number("axis", 1, 0, "", maps if in_thousands else "")
    )


_ALARMING = ' chart:style-name="alarming"'


def _styled(name: str, *properties: str, data: str = "") -> str:
    inner = "".join(f"<style:{one}/>" for one in properties)
    return f'<style:style style:name="{name}" style:family="chart"{data}>{inner}</style:style>'


def add_chart(documents: list[str], table: Table, sheet: str, top: int) -> str:
    """Add the document of a table's chart; return the cell from which the chart extends to the
    right and down, an empty text if the table has none.

    The headings of the table are in row ``top``, from 0 on, of a ``sheet``.
    """
    if (chart := table.chart) is None:
        return ""
    quoted = xml_attribute("'" + sheet.replace("'", "''") + "'")

    def area(column: int) -> str:
        letters = column_letters(column)
        return f"{quoted}.${letters}${top + 2}:{quoted}.${letters}${top + 1 + len(chart.bars)}"

    text = f'text-properties fo:font-size="9pt" fo:color="#{style.QUIET}"'
    line = f'graphic-properties svg:stroke-color="#{style.RULE}"'
    bounds = ' chart:link-data-style-to-source="false"'
    if not chart.is_signed:
        bounds += f' chart:minimum="0" chart:interval-major="{chart.axis_step:g}"'
    alarming, _ = style.GRADE_COLOURS[Grade.ERROR]
    hollow = 'graphic-properties draw:fill="none"'
    shown = 'chart-properties chart:display-label="true"'
    styles = [
        _axis_numbers(in_thousands=chart.in_thousands, is_signed=chart.is_signed),
        _styled("chart", 'graphic-properties draw:stroke="none"'),
        _styled("title", text.replace("9pt", "11pt") + ' fo:font-weight="bold"'),
        _styled("text", text),
        _styled(
            "plot",
            'chart-properties chart:vertical="true" chart:stacked="true" chart:gap-width="50"',
        ),
        _styled(
            "labels",
            f'{shown} chart:reverse-direction="true" chart:axis-label-position="outside-start"',
            line,
            text,
        ),
        _styled("numbers", shown + bounds, line, text, data=' style:data-style-name="axis"'),
        _styled("grid", line),
        _styled("wall", f'{hollow} draw:stroke="none"'),
        # A hollow bar is told apart without colours, too.
        _styled("alarming", f'{hollow} draw:stroke="solid" svg:stroke-color="#{alarming}"'),
    ]
    series = list[str]()
    for column, colour in zip(table.bars, cycle(style.CHART_COLOURS), strict=False):
        name = f"series-{column}"
        fill = f'draw:fill="solid" draw:fill-color="#{colour}"'
        styles.append(_styled(name, f'graphic-properties draw:stroke="none" {fill}'))
        points = "".join(
            f"<chart:data-point{_ALARMING if bar.alarming else ''}/>" for bar in chart.bars
        )
        series.append(
            f'<chart:series chart:style-name="{name}" chart:class="chart:bar" '
            f'chart:values-cell-range-address="{area(column)}" '
            f'chart:label-cell-address="{quoted}.${column_letters(column)}${top + 1}">{points}'
            "</chart:series>"
        )
    legend = '<chart:legend chart:legend-position="bottom" chart:style-name="text"/>'
    size = f'svg:width="{_WIDTH}cm" svg:height="{chart.rows * _ROW:.2f}cm"'
    title = chart.title.translate(MARKUP)
    documents.append(
        f"{DECLARATION}<office:document-content{SPACES}><office:automatic-styles>"
        f"{''.join(styles)}</office:automatic-styles><office:body><office:chart>"
        f'<chart:chart chart:class="chart:bar" chart:style-name="chart" {size}>'
        '<chart:title chart:style-name="title">'
        f"<text:p>{title}</text:p></chart:title>"
        f"{legend if len(chart.series) > 1 else ''}"
        '<chart:plot-area chart:style-name="plot">'
        '<chart:axis chart:dimension="x" chart:name="primary-x" chart:style-name="labels">'
        f'<chart:categories table:cell-range-address="{area(0)}"/></chart:axis>'
        '<chart:axis chart:dimension="y" chart:name="primary-y" chart:style-name="numbers">'
        '<chart:grid chart:class="major" chart:style-name="grid"/></chart:axis>'
        f'{"".join(series)}<chart:wall chart:style-name="wall"/></chart:plot-area></chart:chart>'
        "</office:chart></office:body></office:document-content>"
    )
    return (
        '<table:table-cell><draw:frame draw:style-name="chart-frame" '
        f'svg:x="{_MARGIN}cm" svg:y="0cm" {size}>'
        f'<draw:object xlink:href="./Object {len(documents)}" xlink:type="simple" '
        'xlink:show="embed" xlink:actuate="onLoad"/>'
        f"<svg:desc>{title}</svg:desc></draw:frame></table:table-cell>"
    )
