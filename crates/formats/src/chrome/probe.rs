//! Detection: events are told by their phase and time, wherever their array is.

use traceloom_model::Limits;
use traceloom_model::bounds::subslice;

use super::split::{TracePiece, TraceSplitter};
use crate::{Confidence, Probe};

/// Events looked at.
const ENOUGH: usize = 32;

/// A first value longer than this tells nothing: no more than that is looked at anywhere.
const LONGEST: usize = 16 << 20;

/// Returns how sure it is that a part is a trace.
pub(super) fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let text = probe.head.trim_ascii_start();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if !text.starts_with(b"{") && !text.starts_with(b"[") {
        return None;
    }
    let limits = Limits::default();
    let mut splitter = TraceSplitter::new(&limits);
    let (mut at, mut events, mut fitting) = (0, 0, 0);
    let (mut keyed, mut broken, mut cut) = (false, false, false);
    while let Some(window) = probe.head.get(at..) {
        let len = match splitter.next(window, probe.whole) {
            TracePiece::Need(_) => {
                cut = true;
                break;
            }
            TracePiece::End => break,
            // Cut inside an event, or damaged there: those before it tell.
            TracePiece::Damage(..) => {
                broken = true;
                break;
            }
            TracePiece::Text(len) => {
                let text = subslice(window, ..len);
                keyed |= text.starts_with(b"\"traceEvents\"");
                len
            }
            TracePiece::Member(_, _, end) => end,
            TracePiece::Event(end) => {
                let fits = splitter.event_of(window.get(..end)?, |event, _| {
                    let timed = event.time().is_some() || event.phase() == b'M';
                    event.phase() != 0 && timed
                });
                events += 1;
                fitting += usize::from(fits);
                end
            }
        };
        at += len;
        if events >= ENOUGH {
            break;
        }
    }
    if broken {
        return (events > 0 && fitting == events).then_some(Confidence::Likely);
    }
    if events > 0 && fitting == events {
        return Some(Confidence::Certain);
    }
    if keyed {
        return Some(if events == 0 || fitting > 0 {
            Confidence::Certain
        } else {
            Confidence::Likely
        });
    }
    if events == 0 && cut && probe.head.len() < LONGEST {
        // The first event, or a member before the events, is longer than what was seen: more of it decides.
        return Some(Confidence::Possible);
    }
    (fitting > 0).then_some(Confidence::Likely)
}
