//! Control channels, both ends: a client that attaches to an agent, and a recording that plays one.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, sleep_until};
use traceloom_formats::protocol::{
    ControlAgent, ControlCommand, ControlOptions, ControlOrder, ControlRules,
};

use crate::send::end_of_stream;
use crate::tls::Socket;
use crate::{Error, Stop};

/// Bytes that are read or written at once.
const PIECE: usize = 16 << 10;

/// Time for a connection to a peer of this machine.
const CONNECT: Duration = Duration::from_secs(10);

/// To whom to attach, and what for.
#[derive(Clone, Debug)]
pub struct AttachOptions {
    /// How agents are controlled.
    pub rules: ControlRules,
    /// The agent.
    pub agent: SocketAddr,
    /// What it is asked for.
    pub control: ControlOptions,
    /// How long to try: an agent that is being started listens later.
    pub patience: Duration,
}

/// Takes commands for [`attach`], from any thread.
#[derive(Clone, Debug)]
pub struct Commands(UnboundedSender<ControlCommand>);

/// Commands on their way to [`attach`].
#[derive(Debug)]
pub struct CommandQueue(UnboundedReceiver<ControlCommand>);

/// Returns both ends of a queue of commands.
#[must_use]
pub fn commands() -> (Commands, CommandQueue) {
    let (sender, receiver) = unbounded_channel();
    (Commands(sender), CommandQueue(receiver))
}

impl Commands {
    /// Sends a command; returns `false` once nobody takes any.
    pub fn send(&self, command: ControlCommand) -> bool {
        self.0.send(command).is_ok()
    }
}

/// Controls an agent until its data end; `stop` asks it to end them.
///
/// `event` gets a sentence for whatever the agent answers.
///
/// # Errors
/// When there is no agent, it refuses, or the channel is lost before the data ended.
pub fn attach(
    options: &AttachOptions,
    commands: CommandQueue,
    stop: &Stop,
    event: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    let ended = runtime()?.block_on(async {
        let socket = reach(options, stop).await?;
        control(options, socket, commands.0, stop, event).await
    });
    ended.map_err(Error::new)
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build();
    runtime.map_err(|error| Error::new(format!("no threads: {error}")))
}

