//! Control channels: a client that has an agent start, pause, resume and end its data, without sockets and clocks.

use std::time::Duration;

/// A protocol's control channel.
#[derive(Clone, Copy, Debug)]
pub struct ControlRules {
    /// Port that agents listen on unless told otherwise.
    pub port: u16,
    /// Begins the client's end.
    pub client: fn(&ControlOptions, Duration) -> Box<dyn ControlClient>,
    /// Begins the agent's end.
    pub agent: fn() -> Box<dyn ControlAgent>,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlOptions {
    /// Data in the binary form, where the agent can.
    pub binary: bool,
    /// Address that the agent sends its data to.
    pub data: String,
}

/// What the user of a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlCommand {
    /// Stop sending for a while.
    Pause,
    /// Go on.
    Resume,
    /// End the data.
    End,
}

/// The client's end of a control channel. Times count from any fixed moment.
pub trait ControlClient: Send {
    /// Takes what the agent sent.
    fn read(&mut self, bytes: &[u8], now: Duration);

    /// Takes a command of the user.
    fn command(&mut self, command: ControlCommand, now: Duration);

    /// Learns that the agent closed the channel.
    fn closed(&mut self);

    /// Learns the time.
    fn tick(&mut self, now: Duration);

    /// Returns the time at which [`ControlClient::tick`] has something to do.
    fn deadline(&self) -> Option<Duration>;

    /// Returns the bytes to send.
    fn output(&self) -> &[u8];

    /// Takes away the first `n_bytes` of the output.
    fn sent(&mut self, n_bytes: usize);

    /// Returns the next sentence for the user.
    fn message(&mut self) -> Option<String>;

    /// Returns how the channel ended: in order, or by a sentence that says why not.
    fn ended(&self) -> Option<Result<(), String>>;
}

/// What an agent is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlOrder {
    /// Send the data, in the format of this name, to this address.
    Start {
        /// Name of the format.
        format: &'static str,
        /// Where to.
        to: String,
    },
    /// Stop sending for a while.
    Pause,
    /// Go on.
    Resume,
    /// End the data.
    End,
}

/// The agent's end of a control channel.
pub trait ControlAgent: Send {
    /// Takes what the client sent, and returns what it asks for.
    fn read(&mut self, bytes: &[u8]) -> Vec<ControlOrder>;

    /// Learns whether the data could be started; `Err` is why not.
    fn started(&mut self, result: Result<(), String>);

    /// Learns that all data are sent.
    fn ended(&mut self);

    /// Returns the bytes to send.
    fn output(&self) -> &[u8];

    /// Takes away the first `n_bytes` of the output.
    fn sent(&mut self, n_bytes: usize);
}
