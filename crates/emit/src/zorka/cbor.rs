//! The pieces of CBOR that agents write.

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const TAG: u8 = 6;

/// The end of an open array.
pub const BREAK: u8 = 0xff;
const OPEN_ARRAY: u8 = 0x9f;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;

pub fn unsigned(out: &mut Vec<u8>, value: u64) {
    head(out, UNSIGNED, value);
}

pub fn integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        head(out, NEGATIVE, (!value).cast_unsigned());
    } else {
        head(out, UNSIGNED, value.cast_unsigned());
    }
}

pub fn text(out: &mut Vec<u8>, text: &str) {
    head(out, TEXT, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

pub fn boolean(out: &mut Vec<u8>, value: bool) {
    out.push(if value { TRUE } else { FALSE });
}

pub fn null(out: &mut Vec<u8>) {
    out.push(NULL);
}

pub fn array(out: &mut Vec<u8>, n_items: usize) {
    head(out, ARRAY, n_items as u64);
}

pub fn open_array(out: &mut Vec<u8>) {
    out.push(OPEN_ARRAY);
}

pub fn tag(out: &mut Vec<u8>, tag: u8) {
    head(out, TAG, tag.into());
}

/// Writes a major type with its number in the shortest form.
fn head(out: &mut Vec<u8>, major: u8, value: u64) {
    let major = major << 5;
    let bytes = value.to_be_bytes();
    match value {
        0..=23 => out.push(major | bytes[7]),
        24..=0xff => out.extend_from_slice(&[major | 24, bytes[7]]),
        0x100..=0xffff => {
            out.push(major | 25);
            out.extend_from_slice(&bytes[6..]);
        }
        0x1_0000..=0xffff_ffff => {
            out.push(major | 26);
            out.extend_from_slice(&bytes[4..]);
        }
        _ => {
            out.push(major | 27);
            out.extend_from_slice(&bytes);
        }
    }
}
