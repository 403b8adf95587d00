//! Definitions and samples as bytes, and back.

use traceloom_model::{
    Class, Definitions, Frame, FrameKind, Function, Mapping, Profile, SampleBatch, SampleRow,
    Stack, StackId, StringId, Track, TrackId, Unit,
};

use super::super::call_index::fields::{Stored, StoredFields};

/// What comes next in a recording.
mod next {
    pub(super) const DEFINITIONS: u8 = 0;
    pub(super) const SAMPLES: u8 = 1;
}

/// A batch of a recording.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum IndexedBatch {
    Define(Definitions),
    Samples(SampleBatch),
}

/// Something that has bytes in an index of profiles.
trait StoredRow: Sized {
    fn put_row(&self, out: &mut Vec<u8>);
    fn take_row(from: &mut StoredFields<'_>) -> Option<Self>;
}

macro_rules! stored_rows {
    ($($name:ident { $($field:ident),* } $(= $rest:expr)?;)*) => {$(
        impl StoredRow for $name {
            fn put_row(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            fn take_row(from: &mut StoredFields<'_>) -> Option<Self> {
                $(let $field = Stored::take(from)?;)*
                Some(Self { $($field,)* $(..$rest)? })
            }
        }
    )*};
}

stored_rows! {
    Class { name, superclass, loader, file };
    Function { name, system_name, class, package, library, file, line, signature, modifiers };
    Mapping { start, limit, offset, file, build_id };
    Frame { function, line, column, address, mapping, inlined, kind };
    Stack { parent, frame, truncated };
    Profile { value_types, default, period, time, duration, drop_frames, keep_frames, resource } = Profile::default();
    Track { kind, resource, parent, lane, name, os_id, id };
}

const KINDS: [FrameKind; 8] = [
    FrameKind::Unknown,
    FrameKind::Interpreted,
    FrameKind::JitTier1,
    FrameKind::Jit,
    FrameKind::Inlined,
    FrameKind::Native,
    FrameKind::Cpp,
    FrameKind::Kernel,
];

impl Stored for FrameKind {
    fn put(&self, out: &mut Vec<u8>) {
        let at = (0..).zip(KINDS).find(|(_, kind)| kind == self);
        out.push(at.map_or(0, |(at, _)| at));
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        KINDS.get(usize::from(from.byte()?)).copied()
    }
}

fn put_table<I: Stored, R: StoredRow>(table: &[(I, R)], out: &mut Vec<u8>) {
    (table.len() as u64).put(out);
    for (id, row) in table {
        id.put(out);
        row.put_row(out);
    }
}

fn take_table<I: Stored, R: StoredRow>(from: &mut StoredFields<'_>) -> Option<Vec<(I, R)>> {
    let n_rows = u64::take(from)?;
    // Nothing is allocated from a length: every row has a byte at least.
    let row = |_| Some((I::take(from)?, R::take_row(from)?));
    (0..n_rows).map(row).collect()
}

/// Returns the tables that samples lead to, of definitions that have more. Strings come apart.
pub(super) fn kept(new: Definitions) -> Definitions {
    Definitions {
        strings: Vec::new(),
        series: Vec::new(),
        exceptions: Vec::new(),
        attribute_keys: Vec::new(),
        ..new
    }
}

/// Calls `see` with every string that rows of the kept tables name.
pub(super) fn each_name(new: &Definitions, mut see: impl FnMut(StringId)) {
    let mut all = |names: &[Option<StringId>]| names.iter().flatten().for_each(|id| see(*id));
    for (_, row) in &new.resources {
        let texts: Vec<_> = row.texts().into_iter().map(|(_, text)| text).collect();
        all(&texts);
    }
    for (_, row) in &new.tracks {
        all(&[row.name]);
    }
    for (_, row) in &new.classes {
        all(&[Some(row.name), row.loader, row.file]);
    }
    for (_, row) in &new.functions {
        let name = Some(row.name);
        all(&[name, row.system_name, row.package]);
        all(&[row.library, row.file, row.signature]);
    }
    for (_, row) in &new.mappings {
        all(&[row.file, row.build_id]);
    }
    for (_, row) in &new.value_types {
        all(&[Some(row.name)]);
        if let Unit::Other(name) = row.unit {
            all(&[Some(name)]);
        }
    }
    for (_, row) in &new.profiles {
        all(&[row.drop_frames, row.keep_frames]);
    }
    for (_, row) in &new.event_types {
        all(&[Some(row.name)]);
    }
}

/// Appends definitions.
pub(super) fn put_definitions(new: &Definitions, out: &mut Vec<u8>) {
    out.push(next::DEFINITIONS);
    new.strings.put(out);
    new.resources.put(out);
    put_table(&new.tracks, out);
    put_table(&new.classes, out);
    put_table(&new.functions, out);
    put_table(&new.mappings, out);
    put_table(&new.frames, out);
    put_table(&new.stacks, out);
    new.value_types.put(out);
    put_table(&new.profiles, out);
    new.event_types.put(out);
}

fn take_definitions(from: &mut StoredFields<'_>) -> Option<Definitions> {
    Some(Definitions {
        strings: Stored::take(from)?,
        resources: Stored::take(from)?,
        tracks: take_table(from)?,
        classes: take_table(from)?,
        functions: take_table(from)?,
        mappings: take_table(from)?,
        frames: take_table(from)?,
        stacks: take_table(from)?,
        value_types: Stored::take(from)?,
        profiles: take_table(from)?,
        event_types: Stored::take(from)?,
        ..Definitions::default()
    })
}

/// Appends samples, without labels and spans. Times are told from those of the row before.
pub(super) fn put_samples(batch: &SampleBatch, out: &mut Vec<u8>) {
    out.push(next::SAMPLES);
    batch.profile.put(out);
    (batch.width() as u64).put(out);
    (batch.len() as u64).put(out);
    let mut before = 0;
    for row in batch.iter() {
        row.stack.put(out);
        row.track.put(out);
        row.time.map(|time| time.wrapping_sub(before)).put(out);
        before = row.time.unwrap_or(before);
        row.values.iter().for_each(|value| value.put(out));
    }
}

fn take_samples(from: &mut StoredFields<'_>) -> Option<SampleBatch> {
    let profile = Stored::take(from)?;
    let width = usize::try_from(u64::take(from)?).ok()?;
    let n_rows = u64::take(from)?;
    // Every row has a byte for each of its values.
    if width > from.bytes.len() {
        return None;
    }
    let mut batch = SampleBatch::new(profile, width);
    let mut values = Vec::new();
    let mut before = 0_i64;
    for _ in 0..n_rows {
        let stack: Option<StackId> = Stored::take(from)?;
        let track: Option<TrackId> = Stored::take(from)?;
        let since: Option<i64> = Stored::take(from)?;
        let time = since.map(|since| before.wrapping_add(since));
        before = time.unwrap_or(before);
        values.clear();
        for _ in 0..width {
            values.push(i64::take(from)?);
        }
        batch.push(&SampleRow {
            stack,
            values: &values,
            time,
            track,
            span: None,
            labels: &[],
        });
    }
    Some(batch)
}

/// Reads the batches of a recording; `None` where the bytes are none.
pub(super) fn take_batches(from: &mut StoredFields<'_>) -> Option<Vec<IndexedBatch>> {
    let mut batches = Vec::new();
    while !from.bytes.is_empty() {
        batches.push(match from.byte()? {
            next::DEFINITIONS => IndexedBatch::Define(take_definitions(from)?),
            next::SAMPLES => IndexedBatch::Samples(take_samples(from)?),
            _ => return None,
        });
    }
    Some(batches)
}
