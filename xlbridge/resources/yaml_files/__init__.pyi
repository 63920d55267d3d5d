from .document import (
    Mistake as Mistake,
    YamlDocument as YamlDocument,
    YamlPath as YamlPath,
    read_document as read_document,
)
from .mistakes import (
    InvalidFile as InvalidFile,
    document_mistake as document_mistake,
    format_mistakes as format_mistakes,
    mistakes_of as mistakes_of,
    unknown_value as unknown_value,
)
