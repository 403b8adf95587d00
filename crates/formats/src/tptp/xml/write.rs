//! Messages as elements.

use crate::tptp::markup::escape;
use crate::tptp::message::{Message, Slot, signed};
use crate::tptp::seconds;
use crate::tptp::table::{Kind, Layout};

/// What a message lost when it became an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dropped {
    /// Strings with bytes of no charset, or with characters that XML has no place for.
    pub texts: u64,
    /// Times that nine fraction digits cannot give back.
    pub times: u64,
}

/// The order in which the wider entry is printed: as the usual one, the two more ids in their place.
const WIDE_ENTRY: &[u8] = &[1, 2, 3, 8, 4, 11, 0, 5, 6, 7, 9, 10, 12, 13];

/// Appends a message as one element without a line end, times in ticks at `ticks_per_second`.
pub fn write_message(message: &Message<'_>, ticks_per_second: u64, out: &mut Vec<u8>) -> Dropped {
    let mut dropped = Dropped::default();
    let schema = message.schema;
    if schema.id == 1041 {
        dropped.texts = write_custom(message, out);
        return dropped;
    }
    out.push(b'<');
    out.extend_from_slice(schema.element.as_bytes());
    let fields = message.fields();
    let printed = match (message.layout, schema.id) {
        (Layout::Wide, 1015) => WIDE_ENTRY,
        _ => schema.printed,
    };
    for &position in printed.iter().take(fields.len()) {
        let position = usize::from(position);
        let (Some(field), Some(slot)) = (fields.get(position), message.values.get(position)) else {
            continue;
        };
        match *slot {
            Slot::Number(0) => {}
            Slot::Number(number) => {
                attribute(field.attribute, out);
                match field.kind {
                    Kind::Ticks => {
                        let nanos = seconds::nanos_of(number, ticks_per_second);
                        seconds::write(nanos, out);
                        if ticks_per_second > seconds::NANOS || nanos > u64::MAX.into() {
                            let back = u64::try_from(nanos).ok();
                            let back =
                                back.and_then(|nanos| seconds::ticks_of(nanos, ticks_per_second));
                            dropped.times += u64::from(back != Some(number));
                        }
                    }
                    Kind::Signed => out.extend_from_slice(signed(number).to_string().as_bytes()),
                    _ => seconds::number(number, out),
                }
                out.push(b'"');
            }
            Slot::Text(raw) => {
                // TPTP prints this one even when it is empty (SPEC.md §10, C18).
                if raw.is_empty() && field.attribute != "parentName" {
                    continue;
                }
                attribute(field.attribute, out);
                dropped.texts += text(message, raw, out);
                out.push(b'"');
            }
        }
    }
    close(message, &mut dropped, out);
    dropped
}

fn attribute(name: &str, out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
}

fn text(message: &Message<'_>, raw: &[u8], out: &mut Vec<u8>) -> u64 {
    match message.texts.decode(raw) {
        Ok(text) => u64::from(escape(&text, out) > 0),
        Err(text) => {
            escape(&text, out);
            1
        }
    }
}

fn close(message: &Message<'_>, dropped: &mut Dropped, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(b'>');
    let mut frames = 0_u64;
    message.frames.each(&mut |method, line| {
        frames += 1;
        out.extend_from_slice(b"<annotation name=\"stack\" method=\"");
        dropped.texts += text(message, method, out);
        out.extend_from_slice(b"\" line=\"");
        seconds::number(line, out);
        out.extend_from_slice(b"\"/>");
    });
    if frames == 0 {
        out.truncate(start);
        out.extend_from_slice(b"/>");
        return;
    }
    out.extend_from_slice(b"</");
    out.extend_from_slice(message.schema.element.as_bytes());
    out.push(b'>');
}

/// Appends a custom message: its body as it is where that is one element of no known name, so that
/// reading gives the same message, else as text in an element of our own (SPEC.md §2.8).
pub fn write_custom(message: &Message<'_>, out: &mut Vec<u8>) -> u64 {
    let Some(&Slot::Text(raw)) = message.values.first() else {
        return 0;
    };
    if let Ok(body) = message.texts.decode(raw)
        && is_foreign_element(&body)
    {
        out.extend_from_slice(body.as_bytes());
        return 0;
    }
    out.extend_from_slice(b"<custom>");
    let bad = text(message, raw, out);
    out.extend_from_slice(b"</custom>");
    bad
}

