from .builder import (
    require_proof_folder as require_proof_folder,
    write_proofs as write_proofs,
)
from .verdict import (
    WrittenProof as WrittenProof,
    proof_json as proof_json,
    proof_text as proof_text,
)
