//! The agent's end of the control channel, without sockets.

use std::net::SocketAddr;

use super::message::TraceForm;

/// Bytes of a command.
const MOST: usize = 4096;
/// Bytes of replies that wait for the client to read them.
const MOST_REPLIES: usize = 64 << 10;

/// What a client asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientWish {
    /// Data in this form, sent to this address. [`ControlEnd::started`] answers.
    Start(TraceForm, SocketAddr),
    Pause,
    Resume,
    /// The end of the data. [`ControlEnd::ended`] answers.
    Stop,
}

/// How far the data are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum DataState {
    #[default]
    Idle,
    Starting,
    Running,
    Paused,
    Ending,
}

/// Commands in, replies out. The form is XML until a client asks for the other one.
#[derive(Debug, Default)]
pub struct ControlEnd {
    form: TraceForm,
    state: DataState,
    incoming: Vec<u8>,
    /// Replies that are not sent.
    pub replies: Vec<u8>,
    /// What came was no command, or its replies are not read: nothing more is taken.
    is_deaf: bool,
}

/// An element: its name and what is inside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CommandElement<'t> {
    name: &'t str,
    content: &'t str,
}

impl ControlEnd {
    /// Takes bytes of the client, and returns what it asks for.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<ClientWish> {
        let mut wishes = Vec::new();
        for piece in bytes.chunks(MOST) {
            if self.is_deaf {
                break;
            }
            self.incoming.extend_from_slice(piece);
            let text = String::from_utf8_lossy(&self.incoming).into_owned();
            let mut rest = from_tag(&text);
            while let Some((element, behind)) = first_element(rest) {
                wishes.extend(self.command(element));
                rest = from_tag(behind);
            }
            if rest.len() > MOST {
                self.say("<error>unrecognized command: ?</error>");
                self.is_deaf = true;
            }
            self.incoming = rest.as_bytes().to_vec();
        }
        wishes
    }

    fn command(&mut self, element: CommandElement<'_>) -> Option<ClientWish> {
        match (element.name, self.state) {
            ("setOutputFormat", state) => {
                let wanted = child(element.content, "format");
                if state == DataState::Idle {
                    self.form = match wanted {
                        Some("binary") => TraceForm::Binary,
                        Some("xml") => TraceForm::Xml,
                        _ => self.form,
                    };
                }
                let form = match self.form {
                    TraceForm::Binary => "binary",
                    TraceForm::Xml => "xml",
                };
                self.say(&format!(
                    "<enabledOutputFormat><format>{form}</format></enabledOutputFormat>"
                ));
                None
            }
            ("startMonitoring", DataState::Idle) => {
                let address = child(element.content, "data").and_then(|data| data.parse().ok());
                let Some(address) = address else {
                    self.say("<error>startMonitoring names no address for the data</error>");
                    return None;
                };
                self.state = DataState::Starting;
                Some(ClientWish::Start(self.form, address))
            }
            ("pauseMonitoring", DataState::Running) => {
                self.state = DataState::Paused;
                self.say("<monitoringPaused/>");
                Some(ClientWish::Pause)
            }
            ("resumeMonitoring", DataState::Paused) => {
                self.state = DataState::Running;
                self.say("<monitoringResumed/>");
                Some(ClientWish::Resume)
            }
            ("stopMonitoring", DataState::Running | DataState::Paused) => {
                self.state = DataState::Ending;
                Some(ClientWish::Stop)
            }
            // The reply is on its way.
            ("stopMonitoring", DataState::Ending) => None,
            (
                name @ ("startMonitoring" | "pauseMonitoring" | "resumeMonitoring"
                | "stopMonitoring"),
                state,
            ) => {
                let now = match state {
                    DataState::Idle => "no data were started",
                    DataState::Starting => "the data are being started",
                    DataState::Running => "the data flow",
                    DataState::Paused => "the data are paused",
                    DataState::Ending => "the data are being ended",
                };
                self.say(&format!("<error>{name}: {now}</error>"));
                None
            }
            (name, _) => {
                self.say(&format!("<error>unrecognized command: {name}</error>"));
                None
            }
        }
    }

    /// Learns that data flow, or why they do not.
    pub fn started(&mut self, result: Result<(), &str>) {
        match result {
            Ok(()) => {
                self.state = DataState::Running;
                self.say("<monitoringStarted/>");
            }
            Err(why) => {
                self.state = DataState::Idle;
                let why = why.replace(['<', '>', '&'], "?");
                self.say(&format!("<error>{why}</error>"));
            }
        }
    }

    /// Learns that the collector has all data, or that they ended by themselves.
    pub fn ended(&mut self) {
        if self.state != DataState::Idle {
            self.state = DataState::Idle;
            self.say("<monitoringEnded/>");
        }
    }

    fn say(&mut self, reply: &str) {
        if self.replies.len() + reply.len() > MOST_REPLIES {
            self.is_deaf = true;
            return;
        }
        self.replies.extend_from_slice(reply.as_bytes());
    }
}

