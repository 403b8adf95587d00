//! A first pass over a trace: its tracks, its clocks, and which tracks come out of order (SPEC.md §3).

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::{Flow, Limit, Limits, Note};

use super::clocks::{Clocks, SequenceClock};
use super::packet::{EventFields, Packet, TrackEventType};
use super::schema::SCHEMA;
use super::timing::Sequences;
use super::tracks::TrackFacts;
use crate::protobuf::{Content, FieldSplitter, each_field};
use crate::{Error, Pull, damage};

/// What is known of a trace before its events are lowered.
#[derive(Debug, Default)]
pub(super) struct PacketSurvey {
    pub(super) descriptors: HashMap<u64, TrackFacts, RandomState>,
    pub(super) clocks: Clocks,
    /// Tracks whose slices do not come in the order of their times, or come from several sequences.
    pub(super) shuffled: HashSet<u64, RandomState>,
    pub(super) has_flows: bool,
}

struct SequenceFacts {
    sequence: u32,
    clock: SequenceClock,
    ns: i128,
}

/// Reads all packets of a part; none when the taker of notes broke.
pub(super) fn survey(
    pull: &mut dyn Pull,
    limits: &Limits,
    note: &mut dyn FnMut(Note) -> Flow,
) -> Result<Option<PacketSurvey>, Error> {
    let mut survey = PacketSurvey::default();
    let mut sequences = Sequences::default();
    let mut seen: HashMap<u64, SequenceFacts, RandomState> = HashMap::default();
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
        if matches!(
            event.r#type,
            TrackEventType::Counter | TrackEventType::Instant
        ) {
            return Flow::Continue(());
        }
        let track = sequences.track(&packet, event);
        let now = SequenceFacts {
            sequence: packet.sequence,
            clock: stamp.clock,
            ns: stamp.ns,
        };
        let has_room = seen.len() < most;
        match seen.get_mut(&track) {
            Some(before) => {
                let is_other = before.sequence != now.sequence || before.clock != now.clock;
                if is_other || before.ns > now.ns {
                    survey.shuffled.insert(track);
                }
                *before = now;
            }
            None if has_room => {
                seen.insert(track, now);
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
    Ok(whole.then_some(survey))
}
