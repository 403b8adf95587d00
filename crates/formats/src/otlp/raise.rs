//! The model to profiles, in the layout of versions 1.10 and 1.11 (SPEC.md §4).
//!
//! A profile has one column of values, so that one of the model becomes one for each column. Samples are
//! encoded as they pass; only they and what has a position in the dictionary are kept. Exact calls become
//! samples of their paths, in two profiles `calls` and `wall`.

use std::collections::BTreeMap;

use traceloom_model::{
    Clock, Definitions, Flow, Note, Order, Profile, ProfileId, ResourceId, SampleBatch, SampleRow,
    Sink, Unit, Value,
};

use super::symbols::DictionaryWriter;
use super::value::put_resource;
use crate::protobuf::{Wire, put_bytes, put_fixed64, put_number, put_packed, put_tag};
use crate::{Error, Output, RaiseOptions, Target};

/// Builds a target that writes profiles.
///
/// # Errors
/// `Usage` for a variant, there are none.
pub fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    if let Some(variant) = &options.variant {
        let text = format!("otlp-profiles has no variant `{variant}`");
        return Err(Error::usage(text));
    }
    Ok(Box::new(Writer {
        output,
        symbols: DictionaryWriter::new(),
        columns: BTreeMap::new(),
        gathered: 0,
        kept: Vec::new(),
        clock: Clock::Unix,
        error: None,
    }))
}

/// Bytes of samples gathered before they are written as profiles of their own.
const PIECE: usize = 64 << 20;

struct Writer<'o> {
    output: &'o mut dyn Output,
    symbols: DictionaryWriter,
    /// Samples of each column of each profile, by the process they belong to.
    columns: BTreeMap<(Option<ResourceId>, ProfileId, usize), Vec<u8>>,
    gathered: usize,
    /// Samples of profiles that are not defined yet.
    kept: Vec<SampleBatch>,
    clock: Clock,
    error: Option<Error>,
}

