//! How a client and a profiler agree on the form of a trace (SPEC.md §9): two state machines without I/O.
//!
//! Whoever owns the connection passes in what arrived and the time, and sends what comes out.

use std::time::Duration;

use super::markup::name_end;
use super::option::Encoding;

/// First version of client and profiler that knows the command.
pub const SINCE: (u16, u16) = (4, 5);

/// How long a client waits for the reply before it settles for XML.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Longest command or reply.
const MOST: usize = 4096;

/// What a client shall do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Send this text.
    Send(String),
    /// Wait for a reply or for time to pass.
    Wait,
    /// Start the data and load it in this form.
    Load(Encoding),
}

/// Why a client loads what it loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// It is too old to ask.
    TooOld,
    /// The profiler enabled it.
    Enabled,
    /// The profiler does not know the command.
    UnknownCommand,
    /// Nothing came in time.
    Timeout,
    /// The connection ended before a reply.
    Silence,
    /// The reply made no sense.
    WrongReply,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Asked { until: Duration, received: Vec<u8> },
    Settled(Encoding, Reason),
}

/// The client: asks before it starts the data, and follows what was enabled.
#[derive(Clone, Debug)]
pub struct Client {
    version: (u16, u16),
    wanted: Encoding,
    patience: Duration,
    state: State,
}

impl Client {
    /// A client of this version that would like this form.
    #[must_use]
    pub fn new(version: (u16, u16), wanted: Encoding) -> Self {
        Self {
            version,
            wanted,
            patience: PATIENCE,
            state: State::Idle,
        }
    }

    /// Begins at time `now`: asks, or loads XML where the version does not know how to ask.
    pub fn start(&mut self, now: Duration) -> Act {
        if self.state != State::Idle {
            return self.act();
        }
        if self.version < SINCE {
            self.state = State::Settled(Encoding::Xml, Reason::TooOld);
            return self.act();
        }
        self.state = State::Asked {
            until: now.saturating_add(self.patience),
            received: Vec::new(),
        };
        Act::Send(command("setOutputFormat", self.wanted))
    }

    /// Takes bytes from the profiler; a reply may come in pieces.
    pub fn receive(&mut self, bytes: &[u8]) -> Act {
        let State::Asked { received, .. } = &mut self.state else {
            return self.act();
        };
        received.extend_from_slice(bytes.get(..MOST).unwrap_or(bytes));
        let answer = match read_answer(received) {
            Answer::Enabled(encoding) => Some((encoding, Reason::Enabled)),
            Answer::Unknown => Some((Encoding::Xml, Reason::UnknownCommand)),
            Answer::Wrong => Some((Encoding::Xml, Reason::WrongReply)),
            Answer::Unfinished if received.len() >= MOST => {
                Some((Encoding::Xml, Reason::WrongReply))
            }
            Answer::Unfinished => None,
        };
        self.settle(answer);
        self.act()
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Duration) -> Act {
        if let State::Asked { until, .. } = self.state
            && now >= until
        {
            self.settle(Some((Encoding::Xml, Reason::Timeout)));
        }
        self.act()
    }

    /// The connection ended.
    pub fn closed(&mut self) -> Act {
        if matches!(self.state, State::Asked { .. }) {
            self.settle(Some((Encoding::Xml, Reason::Silence)));
        }
        self.act()
    }

    /// Returns when [`Client::tick`] is due, none when nothing is waited for.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        match self.state {
            State::Asked { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Returns the form in force and why, none while it is open.
    #[must_use]
    pub fn outcome(&self) -> Option<(Encoding, Reason)> {
        match self.state {
            State::Settled(encoding, reason) => Some((encoding, reason)),
            _ => None,
        }
    }

    fn settle(&mut self, answer: Option<(Encoding, Reason)>) {
        if let Some((encoding, reason)) = answer {
            self.state = State::Settled(encoding, reason);
        }
    }

    fn act(&self) -> Act {
        match self.state {
            State::Settled(encoding, _) => Act::Load(encoding),
            _ => Act::Wait,
        }
    }
}

/// The profiler: XML until a client asks, and whatever it can enable after that.
#[derive(Clone, Debug)]
pub struct Profiler {
    version: (u16, u16),
    binary: bool,
    started: bool,
    format: Encoding,
    received: Vec<u8>,
}

impl Profiler {
    /// A profiler of this version; `binary` says whether it can write that form here.
    #[must_use]
    pub fn new(version: (u16, u16), binary: bool) -> Self {
        Self {
            version,
            binary,
            started: false,
            format: Encoding::Xml,
            received: Vec::new(),
        }
    }

