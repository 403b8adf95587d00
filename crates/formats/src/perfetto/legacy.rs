//! Events in the words of Chrome's JSON format.

use traceloom_model::{Level, Timestamp, Track, TrackId, TrackKind};

use super::lower::Lowering;
use super::packet::{EventFields, Legacy, Packet};
use super::tracks::TrackTarget;
use crate::spans::slices::{Flows, SliceStep};

impl Lowering<'_> {
    /// Lowers an event in the words of Chrome's JSON format.
    pub(super) fn legacy(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
        legacy: &Legacy<'_>,
        uuid: u64,
        time: Timestamp,
        offset: u64,
    ) {
        let name = legacy.name_iid;
        match legacy.phase {
            b'B' => {
                let open = self.open(packet, event, name, time, None, offset);
                self.step(uuid, time, event, SliceStep::Begin(open), offset);
            }
            b'X' => {
                let until = time.saturating_add(legacy.duration_us.saturating_mul(1000));
                let open = self.open(packet, event, name, time, Some(until), offset);
                self.step(uuid, time, event, SliceStep::Begin(open), offset);
            }
            b'E' => {
                let args = self.args(packet, event);
                self.step(uuid, time, event, SliceStep::End(args), offset);
            }
            b'I' | b'i' | b'R' => {
                let line = self.tracks.line(uuid, self.tables);
                self.instant(packet, event, name, &line, time);
            }
            b'b' | b'S' => {
                let track = self.asynchronous(packet, event, legacy, uuid);
                let open = self.open(packet, event, name, time, None, offset);
                self.place(
                    track.into(),
                    time,
                    Flows::default(),
                    SliceStep::Begin(open),
                    Some(i64::MAX),
                    offset,
                );
            }
            b'e' | b'F' => {
                let track = self.asynchronous(packet, event, legacy, uuid);
                let step = SliceStep::End(self.args(packet, event));
                self.place(
                    track.into(),
                    time,
                    Flows::default(),
                    step,
                    Some(i64::MAX),
                    offset,
                );
            }
            b'n' | b'T' | b'p' => {
                let track = self.asynchronous(packet, event, legacy, uuid);
                self.instant(packet, event, name, &TrackTarget::Track(track), time);
            }
            b's' | b't' | b'f' => {
                let id = legacy.id.map_or(0, |(_, id)| id);
                let flows = match legacy.phase {
                    b'f' => Flows {
                        ending: vec![id],
                        ..Flows::default()
                    },
                    _ => Flows {
                        on: vec![id],
                        ..Flows::default()
                    },
                };
                if let Some(line) = self.slice_line(uuid) {
                    let late_by = self.late_by(uuid);
                    self.place(line, time, flows, SliceStep::Touch, late_by, offset);
                }
            }
            b'P' => self.profile_piece(packet, event, legacy, time, offset),
            other => self.tally.add(Level::Info, "legacy_phase", offset, || {
                format!("events of phase `{}` are left out", other.escape_ascii())
            }),
        }
    }

    fn asynchronous(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
        legacy: &Legacy<'_>,
        uuid: u64,
    ) -> TrackId {
        let (kind, id) = legacy.id.unwrap_or((0, 0));
        let key = (kind, id, Box::from(legacy.scope));
        if let Some(&track) = self.asynchronous.get(&key) {
            return track;
        }
        let parent = self.slice_line(uuid).map(|line| line.track);
        let name = self.name(packet, event, legacy.name_iid);
        let track = self.tables.track(Track {
            kind: TrackKind::Async,
            parent,
            name,
            id: Some(id),
            ..Track::default()
        });
        self.asynchronous.insert(key, track);
        track
    }
}
