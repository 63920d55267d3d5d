from .probes import FirstContact as FirstContact