    /// Takes bytes from the client and returns the replies to the commands that are whole, in their order.
    pub fn receive(&mut self, bytes: &[u8]) -> Option<String> {
        self.received.extend_from_slice(bytes);
        let text = String::from_utf8_lossy(&self.received).into_owned();
        let mut replies = String::new();
        let mut rest = text.as_str();
        while let Some(element) = whole_element(rest) {
            replies += &self.answer(&element);
            rest = element.rest;
        }
        self.received = rest.as_bytes().to_vec();
        if self.received.len() > MOST {
            self.received.clear();
            replies += &unrecognized("?");
        }
        (!replies.is_empty()).then_some(replies)
    }

    fn answer(&mut self, element: &Whole<'_>) -> String {
        if element.name != "setOutputFormat" || self.version < SINCE {
            return unrecognized(element.name);
        }
        // Data that flows keeps its form; the reply says which one it is.
        if !self.started
            && let Some(format) = format_in(element.body)
        {
            self.format = if self.binary { format } else { Encoding::Xml };
        }
        command("enabledOutputFormat", self.format)
    }

    /// The data begins; returns its form, which holds from here on.
    pub fn start(&mut self) -> Encoding {
        self.started = true;
        self.format
    }
}

fn command(name: &str, format: Encoding) -> String {
    format!("<{name}><format>{}</format></{name}>", format.word())
}

fn unrecognized(name: &str) -> String {
    format!("<error>unrecognized command: {name}</error>")
}

enum Answer {
    Enabled(Encoding),
    Unknown,
    Wrong,
    Unfinished,
}

/// Reads what came: an enabled format wins over errors, which may be about other commands.
fn read_answer(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let mut answer = None;
    let mut rest: &str = &text;
    while let Some(element) = whole_element(rest) {
        if element.name == "enabledOutputFormat" {
            return format_in(element.body).map_or(Answer::Wrong, Answer::Enabled);
        }
        let found = if is_unknown(element.text) {
            Answer::Unknown
        } else {
            Answer::Wrong
        };
        answer.get_or_insert(found);
        rest = element.rest;
    }
    let rest = rest.trim_start();
    match answer {
        Some(answer) => answer,
        None if rest.is_empty() || rest.starts_with('<') => Answer::Unfinished,
        None if is_unknown(rest) => Answer::Unknown,
        None => Answer::Wrong,
    }
}

fn is_unknown(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["unrecogni", "unknown command", "unsupported command"]
        .iter()
        .any(|word| text.contains(word))
}

/// A complete element, and what stands behind it.
struct Whole<'t> {
    name: &'t str,
    text: &'t str,
    body: &'t str,
    rest: &'t str,
}

/// Finds the first element that is complete. Its end tag may lack the slash, as in the reply that TPTP's
/// document prints (SPEC.md §10, C19).
fn whole_element(text: &str) -> Option<Whole<'_>> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('<')?;
        let tag = text.get(at..)?;
        if tag.starts_with("<?") || tag.starts_with("<!") {
            at += tag.find('>')? + 1;
            continue;
        }
        let name = tag.get(1..name_end(tag.as_bytes()))?;
        let start = tag.find('>')? + 1;
        let (body, end) = if tag.get(..start)?.ends_with("/>") {
            ("", start)
        } else {
            let inside = tag.get(start..)?;
            let ends = [format!("</{name}>"), format!("<{name}>")];
            let (length, end) = ends
                .iter()
                .filter_map(|end| inside.find(end).map(|at| (at, at + end.len())))
                .min()?;
            (inside.get(..length)?, start + end)
        };
        return Some(Whole {
            name,
            text: tag.get(..end)?,
            body,
            rest: tag.get(end..)?,
        });
    }
}