impl Writer<'_> {
    fn batch(&mut self, batch: &SampleBatch) {
        for sample in batch.iter() {
            self.sample(batch.profile, &sample);
        }
        if self.gathered >= PIECE {
            self.put_profiles();
        }
    }

    fn sample(&mut self, profile: ProfileId, sample: &SampleRow<'_>) {
        let stack = sample.stack.map_or(0, |stack| self.symbols.stack(stack));
        let mut attributes = Vec::new();
        let (mut trace, mut span) = (None, None);
        let mut threaded = false;
        for label in sample.labels {
            let key = self.symbols.tables.attribute_key(label.key);
            let name = key.map(|key| self.symbols.tables.text(key.name).into_owned());
            let text = match label.value {
                Value::Text(id) => self.symbols.tables.text(id).into_owned(),
                _ => String::new(),
            };
            match name.as_deref() {
                Some("trace_id") if text.len() == 32 && trace.is_none() => {
                    trace = u128::from_str_radix(&text, 16).ok();
                    if trace.is_some() {
                        continue;
                    }
                }
                Some("span_id") if text.len() == 16 && span.is_none() => {
                    span = u64::from_str_radix(&text, 16).ok();
                    if span.is_some() {
                        continue;
                    }
                }
                Some("thread.id" | "thread.name") => threaded = true,
                _ => {}
            }
            attributes.push(self.symbols.label(label));
        }
        let link = match (trace, span) {
            (None, None) => 0,
            (trace, span) => self.symbols.link(trace.unwrap_or(0), span.unwrap_or(0)),
        };
        let track = sample
            .track
            .and_then(|id| self.symbols.tables.track(id))
            .cloned();
        let resource = track.as_ref().and_then(|track| track.resource);
        if let Some(track) = track.filter(|_| !threaded) {
            if let Some(id) = track.os_id.or(track.id) {
                let value = Value::U64(id);
                attributes.push(self.symbols.attribute("thread.id", &value, Unit::Count));
            }
            if let Some(name) = track.name {
                let value = Value::Text(name);
                attributes.push(self.symbols.attribute("thread.name", &value, Unit::Count));
            }
        }
        let time = sample.time;
        for (column, &value) in sample.values.iter().enumerate() {
            let mut body = Vec::with_capacity(24);
            put_number(&mut body, 1, stack);
            put_packed(&mut body, 2, attributes.iter().copied());
            put_number(&mut body, 3, link);
            put_packed(&mut body, 4, std::iter::once(value.cast_unsigned()));
            if let Some(time) = time {
                put_bytes(&mut body, 5, &time.to_le_bytes());
            }
            self.keep((resource, profile, column), &body);
        }
    }

    fn keep(&mut self, column: (Option<ResourceId>, ProfileId, usize), sample: &[u8]) {
        let bytes = self.columns.entry(column).or_default();
        let before = bytes.len();
        put_bytes(bytes, 2, sample);
        self.gathered += bytes.len() - before;
    }

    /// Writes what was gathered: a `ResourceProfiles` for each process.
    fn put_profiles(&mut self) {
        self.gathered = 0;
        let mut columns = std::mem::take(&mut self.columns);
        while let Some(entry) = columns.first_entry() {
            let resource = entry.key().0;
            let mut scope = scope();
            while let Some(entry) = columns
                .first_entry()
                .filter(|entry| entry.key().0 == resource)
            {
                let ((_, profile, column), samples) = entry.remove_entry();
                let row = self.symbols.tables.profile(profile).cloned();
                let body = self.profile(&row.unwrap_or_default(), column, &samples);
                put_bytes(&mut scope, 2, &body);
            }
            self.put_resource(resource, &scope);
        }
    }

    fn put_resource(&mut self, resource: Option<ResourceId>, scope: &[u8]) {
        let tables = &self.symbols.tables;
        // Samples without a thread belong to the only process there is.
        let only = || match tables.resources.as_slice() {
            [only] => only.as_ref(),
            _ => None,
        };
        let row = match resource {
            Some(id) => tables.resource(id),
            None => only(),
        };
        // The format counts from 1970: where times do not, a reader must be able to know.
        let clock = match self.clock {
            Clock::Unix => None,
            Clock::Unknown(Some(name)) => Some(tables.text(name).into_owned()),
            Clock::Unknown(None) => Some("unknown".to_owned()),
        };
        let mut body = Vec::new();
        put_resource(&mut body, row, clock.as_deref(), tables);
        put_bytes(&mut body, 2, scope);
        let mut message = Vec::with_capacity(body.len() + 8);
        put_bytes(&mut message, 1, &body);
        self.write(&message);
    }

    fn profile(&mut self, row: &Profile, column: usize, samples: &[u8]) -> Vec<u8> {
        let value_type = row.value_types.get(column).copied();
        let known = value_type
            .and_then(|id| self.symbols.tables.value_type(id))
            .copied();
        let name = known.map(|known| self.symbols.tables.text(known.name).into_owned());
        let unit = known.map_or(Unit::Count, |known| known.unit);
        let mut body = Vec::with_capacity(samples.len() + 64);
        let value_type = self
            .symbols
            .value_type(name.as_deref().unwrap_or("samples"), unit);
        put_bytes(&mut body, 1, &value_type);
        body.extend_from_slice(samples);
        put_fixed64(&mut body, 3, row.time.unwrap_or(0).cast_unsigned());
        put_number(&mut body, 4, row.duration.unwrap_or(0).cast_unsigned());
        if let Some((id, amount)) = row.period
            && let Some(known) = self.symbols.tables.value_type(id).copied()
        {
            let name = self.symbols.tables.text(known.name).into_owned();
            let period = self.symbols.value_type(&name, known.unit);
            put_bytes(&mut body, 5, &period);
            put_tag(&mut body, 6, Wire::Varint);
            crate::wire::put_leb128(&mut body, amount.cast_unsigned());
        }
        let mut settings = Vec::new();
        for setting in &row.settings {
            settings.push(self.symbols.label(setting));
        }
        for &comment in &row.comments {
            settings.push(self.symbols.attribute(
                "pprof.profile.comment",
                &Value::Text(comment),
                Unit::Count,
            ));
        }
        for (name, text) in [
            ("pprof.profile.drop_frames", row.drop_frames),
            ("pprof.profile.keep_frames", row.keep_frames),
            ("pprof.profile.doc_url", row.doc_url),
        ] {
            if let Some(text) = text {
                settings.push(
                    self.symbols
                        .attribute(name, &Value::Text(text), Unit::Count),
                );
            }
        }
        put_packed(&mut body, 11, settings.iter().copied());
        body
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.output.write("", bytes).err();
        }
    }

    fn flow(&self) -> Flow {
        match self.error {
            Some(_) => Flow::Break(()),
            None => Flow::Continue(()),
        }
    }
}

/// The scope that what is written belongs to: none is known.
fn scope() -> Vec<u8> {
    let mut scope = Vec::new();
    put_bytes(&mut scope, 1, &[]);
    scope
}

impl Sink for Writer<'_> {
    fn begin(&mut self, _order: Order, clock: Clock) {
        self.clock = clock;
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        let profiles = !definitions.profiles.is_empty();
        let _ = self.symbols.tables.define(definitions);
        if profiles {
            for batch in std::mem::take(&mut self.kept) {
                let _ = self.samples(batch);
            }
        }
        self.flow()
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        if self.symbols.tables.profile(batch.profile).is_some() {
            self.batch(&batch);
        } else {
            self.kept.push(batch);
        }
        self.flow()
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        for batch in std::mem::take(&mut self.kept) {
            self.batch(&batch);
        }
        self.put_profiles();
        let dictionary = std::mem::take(&mut self.symbols.bytes);
        let mut message = Vec::with_capacity(dictionary.len() + 8);
        put_bytes(&mut message, 2, &dictionary);
        self.write(&message);
        self.error.take().map_or(Ok(()), Err)
    }
}
