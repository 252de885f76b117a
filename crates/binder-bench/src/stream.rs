//! An echo over an AF_UNIX stream: what a call costs without Binder.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use crate::error::{BenchError, failed};

/// The longest message. A socket holds more, so each arrives whole.
pub(crate) const MESSAGE_MAX_BYTES: usize = 128 << 10;

/// Returns the client's and the server's end of a stream.
pub(crate) fn pair() -> Result<(UnixStream, UnixStream), BenchError> {
    UnixStream::pair().map_err(failed("making a pair of sockets"))
}

/// Sends `message` and waits for the answer, which replaces the contents of `reply`.
pub(crate) fn round_trip(
    end: &mut UnixStream,
    message: &[u8],
    reply: &mut Vec<u8>,
) -> Result<(), BenchError> {
    reply.resize(message.len(), 0);
    let mut exchange = |sent: &[u8], received: &mut [u8]| {
        end.write_all(sent)?;
        end.read_exact(received)
    };
    // A stream cannot carry nothing.
    let exchanged =
        if message.is_empty() { exchange(&[0], &mut [0]) } else { exchange(message, reply) };
    exchanged.map_err(failed("calling over a socket"))
}

/// Sends everything back as it arrives.
pub(crate) fn serve(mut end: UnixStream) -> Result<Infallible, BenchError> {
    let mut message = vec![0; MESSAGE_MAX_BYTES];
    let mut echo = || -> io::Result<()> {
        let len = end.read(&mut message)?;
        if len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        end.write_all(&message[..len])
    };
    loop {
        echo().map_err(failed("serving at a socket"))?;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn every_message_comes_back_until_the_client_is_gone() {
        let (mut client, server) = pair().unwrap();
        let serving = thread::spawn(move || serve(server));
        let mut reply = vec![9];
        for bytes in [0, 1, 64, MESSAGE_MAX_BYTES] {
            let message = vec![7; bytes];
            round_trip(&mut client, &message, &mut reply).unwrap();
            assert_eq!(reply, message);
        }
        drop(client);
        serving.join().unwrap().unwrap_err();
    }
}
