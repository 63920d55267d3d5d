"""Clients' contacts. Source: the spec, Client contact, Registry."""

from sqlalchemy import select

from xlbridge.sandbox.answers import not_found
from xlbridge.sandbox.business.contacts import ContactIntake
from xlbridge.sandbox.business.intake import admit
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.clients import contacts
from xlbridge.wire.operations.registry import CONTACT_CREATE, CONTACT_GET
from xlbridge.wire.registry import Contact, ContactInput


@handles(CONTACT_CREATE)
def create(call: Call) -> Contact:
    return admit(ContactIntake(call.connection), call.sent(ContactInput))


@handles(CONTACT_GET)
def show(call: Call) -> Contact:
    found = select(contacts).where(
        contacts.c.codigoDoCliente == call.path["codcontato"],
        contacts.c.seqContato == call.path["seq"],
    )
    for contact in call.read(Contact, found):
        return contact
    raise not_found("seq", "Contato não encontrado.")
