"""Open commands and terminals, as a client sees them."""

from wsproto.utilities import LocalProtocolError

from ganglion.client.calls.terminals import TerminalSession


class _Ended:
    """A connection that the server has closed."""

    def send_bytes(self, _data: bytes) -> None:
        raise LocalProtocolError("cannot be sent in state ConnectionState.REMOTE_CLOSING")


def test_the_end_of_input_is_no_error_once_the_command_has_ended() -> None:
    TerminalSession(_Ended()).close_input()  # type: ignore[arg-type]
