//! An agent that waits for its client.

use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::control::{ClientWish, ControlEnd};
use super::encoding::{ChosenForm, TptpEncoding};
use super::message::TraceForm;
use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::{ByteDrain, BytePlace, Readiness};
use crate::calls::{RecorderState, TraceOutput, sealed::Drains};
use crate::engine::{Drain, socket};

/// An agent that records nothing until a client such as `traceloom attach` starts it, over a control channel.
///
/// The client chooses the form of the trace, and to which collector it goes: one on the machine of the client or of the agent.
/// It pauses, resumes and ends the data. Calls that begin meanwhile, or without a client, are not recorded and not counted. An agent
/// whose client is gone ends its data. The framing is traceloom's own; TPTP's Agent Controller has another one.
///
/// ```
/// use traceloom_emit::{Options, Recorder, tptp};
///
/// let agent = tptp::ControlledAgent::listen("127.0.0.1:0", "shop")?;
/// println!("traceloom attach {}", agent.address()?);
/// let recorder = Recorder::start(agent, Options::default())?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ControlledAgent {
    listener: TcpListener,
    program: String,
}

impl ControlledAgent {
    /// Listens for a client, whose port is 1719 by custom.
    ///
    /// # Errors
    /// When the address is taken or means nothing.
    pub fn listen(address: impl ToSocketAddrs, program: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            program: program.to_owned(),
        })
    }

    /// Returns where it listens.
    ///
    /// # Errors
    /// When the system does not know.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl TraceOutput for ControlledAgent {}

impl Drains for ControlledAgent {
    fn drain(self, state: RecorderState) -> Box<dyn Drain<CallBuffer>> {
        let form = ChosenForm::new(TraceForm::Xml);
        let encoding = TptpEncoding::new(form.clone(), state.shared.clock.epoch(), &self.program);
        state.is_recording.store(false, Ordering::Relaxed);
        let place = AgentPlace {
            listener: self.listener,
            is_recording: state.is_recording.clone(),
            form,
            client: None,
            data: None,
            phase: AgentPhase::Idle,
        };
        ByteDrain::boxed(state, encoding, place)
    }
}

/// How far the data channel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AgentPhase {
    Idle,
    /// It is open and nothing was sent.
    Open,
    Running,
    /// The end of the trace is due.
    Ending,
    /// The collector stores what it has.
    Closing,
}

/// The client's connection.
struct ClientLink {
    socket: TcpStream,
    peer: SocketAddr,
    control: ControlEnd,
    n_sent: usize,
}

struct AgentPlace {
    listener: TcpListener,
    is_recording: Arc<AtomicBool>,
    form: ChosenForm,
    client: Option<ClientLink>,
    data: Option<TcpStream>,
    phase: AgentPhase,
}

impl AgentPlace {
    /// Takes a client, its commands, and sends it replies.
    fn talk(&mut self) {
        if self.client.is_none()
            && let Ok((socket, peer)) = self.listener.accept()
            && socket.set_nonblocking(true).is_ok()
        {
            self.client = Some(ClientLink {
                socket,
                peer,
                control: ControlEnd::default(),
                n_sent: 0,
            });
        }
        let Some(client) = &mut self.client else {
            return;
        };
        let mut piece = [0; 4096];
        let is_gone = match client.socket.read(&mut piece) {
            Ok(0) => true,
            Ok(n_bytes) => {
                for wish in client.control.read(&piece[..n_bytes]) {
                    self.follow(wish);
                }
                false
            }
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ),
        };
        self.reply();
        if is_gone {
            self.client = None;
            self.stop();
        }
    }

    fn reply(&mut self) {
        let Some(client) = &mut self.client else {
            return;
        };
        let ClientLink {
            socket,
            control,
            n_sent,
            ..
        } = client;
        while let Ok(true) = socket::advance(socket, &control.replies, n_sent) {}
        control.replies.drain(..std::mem::take(n_sent));
    }

    fn follow(&mut self, wish: ClientWish) {
        match wish {
            ClientWish::Start(form, address) => self.start(form, address),
            ClientWish::Pause => self.is_recording.store(false, Ordering::Relaxed),
            ClientWish::Resume => self.is_recording.store(true, Ordering::Relaxed),
            ClientWish::Stop => self.stop(),
        }
    }

    fn start(&mut self, form: TraceForm, address: SocketAddr) {
        let Some(client) = &mut self.client else {
            return;
        };
        // A client does not make the program send elsewhere.
        let is_near = address.ip().is_loopback() || address.ip() == client.peer.ip();
        let connected = match is_near {
            true => socket::connect(address).map_err(|error| error.to_string()),
            false => Err("data go to the machine of the client or of the agent".to_owned()),
        };
        match connected {
            Ok(socket) => {
                self.data = Some(socket);
                self.form.set(form);
                self.phase = AgentPhase::Open;
                self.is_recording.store(true, Ordering::Relaxed);
                client.control.started(Ok(()));
            }
            Err(why) => client.control.started(Err(&format!("{address}: {why}"))),
        }
    }

    /// Ends the data, once what was recorded is written.
    fn stop(&mut self) {
        self.is_recording.store(false, Ordering::Relaxed);
        if matches!(self.phase, AgentPhase::Open | AgentPhase::Running) {
            self.phase = AgentPhase::Ending;
        }
    }

    /// The data channel is closed.
    fn closed(&mut self) {
        self.is_recording.store(false, Ordering::Relaxed);
        self.data = None;
        self.phase = AgentPhase::Idle;
        if let Some(client) = &mut self.client {
            client.control.ended();
        }
        self.reply();
    }
}

impl BytePlace for AgentPlace {
    fn ready(&mut self) -> Readiness {
        self.talk();
        if self.phase != AgentPhase::Idle && self.data.as_ref().is_none_or(socket::has_ended) {
            self.closed();
        }
        match self.phase {
            AgentPhase::Idle | AgentPhase::Closing => Readiness::Idle,
            AgentPhase::Open => {
                self.phase = AgentPhase::Running;
                Readiness::New
            }
            AgentPhase::Running | AgentPhase::Ending => Readiness::Ready,
        }
    }

    fn write(&mut self, bytes: &[u8], n_taken: &mut usize) -> io::Result<()> {
        socket::advance_open(&mut self.data, bytes, n_taken)
    }

    fn is_ending(&self) -> bool {
        self.phase == AgentPhase::Ending
    }

    fn ended(&mut self) {
        if let Some(data) = &self.data {
            // Where that fails the connection is broken, which shows next time.
            let _ = data.shutdown(std::net::Shutdown::Write);
        }
        self.phase = AgentPhase::Closing;
    }

    fn finish(&mut self, until: Option<Instant>) {
        if let Some(data) = &self.data {
            socket::say_goodbye(data, until);
            self.closed();
        }
    }
}
