//! Messages that no table has, as the author of an agent describes them (SPEC.md §3).

use std::sync::OnceLock;

use crate::DescriptionError;

use super::table::{FieldDef, Kind, MESSAGES, MOST_FIELDS, Schema, snake_case};

/// Messages are described once for a process: readers of all threads see the same ones.
static REGISTERED: OnceLock<Vec<Schema>> = OnceLock::new();

/// Most messages of a description.
const MOST_MESSAGES: usize = 4096;

/// Has readers and writers of both forms know more messages than the specification has, from now on in this process.
///
/// Each line describes one: its id, its element, and its fields in wire order as `attribute:kind`. A kind is `byte`, `int`, `signed`,
/// `long`, `ticks` or `text`. A message with a stack ends in `stackDepth:int stack`. Blank lines and lines that begin with `#` are
/// left out. In a lowered recording these messages are events of the element's name; `time`, `threadIdRef` and `objIdRef` are their
/// time, thread and object.
///
/// ```
/// use traceloom_formats::tptp::{self, xml};
/// use traceloom_formats::{Records, read_slice};
/// use traceloom_model::Limits;
///
/// tptp::register("1500 cacheMiss threadIdRef:long time:ticks region:text size:int")?;
/// let bytes = br#"<TRACE><cacheMiss threadIdRef="1" time="12.5" region="prices" size="3"/></TRACE>"#;
/// let mut records = Records::default();
/// read_slice(&mut xml::Reader::new(&Limits::default()), bytes, &mut records);
/// assert_eq!(records.kinds(), ["root_start", "cache_miss", "root_end"]);
/// # Ok::<(), traceloom_formats::DescriptionError>(())
/// ```
///
/// # Errors
/// The first line that describes no message, or one that is there already; or messages are described already in this process.
pub fn register(description: &str) -> Result<(), DescriptionError> {
    set(messages(description)?)
}

/// Returns the messages that a description has.
pub(crate) fn messages(description: &str) -> Result<Vec<Schema>, DescriptionError> {
    let mut messages: Vec<Schema> = Vec::new();
    for (at, line) in description.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |text| DescriptionError { line: at + 1, text };
        let message = message(line).map_err(wrong)?;
        let mut others = MESSAGES.iter().chain(&messages);
        if let Some(other) = others.find(|other| clashes(other, &message)) {
            let text = format!("{} {} is there already", other.id, other.element);
            return Err(wrong(text));
        }
        if messages.len() >= MOST_MESSAGES {
            return Err(wrong(format!("more than {MOST_MESSAGES} messages")));
        }
        messages.push(message);
    }
    Ok(messages)
}

/// Has readers and writers know these messages.
pub(crate) fn set(messages: Vec<Schema>) -> Result<(), DescriptionError> {
    let done = REGISTERED.set(messages);
    done.map_err(|_| DescriptionError {
        line: 0,
        text: "messages are described already in this process".to_owned(),
    })
}

/// Returns the messages that were described.
pub(super) fn registered() -> &'static [Schema] {
    REGISTERED.get().map_or(&[], Vec::as_slice)
}

fn clashes(one: &Schema, other: &Schema) -> bool {
    one.id == other.id || one.element == other.element || one.kind == other.kind
}

fn message(line: &str) -> Result<Schema, String> {
    let mut words = line.split_whitespace();
    let id = words.next().unwrap_or_default();
    let id: u16 = id
        .parse()
        .map_err(|_| format!("`{id}` is no message id: 0 to 65535"))?;
    // The encoding of strings and the frequency of the clock.
    if matches!(id, 1 | 2) {
        return Err(format!("{id} is a system message"));
    }
    let element = words.next().ok_or("the name of the element is missing")?;
    let element = name(element)?;
    if element == "TRACE" {
        return Err("TRACE is the root of a document".to_owned());
    }
    let (fields, has_stack) = fields(words)?;
    if fields.len() > MOST_FIELDS {
        return Err(format!("more than {MOST_FIELDS} fields"));
    }
    let n_plain = fields.len() - if has_stack { 2 } else { 0 };
    let printed = (0..n_plain - usize::from(has_stack)).filter_map(|at| u8::try_from(at).ok());
    let printed: Vec<u8> = printed.collect();
    let fields = leak(fields);
    let (broken, _) = fields.split_at(if has_stack { n_plain } else { 0 });
    Ok(Schema::new(id, element, fields, broken, leak(printed)))
}

