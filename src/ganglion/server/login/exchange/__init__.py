"""Programs of CI exchange an ID token of their issuer for a personal token, as RFC 8693.

May import the modules of `login`; `rules` is pure, and imports none of them.
"""
