//! The descriptor, and what lies between it and the data (SPEC.md §1.1).

use traceloom_model::bounds::in_memory;

use super::damaged::piece;
use super::read::{MessageStep, Phase, Reader, took};
use super::record::Descriptor;
use super::{DESCRIPTOR, HEADER, Shape};
use crate::tptp::visit::{Item, Visit};
use crate::{damage, info, warn};

/// Longest gap before the data that is searched for system messages.
const GAP: usize = 64 << 10;

impl Reader {
    pub(super) fn descriptor<V: Visit>(
        &mut self,
        bytes: &[u8],
        here: u64,
        eof: bool,
        out: &mut V,
    ) -> MessageStep {
        let Some(&head) = bytes.first_chunk::<DESCRIPTOR>() else {
            if !eof {
                return MessageStep::Need(DESCRIPTOR);
            }
            self.phase = Phase::Dead;
            let end = here + bytes.len() as u64;
            return out
                .note(damage("truncated", end, "truncated descriptor"))
                .into();
        };
        let [a, b, c, d, major, minor, platform, endianness, offset @ ..] = head;
        let magic = [a, b, c, d];
        self.shape = Shape {
            big: endianness == 0,
            exclusive: false,
            newer: minor > 0,
        };
        let offset_to_data = self.shape.u32(offset);
        let refusal = if magic != *b"0TBF" && magic != *b"\0TBF" {
            Some((
                "not_tptp",
                0,
                "no magic number of a binary trace".to_owned(),
            ))
        } else if major != 1 {
            Some((
                "unsupported_version",
                4,
                format!("version {major}.{minor}, this reader knows 1.x"),
            ))
        } else if endianness > 1 {
            Some((
                "bad_endianness",
                7,
                format!("endianness {endianness}, expected 0 or 1"),
            ))
        } else if offset_to_data < 12 {
            Some((
                "bad_offset",
                8,
                format!("data at {offset_to_data}, inside the descriptor"),
            ))
        } else {
            None
        };
        if let Some((kind, offset, text)) = refusal {
            self.phase = Phase::Dead;
            return out.note(damage(kind, offset, text)).into();
        }
        if platform > 1
            && out
                .note(warn(
                    "bad_platform",
                    6,
                    format!("platform {platform}, expected 0 or 1"),
                ))
                .is_break()
        {
            return MessageStep::Stop;
        }
        let descriptor = Descriptor {
            magic,
            major,
            minor,
            platform,
            endianness,
            offset_to_data,
        };
        let until = u64::from(offset_to_data);
        self.phase = match usize::try_from(offset_to_data) {
            Ok(DESCRIPTOR) => Phase::Messages,
            Ok(offset) if offset - DESCRIPTOR <= GAP => Phase::Gap { until },
            _ => Phase::Skip { until },
        };
        took(out.item(Item::Descriptor(&descriptor)), DESCRIPTOR)
    }

    /// Bytes before the data: whole system messages are honoured, anything else is room that a later
    /// version uses (SPEC.md §1.1).
    pub(super) fn gap<V: Visit>(
        &mut self,
        bytes: &[u8],
        here: u64,
        eof: bool,
        until: u64,
        out: &mut V,
    ) -> MessageStep {
        let length = in_memory(until.saturating_sub(here));
        let Some(gap) = bytes.get(..length) else {
            if !eof {
                return MessageStep::Need(length);
            }
            self.phase = Phase::Skip { until };
            return MessageStep::Took(0);
        };
        for exclusive in [false, true] {
            let shape = Shape {
                exclusive,
                ..self.shape
            };
            if all_system(gap, shape) {
                self.shape = shape;
                self.decided |= exclusive;
                let mut at = 0;
                while let Some(rest) = gap.get(at..).filter(|rest| !rest.is_empty()) {
                    match self.system(rest, here + at as u64, true, out) {
                        MessageStep::Took(taken) => at += taken,
                        MessageStep::Stop => return MessageStep::Stop,
                        _ => break,
                    }
                }
                self.phase = Phase::Messages;
                return MessageStep::Took(at);
            }
        }
        self.phase = Phase::Skip { until };
        let text = format!("{length} bytes before the data are not system messages");
        out.note(info("gap_skipped", here, text).counting(length as u64))
            .into()
    }

    pub(super) fn skip<V: Visit>(
        &mut self,
        bytes: &[u8],
        here: u64,
        eof: bool,
        until: u64,
        out: &mut V,
    ) -> MessageStep {
        let length = in_memory(until.saturating_sub(here));
        if length == 0 {
            self.phase = Phase::Messages;
            return MessageStep::Took(0);
        }
        let eof = eof || bytes.len() >= length;
        piece(bytes.get(..length).unwrap_or(bytes), here, eof, "gap", out)
    }
}

fn all_system(gap: &[u8], shape: Shape) -> bool {
    let mut at = 0;
    while let Some(rest) = gap.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(total) = system_length(rest, shape) else {
            return false;
        };
        at += total;
    }
    at == gap.len()
}

fn system_length(bytes: &[u8], shape: Shape) -> Option<usize> {
    let id = shape.u16(*bytes.first_chunk()?);
    if id == 1 && bytes.get(2..4)?.iter().all(|b| (0x20..0x7f).contains(b)) {
        return Some(2 + memchr::memchr(0, bytes.get(2..)?)? + 1);
    }
    let &[_, _, size @ ..] = bytes.first_chunk::<HEADER>()?;
    let size = shape.u32(size);
    let total = match id {
        2 if size != 14 && size != 8 => 10,
        2 => 14,
        0..=1000 => shape.total(size),
        _ => return None,
    };
    (HEADER..=bytes.len()).contains(&total).then_some(total)
}
