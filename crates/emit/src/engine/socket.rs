//! Writing without waiting.

use std::io::{self, Read as _};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Time for a connection to be made, and between two attempts.
const CONNECTING: Duration = Duration::from_millis(500);
pub const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// Writes once; returns `false` if there was nothing to write.
pub fn advance(out: &mut impl io::Write, bytes: &[u8], n_taken: &mut usize) -> io::Result<bool> {
    if *n_taken == bytes.len() {
        return Ok(false);
    }
    match out.write(&bytes[*n_taken..]) {
        Ok(0) => Err(io::ErrorKind::WriteZero.into()),
        Ok(n_bytes) => {
            *n_taken += n_bytes;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) => Err(error),
    }
}

/// Writes once to a connection, and gives up one that is broken.
pub fn advance_open(
    socket: &mut Option<TcpStream>,
    bytes: &[u8],
    n_taken: &mut usize,
) -> io::Result<()> {
    let Some(open) = socket else {
        return Err(io::ErrorKind::NotConnected.into());
    };
    let written = advance(open, bytes, n_taken).map(drop);
    if let Err(error) = &written
        && error.kind() != io::ErrorKind::WouldBlock
    {
        *socket = None;
    }
    written
}

/// Connects to the first address that answers.
pub fn connect_any(peer: impl ToSocketAddrs) -> io::Result<(SocketAddr, TcpStream)> {
    let mut failure = io::Error::new(io::ErrorKind::InvalidInput, "no address");
    for peer in peer.to_socket_addrs()? {
        match connect(peer) {
            Ok(socket) => return Ok((peer, socket)),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

pub fn connect(peer: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&peer, CONNECTING)?;
    // The writer waits for the peer between rounds, not within one.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Returns `true` if the peer closed the connection: what is written to it would be taken and lost.
pub fn has_ended(socket: &TcpStream) -> bool {
    match socket.peek(&mut [0]) {
        Ok(n_bytes) => n_bytes == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

/// Says that nothing follows, and waits for a peer that closes its end when it has stored everything.
pub fn say_goodbye(mut socket: &TcpStream, until: Option<Instant>) {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    if left.is_some_and(|left| left.is_zero()) {
        return;
    }
    // Whatever fails here, there is nothing more to do.
    let _ = socket
        .shutdown(Shutdown::Write)
        .and_then(|()| socket.set_nonblocking(false))
        .and_then(|()| socket.set_read_timeout(left))
        .and_then(|()| socket.read(&mut [0; 64]));
}
