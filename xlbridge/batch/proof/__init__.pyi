from .verdict import (
    WrittenProof as WrittenProof,
    proof_json as proof_json,
    proof_text as proof_text,
)
