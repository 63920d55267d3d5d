from .builder import (
    require_proof_folder as require_proof_folder,
)
from .builder import (
    write_proofs as write_proofs,
)
from .verdict import (
    WrittenProof as WrittenProof,
)
from .verdict import (
    proof_json as proof_json,
)
from .verdict import (
    proof_text as proof_text,
)