async fn reach(options: &AttachOptions, stop: &Stop) -> Result<TcpStream, String> {
    let until = Instant::now() + options.patience;
    loop {
        match connect(options.agent).await {
            Ok(socket) => return Ok(socket),
            Err(error) if Instant::now() >= until => {
                return Err(format!("no agent at {}: {error}", options.agent));
            }
            Err(_) if stop.is_asked() => return Err("stopped before the agent was there".into()),
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let connected = tokio::time::timeout(CONNECT, TcpStream::connect(address)).await;
    let socket = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

async fn control(
    options: &AttachOptions,
    socket: TcpStream,
    mut commands: UnboundedReceiver<ControlCommand>,
    stop: &Stop,
    event: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let start = Instant::now();
    let mut client = (options.rules.client)(&options.control, Duration::ZERO);
    let mut stopped = stop.watch();
    let mut is_stopping = false;
    let mut has_commands = true;
    let mut window = vec![0; PIECE];
    loop {
        while let Some(message) = client.message() {
            event(&message);
        }
        if let Some(ended) = client.ended() {
            return ended;
        }
        let written = flush(&socket, client.output());
        client.sent(written);
        let deadline = client.deadline();
        let timer = async {
            match deadline {
                Some(at) => sleep_until(start + at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ready = socket.readable() => {
                ready.map_err(lost)?;
                match socket.try_read(&mut window) {
                    Ok(0) => client.closed(),
                    Ok(n_bytes) => {
                        let bytes = window.get(..n_bytes).unwrap_or_default();
                        client.read(bytes, start.elapsed());
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => client.closed(),
                }
            }
            ready = socket.writable(), if !client.output().is_empty() => ready.map_err(lost)?,
            command = commands.recv(), if has_commands => match command {
                Some(command) => client.command(command, start.elapsed()),
                None => has_commands = false,
            },
            _ = stopped.wait_for(|stopped| *stopped), if !is_stopping => {
                is_stopping = true;
                client.command(ControlCommand::End, start.elapsed());
            }
            () = timer => client.tick(start.elapsed()),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn lost(error: io::Error) -> String {
    format!("the control channel is lost: {error}")
}

/// A recording as an agent sends it.
#[derive(Clone, Debug)]
pub struct PlayedTrace {
    /// Name of its format.
    pub format: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Offsets at which it can be ended, in order: those behind whole records.
    pub ends: Vec<u64>,
}

/// How to play an agent that is controlled.
#[derive(Debug)]
pub struct PlayOptions {
    /// How it is controlled.
    pub rules: ControlRules,
    /// Where it waits for its client.
    pub listen: SocketAddr,
    /// The recording in every format that a client can ask for.
    pub traces: Vec<PlayedTrace>,
    /// Bytes a second; as fast as possible without.
    pub rate: Option<u64>,
}

/// Waits for a client and sends the recording where it says; returns how many bytes were sent.
///
/// `listening` gets the address.
///
/// # Errors
/// When the address cannot be had, or a channel is lost.
pub fn play(
    options: &PlayOptions,
    stop: &Stop,
    listening: &mut dyn FnMut(SocketAddr),
) -> Result<u64, Error> {
    let played = runtime()?.block_on(async {
        let listener = TcpListener::bind(options.listen).await;
        let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) =
            bound.map_err(|error| format!("cannot listen on {}: {error}", options.listen))?;
        listening(address);
        let mut stopped = stop.watch();
        tokio::select! {
            accepted = listener.accept() => {
                let (control, _) = accepted.map_err(|error| format!("no client: {error}"))?;
                control.set_nodelay(true).map_err(lost)?;
                TraceReplayer::new(options).run(control, stop).await
            }
            _ = stopped.wait_for(|stopped| *stopped) => Ok(0),
        }
    });
    played.map_err(Error::new)
}

struct TraceReplayer<'o> {
    options: &'o PlayOptions,
    agent: Box<dyn ControlAgent>,
    /// What is sent, and where to, once it was started.
    data: Option<(&'o PlayedTrace, TcpStream)>,
    n_sent: usize,
    /// Where the data end.
    end: usize,
    is_paused: bool,
    /// When the rate allows more.
    due: Instant,
}

impl<'o> TraceReplayer<'o> {
    fn new(options: &'o PlayOptions) -> Self {
        Self {
            options,
            agent: (options.rules.agent)(),
            data: None,
            n_sent: 0,
            end: 0,
            is_paused: false,
            due: Instant::now(),
        }
    }

    async fn run(mut self, control: TcpStream, stop: &Stop) -> Result<u64, String> {
        let mut stopped = stop.watch();
        let mut window = vec![0; PIECE];
        let mut is_stopping = false;
        loop {
            let written = flush(&control, self.agent.output());
            self.agent.sent(written);
            if self.data.is_some() && self.n_sent >= self.end {
                return self.finish(&control).await;
            }
            let sends = self.data.is_some() && !self.is_paused;
            let may_write = async {
                sleep_until(self.due).await;
                match &self.data {
                    Some((_, data)) => data.writable().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ready = control.readable() => {
                    ready.map_err(lost)?;
                    match control.try_read(&mut window) {
                        // A client that goes away ends the data.
                        Ok(0) => self.end_soon(),
                        Ok(n_bytes) => {
                            let bytes = window.get(..n_bytes).unwrap_or_default();
                            for order in self.agent.read(bytes) {
                                self.obey(order).await;
                            }
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(_) => self.end_soon(),
                    }
                    if self.data.is_none() && self.end == usize::MAX {
                        return Ok(0);
                    }
                }
                ready = control.writable(), if !self.agent.output().is_empty() => ready.map_err(lost)?,
                ready = may_write, if sends => {
                    ready.map_err(|error| format!("the data channel is lost: {error}"))?;
                    self.write()?;
                }
                _ = stopped.wait_for(|stopped| *stopped), if !is_stopping => {
                    is_stopping = true;
                    self.end_soon();
                    if self.data.is_none() {
                        return Ok(0);
                    }
                }
            }
        }
    }

    async fn obey(&mut self, order: ControlOrder) {
        match order {
            ControlOrder::Start { format, to } => {
                let started = self.start(format, &to).await;
                self.agent.started(started);
            }
            ControlOrder::Pause => self.is_paused = true,
            ControlOrder::Resume => self.is_paused = false,
            ControlOrder::End => self.end_soon(),
        }
    }

    async fn start(&mut self, format: &str, to: &str) -> Result<(), String> {
        let mut traces = self.options.traces.iter();
        let trace = traces.find(|trace| trace.format == format);
        let trace = trace.ok_or_else(|| format!("this recording is not to be had as {format}"))?;
        let address: Result<SocketAddr, _> = to.parse();
        let address = address.map_err(|_| "the data go to an address with a port".to_owned())?;
        // Whoever reaches the control channel could otherwise have this machine connect anywhere.
        if !address.ip().is_loopback() {
            return Err("the data go to this machine alone".to_owned());
        }
        let data = connect(address).await;
        let data = data.map_err(|error| format!("{address}: {error}"))?;
        self.end = trace.bytes.len();
        self.data = Some((trace, data));
        Ok(())
    }

    /// Ends the data behind the record that is being sent.
    fn end_soon(&mut self) {
        self.is_paused = false;
        let Some((trace, _)) = &self.data else {
            self.end = usize::MAX;
            return;
        };
        let mut ends = trace
            .ends
            .iter()
            .filter_map(|&end| usize::try_from(end).ok());
        let whole = ends.find(|&end| end >= self.n_sent);
        self.end = whole.unwrap_or(trace.bytes.len());
    }

    fn write(&mut self) -> Result<(), String> {
        let Some((trace, data)) = &self.data else {
            return Ok(());
        };
        let rate = self.options.rate;
        // Small pieces where a rate is kept, so that it is kept evenly.
        let most = rate.map_or(PIECE, |rate| usize::try_from(rate / 20).unwrap_or(PIECE));
        let until = (self.n_sent + most.clamp(1, PIECE)).min(self.end);
        let piece = trace.bytes.get(self.n_sent..until).unwrap_or_default();
        match data.try_write(piece) {
            Ok(n_bytes) => {
                self.n_sent += n_bytes;
                if let Some(rate) = rate {
                    let seconds = n_bytes as f64 / rate as f64;
                    self.due = self.due.max(Instant::now()) + Duration::from_secs_f64(seconds);
                }
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(format!("the data channel is lost: {error}")),
        }
    }

    /// Closes the data channel, and says so once the collector has stored everything.
    async fn finish(mut self, control: &TcpStream) -> Result<u64, String> {
        if let Some((_, data)) = self.data.take() {
            let ended = end_of_stream(&mut Socket::Plain(data)).await;
            ended.map_err(|error| format!("the data channel is lost: {error}"))?;
        }
        self.agent.ended();
        while !self.agent.output().is_empty() {
            if control.writable().await.is_err() {
                break;
            }
            match control.try_write(self.agent.output()) {
                Ok(n_bytes) => self.agent.sent(n_bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Nobody is left to be told.
                Err(_) => break,
            }
        }
        Ok(self.n_sent as u64)
    }
}

/// Writes as much of an output as the socket takes, and returns how many bytes are done with.
fn flush(socket: &TcpStream, output: &[u8]) -> usize {
    let mut written = 0;
    while let Some(rest) = output.get(written..).filter(|rest| !rest.is_empty()) {
        match socket.try_write(rest) {
            Ok(n_bytes) => written += n_bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            // A peer that is gone is noticed where the socket is read.
            Err(_) => return output.len(),
        }
    }
    written
}
