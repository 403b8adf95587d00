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

/// How long it waits on after a reply that may be about another command.
pub const GRACE: Duration = Duration::from_millis(500);

/// Longest command or reply.
pub(super) const MOST: usize = 4096;

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
enum NegotiationState {
    Idle,
    Asked {
        until: Duration,
        received: Vec<u8>,
        /// What came that was no reply to the command, or may have been none.
        doubt: Option<Reason>,
    },
    Settled(Encoding, Reason),
}

/// The client: asks before it starts the data, and follows what was enabled.
#[derive(Clone, Debug)]
pub struct Client {
    version: (u16, u16),
    wanted: Encoding,
    patience: Duration,
    state: NegotiationState,
}

impl Client {
    /// A client of this version that would like this form.
    #[must_use]
    pub fn new(version: (u16, u16), wanted: Encoding) -> Self {
        Self {
            version,
            wanted,
            patience: PATIENCE,
            state: NegotiationState::Idle,
        }
    }

    /// Returns the same client with another patience than [`PATIENCE`].
    #[must_use]
    pub fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Begins at time `now`: asks, or loads XML where the version does not know how to ask.
    pub fn start(&mut self, now: Duration) -> Act {
        if self.state != NegotiationState::Idle {
            return self.act();
        }
        if self.version < SINCE {
            self.state = NegotiationState::Settled(Encoding::Xml, Reason::TooOld);
            return self.act();
        }
        self.state = NegotiationState::Asked {
            until: now.saturating_add(self.patience),
            received: Vec::new(),
            doubt: None,
        };
        Act::Send(command("setOutputFormat", self.wanted))
    }

    /// Takes bytes that came from the profiler by `now`. A reply may come in pieces, and behind replies to
    /// other commands: what is settled does not follow from where the pieces end.
    pub fn receive(&mut self, now: Duration, bytes: &[u8]) -> Act {
        for piece in bytes.chunks(MOST) {
            let NegotiationState::Asked {
                until,
                received,
                doubt,
            } = &mut self.state
            else {
                break;
            };
            received.extend_from_slice(piece);
            let text = String::from_utf8_lossy(received).into_owned();
            let mut rest: &str = &text;
            let mut settled = None;
            while let Some(element) = whole_element(rest) {
                rest = element.rest;
                match answer_of(&element) {
                    Answer::Settles(encoding, reason) => {
                        settled = Some((encoding, reason));
                        break;
                    }
                    Answer::MayBeOfAnother(reason) => {
                        doubt.get_or_insert(reason);
                    }
                }
            }
            // What begins no element will be none, nor will one that is too long.
            let open = rest.find('<').unwrap_or(rest.len());
            let stray = rest.get(..open).unwrap_or_default();
            if is_unknown(stray) {
                doubt.get_or_insert(Reason::UnknownCommand);
            } else if !stray.trim().is_empty() {
                doubt.get_or_insert(Reason::WrongReply);
            }
            if rest.len() - open > MOST {
                settled.get_or_insert((Encoding::Xml, Reason::WrongReply));
            }
            if doubt.is_some() {
                *until = (*until).min(now.saturating_add(GRACE));
            }
            *received = rest.as_bytes().get(open..).unwrap_or_default().to_vec();
            self.settle(settled);
        }
        self.act()
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Duration) -> Act {
        if let NegotiationState::Asked { until, doubt, .. } = self.state
            && now >= until
        {
            self.settle(Some((Encoding::Xml, doubt.unwrap_or(Reason::Timeout))));
        }
        self.act()
    }

    /// The connection ended.
    pub fn closed(&mut self) -> Act {
        if let NegotiationState::Asked { doubt, .. } = self.state {
            self.settle(Some((Encoding::Xml, doubt.unwrap_or(Reason::Silence))));
        }
        self.act()
    }

    /// Returns when [`Client::tick`] is due, none when nothing is waited for.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        match self.state {
            NegotiationState::Asked { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Returns the form in force and why, none while it is open.
    #[must_use]
    pub fn outcome(&self) -> Option<(Encoding, Reason)> {
        match self.state {
            NegotiationState::Settled(encoding, reason) => Some((encoding, reason)),
            _ => None,
        }
    }

    fn settle(&mut self, answer: Option<(Encoding, Reason)>) {
        if let Some((encoding, reason)) = answer {
            self.state = NegotiationState::Settled(encoding, reason);
        }
    }

    fn act(&self) -> Act {
        match self.state {
            NegotiationState::Settled(encoding, _) => Act::Load(encoding),
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

    fn answer(&mut self, element: &WholeElement<'_>) -> String {
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
    /// It is the reply.
    Settles(Encoding, Reason),
    /// It names no command, or another one.
    MayBeOfAnother(Reason),
}

fn answer_of(element: &WholeElement<'_>) -> Answer {
    if element.name == "enabledOutputFormat" {
        return format_in(element.body).map_or(
            Answer::Settles(Encoding::Xml, Reason::WrongReply),
            |encoding| Answer::Settles(encoding, Reason::Enabled),
        );
    }
    if !is_unknown(element.text) {
        return Answer::MayBeOfAnother(Reason::WrongReply);
    }
    if element.text.contains("setOutputFormat") {
        return Answer::Settles(Encoding::Xml, Reason::UnknownCommand);
    }
    Answer::MayBeOfAnother(Reason::UnknownCommand)
}

pub(super) fn is_unknown(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["unrecogni", "unknown command", "unsupported command"]
        .iter()
        .any(|word| text.contains(word))
}

/// A complete element, and what stands behind it.
pub(super) struct WholeElement<'t> {
    pub(super) name: &'t str,
    pub(super) text: &'t str,
    body: &'t str,
    pub(super) rest: &'t str,
}

/// Finds the first element that is complete. Its end tag may lack the slash, as in the reply that TPTP's
/// document prints (SPEC.md §10, C19).
pub(super) fn whole_element(text: &str) -> Option<WholeElement<'_>> {
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
        return Some(WholeElement {
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
mod tests;
