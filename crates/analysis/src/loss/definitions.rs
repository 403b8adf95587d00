//! What rows of the tables lose in a target.

use super::{FeatureName, Loss};
use traceloom_model::{
    Definitions, Feature, FrameKind, FunctionId, Merge, Resource, Scope, Sink, Track, TrackKind,
    Unit, ValueTypeId,
};

impl<S: Sink + ?Sized> Loss<'_, S> {
    pub(super) fn tables(&mut self, new: &Definitions) {
        let one = FeatureName::Nothing;
        for (_, text) in &new.strings {
            let invalid = u64::from(text.as_str().is_none());
            self.lose_with(Feature::InvalidText, one, invalid, |_| format!("{text:?}"));
        }
        for (_, row) in &new.resources {
            self.resource(row);
        }
        for (_, row) in &new.tracks {
            let named = row.name.is_some() || row.os_id.is_some();
            let name = row.name;
            if !named && !self.holds.holds(Feature::Tracks) {
                self.lose(Feature::TrackIds, one, u64::from(row.id.is_some()));
            }
            self.lose_with(Feature::Tracks, one, u64::from(named), |loss| {
                name.map_or_else(String::new, |name| loss.text(name))
            });
        }
        for (id, row) in &new.functions {
            let detailed =
                row.package.is_some() || row.signature.is_some() || row.library.is_some();
            let name = row.name;
            let example = |loss: &Self| loss.text(name);
            self.lose_with(Feature::FunctionDetails, one, u64::from(detailed), example);
            let located = row.file.is_some() || row.line > 0;
            place(&mut self.located, id.index(), located.then_some(name));
        }
        // Frames of what is lost anyway are not lost once more, and those of exceptions come with them.
        let framed = [Feature::Samples, Feature::Events];
        let framed = framed.into_iter().any(|feature| self.holds.holds(feature));
        for (_, row) in new.frames.iter().filter(|_| framed) {
            if let Some(function) = row.function {
                self.locate(function);
            }
            self.lose(Feature::Addresses, one, u64::from(row.address.is_some()));
            let kind = row.inlined || row.kind != FrameKind::Unknown;
            self.lose(Feature::FrameKinds, one, u64::from(kind));
            self.lose(Feature::SourceLines, one, u64::from(row.line > 0));
        }
        for (_, row) in new.stacks.iter().filter(|_| framed) {
            self.lose(Feature::TruncatedStacks, one, u64::from(row.truncated));
        }
        for (id, row) in &new.value_types {
            if row.merge != Merge::Sum || row.scope != Scope::Own {
                self.wide.insert(*id, row.name);
            }
        }
        for (id, row) in &new.profiles {
            let headed = row.period.is_some()
                || row.duration.is_some()
                || row.time.is_some()
                || !row.comments.is_empty()
                || !row.settings.is_empty();
            self.lose(Feature::ProfileHeaders, one, u64::from(headed));
            // A target of one column has room for one of one profile, unless it has places for them by name.
            let first = self.profiles.is_empty();
            // Counters of calls have value types too: they are no columns.
            for id in &row.value_types {
                if let Some(name) = self.wide.remove(id) {
                    self.lose(Feature::InclusiveValues, FeatureName::Text(name), 1);
                }
            }
            if self.profiles.insert(*id) {
                let own = |id: &ValueTypeId| {
                    let name = self.written(FeatureName::Counter(*id));
                    self.holds.holds_named(Feature::ManyValues, &name)
                };
                let others = row.value_types.iter().filter(|id| !own(id)).count();
                let room = first && others == row.value_types.len() && others > 0;
                let others = others as u64 - u64::from(room);
                self.lose(Feature::ManyValues, one, others);
            }
        }
        for (_, row) in &new.exceptions {
            let class = row.class;
            self.lose_with(Feature::Exceptions, one, 1, |loss| {
                class.map_or_else(String::new, |class| loss.text(class))
            });
        }
        for (_, row) in &new.attribute_keys {
            let ruled = row.order != 0
                || row.list
                || row.index
                || row.signature.is_some()
                || row.unit != Unit::Count;
            let name = row.name;
            let example = |loss: &Self| loss.text(name);
            self.lose_with(Feature::AttributeKeys, one, u64::from(ruled), example);
        }
    }

    /// Counts the facts about a producer, each by its name.
    fn resource(&mut self, row: &Resource) {
        for (name, text) in row.texts() {
            let Some(text) = text else { continue };
            let name = FeatureName::Word(name);
            self.lose_with(Feature::Resources, name, 1, |loss| loss.text(text));
        }
        if let Some(pid) = row.pid {
            let name = FeatureName::Word("pid");
            self.lose_with(Feature::Resources, name, 1, |_| pid.to_string());
        }
        let is_inner = u64::from(row.parent.is_some());
        self.lose(Feature::Resources, FeatureName::Word("parent"), is_inner);
        for attribute in &row.attributes {
            self.attribute(attribute, Feature::Resources, 1);
        }
    }

    /// Counts the place of a function that is used, once.
    pub(super) fn locate(&mut self, id: FunctionId) {
        if let Some(name) = self.located.get_mut(id.index()).and_then(Option::take) {
            let example = |loss: &Self| loss.text(name);
            self.lose_with(Feature::SourceLines, FeatureName::Nothing, 1, example);
        }
    }

    pub(super) fn remember(&mut self, new: &Definitions) {
        for (id, text) in &new.strings {
            self.tables.strings.put(id.index(), text.clone());
        }
        for (id, row) in &new.attribute_keys {
            place(&mut self.keys, id.index(), Some(row.name));
        }
        for (id, row) in &new.event_types {
            place(&mut self.events, id.index(), Some(row.name));
        }
        for (id, row) in &new.value_types {
            place(&mut self.counters, id.index(), Some(row.name));
        }
        for (id, row) in &new.series {
            place(&mut self.series, id.index(), Some(row.name));
        }
        for (id, row) in &new.tracks {
            if self.lanes.len() <= id.index() {
                self.lanes.resize(id.index() + 1, false);
            }
            if let Some(lane) = self.lanes.get_mut(id.index()) {
                *lane = overlaps(row);
            }
        }
    }
}

/// Returns true if spans of a track may overlap.
fn overlaps(track: &Track) -> bool {
    matches!(track.kind, TrackKind::Async | TrackKind::Lane)
}

fn place<T: Default>(table: &mut Vec<T>, index: usize, row: T) {
    if table.len() <= index {
        table.resize_with(index + 1, T::default);
    }
    if let Some(slot) = table.get_mut(index) {
        *slot = row;
    }
}
