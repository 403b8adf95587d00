//! Rows of calls, and which attributes they hold.

use std::borrow::Cow;

use traceloom_model::{Attribute, TrackId, Value};

use super::super::tables::Names;
use super::super::words::CALL_RED;
use super::value::put_plain;
use super::{Call, Process, ROTATE, ms};
use crate::cdt::calls::{Header, Params, Row};
use crate::cdt::text;
use crate::wire::{Utf16, put_u32_varint};
use crate::{Error, Output};

impl Process {
    /// Counters that no field of a row holds, as texts.
    pub(super) fn extra_counters(
        &mut self,
        counters: &[(traceloom_model::ValueTypeId, i64)],
        names: &Names,
    ) -> Vec<(u32, String)> {
        let mut extra = Vec::new();
        for &(id, value) in counters {
            let name = names.counter(id);
            if !crate::cdt::COUNTERS
                .iter()
                .any(|(known, ..)| *known == name)
            {
                extra.push((self.words.word(&name), value.to_string()));
            }
        }
        extra
    }

    #[expect(clippy::too_many_arguments, reason = "what a row is made of")]
    pub(super) fn row(
        &mut self,
        call: &Call,
        track: TrackId,
        method: u32,
        (start, end): (i64, i64),
        counters: &[(traceloom_model::ValueTypeId, i64)],
        params: &[Attribute],
        names: &Names,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        let delta = i32::try_from(start - self.clock).ok();
        let full = self.calls.index == 0 || self.calls.bytes >= ROTATE / 10;
        let mut record = Vec::new();
        let delta = match delta {
            Some(delta) if !full => delta,
            _ => {
                self.calls.next((&self.folder, "calls"), out)?;
                self.names.clear();
                Header {
                    version: 4,
                    start_time: start,
                }
                .write(&mut record);
                0
            }
        };
        self.clock = start;
        let name = match names.track(track).and_then(|track| track.name) {
            Some(name) => names.bytes(name),
            None => Cow::Owned(format!("thread-{}", track.raw()).into_bytes()),
        };
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let known = self.names.get(name.as_ref()).copied();
        let index = known.unwrap_or(next);
        let name = known.is_none().then(|| {
            self.names.insert(name.to_vec(), next);
            Utf16::encode_wtf8(&name)
        });
        let named = counters
            .iter()
            .map(|&(id, value)| (names.counter(id), value));
        let named: Vec<_> = named.collect();
        let number = |wanted: &str| {
            let found = named.iter().find(|(name, _)| name == wanted);
            found.map_or(0, |&(_, value)| value)
        };
        let short =
            |value: i64| u32::try_from(value).unwrap_or(if value < 0 { 0 } else { u32::MAX });
        let long = |wanted: &str| u64::try_from(number(wanted)).unwrap_or(0);
        // Milliseconds of a 32-bit integer, which may be negative (§1.4).
        let time = |wanted: &str| {
            let ms = i32::try_from(ms(number(wanted)));
            u64::from(ms.unwrap_or(i32::MAX).cast_unsigned())
        };
        let written = short(number("logs_written"));
        let mut bytes = Vec::new();
        for param in params {
            self.param(param, names, &mut bytes);
        }
        let mut count = u32::try_from(params.len()).unwrap_or(u32::MAX);
        if !call.red {
            put_u32_varint(&mut bytes, CALL_RED);
            put_u32_varint(&mut bytes, 1);
            bytes.push(0);
            count += 1;
        }
        let (file, offset) = self.place.unwrap_or_default();
        Row {
            time_delta: delta,
            method,
            duration: short(end - start),
            calls: call.enters,
            thread_index: index,
            thread_name: name.as_deref().map(Utf16),
            logs_written: written,
            logs_dropped: short(number("logs_generated")).saturating_sub(written),
            trace_file_index: file,
            buffer_offset: offset,
            record_index: 0,
            cpu_raw: time("cpu_time"),
            wait_raw: time("wait_time"),
            memory_used: long("memory_used"),
            file_read: long("file_read"),
            file_written: long("file_written"),
            net_read: long("net_read"),
            net_written: long("net_written"),
            transactions: short(number("transactions")),
            queue_wait: short(ms(number("queue_wait"))),
            params: Params::new(count, &bytes),
        }
        .write(4, &mut record);
        self.calls.put((&self.folder, "calls"), &record, out)
    }

    fn param(&mut self, param: &Attribute, names: &Names, bytes: &mut Vec<u8>) {
        let word = self.word(param.key, names);
        let values = match &param.value {
            Value::List(_, values) => values.as_ref(),
            value => std::slice::from_ref(value),
        };
        put_u32_varint(bytes, word);
        put_u32_varint(bytes, u32::try_from(values.len()).unwrap_or(u32::MAX));
        for value in values {
            self.text.clear();
            put_plain(value, names, &mut self.text);
            text::put(bytes, Utf16(&self.text));
        }
    }

    /// Splits the attributes of a root into parameters of its row and tags of its tree.
    ///
    /// What has no time was in the row; what the agent copies to the row is in both.
    pub(super) fn split(
        &mut self,
        own: &[Attribute],
        names: &Names,
    ) -> (Vec<Attribute>, Vec<Attribute>) {
        let mut params: Vec<Attribute> = Vec::new();
        let mut tags = Vec::new();
        for attribute in own {
            let key = self.key(attribute.key, names);
            let copied = key.red || key.index;
            let known = || params.iter().any(|param| param.key == attribute.key);
            if attribute.at.is_none() || (copied && !known()) {
                params.push(attribute.clone());
            }
            if attribute.at.is_some() {
                tags.push(attribute.clone());
            }
        }
        (params, tags)
    }
}