/// Returns true if `body` is exactly one well-formed element that no table has.
fn is_foreign_element(body: &str) -> bool {
    use quick_xml::events::Event;
    if !body.starts_with('<')
        || !body.ends_with('>')
        || body.contains(|c| c < ' ' && !matches!(c, '\t' | '\n'))
    {
        return false;
    }
    let mut reader = quick_xml::Reader::from_str(body);
    reader.config_mut().enable_all_checks(true);
    let (mut depth, mut elements) = (0_usize, 0_usize);
    loop {
        let outermost = depth == 0;
        match reader.read_event() {
            Ok(Event::Start(tag)) if well_formed(&tag, outermost) => {
                elements += usize::from(outermost);
                depth += 1;
            }
            Ok(Event::Empty(tag)) if well_formed(&tag, outermost) => {
                elements += usize::from(outermost)
            }
            Ok(Event::End(_)) => depth -= 1,
            Ok(Event::Text(_) | Event::CData(_) | Event::Comment(_)) if !outermost => {}
            Ok(Event::GeneralRef(name)) if !outermost => {
                let reference = format!("&{};", &*name);
                if quick_xml::escape::unescape(&reference).is_err() {
                    return false;
                }
            }
            Ok(Event::Eof) => return elements == 1 && depth == 0,
            _ => return false,
        }
    }
}

fn well_formed(tag: &quick_xml::events::BytesStart<'_>, outermost: bool) -> bool {
    let name = tag.name();
    let name = name.as_ref();
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let known = crate::tptp::table::by_element(name.as_bytes()).is_some() || name == "TRACE";
    named
        && !(outermost && known)
        && tag.attributes().all(|attribute| {
            attribute.is_ok_and(|a| {
                !a.value.contains('<') && quick_xml::escape::unescape(&a.value).is_ok()
            })
        })
}

/// The processing instruction that keeps what XML has no place for (SPEC.md §7).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Minor version of the binary stream.
    pub minor: u8,
    /// Its process was a 64-bit one.
    pub wide: bool,
    /// Its numbers are big-endian.
    pub big: bool,
    /// Its sizes leave the header out.
    pub exclusive: bool,
    /// Ticks per second it declares.
    pub frequency: Option<u64>,
    /// The charset it declares.
    pub encoding: Option<String>,
    /// Its system messages in order, `e` or `f` each, with `u` for those without a size.
    pub system: String,
}

impl Default for Instruction {
    fn default() -> Self {
        Self {
            minor: 0,
            wide: true,
            big: false,
            exclusive: false,
            frequency: Some(seconds::NANOS),
            encoding: Some("UTF-8".to_owned()),
            system: "ef".to_owned(),
        }
    }
}

impl Instruction {
    /// Appends the instruction.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut words = format!(
            "<?traceloom tptp version=1.{} platform={} endian={}",
            self.minor,
            if self.wide { 64 } else { 32 },
            if self.big { "big" } else { "little" },
        );
        if let Some(frequency) = self.frequency {
            words += &format!(" frequency={frequency}");
        }
        words += &format!(" encoding={}", self.encoding.as_deref().unwrap_or("UTF-8"));
        if self.exclusive {
            words += " size=exclusive";
        }
        if self.system != "ef" {
            words += &format!(
                " system={}",
                if self.system.is_empty() {
                    "none"
                } else {
                    &self.system
                }
            );
        }
        out.extend_from_slice(words.as_bytes());
        out.extend_from_slice(b"?>");
    }

    /// Reads the instruction; none for any other one.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let words = text.strip_prefix("<?traceloom tptp ")?.strip_suffix("?>")?;
        let mut read = Self {
            frequency: None,
            ..Self::default()
        };
        let mut system = None;
        for (name, value) in words
            .split_ascii_whitespace()
            .filter_map(|word| word.split_once('='))
        {
            match name {
                "version" => {
                    read.minor = value
                        .strip_prefix("1.")
                        .and_then(|minor| minor.parse().ok())
                        .unwrap_or(0)
                }
                "platform" => read.wide = value != "32",
                "endian" => read.big = value == "big",
                "frequency" => read.frequency = value.parse().ok(),
                "encoding" => read.encoding = Some(value.to_owned()),
                "size" => read.exclusive = value == "exclusive",
                "system" => system = Some(if value == "none" { "" } else { value }),
                _ => {}
            }
        }
        let usual = if read.frequency.is_some() { "ef" } else { "e" };
        system.unwrap_or(usual).clone_into(&mut read.system);
        Some(read)
    }
}
