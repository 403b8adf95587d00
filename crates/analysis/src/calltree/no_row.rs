//! Calls that a filter judges without their rows.

use std::borrow::Cow;

use traceloom_model::{FunctionId, Recording, Timestamp, TrackId};

use crate::filter::CallView;
use crate::text::{of_resource, service_name, track_name};

/// A call of which there are steps but no row.
pub(super) struct NoRow<'t> {
    tables: &'t Recording,
    track: TrackId,
    method: Cow<'t, str>,
    duration: u64,
    start: Timestamp,
}

impl<'t> NoRow<'t> {
    pub(super) fn of(
        tables: &'t Recording,
        (track, key): (TrackId, u32),
        start: Timestamp,
        end: Timestamp,
    ) -> Self {
        Self {
            tables,
            track,
            method: tables.function_name(FunctionId::new(key)),
            duration: if end > start { end.abs_diff(start) } else { 0 },
            start,
        }
    }
}

impl CallView for NoRow<'_> {
    fn method(&self) -> Cow<'_, str> {
        self.method.as_ref().into()
    }

    fn duration(&self) -> Option<u64> {
        Some(self.duration)
    }

    fn time(&self) -> Option<i64> {
        Some(self.start)
    }

    fn thread(&self) -> Option<Cow<'_, str>> {
        Some(track_name(self.tables, self.track))
    }

    fn service(&self) -> Option<Cow<'_, str>> {
        service_name(self.tables, self.tables.track(self.track)?.resource)
    }

    fn host(&self) -> Option<Cow<'_, str>> {
        of_resource(self.tables, self.track, |row| row.host)
    }
}
