//! The control channel of a live trace, both ends without I/O (SPEC.md §9): negotiation, then start, pause, resume
//! and end.

use std::collections::VecDeque;
use std::time::Duration;

use super::negotiate::{self, MOST, Profiler, Reason, is_unknown, whole_element};
use super::option::Encoding;
use super::{BINARY, XML};
use crate::codec::protocol::{
    ControlAgent, ControlClient, ControlCommand, ControlOptions, ControlOrder, ControlRules,
};

/// The control channel, for whoever owns sockets.
pub(super) const RULES: ControlRules = ControlRules {
    port: 1719,
    client: |options, now| Box::new(ClientEnd::new(options, now)),
    agent: || Box::new(AgentEnd::default()),
};

/// Time that an agent has for the reply to a command.
const PATIENCE: Duration = Duration::from_secs(30);

/// Commands of the user that wait for a reply.
const MOST_COMMANDS: usize = 64;

/// Cuts elements out of what arrived.
#[derive(Default)]
struct ElementCutter(Vec<u8>);

/// An element longer than any command or reply.
struct TooLong;

impl ElementCutter {
    fn take(&mut self, bytes: &[u8], element: &mut dyn FnMut(&str, &str)) -> Result<(), TooLong> {
        for piece in bytes.chunks(MOST) {
            self.0.extend_from_slice(piece);
            let text = String::from_utf8_lossy(&self.0).into_owned();
            let mut rest = from_tag(&text);
            while let Some(found) = whole_element(rest) {
                element(found.name, found.text);
                rest = from_tag(found.rest);
            }
            if rest.len() > MOST {
                return Err(TooLong);
            }
            self.0 = rest.as_bytes().to_vec();
        }
        Ok(())
    }
}

/// Drops what belongs to no element: blanks, texts, and the rest of an element whose beginning was given up.
fn from_tag(mut text: &str) -> &str {
    loop {
        let Some(at) = text.find('<') else { return "" };
        text = text.get(at..).unwrap_or_default();
        match text.strip_prefix("</").map(|tag| tag.find('>')) {
            None => return text,
            Some(None) => return text,
            Some(Some(end)) => text = text.get(end + "</>".len()..).unwrap_or_default(),
        }
    }
}

/// Returns the text between a child's tags.
fn child<'t>(element: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = element.split_once(&format!("<{name}>"))?;
    Some(rest.split_once('<')?.0.trim())
}

/// What a client waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AwaitedAnswer {
    Start,
    Of(ControlCommand),
}

impl AwaitedAnswer {
    /// The command's element, and the reply's.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Start => ("startMonitoring", "monitoringStarted"),
            Self::Of(ControlCommand::Pause) => ("pauseMonitoring", "monitoringPaused"),
            Self::Of(ControlCommand::Resume) => ("resumeMonitoring", "monitoringResumed"),
            Self::Of(ControlCommand::End) => ("stopMonitoring", "monitoringEnded"),
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Start => "the data flow",
            Self::Of(ControlCommand::Pause) => "paused",
            Self::Of(ControlCommand::Resume) => "resumed",
            Self::Of(ControlCommand::End) => "ended",
        }
    }
}

/// The client.
struct ClientEnd {
    negotiation: negotiate::Client,
    settled: bool,
    data: String,
    output: Vec<u8>,
    elements: ElementCutter,
    /// The command that has no reply yet, and when patience ends.
    pending: Option<(AwaitedAnswer, Duration)>,
    queued: VecDeque<ControlCommand>,
    messages: VecDeque<String>,
    ended: Option<Result<(), String>>,
}

impl ClientEnd {
    fn new(options: &ControlOptions, now: Duration) -> Self {
        let wanted = match options.binary {
            true => Encoding::Binary,
            false => Encoding::Xml,
        };
        let mut client = Self {
            negotiation: negotiate::Client::new(negotiate::SINCE, wanted),
            settled: false,
            data: options.data.clone(),
            output: Vec::new(),
            elements: ElementCutter::default(),
            pending: None,
            queued: VecDeque::new(),
            messages: VecDeque::new(),
            ended: None,
        };
        // Agents send XML unless they are asked: one that knows no such command is not bothered.
        match options.binary {
            true => {
                let act = client.negotiation.start(now);
                client.follow(act, now);
            }
            false => client.settle(Encoding::Xml, None, now),
        }
        client
    }

    fn follow(&mut self, act: negotiate::Act, now: Duration) {
        match act {
            negotiate::Act::Send(text) => self.output.extend_from_slice(text.as_bytes()),
            negotiate::Act::Wait => {}
            negotiate::Act::Load(encoding) => {
                let reason = self.negotiation.outcome().map(|(_, reason)| reason);
                self.settle(encoding, reason, now);
            }
        }
    }

