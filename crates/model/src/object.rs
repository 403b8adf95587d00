//! Heap objects, references between them and roots, in compact columns.

use crate::{ClassId, ObjectId, StackId, Timestamp, TrackId};

/// One heap object, as a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectRow {
    /// Its id.
    pub id: ObjectId,
    /// How often the id was given out before: producers reuse ids.
    pub generation: u32,
    /// Its class.
    pub class: Option<ClassId>,
    /// Its size in bytes.
    pub size: u64,
    /// It is an array.
    pub is_array: bool,
    /// When it was allocated.
    pub time: Option<Timestamp>,
    /// Where it was allocated.
    pub site: Option<StackId>,
    /// Which thread allocated it.
    pub thread: Option<TrackId>,
}

/// Heap objects in columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectBatch {
    /// The objects.
    pub rows: Vec<ObjectRow>,
}

/// References between objects, in columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeBatch {
    /// Which heap dump the references were seen in, counted from 0.
    pub dump: Vec<u32>,
    /// The object that holds the reference.
    pub from: Vec<ObjectId>,
    /// The object it points to.
    pub to: Vec<ObjectId>,
}

/// Roots of the heap, in columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RootBatch {
    /// Which heap dump the root was seen in, counted from 0.
    pub dump: Vec<u32>,
    /// The object it holds.
    pub object: Vec<ObjectId>,
    /// The producer's number for the kind of root.
    pub kind: Vec<u32>,
}
