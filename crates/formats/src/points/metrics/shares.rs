//! What of a recording belongs to which of its profiles: found once, for all of them.

use std::collections::{BTreeMap, BTreeSet};

use traceloom_model::{Recording, ResourceId, Timestamp};

use crate::points::header::GroupedProfile;

/// What of a recording belongs to one of its profiles, by place, in order.
#[derive(Default)]
pub(crate) struct ProfileShare {
    /// Batches of samples.
    pub(super) batches: Vec<usize>,
    pub(super) events: Vec<usize>,
}

impl ProfileShare {
    /// All of a recording.
    pub(crate) fn whole(recording: &Recording) -> Self {
        Self {
            batches: (0..recording.samples.len()).collect(),
            events: (0..recording.events.len()).collect(),
        }
    }

    /// Returns the shares of all profiles of a recording; a single one has all of it.
    ///
    /// An event belongs to a profile of the process of its track, where that has any, else to any: to the one nearest to its time,
    /// the first of several.
    pub(crate) fn of_all(recording: &Recording, groups: &[GroupedProfile]) -> Vec<Self> {
        if groups.len() == 1 {
            return vec![Self::whole(recording)];
        }
        let mut shares: Vec<Self> = groups.iter().map(|_| Self::default()).collect();
        let mut groups_of_rows = vec![None; recording.profiles.len()];
        for (at, group) in groups.iter().enumerate() {
            for &row in &group.rows {
                if let Some(group_of_row) = groups_of_rows.get_mut(row) {
                    *group_of_row = Some(at);
                }
            }
        }
        for (at, batch) in recording.samples.iter().enumerate() {
            let group = groups_of_rows.get(batch.profile.index()).copied().flatten();
            if let Some(share) = group.and_then(|group| shares.get_mut(group)) {
                share.batches.push(at);
            }
        }
        let mut by_owner: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, group) in groups.iter().enumerate() {
            if let Some(owner) = group.owner {
                by_owner.entry(owner).or_default().push(at);
            }
        }
        let owners = owners(recording, &by_owner);
        let mut events: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (at, track) in recording.events.track.iter().enumerate() {
            let resource = track.and_then(|track| recording.track(track)?.resource);
            let owner = resource.and_then(|id| owners.get(id.index()).copied().flatten());
            events.entry(owner).or_default().push(at);
        }
        let all: Vec<usize> = (0..groups.len()).collect();
        for (owner, events) in events {
            let of_owner = owner.and_then(|owner| by_owner.get(&owner));
            let candidates = of_owner.unwrap_or(&all);
            share_out(recording, groups, candidates, events, &mut shares);
        }
        for share in &mut shares {
            share.events.sort_unstable();
        }
        shares
    }
}

/// Returns for each resource the innermost one around it, or itself, that profiles belong to.
fn owners(recording: &Recording, by_owner: &BTreeMap<usize, Vec<usize>>) -> Vec<Option<usize>> {
    let mut owners: Vec<Option<Option<usize>>> = vec![None; recording.resources.len()];
    for first in 0..owners.len() {
        let mut on_the_way = Vec::new();
        let mut at = Some(first);
        let owner = loop {
            match at.and_then(|at| Some((at, owners.get_mut(at)?))) {
                None => break None,
                Some((_, Some(known))) => break *known,
                Some((at, _)) if by_owner.contains_key(&at) => {
                    on_the_way.push(at);
                    break Some(at);
                }
                // Where resources lead in a circle, there is none.
                Some((_, unknown)) => *unknown = Some(None),
            }
            on_the_way.extend(at);
            let row = at.and_then(|at| recording.resources.get(at)?.as_ref());
            at = row.and_then(|row| row.parent).map(ResourceId::index);
        };
        for at in on_the_way {
            if let Some(known) = owners.get_mut(at) {
                *known = Some(owner);
            }
        }
    }
    owners.into_iter().map(Option::flatten).collect()
}

/// Gives each event to the one of the candidates that is nearest to its time. One that ends before it begins is at its end.
fn share_out(
    recording: &Recording,
    groups: &[GroupedProfile],
    candidates: &[usize],
    mut events: Vec<usize>,
    shares: &mut [ProfileShare],
) {
    if let [only] = candidates {
        if let Some(share) = shares.get_mut(*only) {
            share.events.append(&mut events);
        }
        return;
    }
    let time = |event: usize| recording.events.time.get(event).copied().unwrap_or(0);
    events.sort_by_key(|&event| time(event));
    let mut nearest = NearestProfile::new(groups, candidates);
    for event in events {
        if let Some(share) = nearest.at(time(event)).and_then(|at| shares.get_mut(at)) {
            share.events.push(event);
        }
    }
}

/// Finds the profile that is nearest to a moment, for moments that come in order.
struct NearestProfile {
    /// Profiles that begin later, the first of them last: when they begin, their place, and when they end.
    later: Vec<(Timestamp, usize, Timestamp)>,
    /// The places of those that go on, and when they end.
    running: BTreeSet<usize>,
    ends: BTreeSet<(Timestamp, usize)>,
    /// The one that ended last, the first of several.
    ended: Option<(Timestamp, usize)>,
}

