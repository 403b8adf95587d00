//! Messages in both forms.

use crate::bounds::saturated_u32;
use crate::calls::text::put;

/// A form of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TraceForm {
    /// A document of elements, which every version of TPTP reads.
    #[default]
    Xml,
    /// Messages of about half the size.
    Binary,
}

/// A field of a message. Numbers of 0 and empty texts are left out of elements.
#[derive(Clone, Copy, Debug)]
pub enum MessageField<'m> {
    Byte(u8),
    Int(u32),
    Long(u64),
    /// Nanoseconds since 1970.
    Time(u64),
    Text(&'m str),
    /// A text that elements have even if it is empty.
    PrintedText(&'m str),
}

use MessageField::{Byte, Int, Long, PrintedText, Text, Time};

/// What begins a binary stream: magic number, version 1.0, a process of 64 bits, little-endian, and where its data begin. Behind it are
/// the encoding of texts and the number of ticks in a second.
const BINARY_HEAD: [u8; 38] = *b"0TBF\x01\0\x01\x01\x0c\0\0\0\
    \x01\0\x0c\0\0\0UTF-8\0\
    \x02\0\x0e\0\0\0\x00\xca\x9a\x3b\0\0\0\0";

const XML_HEAD: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<TRACE>\n";
const XML_FOOT: &[u8] = b"</TRACE>\n";

pub fn put_head(form: TraceForm, out: &mut Vec<u8>) {
    match form {
        TraceForm::Binary => out.extend_from_slice(&BINARY_HEAD),
        TraceForm::Xml => out.extend_from_slice(XML_HEAD),
    }
}

pub fn put_foot(form: TraceForm, out: &mut Vec<u8>) {
    if form == TraceForm::Xml {
        out.extend_from_slice(XML_FOOT);
    }
}

/// Appends a message: its id in the binary form, its name in the other, and its fields in order.
pub fn put_message(
    form: TraceForm,
    (id, element): (u16, &str),
    fields: &[(&str, MessageField<'_>)],
    out: &mut Vec<u8>,
) {
    match form {
        TraceForm::Binary => put_binary(id, fields, out),
        TraceForm::Xml => put_element(element, fields, out),
    }
}

fn put_binary(id: u16, fields: &[(&str, MessageField<'_>)], out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for (_, field) in fields {
        match *field {
            Byte(number) => out.push(number),
            Int(number) => out.extend_from_slice(&number.to_le_bytes()),
            Long(number) | Time(number) => out.extend_from_slice(&number.to_le_bytes()),
            Text(text) | PrintedText(text) => {
                // A NUL ends a text.
                out.extend(text.bytes().filter(|&byte| byte != 0));
                out.push(0);
            }
        }
    }
    let size = saturated_u32(out.len() - from);
    out[from + 2..from + 6].copy_from_slice(&size.to_le_bytes());
}

fn put_element(element: &str, fields: &[(&str, MessageField<'_>)], out: &mut Vec<u8>) {
    put(out, format_args!("<{element}"));
    for (name, field) in fields {
        let number = match *field {
            Byte(number) => number.into(),
            Int(number) => number.into(),
            Long(number) => number,
            Time(0) | Text("") => continue,
            Time(ns) => {
                let (seconds, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
                put(out, format_args!(" {name}=\"{seconds}.{ns:09}\""));
                continue;
            }
            Text(text) | PrintedText(text) => {
                put(out, format_args!(" {name}=\""));
                put_escaped(text, out);
                out.push(b'"');
                continue;
            }
        };
        if number != 0 {
            put(out, format_args!(" {name}=\"{number}\""));
        }
    }
    out.extend_from_slice(b"/>\n");
}

fn put_escaped(text: &str, out: &mut Vec<u8>) {
    let mut utf8 = [0; 4];
    for c in text.chars() {
        match c {
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '&' => out.extend_from_slice(b"&amp;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\t' | '\n' | '\r' => put(out, format_args!("&#{};", u32::from(c))),
            '\0' => {}
            // Documents cannot have these.
            '\x01'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {
                out.extend_from_slice("\u{fffd}".as_bytes());
            }
            c => out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes()),
        }
    }
}

/// Returns `true` if a form cannot hold a text as it is.
pub fn changes(form: TraceForm, text: &str) -> bool {
    let is_changed = |c: char| match form {
        TraceForm::Binary => c == '\0',
        TraceForm::Xml => {
            matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}')
        }
    };
    text.contains(is_changed)
}
