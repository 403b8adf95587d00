//! Processor profiles of V8 in events of phase `P` (chrome/SPEC.md §6), as Chromium records them.

use traceloom_model::{Level, Timestamp};

use super::clocks::{MONOTONIC, SequenceClock};
use super::interned::annotation_name;
use super::lower::Lowering;
use super::packet::{EventFields, Legacy, Packet};
use super::tracks::TrackTarget;
use crate::profile::v8::{PieceOf, V8Sample, begins_profile};
use crate::protobuf::fields;
use crate::text::json::{Document, Value};

impl Lowering<'_> {
    /// Takes a piece of a profile; other samples are left out.
    pub(super) fn profile_piece(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
        legacy: &Legacy<'_>,
        time: Timestamp,
        offset: u64,
    ) {
        let name = self.name(packet, event, legacy.name_iid);
        let begins = name.and_then(|name| begins_profile(self.tables.string_bytes(name)));
        let (Some(begins), Some(data)) = (begins, self.json_annotation(packet, event, b"data"))
        else {
            self.tally.add(Level::Info, "other_sample", offset, || {
                "samples that are no pieces of a profile of V8 are left out".to_owned()
            });
            return;
        };
        // The thread of an event that is told on no track is that of its sequence.
        let thread = self.sequences.of(packet).and_then(|of| of.track);
        let pid = thread.and_then(|uuid| self.tracks.pid(uuid));
        let owner = pid.unwrap_or_else(|| u64::from(packet.sequence));
        let (_, id) = legacy.id.unwrap_or_default();
        let piece = PieceOf {
            key: [owner.to_le_bytes(), id.to_le_bytes()].concat().into(),
            begins,
            time,
        };
        let track = thread.filter(|_| begins);
        let track = track.and_then(|uuid| match self.tracks.line(uuid, self.tables) {
            TrackTarget::Track(track) | TrackTarget::Process(track) => Some(track),
            TrackTarget::Overlap(_) | TrackTarget::Events(_) => None,
        });
        let limits = self.limits;
        let data = Document::parse(data, &limits);
        let Some(data) = data.root() else { return };
        let at = (track, self.monotonic_base(data));
        let read = self.v8.take(piece, data, at, self.tables, &limits);
        read.note(offset, self.tally);
        self.put_v8(&read.samples);
    }

    /// Pushes samples of V8 where rows are wanted.
    pub(super) fn put_v8(&mut self, samples: &[V8Sample]) {
        if self.wanted.rows {
            self.v8.put(samples, &mut self.rows, self.tables);
        }
    }

    /// Returns the JSON text of an annotation.
    fn json_annotation<'e>(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'e>,
        key: &[u8],
    ) -> Option<&'e [u8]> {
        let interned = self.interned.get(&packet.sequence)?;
        let body = event.annotations().find(|body| {
            let name = annotation_name(body, interned, self.tables);
            name.is_some_and(|name| self.tables.string_bytes(name) == key)
        })?;
        let text = fields(body).find(|&(number, _)| number == 9)?;
        Some(text.1.bytes())
    }

    /// Returns what is added to times of the monotonic clock, by the first time that a piece tells.
    fn monotonic_base(&self, data: Value<'_>) -> i64 {
        let told = data.get("startTime").or_else(|| data.get("endTime"));
        let told = told.and_then(|time| time.scaled(1_000)).unwrap_or(0);
        let clock = SequenceClock::new(0, MONOTONIC);
        let (time, _) = self.survey.clocks.convert(clock, i128::from(told));
        time.saturating_sub(told)
    }
}
