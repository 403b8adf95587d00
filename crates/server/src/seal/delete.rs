//! Deleting captures to the last chunk, and what operators ask for.

use std::collections::HashMap;
use std::io;

use traceloom_input::captures::{CaptureId, Event, Manifest, SealReason};

use super::{Audited, Request, SealFailure, Sealer, failed};

/// The word for sessions that go on, which the audit log does not hold.
pub(super) const RESUME: &str = "resume";

impl Sealer {
    /// Returns the decisions that operators ask for. What cannot be done is an event.
    pub(super) fn asked(&mut self, requests: &[Request], at_ns: i64) -> Vec<(CaptureId, Event)> {
        let mut decisions = Vec::new();
        for request in requests {
            let (Request::Pin(id) | Request::Unpin(id) | Request::Delete(id) | Request::Resume(id)) =
                request;
            let n_events = self.events.len();
            decisions.extend(self.decide(request, *id, at_ns));
            let refused = self.events.get(n_events).cloned();
            self.audited.push(Audited {
                what: match request {
                    Request::Pin(_) => "pin",
                    Request::Unpin(_) => "unpin",
                    Request::Delete(_) => "delete",
                    Request::Resume(_) => RESUME,
                },
                capture: *id,
                rule: None,
                outcome: refused.unwrap_or_else(|| "done".to_owned()),
            });
        }
        decisions
    }

    /// Returns the decision that a request asks for, or says why there is none.
    fn decide(
        &mut self,
        request: &Request,
        id: CaptureId,
        at_ns: i64,
    ) -> Option<(CaptureId, Event)> {
        let tracked = self.sessions.get(&id).map(|tracked| &tracked.builder);
        let is_known = tracked.is_some() || self.revisions.contains_key(&id);
        if !is_known || self.deleted.contains_key(&id) {
            self.events.push(format!("there is no capture {id}"));
            return None;
        }
        let running = self.incarnation;
        let may_go_on = tracked.is_some_and(|builder| builder.may_go_on(running));
        let why = match request {
            Request::Delete(_) if may_go_on => {
                self.events
                    .push(format!("capture {id} is being sent, and is not deleted"));
                return None;
            }
            Request::Delete(_) => return Some((id, Event::Deleted { at_ns, asked: true })),
            Request::Resume(_) if may_go_on => {
                self.events.push(format!("capture {id} goes on already"));
                return None;
            }
            Request::Pin(_) | Request::Unpin(_) | Request::Resume(_)
                if tracked.is_some_and(|builder| !builder.can_seal()) =>
            {
                self.events.push(format!(
                    "capture {id} is not understood, and cannot be changed"
                ));
                return None;
            }
            Request::Resume(_) => {
                let incarnation = running;
                return Some((id, Event::Resumed { at_ns, incarnation }));
            }
            Request::Pin(_) => SealReason::Pin,
            Request::Unpin(_) => SealReason::Unpin,
        };
        Some((id, Event::Seal { at_ns, why }))
    }

    /// Deletes the captures that have a tombstone, unless somebody reads captures now.
    ///
    /// Chunks go before manifests: whatever stops this, the manifest says what is left to delete.
    pub(super) fn delete_marked(&mut self) -> Result<(), SealFailure> {
        if self.deleted.is_empty() {
            return Ok(());
        }
        let _kept_out = match &self.folder {
            None => None,
            Some(folder) => match folder.keep_readers_out()? {
                Some(lock) => Some(lock),
                None => return Ok(()),
            },
        };
        let manifests = self.disks.manifests.clone();
        let listed = manifests.list();
        let listed = listed.map_err(|error| failed("cannot list captures", &error))?;
        let mut chunks = HashMap::new();
        let (deleted, kept): (Vec<_>, Vec<_>) = listed
            .iter()
            .partition(|(id, _)| self.deleted.contains_key(id));
        for (&id, revisions) in deleted.iter().copied() {
            for &revision in revisions {
                match manifests.read_one(id, revision) {
                    Ok(manifest) => {
                        chunks.extend(manifest.chunks().map(|chunk| (chunk.hash, *chunk)));
                    }
                    Err(error) => self
                        .events
                        .push(format!("some of its chunks may stay: {error}")),
                }
            }
        }
        for (&id, revisions) in kept.iter().copied() {
            for &revision in revisions {
                if chunks.is_empty() {
                    break;
                }
                // Of a damaged manifest it is not known what it shares.
                let manifest = manifests
                    .read_one(id, revision)
                    .map_err(|error| failed("nothing is deleted", &error))?;
                for chunk in manifest.chunks() {
                    chunks.remove(&chunk.hash);
                }
            }
        }
        for chunk in chunks.values() {
            let removed = gone(self.disks.chunks.remove(&chunk.file_name()));
            removed.map_err(|error| failed("cannot delete a chunk", &error))?;
        }
        if !chunks.is_empty() {
            let synced = self.disks.chunks.sync_folder();
            synced.map_err(|error| failed("cannot sync the folder of chunks", &error))?;
        }
        for (&id, revisions) in deleted.iter().copied() {
            for &revision in revisions {
                let name = Manifest::file_name(id, revision);
                let removed = gone(manifests.folder().remove(&name));
                removed.map_err(|error| failed("cannot delete a manifest", &error))?;
            }
            if let Some(folder) = &self.folder {
                for index in [folder.call_index(id), folder.profile_index(id)] {
                    let removed = gone(std::fs::remove_file(index));
                    removed.map_err(|error| failed("cannot delete an index", &error))?;
                }
            }
            self.revisions.remove(&id);
        }
        let synced = manifests.folder().sync_folder();
        synced.map_err(|error| failed("cannot sync the folder of captures", &error))?;
        self.deleted.clear();
        Ok(())
    }
}

/// What is gone already was deleted by an attempt that was interrupted.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
