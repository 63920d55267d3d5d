"""Login. Source: the spec, Authentication: it always answers HTTP 200."""

from collections.abc import Sequence

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.security import find_user, mint_token
from xlbridge.wire.authentication import TIMESTAMP_FORMAT, Authentication, Credentials
from xlbridge.wire.operations.utilities import AUTHENTICATE


def _incomplete(problems: Sequence[Problem]) -> Authentication:
    told = " ".join(f"{key}: {message}" for key, message in problems)
    return Authentication(authenticated=False, message=f"Informe e-mail e senha. {told}")


@handles(AUTHENTICATE, on_invalid=_incomplete)
def authenticate(call: Call) -> Authentication:
    credentials = call.sent(Credentials)
    user_id = find_user(call.connection, credentials.email, credentials.password)
    if user_id is None:
        return Authentication(authenticated=False, message="E-mail ou senha inválidos.")
    token = mint_token(call.connection, user_id, call.now, call.sandbox.behaviour.token_lifetime)
    return Authentication(
        authenticated=True,
        created=token.created.strftime(TIMESTAMP_FORMAT),
        expiration=token.expiration.strftime(TIMESTAMP_FORMAT),
        accessToken=token.text,
    )
