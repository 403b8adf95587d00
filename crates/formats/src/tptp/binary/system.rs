//! System messages, and messages that no table has (SPEC.md §1.3, §3).

use traceloom_model::{Flow, Level};

use super::read::{MessageStep, Reader, took};
use super::record::{Encoding, Frequency, Unknown};
use super::size::{self, Decision};
use super::{HEADER, Shape};
use crate::tptp::charset::{Charset, Refusal};
use crate::tptp::visit::{Item, Visit};
use crate::{damage, warn};

/// Longest charset name.
const NAME: usize = 64;

impl Reader {
    /// System messages, and messages that no table has (SPEC.md §1.3, §3).
    pub(super) fn system<V: Visit>(
        &mut self,
        bytes: &[u8],
        offset: u64,
        eof: bool,
        out: &mut V,
    ) -> MessageStep {
        let Some(&id) = bytes.first_chunk::<2>() else {
            return if eof {
                MessageStep::Cut
            } else {
                MessageStep::Need(2)
            };
        };
        match self.shape.u16(id) {
            1 if bytes
                .get(2..4)
                .is_some_and(|start| start.iter().all(|b| (0x20..0x7f).contains(b))) =>
            {
                let name = bytes.get(2..).unwrap_or_default();
                let name = name.get(..=NAME).unwrap_or(name);
                match memchr::memchr(0, name) {
                    Some(end) => {
                        self.encoding(name.get(..end).unwrap_or_default(), false, offset, out)
                    }
                    None if name.len() > NAME => MessageStep::Lost,
                    None if eof => MessageStep::Cut,
                    None => MessageStep::Need(bytes.len() + 1),
                }
            }
            2 => self.frequency(bytes, offset, eof, out),
            id => self.sized(id, bytes, offset, eof, out),
        }
    }

    pub(super) fn sized<V: Visit>(
        &mut self,
        id: u16,
        bytes: &[u8],
        offset: u64,
        eof: bool,
        out: &mut V,
    ) -> MessageStep {
        let Some(&[_, _, size @ ..]) = bytes.first_chunk::<HEADER>() else {
            return if eof {
                MessageStep::Cut
            } else {
                MessageStep::Need(HEADER)
            };
        };
        if !self.decided {
            match size::decide(bytes, self.shape, eof) {
                Decision::Need(need) => return MessageStep::Need(need),
                decision => self.settle(decision),
            }
        }
        let total = self.shape.total(self.shape.u32(size));
        if total < HEADER {
            return MessageStep::Lost;
        }
        if total > self.most {
            let text = format!("a message of {total} bytes, limit {}", self.most);
            if out.note(damage("limit_record", offset, text)).is_break() {
                return MessageStep::Stop;
            }
            return MessageStep::Lost;
        }
        let Some(payload) = bytes.get(HEADER..total) else {
            return if eof {
                MessageStep::Cut
            } else {
                MessageStep::Need(total)
            };
        };
        if id == 1
            && payload.len() <= NAME + 1
            && let Some((0, name)) = payload.split_last()
            && !name.contains(&0)
        {
            return self.encoding(name, true, offset, out);
        }
        self.tally.count(Level::Warn, "unknown_message", id, offset);
        let unknown = Unknown {
            offset,
            id,
            payload,
            shape: self.shape,
        };
        took(out.item(Item::Unknown(&unknown)), total)
    }

    pub(super) fn encoding<V: Visit>(
        &mut self,
        name: &[u8],
        sized: bool,
        offset: u64,
        out: &mut V,
    ) -> MessageStep {
        let text = String::from_utf8_lossy(name);
        let flow = match Charset::named(&text) {
            Ok(charset) => {
                self.charset = charset;
                Flow::Continue(())
            }
            Err(Refusal::Wide) => out.note(damage(
                "refused_charset",
                offset,
                format!(
                    "{text} puts zero bytes into characters: strings stay in the charset before it"
                ),
            )),
            Err(Refusal::Unknown) => out.note(warn(
                "unknown_charset",
                offset,
                format!("charset {text} is not known: strings stay in the charset before it"),
            )),
        };
        if flow.is_break() {
            return MessageStep::Stop;
        }
        let record = Encoding {
            offset,
            name,
            charset: self.charset,
            sized,
            shape: self.shape,
        };
        let length = if sized { HEADER } else { 2 } + name.len() + 1;
        took(out.item(Item::Encoding(&record)), length)
    }

    pub(super) fn frequency<V: Visit>(
        &mut self,
        bytes: &[u8],
        offset: u64,
        eof: bool,
        out: &mut V,
    ) -> MessageStep {
        let Some(&[_, _, size @ ..]) = bytes.first_chunk::<HEADER>() else {
            return if eof {
                MessageStep::Cut
            } else {
                MessageStep::Need(HEADER)
            };
        };
        let size = self.shape.u32(size);
        let (sized, length) = if size == 14 || size == 8 {
            (true, 14)
        } else {
            (false, 10)
        };
        let Some(&bits) = bytes.get(length - 8..).and_then(<[u8]>::first_chunk) else {
            return if eof {
                MessageStep::Cut
            } else {
                MessageStep::Need(length)
            };
        };
        let shape = Shape {
            exclusive: if sized {
                size == 8
            } else {
                self.shape.exclusive
            },
            ..self.shape
        };
        if sized && !self.decided {
            self.settle(Decision::Exclusive(size == 8));
        }
        let record = Frequency::new(offset, shape.u64(bits), sized, shape);
        let ticks = record.ticks_per_second();
        let doubt = match self.ticks_per_second {
            Some(first) if first != ticks => Some((
                "frequency_changed",
                format!("{ticks} ticks a second after {first}: the first holds"),
            )),
            Some(_) => None,
            None if ticks == 0 => Some((
                "frequency_zero",
                "0 ticks a second: times are taken for nanoseconds".to_owned(),
            )),
            None if record.as_double => Some((
                "frequency_double",
                format!("a frequency written as the double of {ticks}"),
            )),
            None => None,
        };
        self.ticks_per_second.get_or_insert(ticks);
        if let Some((kind, text)) = doubt
            && out.note(warn(kind, offset, text)).is_break()
        {
            return MessageStep::Stop;
        }
        took(out.item(Item::Frequency(&record)), length)
    }
}