    /// The form is settled: the data may begin.
    fn settle(&mut self, encoding: Encoding, reason: Option<Reason>, now: Duration) {
        if self.settled {
            return;
        }
        self.settled = true;
        let word = encoding.word();
        self.messages.push_back(match reason {
            None => format!("format {word}, as agents send unless they are asked"),
            Some(reason) => format!("format {word}: {}", why(reason)),
        });
        self.request(AwaitedAnswer::Start, now);
    }

    fn request(&mut self, request: AwaitedAnswer, now: Duration) {
        let (name, _) = request.words();
        let text = match request {
            AwaitedAnswer::Start => format!("<{name}><data>{}</data></{name}>", self.data),
            AwaitedAnswer::Of(_) => format!("<{name}/>"),
        };
        self.output.extend_from_slice(text.as_bytes());
        self.pending = Some((request, now.saturating_add(PATIENCE)));
    }

    fn next(&mut self, now: Duration) {
        if self.settled
            && self.pending.is_none()
            && self.ended.is_none()
            && let Some(command) = self.queued.pop_front()
        {
            self.request(AwaitedAnswer::Of(command), now);
        }
    }

    fn reply(&mut self, name: &str, text: &str) {
        if name == AwaitedAnswer::Of(ControlCommand::End).words().1 {
            // An agent may end by itself.
            self.messages.push_back("ended".to_owned());
            self.end(Ok(()));
            return;
        }
        let Some((request, _)) = self.pending else {
            return;
        };
        if name == request.words().1 {
            self.messages.push_back(request.done().to_owned());
            self.pending = None;
        } else if name == "error" {
            self.pending = None;
            let asked = request.words().0;
            let said = child(text, "error").unwrap_or_default();
            let refused = match is_unknown(text) {
                true => format!("the agent does not know {asked}"),
                false => format!("the agent refused {asked}: {said}"),
            };
            match request {
                AwaitedAnswer::Start | AwaitedAnswer::Of(ControlCommand::End) => {
                    self.end(Err(refused))
                }
                AwaitedAnswer::Of(_) => self.messages.push_back(refused),
            }
        }
    }

    fn end(&mut self, how: Result<(), String>) {
        self.pending = None;
        self.ended.get_or_insert(how);
    }
}

/// Says why a form was chosen.
const fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::TooOld => "this client is too old to ask",
        Reason::Enabled => "the agent enabled it",
        Reason::UnknownCommand => "the agent does not know setOutputFormat",
        Reason::Timeout => "the agent did not answer setOutputFormat",
        Reason::Silence => "the agent closed the channel",
        Reason::WrongReply => "the agent's answer to setOutputFormat makes no sense",
    }
}

impl ControlClient for ClientEnd {
    fn read(&mut self, bytes: &[u8], now: Duration) {
        if !self.settled {
            let act = self.negotiation.receive(now, bytes);
            return self.follow(act, now);
        }
        let mut replies = Vec::new();
        let taken = self.elements.take(bytes, &mut |name, text| {
            replies.push((name.to_owned(), text.to_owned()));
        });
        for (name, text) in replies {
            self.reply(&name, &text);
        }
        if taken.is_err() {
            self.end(Err("the agent's answer makes no sense".to_owned()));
        }
        self.next(now);
    }

    fn command(&mut self, command: ControlCommand, now: Duration) {
        if self.queued.len() < MOST_COMMANDS {
            self.queued.push_back(command);
        } else {
            let late = "too many commands wait for the agent; this one is not sent";
            self.messages.push_back(late.to_owned());
        }
        self.next(now);
    }

    fn closed(&mut self) {
        self.end(Err(match self.settled {
            true => "the agent closed the control channel without ending its data".to_owned(),
            false => "the agent closed the control channel before its data began".to_owned(),
        }));
    }

    fn tick(&mut self, now: Duration) {
        if !self.settled {
            let act = self.negotiation.tick(now);
            return self.follow(act, now);
        }
        if let Some((request, until)) = self.pending
            && until <= now
        {
            let (name, _) = request.words();
            self.end(Err(format!("the agent did not answer {name}")));
        }
    }

    fn deadline(&self) -> Option<Duration> {
        match self.settled {
            true => self.pending.map(|(_, until)| until),
            false => self.negotiation.deadline(),
        }
    }

    fn output(&self) -> &[u8] {
        &self.output
    }

    fn sent(&mut self, n_bytes: usize) {
        self.output.drain(..n_bytes.min(self.output.len()));
    }

    fn message(&mut self) -> Option<String> {
        self.messages.pop_front()
    }

