#!/usr/bin/python3
"""A mail server for tests (python3-aiosmtpd): scripts/mail-server.py CERTIFICATE KEY USER PASSWORD FILE

It listens on a free port of this machine, which it prints, takes mail after STARTTLS and a login alone, and appends each as a line of JSON
to FILE. It ends when its standard input does.
"""
import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

certificate, key, user, password, file = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)


class Kept:
    async def handle_DATA(self, server, session, envelope):
        mail = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "data": envelope.content.decode(), "tls": session.ssl is not None}
        with open(file, "a", encoding="utf-8") as out:
            out.write(json.dumps(mail) + "\n")
        return "250 taken"


def authenticate(server, session, envelope, mechanism, data):
    said = (data.login.decode(), data.password.decode()) == (user, password)
    return AuthResult(success=said, handled=False)


def smtp():
    return SMTP(
        Kept(),
        hostname="localhost",
        tls_context=context,
        require_starttls=True,
        auth_required=True,
        authenticator=authenticate,
        loop=loop,
    )


async def serve():
    server = await loop.create_server(smtp, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
loop.run_until_complete(serve())
