"""A mail server: takes what a test lets it take."""

import socketserver
import threading
from email import message_from_bytes
from email.message import Message
from typing import Any


class MailServer(socketserver.ThreadingTCPServer):
    """Listens on the loopback; keeps what it has accepted.

    Attributes:
        mails: in the order in which they came.
        refuses: answers 450 to every recipient.
        asked: recipients that were asked for.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.mails: list[Message] = []
        self.asked: list[str] = []
        self.refuses = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Session(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 here")
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            if verb == "RCPT":
                self.server.asked.append(line)
                self._say("450 not now" if self.server.refuses else "250 ok")
            elif verb == "DATA":
                self._say("354 go on")
                self._take()
            elif verb == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 ok")

    def _take(self) -> None:
        lines: list[bytes] = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b"."))
        self.server.mails.append(message_from_bytes(b"".join(lines)))
        self._say("250 taken")

    def _say(self, text: str, *_: Any) -> None:
        self.wfile.write(f"{text}\r\n".encode())
