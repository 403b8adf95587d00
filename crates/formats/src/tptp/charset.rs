//! Charsets of strings: anything that keeps NUL out of its characters, and UTF-16 for XML documents.

use std::borrow::Cow;

use encoding_rs::{DecoderResult, EncoderResult, Encoding};

/// A charset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Charset {
    /// UTF-8, the default.
    #[default]
    Utf8,
    /// ISO-8859-1: every byte is its code point, 0x80 to 0x9f too.
    Latin1,
    /// US-ASCII.
    Ascii,
    /// UTF-16, in XML documents only; true for big-endian.
    Utf16(bool),
    /// Any other that `encoding_rs` knows.
    Other(&'static Encoding),
}

/// Why a charset's name cannot be followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its characters may hold zero bytes, and NUL ends a string.
    Wide,
    /// Nobody here knows it.
    Unknown,
}

impl Charset {
    /// Finds the charset that a stream names, by IANA or Java name.
    ///
    /// # Errors
    /// [`Refusal`] for names that are unknown or stand for a charset with zero bytes in its characters.
    pub fn named(name: &str) -> Result<Self, Refusal> {
        let lower = name.trim().to_ascii_lowercase().replace('_', "-");
        match lower.as_str() {
            "utf8" | "utf-8" => return Ok(Self::Utf8),
            "iso-8859-1" | "iso8859-1" | "latin1" | "l1" => return Ok(Self::Latin1),
            "us-ascii" | "ascii" | "iso646-us" => return Ok(Self::Ascii),
            _ => {}
        }
        let wide = [
            "utf-16",
            "utf16",
            "utf-32",
            "utf32",
            "ucs-",
            "ucs2",
            "ucs4",
            "iso-10646",
        ];
        if wide.iter().any(|prefix| lower.starts_with(prefix)) || lower.starts_with("unicode") {
            return Err(Refusal::Wide);
        }
        let found = Encoding::for_label(name.trim().as_bytes())
            .or_else(|| Encoding::for_label(lower.as_bytes()))
            .ok_or(Refusal::Unknown)?;
        match found.name() {
            "UTF-8" => Ok(Self::Utf8),
            "UTF-16LE" | "UTF-16BE" => Err(Refusal::Wide),
            "replacement" | "x-user-defined" => Err(Refusal::Unknown),
            _ => Ok(Self::Other(found)),
        }
    }

    /// Decodes a string.
    ///
    /// # Errors
    /// The text with U+FFFD in place of every sequence that is none of the charset's.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, String> {
        match self {
            Self::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Cow::Borrowed(text)),
                Err(_) => Err(String::from_utf8_lossy(bytes).into_owned()),
            },
            Self::Latin1 => Ok(encoding_rs::mem::decode_latin1(bytes)),
            Self::Ascii => match std::str::from_utf8(bytes) {
                Ok(text) if text.is_ascii() => Ok(Cow::Borrowed(text)),
                _ => Err(bytes
                    .iter()
                    .map(|&b| if b < 0x80 { char::from(b) } else { '\u{fffd}' })
                    .collect()),
            },
            Self::Utf16(big) => decode_utf16(bytes, big),
            Self::Other(encoding) => decode_other(encoding, bytes),
        }
    }

    /// Appends `text` in this charset.
    ///
    /// Returns false, with nothing appended, when the charset lacks one of its characters.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        match self {
            Self::Utf8 => out.extend_from_slice(text.as_bytes()),
            Self::Ascii => {
                if !text.is_ascii() {
                    return false;
                }
                out.extend_from_slice(text.as_bytes());
            }
            Self::Latin1 => {
                for c in text.chars() {
                    let Ok(byte) = u8::try_from(u32::from(c)) else {
                        out.truncate(start);
                        return false;
                    };
                    out.push(byte);
                }
            }
            Self::Utf16(big) => out.extend(text.encode_utf16().flat_map(|unit| {
                if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })),
            Self::Other(encoding) => {
                if text.is_ascii() && encoding.is_ascii_compatible() {
                    out.extend_from_slice(text.as_bytes());
                    return true;
                }
                let mut encoder = encoding.new_encoder();
                let most = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
                out.resize(start.saturating_add(most.unwrap_or(text.len() * 6)), 0);
                let room = out.get_mut(start..).unwrap_or_default();
                let (result, _, written) =
                    encoder.encode_from_utf8_without_replacement(text, room, true);
                let done = result == EncoderResult::InputEmpty;
                out.truncate(start + if done { written } else { 0 });
                return done;
            }
        }
        true
    }
}

