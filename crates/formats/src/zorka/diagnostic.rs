//! CBOR for people: the diagnostic notation, for keys and nested values that no other type holds.

use std::fmt::Write as _;

use super::cbor::{Cbor, CborValue};

/// Longest text made of one value, in bytes; the rest is an ellipsis.
pub(super) const LONGEST: usize = 4096;

/// Writes one scalar, or `None` for a container.
fn scalar(value: CborValue<'_>, out: &mut String) -> Option<()> {
    let _ = match value {
        CborValue::Null => out.write_str("null"),
        CborValue::Undefined => out.write_str("undefined"),
        CborValue::Missing => out.write_str("missing"),
        CborValue::Bool(value) => write!(out, "{value}"),
        CborValue::Int(value) => write!(out, "{value}"),
        CborValue::Big(value) => write!(out, "{value}"),
        CborValue::NegativeBig(value) => write!(out, "{}", -1 - i128::from(value)),
        CborValue::Text(text) => write!(out, "{:?}", String::from_utf8_lossy(text)),
        CborValue::Bytes(bytes) => hex(out, bytes),
        CborValue::F16(bits) => write!(out, "{:?}", half(bits)),
        CborValue::F32(bits) => write!(out, "{:?}", f32::from_bits(bits)),
        CborValue::F64(bits) => write!(out, "{:?}", f64::from_bits(bits)),
        CborValue::Ref(id) => write!(out, "6({id})"),
        CborValue::Simple(number) => write!(out, "simple({number})"),
        CborValue::Raw(_) => return None,
    };
    Some(())
}

fn hex(out: &mut String, bytes: &[u8]) -> std::fmt::Result {
    out.write_str("h'")?;
    for byte in bytes.iter().take(LONGEST) {
        write!(out, "{byte:02x}")?;
    }
    out.write_str("'")
}

/// Widens a half float.
#[must_use]
pub fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff);
    match bits >> 10 & 0x1f {
        0 => sign * fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        // The payload moves to the top of the wider fraction, as hardware does it.
        31 => f64::from_bits(
            u64::from(bits >> 15) << 63 | 0x7ff << 52 | u64::from(bits & 0x3ff) << 42,
        ),
        exponent => sign * (1.0 + fraction / 1024.0) * 2_f64.powi(i32::from(exponent) - 15),
    }
}

/// Writes a value in diagnostic notation, cut at a few KiB.
#[must_use]
pub fn diagnostic(value: CborValue<'_>) -> String {
    let mut out = String::new();
    let CborValue::Raw(raw) = value else {
        let _ = scalar(value, &mut out);
        return out;
    };
    container(raw, &mut out);
    out
}

struct NestedContainer {
    left: u64,
    items: u64,
    map: bool,
    close: char,
}

/// Writes a container level by level, from a heap stack.
fn container(raw: &[u8], out: &mut String) {
    let mut cbor = Cbor::checked(raw);
    let mut open: Vec<NestedContainer> = Vec::new();
    while out.len() < LONGEST {
        if let Some(top) = open.last_mut() {
            let broken = top.left == u64::MAX && cbor.next_is(0xff) == Some(true);
            if broken {
                cbor.step();
            }
            if top.left == 0 || broken {
                out.push(top.close);
                open.pop();
                if open.is_empty() {
                    return;
                }
                continue;
            }
            if top.left != u64::MAX {
                top.left -= 1;
            }
            out.push_str(match (top.items, top.map) {
                (0, _) => "",
                (n, true) if n % 2 == 1 => ": ",
                _ => ", ",
            });
            top.items += 1;
        }
        let before = cbor.clone();
        let Ok(head) = cbor.head() else { return };
        let left = if head.info == 31 {
            u64::MAX
        } else {
            head.value
        };
        let (left, map, opening, close) = match head.major {
            4 => (left, false, '[', ']'),
            5 => (left.saturating_mul(2), true, '{', '}'),
            6 if cbor.next_is(0xff) != Some(true) => {
                let _ = write!(out, "{}", head.value);
                (1, false, '(', ')')
            }
            _ => {
                cbor = before;
                match cbor.value() {
                    Ok(CborValue::Raw(pieces)) => match Cbor::joined(pieces) {
                        Some((true, text)) => drop(scalar(CborValue::Text(&text), out)),
                        Some((false, bytes)) => drop(scalar(CborValue::Bytes(&bytes), out)),
                        None => return,
                    },
                    Ok(value) => drop(scalar(value, out)),
                    Err(_) => return,
                }
                if open.is_empty() {
                    return;
                }
                continue;
            }
        };
        out.push(opening);
        open.push(NestedContainer {
            left,
            items: 0,
            map,
            close,
        });
    }
    out.push('…');
}