    fn ended(&self) -> Option<Result<(), String>> {
        self.ended.clone()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AgentState {
    Idle,
    Starting,
    Running,
    Paused,
    Ending,
    Ended,
}

/// The agent.
struct AgentEnd {
    profiler: Profiler,
    state: AgentState,
    elements: ElementCutter,
    output: Vec<u8>,
    /// What came was no command, and is read no further.
    is_deaf: bool,
}

/// Bytes of replies that wait for the client to read them.
const MOST_OUTPUT: usize = 64 << 10;

impl Default for AgentEnd {
    fn default() -> Self {
        Self {
            profiler: Profiler::new(negotiate::SINCE, true),
            state: AgentState::Idle,
            elements: ElementCutter::default(),
            output: Vec::new(),
            is_deaf: false,
        }
    }
}

impl AgentEnd {
    fn say(&mut self, text: &str) {
        if self.output.len() + text.len() > MOST_OUTPUT {
            self.is_deaf = true;
            return;
        }
        self.output.extend_from_slice(text.as_bytes());
    }

    fn done(&mut self, request: AwaitedAnswer) {
        let (_, reply) = request.words();
        self.say(&format!("<{reply}/>"));
    }

    fn answer(&mut self, name: &str, text: &str) -> Option<ControlOrder> {
        let commands = [
            AwaitedAnswer::Start,
            AwaitedAnswer::Of(ControlCommand::Pause),
            AwaitedAnswer::Of(ControlCommand::Resume),
            AwaitedAnswer::Of(ControlCommand::End),
        ];
        let Some(request) = commands.into_iter().find(|known| known.words().0 == name) else {
            // Negotiation, and what is no command at all.
            let reply = self.profiler.receive(text.as_bytes());
            self.say(&reply.unwrap_or_default());
            return None;
        };
        match (request, self.state) {
            (AwaitedAnswer::Start, AgentState::Idle) => {
                let Some(to) = child(text, "data").filter(|to| !to.is_empty()) else {
                    self.say("<error>startMonitoring names no address for the data</error>");
                    return None;
                };
                self.state = AgentState::Starting;
                let format = match self.profiler.start() {
                    Encoding::Binary => BINARY.name,
                    Encoding::Xml => XML.name,
                };
                let to = to.to_owned();
                Some(ControlOrder::Start { format, to })
            }
            (AwaitedAnswer::Of(ControlCommand::Pause), AgentState::Running) => {
                self.state = AgentState::Paused;
                self.done(request);
                Some(ControlOrder::Pause)
            }
            (AwaitedAnswer::Of(ControlCommand::Resume), AgentState::Paused) => {
                self.state = AgentState::Running;
                self.done(request);
                Some(ControlOrder::Resume)
            }
            (AwaitedAnswer::Of(ControlCommand::End), AgentState::Running | AgentState::Paused) => {
                // The reply follows when the data are sent.
                self.state = AgentState::Ending;
                Some(ControlOrder::End)
            }
            // Said once: the reply is on its way.
            (AwaitedAnswer::Of(ControlCommand::End), AgentState::Ending | AgentState::Ended) => {
                None
            }
            (_, state) => {
                let now = match state {
                    AgentState::Idle => "no data were started",
                    AgentState::Starting => "the data are being started",
                    AgentState::Running => "the data flow",
                    AgentState::Paused => "the data are paused",
                    AgentState::Ending | AgentState::Ended => "the data ended",
                };
                self.say(&format!("<error>{name}: {now}</error>"));
                None
            }
        }
    }
}

impl ControlAgent for AgentEnd {
    fn read(&mut self, bytes: &[u8]) -> Vec<ControlOrder> {
        if self.is_deaf {
            return Vec::new();
        }
        let mut commands = Vec::new();
        let taken = self.elements.take(bytes, &mut |name, text| {
            commands.push((name.to_owned(), text.to_owned()));
        });
        let commands = commands.iter();
        let orders = commands.filter_map(|(name, text)| self.answer(name, text));
        let orders = orders.collect();
        if taken.is_err() {
            self.say("<error>unrecognized command: ?</error>");
            self.is_deaf = true;
        }
        orders
    }

    fn started(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.state = AgentState::Running;
                self.done(AwaitedAnswer::Start);
            }
            Err(why) => {
                self.state = AgentState::Idle;
                let why = why.replace(['<', '>', '&'], "?");
                self.say(&format!("<error>{why}</error>"));
            }
        }
    }

    fn ended(&mut self) {
        if self.state != AgentState::Ended {
            self.state = AgentState::Ended;
            self.done(AwaitedAnswer::Of(ControlCommand::End));
        }
    }

    fn output(&self) -> &[u8] {
        &self.output
    }

    fn sent(&mut self, n_bytes: usize) {
        self.output.drain(..n_bytes.min(self.output.len()));
    }
}

#[cfg(test)]
mod tests;
