//! Where packets go.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use super::packet;
use crate::engine::socket::{BETWEEN_TRIES, advance, connect, connect_any, has_ended, say_goodbye};

/// A file, a connection, or a peer of datagrams.
#[derive(Debug)]
pub struct Sink {
    target: Target,
    /// The packet that dates the trace, and how much of it was written.
    epoch: Vec<u8>,
    n_epoch: usize,
}

#[derive(Debug)]
enum Target {
    File(File),
    Tcp(Tcp),
    Udp(Udp),
}

/// What became of a request to write.
pub enum Progress {
    /// Some bytes were taken.
    Wrote,
    /// The bytes were passed over, or an earlier datagram did not arrive: this many events are lost.
    Lost(u64),
    /// There is no room.
    Later,
}

impl Sink {
    /// Appends to a file, which is made where there is none. Traces behind each other are read as several runs.
    ///
    /// While the disk is full, writing is tried again and again from where it stopped. The file has no half packets but at
    /// its end, where the program ended meanwhile.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self::new(Target::File(file)))
    }

    /// Connects to a collector such as `traceloom serve --heph`, whose port is 1716.
    ///
    /// A connection that breaks is made anew, once a second; the trace goes on there with the packet that was cut.
    ///
    /// ```no_run
    /// use traceloom_emit::heph::{Options, Sink, Tracer};
    ///
    /// let tracer = Tracer::start(Sink::tcp("127.0.0.1:1716")?, Options::default())?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn tcp(peer: impl ToSocketAddrs) -> io::Result<Self> {
        let (peer, socket) = connect_any(peer)?;
        Ok(Self::new(Target::Tcp(Tcp {
            peer,
            socket: Some(socket),
            is_new: false,
            next_try: Instant::now(),
        })))
    }

    /// Sends datagrams of whole packets, of at most 1,400 bytes where packets are not larger.
    ///
    /// Datagrams that do not arrive are lost; a reader sees the gap in the counter. A packet of more than 65,507 bytes
    /// fits into no datagram and is dropped.
    ///
    /// ```no_run
    /// use traceloom_emit::heph::{Options, Sink, Tracer};
    ///
    /// let tracer = Tracer::start(Sink::udp("127.0.0.1:1716")?, Options::default())?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the address means nothing, or the system gives no socket.
    pub fn udp(peer: impl ToSocketAddrs) -> io::Result<Self> {
        let mut failure = io::Error::new(io::ErrorKind::InvalidInput, "no address");
        for peer in peer.to_socket_addrs()? {
            let from: SocketAddr = match peer {
                SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
            };
            let bound = UdpSocket::bind(from);
            match bound.and_then(|socket| socket.connect(peer).map(|()| socket)) {
                Ok(socket) => return Ok(Self::new(Target::Udp(Udp::new(socket)))),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            epoch: Vec::new(),
            n_epoch: 0,
        }
    }

    /// Learns the packet that dates the trace.
    pub(super) fn begin(&mut self, epoch: [u8; 23]) {
        self.epoch = epoch.to_vec();
    }

    /// Writes the packet that dates the trace where that is due; returns `false` if there is no room for it.
    pub(super) fn lead(&mut self) -> bool {
        match &mut self.target {
            Target::File(file) => loop {
                match advance(file, &self.epoch, &mut self.n_epoch) {
                    Ok(true) => {}
                    Ok(false) => return true,
                    Err(_) => return false,
                }
            },
            Target::Tcp(tcp) => {
                let Some(socket) = tcp.connected(&mut self.n_epoch) else {
                    return false;
                };
                loop {
                    match advance(socket, &self.epoch, &mut self.n_epoch) {
                        Ok(true) => {}
                        Ok(false) => return true,
                        Err(error) => {
                            if error.kind() != io::ErrorKind::WouldBlock {
                                tcp.socket = None;
                            }
                            return false;
                        }
                    }
                }
            }
            // Goes along with other packets.
            Target::Udp(_) => true,
        }
    }

    /// Writes packets from `n_taken` on.
    pub(super) fn write(&mut self, packets: &[u8], n_taken: &mut usize) -> Progress {
        if !self.lead() {
            return Progress::Later;
        }
        let written = match &mut self.target {
            Target::File(file) => advance(file, packets, n_taken),
            Target::Tcp(tcp) => {
                if std::mem::take(&mut tcp.is_new) {
                    *n_taken = packet::whole(packets, *n_taken);
                }
                match &mut tcp.socket {
                    Some(socket) => advance(socket, packets, n_taken),
                    None => return Progress::Later,
                }
            }
            Target::Udp(udp) => return udp.send(&self.epoch, packets, n_taken),
        };
        match written {
            Ok(_) => Progress::Wrote,
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock
                    && let Target::Tcp(tcp) = &mut self.target
                {
                    tcp.socket = None;
                }
                Progress::Later
            }
        }
    }

    /// Says that nothing follows, and waits for a collector that closes its end when it has stored everything.
    pub(super) fn finish(self, until: Option<Instant>) {
        if let Target::Tcp(Tcp {
            socket: Some(socket),
            ..
        }) = self.target
        {
            say_goodbye(&socket, until);
        }
    }
}