/// Returns the fields in wire order; `true` if the last two are a stack.
fn fields<'w>(words: impl Iterator<Item = &'w str>) -> Result<(Vec<FieldDef>, bool), String> {
    let mut fields: Vec<FieldDef> = Vec::new();
    let mut has_stack = false;
    for word in words {
        if has_stack {
            return Err("nothing follows a stack".to_owned());
        }
        if word == "stack" {
            let is_counted = fields
                .last()
                .is_some_and(|field| field.attribute == "stackDepth" && field.kind == Kind::Int);
            if !is_counted {
                return Err("a stack follows stackDepth:int".to_owned());
            }
            fields.push(FieldDef::new("stackMethods", Kind::Methods));
            fields.push(FieldDef::new("stackLines", Kind::Lines));
            has_stack = true;
            continue;
        }
        let (attribute, kind) = word
            .split_once(':')
            .ok_or_else(|| format!("`{word}` is no attribute:kind"))?;
        let attribute = name(attribute)?;
        if fields.iter().any(|field| field.attribute == attribute) {
            return Err(format!("{attribute} is there twice"));
        }
        fields.push(FieldDef::new(attribute, self::kind(kind)?));
    }
    match fields.is_empty() {
        true => Err("a message has at least one field".to_owned()),
        false => Ok((fields, has_stack)),
    }
}

fn kind(word: &str) -> Result<Kind, String> {
    Ok(match word {
        "byte" => Kind::Byte,
        "int" => Kind::Int,
        "signed" => Kind::Signed,
        "long" => Kind::Long,
        "ticks" => Kind::Ticks,
        "text" => Kind::Text,
        _ => {
            return Err(format!(
                "`{word}` is no kind: byte, int, signed, long, ticks, text"
            ));
        }
    })
}

/// Names stay as long as the process, as those of the table do.
fn name(word: &str) -> Result<&'static str, String> {
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        && word.len() <= 255;
    match is_name {
        true => Ok(word.to_owned().leak()),
        false => Err(format!(
            "`{word}` is no name of an XML element or attribute"
        )),
    }
}

fn leak<T>(items: Vec<T>) -> &'static [T] {
    items.leak()
}

impl FieldDef {
    fn new(attribute: &'static str, kind: Kind) -> Self {
        let name = snake_case(attribute).leak();
        Self {
            attribute,
            name,
            kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tptp::table::Layout;

    #[test]
    fn a_line_describes_a_message() {
        let message =
            message("1500 cacheMiss threadIdRef:long time:ticks baseCPUTime:signed note:text");
        let message = message.unwrap();
        assert_eq!(
            (message.id, message.element, message.kind, message.least()),
            (1500, "cacheMiss", "cache_miss", 6 + 8 + 8 + 4 + 1)
        );
        let fields = message.fields(Layout::Table).iter();
        let names: Vec<&str> = fields.map(|field| field.name).collect();
        assert_eq!(names, ["thread_id_ref", "time", "base_cpu_time", "note"]);
        assert!(!message.has_stack());
        assert_eq!(message.printed, [0, 1, 2, 3]);
    }

    #[test]
    fn a_stack_is_as_that_of_a_monitor() {
        let message = message("1501 parked time:ticks stackDepth:int stack").unwrap();
        assert!(message.has_stack());
        assert_eq!(message.fields(Layout::Table).len(), 4);
        assert_eq!(message.fields(Layout::Broken).len(), 2);
        assert_eq!(message.printed, [0]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("x", "`x` is no message id: 0 to 65535"),
            ("70000 a b:int", "`70000` is no message id: 0 to 65535"),
            ("2 clock b:int", "2 is a system message"),
            ("1500", "the name of the element is missing"),
            (
                "1500 9lives b:int",
                "`9lives` is no name of an XML element or attribute",
            ),
            ("1500 TRACE b:int", "TRACE is the root of a document"),
            ("1500 a", "a message has at least one field"),
            ("1500 a b", "`b` is no attribute:kind"),
            (
                "1500 a b:double",
                "`double` is no kind: byte, int, signed, long, ticks, text",
            ),
            ("1500 a b:int b:long", "b is there twice"),
            ("1500 a stack", "a stack follows stackDepth:int"),
            (
                "1500 a stackDepth:int stack b:int",
                "nothing follows a stack",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(message(line).err().as_deref(), Some(expected), "{line}");
        }
        let many: Vec<String> = (0..20).map(|at| format!("a{at}:int")).collect();
        let many = format!("1500 a {}", many.join(" "));
        assert_eq!(message(&many).err().as_deref(), Some("more than 19 fields"));
    }

    /// None of these is registered: a process has one description.
    #[test]
    fn a_message_that_is_there_already_is_refused() {
        let cases = [
            (
                "\n# mine\n1015 a b:int",
                (3, "1015 methodEntry is there already"),
            ),
            (
                "1500 threadStart b:int",
                (1, "1009 threadStart is there already"),
            ),
            ("1500 a b:int\n1500 c d:int", (2, "1500 a is there already")),
            (
                "1500 fooBar b:int\n1501 foo_bar d:int",
                (2, "1500 fooBar is there already"),
            ),
        ];
        for (description, (line, text)) in cases {
            let error = register(description).unwrap_err();
            assert_eq!((error.line, error.text.as_str()), (line, text));
        }
        assert!(registered().is_empty());
    }
}