/// Drops what belongs to no element: blanks, texts, and ends of elements whose beginning was given up.
fn from_tag(mut text: &str) -> &str {
    loop {
        let Some(at) = text.find('<') else { return "" };
        text = &text[at..];
        if !text.starts_with("</") {
            return text;
        }
        match text.find('>') {
            None => return text,
            Some(end) => text = &text[end + 1..],
        }
    }
}

/// Takes the first element off a text that begins with one; `None` if it is not there as a whole.
fn first_element(text: &str) -> Option<(CommandElement<'_>, &str)> {
    let (tag, rest) = text.strip_prefix('<')?.split_once('>')?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let end = tag.find(|c| !is_name(c)).unwrap_or(tag.len());
    let name = &tag[..end];
    if tag.ends_with('/') || name.is_empty() {
        return Some((CommandElement { name, content: "" }, rest));
    }
    let close = format!("</{name}>");
    let (content, rest) = rest.split_once(&close)?;
    Some((CommandElement { name, content }, rest))
}

/// Returns the text of a child.
fn child<'t>(content: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = content.split_once(&format!("<{name}>"))?;
    Some(rest.split_once('<')?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(control: &mut ControlEnd) -> String {
        String::from_utf8(std::mem::take(&mut control.replies)).expect("text")
    }

    #[test]
    fn a_client_chooses_the_form_starts_pauses_and_stops() {
        let mut control = ControlEnd::default();
        let ask = b"<setOutputFormat><format>binary</format></setOutputFormat>";
        assert_eq!(control.read(ask), []);
        let reply = "<enabledOutputFormat><format>binary</format></enabledOutputFormat>";
        assert_eq!(said(&mut control), reply);
        let start = b"<startMonitoring><data>127.0.0.1:1718</data></startMonitoring>";
        let address = "127.0.0.1:1718".parse().expect("an address");
        assert_eq!(
            control.read(start),
            [ClientWish::Start(TraceForm::Binary, address)]
        );
        control.started(Ok(()));
        assert_eq!(control.read(b"<pauseMonitoring/>"), [ClientWish::Pause]);
        assert_eq!(control.read(b"<resumeMonitoring/>"), [ClientWish::Resume]);
        assert_eq!(control.read(b"<stopMonitoring/>"), [ClientWish::Stop]);
        control.ended();
        assert_eq!(
            said(&mut control),
            "<monitoringStarted/><monitoringPaused/><monitoringResumed/><monitoringEnded/>"
        );
    }

    #[test]
    fn without_a_wish_the_form_is_xml_and_one_that_flows_stays() {
        let mut control = ControlEnd::default();
        let start = b"<startMonitoring><data>127.0.0.1:1</data></startMonitoring>";
        assert!(matches!(
            control.read(start)[..],
            [ClientWish::Start(TraceForm::Xml, _)]
        ));
        control.started(Ok(()));
        said(&mut control);
        control.read(b"<setOutputFormat><format>binary</format></setOutputFormat>");
        assert!(said(&mut control).contains("<format>xml</format>"));
    }

    #[test]
    fn what_is_wrong_is_refused_and_changes_nothing() {
        let mut control = ControlEnd::default();
        for (command, reply) in [
            (
                "<pauseMonitoring/>",
                "<error>pauseMonitoring: no data were started</error>",
            ),
            ("<dance/>", "<error>unrecognized command: dance</error>"),
            (
                "<startMonitoring/>",
                "<error>startMonitoring names no address for the data</error>",
            ),
        ] {
            assert_eq!(control.read(command.as_bytes()), []);
            assert_eq!(said(&mut control), reply);
        }
        assert_eq!(control.read(&[b'<'; 3 * MOST]), []);
        assert!(control.incoming.len() <= 2 * MOST);
        assert_eq!(control.read(b"<pauseMonitoring/>"), []);
    }

    #[test]
    fn commands_come_in_pieces() {
        let command = b" x</y><startMonitoring><data>127.0.0.1:7</data></startMonitoring>";
        let mut control = ControlEnd::default();
        let wishes: Vec<ClientWish> = command
            .chunks(1)
            .flat_map(|piece| control.read(piece))
            .collect();
        assert_eq!(wishes.len(), 1);
    }
}
