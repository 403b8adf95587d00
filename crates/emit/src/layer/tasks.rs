//! Spans from their beginning to their end, on tracks that no thread owns.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::calls::{Recorder, ThreadRecorder};

/// The most tracks of a layer: each has a buffer. What would need one more is dropped.
const MOST_TRACKS: usize = 1024;

/// The tracks that spans are on. Formats that nest calls want those of a track to lie within each other, so that a span is on the track
/// of its parent where nothing else is open inside the parent, and on one without open spans where something is.
pub struct TaskTracks(Mutex<OpenTracks>);

#[derive(Default)]
struct OpenTracks {
    tracks: Vec<TaskTrack>,
    /// Tracks without open spans, the one that was used last at the end.
    free: Vec<usize>,
    next_task: u64,
}

struct TaskTrack {
    recorder: ThreadRecorder,
    /// Numbers of its open spans, the outermost first.
    open: Vec<u64>,
}

/// Where an open span is.
#[derive(Clone, Copy, Debug)]
pub struct TaskSpan {
    /// Number of the outermost span around it, from 1 on.
    pub task: u64,
    track: usize,
    number: u64,
    /// It has no parent, or is on another track than that.
    pub is_apart: bool,
}

impl TaskTracks {
    pub fn new() -> Self {
        Self(Mutex::default())
    }

    /// Begins a span; returns `None` if it is not recorded, or dropped.
    pub fn begin(
        &self,
        recorder: &Recorder,
        parent: Option<TaskSpan>,
        name: &str,
    ) -> Option<TaskSpan> {
        let mut open = self.lock();
        let task = parent.map_or_else(
            || {
                open.next_task += 1;
                open.next_task
            },
            |parent| parent.task,
        );
        let around = parent.filter(|parent| open.is_innermost(*parent));
        let track = match around {
            Some(parent) => parent.track,
            None => open.free_track(recorder)?,
        };
        let TaskTrack {
            recorder,
            open: numbers,
        } = open.tracks.get_mut(track)?;
        if !recorder.is_recording() {
            if numbers.is_empty() {
                open.free.push(track);
            }
            return None;
        }
        // The time is taken here, so that those of a track ascend.
        let number = recorder.enter(recorder.now(), name);
        numbers.push(number);
        Some(TaskSpan {
            task,
            track,
            number,
            is_apart: around.is_none(),
        })
    }

    /// Ends a span, with its attributes.
    pub fn end(&self, span: TaskSpan, attributes: &[u8], is_cut: bool) {
        let mut open = self.lock();
        let Some(track) = open.tracks.get_mut(span.track) else {
            return;
        };
        track.recorder.add(span.number, attributes, is_cut);
        track.recorder.exit(span.number, track.recorder.now());
        track.open.retain(|&number| number != span.number);
        if track.open.is_empty() {
            open.free.push(span.track);
        }
    }

    fn lock(&self) -> MutexGuard<'_, OpenTracks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenTracks {
    fn is_innermost(&self, span: TaskSpan) -> bool {
        let track = self.tracks.get(span.track);
        track.is_some_and(|track| track.open.last() == Some(&span.number))
    }

    /// Takes a track without open spans.
    fn free_track(&mut self, recorder: &Recorder) -> Option<usize> {
        if let Some(track) = self.free.pop() {
            return Some(track);
        }
        if self.tracks.len() == MOST_TRACKS {
            if let Some(track) = self.tracks.first() {
                track.recorder.lose(track.recorder.now());
            }
            return None;
        }
        let n_tracks = self.tracks.len();
        self.tracks.push(TaskTrack {
            recorder: recorder.thread(&format!("tasks {}", n_tracks + 1)),
            open: Vec::new(),
        });
        Some(n_tracks)
    }
}

impl fmt::Debug for TaskTracks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_tracks = self.lock().tracks.len();
        f.debug_struct("TaskTracks")
            .field("n_tracks", &n_tracks)
            .finish_non_exhaustive()
    }
}
