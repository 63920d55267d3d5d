from .document import (
    YamlDocument as YamlDocument,
    YamlPath as YamlPath,
)
from .validation import (
    Mistake as Mistake,
    Schema as Schema,
    block_schema as block_schema,
    described as described,
    document_mistake as document_mistake,
    format_mistakes as format_mistakes,
    format_yaml_path as format_yaml_path,
    mistakes_of as mistakes_of,
    read_document as read_document,
    unknown_value as unknown_value,
)