#[derive(Debug)]
struct Tcp {
    peer: SocketAddr,
    socket: Option<TcpStream>,
    /// A packet that was cut begins again on this connection.
    is_new: bool,
    next_try: Instant,
}

impl Tcp {
    /// Returns the connection. On one that was made anew, the epoch comes first again.
    fn connected(&mut self, n_epoch: &mut usize) -> Option<&mut TcpStream> {
        if self.socket.as_ref().is_some_and(has_ended) {
            self.socket = None;
        }
        if self.socket.is_none() && Instant::now() >= self.next_try {
            self.next_try = Instant::now() + BETWEEN_TRIES;
            self.socket = connect(self.peer).ok();
            self.is_new = true;
            *n_epoch = 0;
        }
        self.socket.as_mut()
    }
}

/// What fits into a frame of Ethernet with every header around it, and what fits into a datagram at all.
const DATAGRAM: usize = 1_400;
const LARGEST_DATAGRAM: usize = 65_507;

/// A collector may begin to listen at any time.
const BETWEEN_EPOCHS: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Udp {
    socket: UdpSocket,
    datagram: Vec<u8>,
    next_epoch: Instant,
    /// Events of the datagram before, of which the system may yet say that nobody took it.
    n_before: u64,
}

impl Udp {
    fn new(socket: UdpSocket) -> Self {
        Self {
            socket,
            datagram: Vec::with_capacity(DATAGRAM),
            next_epoch: Instant::now(),
            n_before: 0,
        }
    }

    fn send(&mut self, epoch: &[u8], packets: &[u8], n_taken: &mut usize) -> Progress {
        self.datagram.clear();
        let now = Instant::now();
        if now >= self.next_epoch {
            self.datagram.extend_from_slice(epoch);
        }
        let mut n_events = 0;
        while let Some((packet, _)) = packet::first(&packets[*n_taken..]) {
            let fits = self.datagram.len() + packet.len() <= DATAGRAM;
            if !fits && n_events > 0 {
                break;
            }
            *n_taken += packet.len();
            if packet.len() > LARGEST_DATAGRAM {
                return Progress::Lost(1);
            }
            if !fits {
                // Alone, and the epoch goes with the next datagram.
                self.datagram.clear();
            }
            self.datagram.extend_from_slice(packet);
            n_events += 1;
        }
        let mut sent = self.socket.send(&self.datagram);
        let mut n_lost = 0;
        if sent
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            n_lost = std::mem::take(&mut self.n_before);
            sent = self.socket.send(&self.datagram);
        }
        match sent {
            Ok(_) => {
                self.n_before = n_events;
                if self.datagram.starts_with(epoch) {
                    self.next_epoch = now + BETWEEN_EPOCHS;
                }
            }
            Err(_) => n_lost += n_events,
        }
        match n_lost {
            0 => Progress::Wrote,
            _ => Progress::Lost(n_lost),
        }
    }
}
