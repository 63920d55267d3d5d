from .document import (
    InvalidFile as InvalidFile,
    Mistake as Mistake,
    YamlDocument as YamlDocument,
    YamlPath as YamlPath,
    document_mistake as document_mistake,
    format_mistakes as format_mistakes,
    mistakes_of as mistakes_of,
    read_document as read_document,
    unknown_value as unknown_value,
)
