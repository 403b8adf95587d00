//! Rows of calls, and which attributes they hold.

use std::borrow::Cow;

use traceloom_model::bounds::{row_number, saturated_i32};
use traceloom_model::{Attribute, TrackId, ValueTypeId};

use super::call::CallInProgress;
use super::tags::values;
use super::value::put_utf16;
use super::{ProcessStreams, ROTATE, ms};
use crate::cdt::COUNTERS;
use crate::cdt::calls::{Header, Params, Row};
use crate::cdt::raise::PendingCallSpan;
use crate::cdt::raise::tables::StreamTables;
use crate::cdt::raise::tracks::TrackInfo;
use crate::cdt::raise::words::CALL_RED;
use crate::cdt::text;
use crate::wire::{Utf16, put_u32_varint};
use crate::{Error, Output};

/// What was counted for a call.
pub(super) struct CountedRow {
    /// Those that a row has fields for, in the order of their table; 0 for what was not counted.
    pub(super) known: [i64; COUNTERS.len()],
    /// Others, by the ids of their words, as texts.
    pub(super) others: Vec<(u32, String)>,
}

impl ProcessStreams {
    /// Sorts the counters of a call; of those of one name the first counts.
    pub(super) fn counters(
        &mut self,
        counters: &[(ValueTypeId, i64)],
        names: &StreamTables,
    ) -> CountedRow {
        let mut counted = CountedRow {
            known: [0; COUNTERS.len()],
            others: Vec::new(),
        };
        let mut seen = [false; COUNTERS.len()];
        for &(id, value) in counters {
            let Some(field) = names.counter_field(id) else {
                let word = self.words.word(&names.counter(id));
                counted.others.push((word, value.to_string()));
                continue;
            };
            if let (Some(seen), Some(known)) = (seen.get_mut(field), counted.known.get_mut(field))
                && !std::mem::replace(seen, true)
            {
                *known = value;
            }
        }
        counted
    }

    pub(super) fn row(
        &mut self,
        (node, attributes): (&PendingCallSpan, &[Attribute]),
        call: &CallInProgress,
        track: &mut TrackInfo,
        counted: &[i64; COUNTERS.len()],
        names: &StreamTables,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        let method = self.method(node.function);
        let delta = i32::try_from(node.start - self.clock).ok();
        let full = self.calls.index == 0 || self.calls.len() >= ROTATE / 10;
        let delta = match delta {
            Some(delta) if !full => delta,
            _ => {
                self.calls.next((&self.folder, "calls"), out)?;
                self.names.clear();
                Header {
                    version: self.version,
                    start_time: node.start,
                }
                .write(&mut self.calls.held);
                0
            }
        };
        self.clock = node.start;
        let (thread_index, thread_name) = self.thread_name(node.track, track, names);
        let mut bytes = std::mem::take(&mut self.params);
        bytes.clear();
        let mut count = self.params(attributes, names, &mut bytes);
        if !call.red {
            put_u32_varint(&mut bytes, CALL_RED);
            put_u32_varint(&mut bytes, 1);
            bytes.push(0);
            count += 1;
        }
        let short =
            |value: i64| u32::try_from(value).unwrap_or(if value < 0 { 0 } else { u32::MAX });
        let long = |value: i64| u64::try_from(value).unwrap_or(0);
        // Milliseconds of a 32-bit integer, which may be negative (§1.4).
        let time = |ns: i64| u64::from(saturated_i32(ms(ns)).cast_unsigned());
        let &[
            _calls,
            written,
            generated,
            cpu,
            wait,
            memory,
            file_read,
            file_written,
            net_read,
            net_written,
            transactions,
            queue_wait,
        ] = counted;
        let (file, offset) = self.place.unwrap_or_default();
        Row {
            time_delta: delta,
            method,
            duration: short(node.end - node.start),
            calls: call.enters,
            thread_index,
            thread_name: thread_name.as_deref().map(Utf16),
            logs_written: short(written),
            logs_dropped: short(generated).saturating_sub(short(written)),
            trace_file_index: file,
            buffer_offset: offset,
            record_index: 0,
            cpu_raw: time(cpu),
            wait_raw: time(wait),
            memory_used: long(memory),
            file_read: long(file_read),
            file_written: long(file_written),
            net_read: long(net_read),
            net_written: long(net_written),
            transactions: short(transactions),
            queue_wait: short(ms(queue_wait)),
            params: Params::new(count, &bytes),
        }
        .write(self.version, &mut self.calls.held);
        self.params = bytes;
        self.calls.spill((&self.folder, "calls"), out)
    }

    /// Returns the number of a thread's name in the file of calls, and the name where the file has it not yet.
    fn thread_name(
        &mut self,
        id: TrackId,
        track: &mut TrackInfo,
        names: &StreamTables,
    ) -> (u32, Option<Vec<u8>>) {
        if let Some((file, index)) = track.name
            && file == self.calls.index
        {
            return (index, None);
        }
        let name = match names.track(id).and_then(|track| track.name) {
            Some(name) => names.bytes(name),
            None => Cow::Owned(format!("thread-{}", id.raw()).into_bytes()),
        };
        let next = row_number(self.names.len());
        let known = self.names.get(name.as_ref()).copied();
        let index = known.unwrap_or(next);
        track.name = Some((self.calls.index, index));
        let name = known.is_none().then(|| {
            self.names.insert(name.to_vec(), next);
            Utf16::encode_wtf8(&name)
        });
        (index, name)
    }

    /// Appends the parameters of a row, and returns how many they are: what has no time was in the row, what
    /// the agent copies to the row is in both.
    fn params(&mut self, own: &[Attribute], names: &StreamTables, bytes: &mut Vec<u8>) -> u32 {
        let mut count = 0;
        // The keys of those that are there so far.
        let mut told = std::mem::take(&mut self.told);
        told.clear();
        for attribute in own {
            let key = self.key(attribute.key, names);
            let copied = (key.red || key.index) && !told.contains(&attribute.key);
            if attribute.at.is_some() && !copied {
                continue;
            }
            told.push(attribute.key);
            count += 1;
            put_u32_varint(bytes, self.word(attribute.key, key, names));
            let values = values(&attribute.value);
            put_u32_varint(bytes, row_number(values.len()));
            for value in values {
                self.text.clear();
                put_utf16(value, names, &mut self.digits, &mut self.text);
                text::put(bytes, Utf16(&self.text));
            }
        }
        self.told = told;
        count
    }
}
