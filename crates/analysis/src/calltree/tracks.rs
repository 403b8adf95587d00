//! Which tracks count: threads, and async tracks where there is nothing else.
//!
//! Work on an async track waits and overlaps with that of threads, so its time is not added to theirs. A recording of
//! actors or requests may have nothing but async tracks, though, or nearly all of its time there. One rule for every
//! view: spans of thread tracks count; where nothing that is shown has any, those of async tracks do; where async tracks
//! hold a part of the whole that is worth a look, the view says that they are left out.

use crate::measure::{AsyncCalls, Measure, Tracks, TreeSource};

/// The share of the time of threads, in percent, from which calls that are left out are announced: less is at most a
/// small row of the view.
const ANNOUNCED_PERCENT: i64 = 2;

/// A view of spans or samples: what it shows, whether it has anything, and its total.
pub trait Shown {
    /// What its values are.
    fn measure(&mut self) -> &mut Measure;
    /// Returns `true` if there is nothing in it.
    fn is_empty(&self) -> bool;
    /// What 100 % is.
    fn total(&self) -> i64;
}

/// Keeps the view of thread tracks or, where nothing is on those, that of async tracks; `left` are the calls on async
/// tracks that were passed over.
pub fn choose_tracks<V: Shown>(views: &mut Vec<V>, left: AsyncCalls) {
    let of_spans = |view: &mut V| {
        let measure = view.measure();
        (measure.source == TreeSource::Spans).then_some(measure.tracks)
    };
    let (mut threads, mut lanes) = (false, false);
    for view in &mut *views {
        let any = !view.is_empty();
        match of_spans(view) {
            Some(Tracks::Async) => lanes |= any,
            Some(_) => threads |= any,
            None => {}
        }
    }
    let shows_async = lanes && !threads;
    views.retain_mut(|view| match of_spans(view) {
        Some(tracks) => (tracks == Tracks::Async) == shows_async,
        None => true,
    });
    if shows_async {
        return;
    }
    for view in views {
        let total = view.total();
        if of_spans(view).is_some() && left.total > total.saturating_mul(ANNOUNCED_PERCENT) / 100 {
            view.measure().tracks = Tracks::ThreadsWithout(left);
        }
    }
}

impl Shown for super::CallTree {
    fn measure(&mut self) -> &mut Measure {
        &mut self.measure
    }

    fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn total(&self) -> i64 {
        self.total
    }
}

impl Shown for crate::Functions {
    fn measure(&mut self) -> &mut Measure {
        &mut self.measure
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn total(&self) -> i64 {
        self.total
    }
}
