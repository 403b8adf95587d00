//! A socket with or without TLS, read and written without waiting.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rustls::Connection;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{TlsAcceptor, client};

use super::TlsKeys;

/// Time for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Does the handshake with a client; an error is a word for why there is no connection.
pub(crate) async fn handshake(
    keys: &TlsKeys,
    alpn: Option<&[u8]>,
    socket: TcpStream,
) -> Result<TlsStream<TcpStream>, &'static str> {
    let mut config = keys.config();
    if let Some(protocol) = alpn {
        Arc::make_mut(&mut config).alpn_protocols = vec![protocol.to_vec()];
    }
    let accepted = TlsAcceptor::from(config).accept(socket);
    match tokio::time::timeout(HANDSHAKE, accepted).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(_)) => Err("tls_handshake"),
        Err(_) => Err("tls_handshake_timeout"),
    }
}

/// A connected socket.
pub(crate) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsSocket>),
}

/// A socket behind a handshake. Nothing here waits: what the peer does not take yet stays in `tls`.
pub(crate) struct TlsSocket {
    tcp: TcpStream,
    tls: Connection,
    /// Bytes that were decrypted and not read.
    n_unread: usize,
}

impl From<TlsStream<TcpStream>> for Socket {
    fn from(stream: TlsStream<TcpStream>) -> Self {
        let (tcp, tls) = stream.into_inner();
        Self::after_handshake(tcp, tls.into())
    }
}

impl From<client::TlsStream<TcpStream>> for Socket {
    fn from(stream: client::TlsStream<TcpStream>) -> Self {
        let (tcp, tls) = stream.into_inner();
        Self::after_handshake(tcp, tls.into())
    }
}

impl Socket {
    fn after_handshake(tcp: TcpStream, mut tls: Connection) -> Self {
        // What came right behind the handshake; an error comes again with the first read.
        let state = tls.process_new_packets();
        let n_unread = state.map_or(0, |state| state.plaintext_bytes_to_read());
        Self::Tls(Box::new(TlsSocket { tcp, tls, n_unread }))
    }

    pub(crate) fn tcp(&mut self) -> &mut TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(socket) => &mut socket.tcp,
        }
    }

    /// Waits until there may be something to read.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.readable().await,
            Self::Tls(socket) if socket.n_unread > 0 => Ok(()),
            Self::Tls(socket) => socket.tcp.readable().await,
        }
    }

    /// Waits until something may be written.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.writable().await,
            Self::Tls(socket) => socket.tcp.writable().await,
        }
    }

    /// Reads what is there: 0 after the peer's orderly end, `WouldBlock` where there is nothing.
    pub(crate) fn try_read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.try_read(room),
            Self::Tls(socket) => socket.try_read(room),
        }
    }

    /// Takes as many bytes as there is room for, `WouldBlock` where there is none.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.try_write(bytes),
            Self::Tls(socket) => socket.try_write(bytes),
        }
    }

    /// Returns `true` while bytes were taken that the system has not.
    pub(crate) fn has_pending(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(socket) => socket.tls.wants_write(),
        }
    }

    /// Hands the system what was taken; `WouldBlock` where some stays.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(socket) => socket.flush(),
        }
    }

    /// Says that nothing more will be written, as far as that goes without waiting.
    pub(crate) fn say_goodbye(&mut self) {
        if let Self::Tls(socket) = self {
            socket.tls.send_close_notify();
            // A peer that does not read learns it from the end of the connection.
            let _ = socket.flush();
        }
    }
}

impl TlsSocket {
    fn try_read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => {
                    let n_read = *read.as_ref().unwrap_or(&self.n_unread);
                    self.n_unread = self.n_unread.saturating_sub(n_read);
                    return read;
                }
            }
            self.n_unread = 0;
            self.tls.read_tls(&mut NoWait(&self.tcp))?;
            match self.tls.process_new_packets() {
                Ok(state) => self.n_unread = state.plaintext_bytes_to_read(),
                Err(error) => {
                    // The peer gets the alert that says why, if it reads.
                    let _ = self.flush();
                    return Err(io::Error::new(io::ErrorKind::InvalidData, error));
                }
            }
            match self.flush() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let n_taken = self.tls.writer().write(bytes)?;
        match self.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(n_taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut NoWait(&self.tcp))?;
        }
        Ok(())
    }
}

/// A socket whose reads and writes end with `WouldBlock` in place of waiting.
struct NoWait<'s>(&'s TcpStream);

impl Read for NoWait<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(room)
    }
}

impl Write for NoWait<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