impl NearestProfile {
    fn new(groups: &[GroupedProfile], candidates: &[usize]) -> Self {
        let later = candidates.iter().filter_map(|&at| {
            let profile = &groups.get(at)?.profile;
            Some((profile.start.min(profile.end), at, profile.end))
        });
        let mut later: Vec<_> = later.collect();
        later.sort_unstable_by(|one, other| other.cmp(one));
        Self {
            later,
            running: BTreeSet::new(),
            ends: BTreeSet::new(),
            ended: None,
        }
    }

    fn at(&mut self, time: Timestamp) -> Option<usize> {
        while let Some((_, at, end)) = self.later.pop_if(|next| next.0 <= time) {
            self.running.insert(at);
            self.ends.insert((end, at));
        }
        while let Some(&(end, at)) = self.ends.first().filter(|first| first.0 < time) {
            self.ends.pop_first();
            self.running.remove(&at);
            // They come by their ends, and those that end together by their places.
            if self.ended.is_none_or(|(last, _)| last < end) {
                self.ended = Some((end, at));
            }
        }
        if let Some(&first) = self.running.first() {
            return Some(first);
        }
        let ended = self.ended.map(|(end, at)| (time.abs_diff(end), at));
        let later = self.later.last();
        let later = later.map(|&(start, at, _)| (time.abs_diff(start), at));
        let nearest = ended.into_iter().chain(later).min();
        nearest.map(|(_, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use traceloom_model::{EventRow, EventTypeId, Resource, Track, TrackId};
    use traceloom_samples::Random;

    use super::*;
    use crate::points::Profile;

    fn group(start: i64, end: i64) -> GroupedProfile {
        GroupedProfile {
            profile: Profile {
                start,
                end,
                ..Profile::default()
            },
            owner: None,
            rows: Vec::new(),
        }
    }

    #[test]
    fn the_nearest_is_the_one_that_looking_at_all_finds() {
        let mut random = Random::new(11);
        for _ in 0..300 {
            let groups: Vec<_> = (0..random.below(12))
                .map(|_| {
                    let start = i64::from(random.below(40)) - 20;
                    group(start, start + i64::from(random.below(12)))
                })
                .collect();
            let candidates: Vec<usize> = (0..groups.len()).collect();
            let mut nearest = NearestProfile::new(&groups, &candidates);
            for time in -30..45 {
                let away = |at: &usize| {
                    let profile = groups.get(*at).map(|group| &group.profile);
                    profile.map(|of| (of.start - time).max(time - of.end).max(0))
                };
                let wanted = candidates.iter().copied().min_by_key(away);
                assert_eq!(nearest.at(time), wanted, "{time}");
            }
        }
    }

    #[test]
    fn an_event_goes_to_one_profile_of_its_process() {
        let of_owner = |start, owner| GroupedProfile {
            owner: Some(owner),
            ..group(start, start + 10)
        };
        let groups = [of_owner(0, 0), of_owner(20, 0), of_owner(21, 1)];
        let track = |resource| {
            Some(Track {
                resource: Some(ResourceId::new(resource)),
                ..Track::default()
            })
        };
        let mut recording = Recording {
            resources: vec![Some(Resource::default()), Some(Resource::default())],
            tracks: vec![track(0), track(1)],
            ..Recording::default()
        };
        for (time, on) in [(29, Some(0)), (5, Some(1)), (3, Some(0)), (40, None)] {
            recording.events.push(&EventRow {
                event_type: EventTypeId::new(0),
                track: on.map(TrackId::new),
                time,
                end: None,
                object: None,
                owner: None,
                stack: None,
                attributes: &[],
            });
        }
        let shares = ProfileShare::of_all(&recording, &groups);
        let events: Vec<_> = shares.into_iter().map(|share| share.events).collect();
        assert_eq!(events, [vec![2], vec![0], vec![1, 3]]);
    }

    #[test]
    fn one_that_ends_before_it_begins_is_at_its_end() {
        let groups = [group(10, 0), group(7, 8)];
        let mut nearest = NearestProfile::new(&groups, &[0, 1]);
        let found: Vec<_> = [0, 3, 4, 10].map(|time| nearest.at(time)).into();
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn resources_in_a_circle_belong_to_nobody() {
        let resource = |parent: Option<u32>| Resource {
            parent: parent.map(ResourceId::new),
            ..Resource::default()
        };
        // 0 is owned, 1 and 2 lie in it, 3 and 4 in each other, 5 in 4.
        let parents = [None, Some(0), Some(1), Some(4), Some(3), Some(4)];
        let recording = Recording {
            resources: parents.map(|parent| Some(resource(parent))).into(),
            ..Recording::default()
        };
        let by_owner = BTreeMap::from([(0, vec![0])]);
        let owned = Some(0);
        assert_eq!(
            owners(&recording, &by_owner),
            [owned, owned, owned, None, None, None]
        );
    }
}