fn decode_utf16(bytes: &[u8], big: bool) -> Result<Cow<'_, str>, String> {
    let units = bytes.chunks_exact(2).map(|pair| {
        let pair = pair.first_chunk().copied().unwrap_or_default();
        if big {
            u16::from_be_bytes(pair)
        } else {
            u16::from_le_bytes(pair)
        }
    });
    let mut good = bytes.len().is_multiple_of(2);
    let text = char::decode_utf16(units)
        .map(|unit| {
            unit.unwrap_or_else(|_| {
                good = false;
                '\u{fffd}'
            })
        })
        .collect();
    if good {
        Ok(Cow::Owned(text))
    } else {
        Err(text)
    }
}

fn decode_other<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Result<Cow<'a, str>, String> {
    if encoding.is_ascii_compatible()
        && bytes.is_ascii()
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Ok(Cow::Borrowed(text));
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let most = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut text = String::with_capacity(most.unwrap_or(bytes.len() * 3));
    match decoder
        .decode_to_string_without_replacement(bytes, &mut text, true)
        .0
    {
        DecoderResult::InputEmpty => Ok(Cow::Owned(text)),
        _ => Err(encoding.decode_without_bom_handling(bytes).0.into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_iana_and_java() {
        assert_eq!(Charset::named("UTF8"), Ok(Charset::Utf8));
        assert_eq!(Charset::named("ISO8859_1"), Ok(Charset::Latin1));
        assert_eq!(Charset::named("US-ASCII"), Ok(Charset::Ascii));
        for (java, iana) in [
            ("KOI8_R", "KOI8-R"),
            ("Cp1251", "windows-1251"),
            ("SJIS", "Shift_JIS"),
            ("EUC_JP", "EUC-JP"),
            ("Cp866", "IBM866"),
        ] {
            assert_eq!(Charset::named(java), Charset::named(iana), "{java}");
            assert!(Charset::named(java).is_ok(), "{java}");
        }
        for wide in [
            "UTF-16",
            "UTF-16LE",
            "utf_32",
            "UnicodeBig",
            "ISO-10646-UCS-2",
        ] {
            assert_eq!(Charset::named(wide), Err(Refusal::Wide), "{wide}");
        }
        assert_eq!(Charset::named("Cp037"), Err(Refusal::Unknown));
    }

    #[test]
    fn text_survives_its_charset() {
        let cases = [
            ("KOI8-R", "\u{41f}\u{43e}\u{442}\u{43e}\u{43a}"),
            ("Shift_JIS", "\u{30b9}\u{30ec} \u{8868}"),
            ("GB18030", "\u{7ebf}\u{20ac}\u{1f600}"),
            ("ISO-8859-1", "caf\u{e9}\u{85}\u{92}"),
            ("ISO-2022-JP", "\u{30b9} a"),
        ];
        for (name, text) in cases {
            let charset = Charset::named(name).unwrap();
            let mut bytes = Vec::new();
            assert!(charset.encode(text, &mut bytes), "{name}");
            assert!(!bytes.contains(&0), "{name}");
            assert_eq!(charset.decode(&bytes).unwrap(), text, "{name}");
        }
        let mut out = vec![7];
        assert!(
            !Charset::named("KOI8-R")
                .unwrap()
                .encode("a\u{4e2d}", &mut out)
        );
        assert!(!Charset::Latin1.encode("a\u{4e2d}", &mut out));
        assert_eq!(out, [7]);
        assert_eq!(
            Charset::Utf8.decode(b"ok\xff"),
            Err("ok\u{fffd}".to_owned())
        );
    }
}