fn format_in(text: &str) -> Option<Encoding> {
    let (_, rest) = text.split_once("<format>")?;
    let (word, _) = rest.split_once('<')?;
    Encoding::of(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: (u16, u16) = (4, 4);
    const NEW: (u16, u16) = (4, 5);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Lets both sides talk, in pieces of `piece` bytes, and returns what each of them does.
    fn talk(client: &mut Client, profiler: &mut Profiler, piece: usize) -> (Encoding, Encoding) {
        let mut act = client.start(seconds(0));
        loop {
            match act {
                Act::Load(loaded) => return (loaded, profiler.start()),
                Act::Wait => act = client.tick(seconds(60)),
                Act::Send(text) => {
                    act = Act::Wait;
                    for piece_of in text.as_bytes().chunks(piece) {
                        if let Some(reply) = profiler.receive(piece_of) {
                            for bytes in reply.as_bytes().chunks(piece) {
                                act = client.receive(bytes);
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_compatibility_matrix() {
        use Encoding::{Binary, Xml};
        use Reason::{Enabled, TooOld, UnknownCommand};
        for (client, profiler, can, wanted, result, reason) in [
            (OLD, OLD, false, Binary, Xml, TooOld),
            (OLD, NEW, true, Binary, Xml, TooOld),
            (NEW, OLD, false, Binary, Xml, UnknownCommand),
            (NEW, NEW, true, Binary, Binary, Enabled),
            (NEW, NEW, false, Binary, Xml, Enabled),
            (NEW, NEW, true, Xml, Xml, Enabled),
            ((4, 7), (5, 0), true, Binary, Binary, Enabled),
        ] {
            for piece in [1, 7, 1000] {
                let mut one = Client::new(client, wanted);
                let mut other = Profiler::new(profiler, can);
                let row = format!("{client:?} {profiler:?} {can} {wanted:?}");
                assert_eq!(talk(&mut one, &mut other, piece), (result, result), "{row}");
                assert_eq!(one.outcome(), Some((result, reason)), "{row}");
            }
        }
    }

    fn asked() -> Client {
        let mut client = Client::new(NEW, Encoding::Binary);
        let sent = "<setOutputFormat><format>binary</format></setOutputFormat>";
        assert_eq!(client.start(seconds(100)), Act::Send(sent.to_owned()));
        client
    }

    #[test]
    fn everything_but_a_proper_reply_means_xml() {
        for (reply, reason) in [
            (
                "<enabledOutputFormat><format>json</format></enabledOutputFormat>",
                Reason::WrongReply,
            ),
            ("<enabledOutputFormat/>", Reason::WrongReply),
            (
                "<somethingElse><format>binary</format></somethingElse>",
                Reason::WrongReply,
            ),
            ("hello", Reason::WrongReply),
            (
                "<error>Unrecognized command</error>",
                Reason::UnknownCommand,
            ),
        ] {
            let mut client = asked();
            assert_eq!(
                client.receive(reply.as_bytes()),
                Act::Load(Encoding::Xml),
                "{reply}"
            );
            assert_eq!(client.outcome(), Some((Encoding::Xml, reason)), "{reply}");
        }
        let mut client = asked();
        assert_eq!(client.deadline(), Some(seconds(105)));
        assert_eq!(client.tick(seconds(104)), Act::Wait);
        assert_eq!(client.tick(seconds(105)), Act::Load(Encoding::Xml));
        assert_eq!(client.outcome(), Some((Encoding::Xml, Reason::Timeout)));
        // A reply that comes too late changes nothing.
        let late = b"<enabledOutputFormat><format>binary</format></enabledOutputFormat>";
        assert_eq!(client.receive(late), Act::Load(Encoding::Xml));
        let mut client = asked();
        assert_eq!(client.receive(b"<enabledOut"), Act::Wait);
        assert_eq!(client.closed(), Act::Load(Encoding::Xml));
        assert_eq!(client.outcome(), Some((Encoding::Xml, Reason::Silence)));
        let mut client = asked();
        assert_eq!(client.receive(&[b'<'; MOST]), Act::Load(Encoding::Xml));
    }

    #[test]
    fn the_missing_slash_is_forgiven() {
        let mut client = asked();
        let reply = b"<?xml version=\"1.0\"?>\n<enabledOutputFormat><format> binary <format><enabledOutputFormat>";
        assert_eq!(client.receive(reply), Act::Load(Encoding::Binary));
        let mut client = asked();
        let reply = b"<enabledOutputFormat><format>xml</format><enabledOutputFormat>";
        assert_eq!(client.receive(reply), Act::Load(Encoding::Xml));
        assert_eq!(client.outcome(), Some((Encoding::Xml, Reason::Enabled)));
    }

    #[test]
    fn a_profiler_keeps_the_form_of_data_that_flows() {
        let mut profiler = Profiler::new(NEW, true);
        assert_eq!(profiler.start(), Encoding::Xml);
        let ask = b"<setOutputFormat><format>binary</format></setOutputFormat>";
        let enabled = "<enabledOutputFormat><format>xml</format></enabledOutputFormat>";
        assert_eq!(profiler.receive(ask).as_deref(), Some(enabled));
        let other = profiler.receive(b"<stopTracing/>").unwrap();
        assert_eq!(other, "<error>unrecognized command: stopTracing</error>");
    }

    #[test]
    fn errors_about_other_commands_do_not_undo_what_was_enabled() {
        let enabled = "<enabledOutputFormat><format>binary</format></enabledOutputFormat>";
        let error = "<error>unrecognized command: x <format>xml</format></error>";
        for reply in [format!("{enabled}{error}"), format!("{error}{enabled}")] {
            let mut client = asked();
            let act = client.receive(reply.as_bytes());
            assert_eq!(act, Act::Load(Encoding::Binary), "{reply}");
        }
    }

    #[test]
    fn every_command_of_one_read_is_answered() {
        let mut profiler = Profiler::new(NEW, true);
        let sent = b"<x><format>xml</format></x><setOutputFormat><format>binary</format></setOutputFormat><y";
        let replies = "<error>unrecognized command: x</error>\
                       <enabledOutputFormat><format>binary</format></enabledOutputFormat>";
        assert_eq!(profiler.receive(sent).as_deref(), Some(replies));
        let reply = profiler.receive(b"/>").unwrap();
        assert_eq!(reply, "<error>unrecognized command: y</error>");
    }
}
