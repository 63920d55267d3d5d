from .document import (
    YamlDocument as YamlDocument,
)
from .document import (
    YamlPath as YamlPath,
)
from .validation import (
    Mistake as Mistake,
)
from .validation import (
    Schema as Schema,
)
from .validation import (
    block_schema as block_schema,
)
from .validation import (
    described as described,
)
from .validation import (
    format_mistakes as format_mistakes,
)
from .validation import (
    format_yaml_path as format_yaml_path,
)
from .validation import (
    mistakes_of as mistakes_of,
)
from .validation import (
    read_document as read_document,
)
from .validation import (
    unknown_value as unknown_value,
)
