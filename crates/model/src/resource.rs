//! Who produced the data, and on which lines of execution.

use crate::{Attribute, ResourceId, StringId};

/// A node, process, agent or trace; each names the one that contains it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resource {
    /// The enclosing resource.
    pub parent: Option<ResourceId>,
    /// Service name.
    pub service: Option<StringId>,
    /// Instance of the service: a pod, a process restart.
    pub instance: Option<StringId>,
    /// Host name.
    pub host: Option<StringId>,
    /// Namespace the service runs in.
    pub namespace: Option<StringId>,
    /// Operating system process id.
    pub pid: Option<u64>,
    /// Programming language.
    pub language: Option<StringId>,
    /// Runtime and its version.
    pub runtime: Option<StringId>,
    /// Operating system.
    pub os: Option<StringId>,
    /// Processor architecture.
    pub arch: Option<StringId>,
    /// Version of the service.
    pub version: Option<StringId>,
    /// Deployment environment.
    pub env: Option<StringId>,
    /// Everything else.
    pub attributes: Vec<Attribute>,
}

impl Resource {
    /// Returns the facts that are texts, by their names in reports and labels.
    #[must_use]
    pub fn texts(&self) -> [(&'static str, Option<StringId>); 10] {
        [
            ("service", self.service),
            ("instance", self.instance),
            ("host", self.host),
            ("namespace", self.namespace),
            ("language", self.language),
            ("runtime", self.runtime),
            ("os", self.os),
            ("arch", self.arch),
            ("version", self.version),
            ("env", self.env),
        ]
    }
}

/// What a track is a line of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TrackKind {
    /// A thread: at most one span runs at a time.
    #[default]
    Thread,
    /// A stream of the producer that is no thread.
    Stream,
    /// Work that is polled on other tracks: its spans do not add to thread totals.
    Async,
    /// A place for spans that overlap their siblings partly; `lane` counts them from 1.
    Lane,
}

/// A line of execution that spans, samples and events lie on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Track {
    /// What it is a line of.
    pub kind: TrackKind,
    /// The process or stream it belongs to.
    pub resource: Option<ResourceId>,
    /// The track a substream or lane hangs under.
    pub parent: Option<crate::TrackId>,
    /// Lane number under the parent, 0 for the track itself.
    pub lane: u32,
    /// Name as the producer gave it.
    pub name: Option<StringId>,
    /// Thread id of the operating system.
    pub os_id: Option<u64>,
    /// Thread id of the runtime (Java), or the stream's own number.
    pub id: Option<u64>,
}

impl Track {
    /// A thread known by name only.
    #[must_use]
    pub fn thread(name: StringId) -> Self {
        Self {
            name: Some(name),
            ..Self::default()
        }
    }
}
