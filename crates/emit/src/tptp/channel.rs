//! The data channel alone.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Instant;

use super::encoding::{ChosenForm, TptpEncoding};
use super::message::TraceForm;
use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::{ByteDrain, BytePlace, Readiness};
use crate::calls::{RecorderState, TraceOutput, sealed::Drains};
use crate::engine::{Drain, socket};

/// A connection to a collector such as `traceloom serve --tptp`, whose port is 1718.
///
/// A connection that breaks is made anew, once a second: a trace begins there, and open calls begin anew in it. What was encoded and
/// not taken by the operating system is counted as dropped; what that had taken is lost and not counted, because TPTP has no
/// acknowledgements.
///
/// ```no_run
/// use traceloom_emit::{Options, Recorder, tptp};
///
/// let channel = tptp::DataChannel::connect("127.0.0.1:1718", "shop", tptp::TraceForm::Binary)?;
/// let recorder = Recorder::start(channel, Options::default())?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct DataChannel {
    peer: SocketAddr,
    socket: TcpStream,
    program: String,
    form: TraceForm,
}

impl DataChannel {
    /// Connects to a collector, for a trace of a program.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(peer: impl ToSocketAddrs, program: &str, form: TraceForm) -> io::Result<Self> {
        let (peer, socket) = socket::connect_any(peer)?;
        Ok(Self {
            peer,
            socket,
            program: program.to_owned(),
            form,
        })
    }
}

impl TraceOutput for DataChannel {}

impl Drains for DataChannel {
    fn drain(self, state: RecorderState) -> Box<dyn Drain<CallBuffer>> {
        let form = ChosenForm::new(self.form);
        let encoding = TptpEncoding::new(form, state.shared.clock.epoch(), &self.program);
        let place = ChannelPlace {
            peer: self.peer,
            socket: Some(self.socket),
            is_new: true,
            next_try: Instant::now(),
        };
        ByteDrain::boxed(state, encoding, place)
    }
}

struct ChannelPlace {
    peer: SocketAddr,
    socket: Option<TcpStream>,
    /// Nothing was sent on the connection.
    is_new: bool,
    next_try: Instant,
}

impl BytePlace for ChannelPlace {
    fn ready(&mut self) -> Readiness {
        if self.socket.as_ref().is_some_and(socket::has_ended) {
            self.socket = None;
        }
        if self.socket.is_none() && Instant::now() >= self.next_try {
            self.next_try = Instant::now() + socket::BETWEEN_TRIES;
            self.socket = socket::connect(self.peer).ok();
            self.is_new = true;
        }
        match (&self.socket, std::mem::take(&mut self.is_new)) {
            (None, _) => Readiness::Wait,
            (Some(_), true) => Readiness::New,
            (Some(_), false) => Readiness::Ready,
        }
    }

    fn write(&mut self, bytes: &[u8], n_taken: &mut usize) -> io::Result<()> {
        socket::advance_open(&mut self.socket, bytes, n_taken)
    }

    fn finish(&mut self, until: Option<Instant>) {
        if let Some(socket) = self.socket.take() {
            socket::say_goodbye(&socket, until);
        }
    }
}
