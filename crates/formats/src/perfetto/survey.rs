//! A first pass over a trace: its tracks, its clocks, and which tracks come out of order (SPEC.md §3).

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::bounds::saturated_i64;
use traceloom_model::{Flow, Limit, Limits, Note};

use super::clocks::{Clocks, SequenceClock};
use super::packet::{EventFields, Packet, TrackEventType};
use super::schema::SCHEMA;
use super::timing::{Sequences, Stamp};
use super::tracks::TrackFacts;
use crate::protobuf::{Content, FieldSplitter, each_field};
use crate::{Error, Pull, damage};

/// What is known of a trace before its events are lowered.
#[derive(Debug, Default)]
pub(super) struct PacketSurvey {
    pub(super) descriptors: HashMap<u64, TrackFacts, RandomState>,
    pub(super) clocks: Clocks,
    /// How far a step of a track lies behind what came before it at most, in nanoseconds; of tracks in order nothing.
    pub(super) late_by: HashMap<u64, i64, RandomState>,
    pub(super) has_flows: bool,
}

/// The steps of a track so far.
struct TrackSteps {
    /// The latest one since its clock changed.
    latest: Stamp,
    /// How far one lay behind such a latest one of its own clock.
    late_by: u128,
    /// The clock changed more often than is kept.
    is_unknown: bool,
}

/// A step with another clock than the one before it, which are compared once all snapshots are known.
struct ClockChange {
    track: u64,
    /// The latest one before it with the other clock.
    before: Stamp,
    after: Stamp,
}

/// Changes that are kept.
const MOST_CHANGES: usize = 1 << 18;

/// Reads all packets of a part; none when the taker of notes broke.
pub(super) fn survey(
    pull: &mut dyn Pull,
    limits: &Limits,
    note: &mut dyn FnMut(Note) -> Flow,
) -> Result<Option<PacketSurvey>, Error> {
    let mut survey = PacketSurvey::default();
    let mut sequences = Sequences::default();
    let mut seen: HashMap<u64, TrackSteps, RandomState> = HashMap::default();
    let mut changes: Vec<ClockChange> = Vec::new();
    let mut clock_ids: HashSet<u32, RandomState> = HashSet::default();
    let most = limits.size(Limit::Table);
    let mut over = false;
    let mut splitter = FieldSplitter::new(SCHEMA, limits);
    let whole = each_field(pull, &mut splitter, note, |field, note| {
        let (1, Content::Len(body)) = (field.number, field.value) else {
            return Flow::Continue(());
        };
        let packet = Packet::read(body);
        let (readings, primary) = sequences.take(&packet);
        survey.clocks.take(&readings, primary);
        if let Some(row) = packet.descriptor {
            let uuid = TrackFacts::uuid(row);
            if survey.descriptors.len() < most || survey.descriptors.contains_key(&uuid) {
                survey.descriptors.entry(uuid).or_default().take(row);
            } else if !std::mem::replace(&mut over, true) {
                let text = format!("more than {most} tracks");
                note(damage("limit_table", field.offset, text))?;
            }
        }
        let event = packet.event.map(EventFields::read);
        let event = event.as_ref();
        let primary = survey.clocks.primary();
        let Some(stamp) = sequences.stamp(&packet, event, primary) else {
            return Flow::Continue(());
        };
        let Some(event) = event else {
            return Flow::Continue(());
        };
        if clock_ids.len() < 2 {
            clock_ids.insert(stamp.clock.id);
        }
        survey.has_flows |= event.has_flows();
        let is_instant = event.r#type == TrackEventType::Instant;
        if event.r#type == TrackEventType::Counter || is_instant && !event.has_flows() {
            return Flow::Continue(());
        }
        let track = sequences.track(&packet, event);
        let has_room = seen.len() < most;
        match seen.get_mut(&track) {
            Some(steps) if steps.latest.clock == stamp.clock => {
                if stamp.ns < steps.latest.ns {
                    let late_by = steps.latest.ns.abs_diff(stamp.ns);
                    steps.late_by = steps.late_by.max(late_by);
                } else if !is_instant {
                    steps.latest = stamp;
                }
            }
            Some(steps) => {
                let before = steps.latest;
                if !is_instant {
                    steps.latest = stamp;
                }
                steps.is_unknown |= changes.len() >= MOST_CHANGES;
                if !steps.is_unknown {
                    changes.push(ClockChange {
                        track,
                        before,
                        after: stamp,
                    });
                }
            }
            // Nothing is late behind an instant.
            None if is_instant => {}
            None if has_room => {
                let steps = TrackSteps {
                    latest: stamp,
                    late_by: 0,
                    is_unknown: false,
                };
                seen.insert(track, steps);
            }
            None => {}
        }
        Flow::Continue(())
    })?;
    let only = match clock_ids.iter().next() {
        Some(&only) if clock_ids.len() == 1 => Some(only),
        _ => None,
    };
    survey.clocks.settle(only);
    survey.late_by = late_by(&seen, &changes, &survey.clocks);
    Ok(whole.then_some(survey))
}

/// Returns how far steps of tracks out of order lie behind what came before them, at most.
fn late_by(
    seen: &HashMap<u64, TrackSteps, RandomState>,
    changes: &[ClockChange],
    clocks: &Clocks,
) -> HashMap<u64, i64, RandomState> {
    let mut drifts: HashMap<SequenceClock, i64, RandomState> = HashMap::default();
    let mut drift = |clock| *drifts.entry(clock).or_insert_with(|| clocks.drift(clock));
    let mut changed: HashMap<u64, ClocksOfTrack, RandomState> = HashMap::default();
    for change in changes {
        let [before, after] =
            [change.before, change.after].map(|of| clocks.convert(of.clock, of.ns).0);
        let of = changed.entry(change.track).or_default();
        of.latest = Some(before).max(of.latest);
        let ahead = of.latest.map_or(0, |latest| latest.saturating_sub(after));
        of.late_by = of.late_by.max(ahead);
        of.drift = of.drift.max(drift(change.before.clock));
    }
    let tracks = seen.iter().filter_map(|(&track, steps)| {
        let of = changed.remove(&track).unwrap_or_default();
        let own = saturated_i64(steps.late_by);
        match (own.saturating_add(of.late_by), steps.is_unknown) {
            (_, true) => Some((track, i64::MAX)),
            (0, false) => None,
            (late_by, false) => {
                let drift = of.drift.max(drift(steps.latest.clock));
                Some((track, late_by.saturating_add(drift)))
            }
        }
    });
    tracks.collect()
}

/// What changes of its clock say of a track.
#[derive(Default)]
struct ClocksOfTrack {
    /// The latest time before a change so far.
    latest: Option<i64>,
    /// How far behind it a clock began.
    late_by: i64,
    /// The largest drift of its clocks.
    drift: i64,
}
