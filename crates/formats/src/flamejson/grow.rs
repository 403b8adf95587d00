//! Growing a tree from samples or spans.

use std::collections::{HashMap, HashSet};

use traceloom_model::bounds::{row_number, saturated_i64};
use traceloom_model::{
    FrameId, FunctionId, Recording, SampleBatch, Scope, SpanId, StackId, TrackId, TrackKind, Unit,
};

use super::facts::FrameProperties;
use super::tree::{Dimension, GraphNode, GraphTree, Leaf};
use crate::points::Language;

/// A node's identity below its parent.
#[derive(Clone, PartialEq, Eq, Hash)]
enum ChildKey {
    Frame(u32),
    Thread(Option<TrackId>),
}

pub(super) struct GraphBuilder<'r> {
    recording: &'r Recording,
    dimension: Dimension,
    language: Option<Language>,
    nodes: Vec<GraphNode>,
    children: HashMap<(usize, ChildKey), usize>,
    keys: Vec<Option<ChildKey>>,
    /// Frames seen: key number and line.
    frames: HashMap<FrameId, (u32, u32)>,
    functions: HashMap<Option<FunctionId>, u32>,
    texts: HashMap<String, u32>,
    facts: Vec<FrameProperties>,
    /// Stacks seen and their nodes.
    stacks: HashMap<StackId, usize>,
    threads: HashSet<TrackId>,
    leaves: Option<HashMap<(FrameId, Option<TrackId>), i64>>,
    /// The dimensions in which some frame says something, in the order of [`Dimension::ALL`].
    says: [bool; 6],
}

impl<'r> GraphBuilder<'r> {
    pub(super) fn new(
        recording: &'r Recording,
        dimension: Dimension,
        language: Option<Language>,
    ) -> Self {
        Self {
            recording,
            dimension,
            language,
            nodes: vec![GraphNode::default()],
            children: HashMap::new(),
            keys: vec![None],
            frames: HashMap::new(),
            functions: HashMap::new(),
            texts: HashMap::new(),
            facts: Vec::new(),
            stacks: HashMap::new(),
            threads: HashSet::new(),
            leaves: None,
            says: [true, false, false, false, false, false],
        }
    }

    /// Adds up what is a frame's own as well.
    pub(super) fn with_leaves(mut self) -> Self {
        self.leaves = Some(HashMap::new());
        self
    }

    /// Returns the number of the text that makes two frames one node, and the frame's line.
    fn frame_key(&mut self, frame: FrameId) -> (u32, u32) {
        if let Some(&known) = self.frames.get(&frame) {
            return known;
        }
        let facts = FrameProperties::of(self.recording, frame, self.language);
        let line = facts.line;
        let key = (self.key(facts), line);
        self.frames.insert(frame, key);
        key
    }

    fn function_key(&mut self, function: Option<FunctionId>) -> u32 {
        if let Some(&known) = self.functions.get(&function) {
            return known;
        }
        let facts = match function {
            Some(id) => FrameProperties::of_function(self.recording, id, self.language),
            None => FrameProperties {
                method: "?".to_owned(),
                ..FrameProperties::default()
            },
        };
        let key = self.key(facts);
        self.functions.insert(function, key);
        key
    }

    fn key(&mut self, facts: FrameProperties) -> u32 {
        let says = [
            true,
            !facts.package.is_empty(),
            facts.line > 0,
            false,
            !facts.class.is_empty(),
            !facts.library.is_empty(),
        ];
        for (flag, says) in self.says.iter_mut().zip(says) {
            *flag |= says;
        }
        let (text, shown) = match self.dimension {
            Dimension::Method | Dimension::Thread => {
                let text = [
                    facts.library.as_str(),
                    &facts.package,
                    &facts.class,
                    &facts.method,
                    &facts.source_file,
                ]
                .join("\0");
                let line = facts.start_line;
                (text, FrameProperties { line, ..facts })
            }
            Dimension::Line => {
                let text = format!(
                    "{}\0{}\0{}\0{}\0{}",
                    facts.package, facts.class, facts.method, facts.source_file, facts.line
                );
                (text, facts)
            }
            Dimension::Package => (
                facts.package.clone(),
                only(&facts.package, |facts, text| facts.package = text),
            ),
            Dimension::Class if facts.class.is_empty() => (String::new(), only("", |_, _| {})),
            Dimension::Class => {
                let dot = if facts.package.is_empty() { "" } else { "." };
                let text = format!("{}{dot}{}", facts.package, facts.class);
                let shown = only(&text, |shown, _| {
                    shown.class.clone_from(&facts.class);
                    shown.package.clone_from(&facts.package);
                });
                (text, shown)
            }
            Dimension::Library => (
                facts.library.clone(),
                only(&facts.library, |facts, text| facts.library = text),
            ),
        };
        let next = row_number(self.facts.len());
        let key = *self.texts.entry(text).or_insert(next);
        if key == next {
            self.facts.push(shown);
        }
        key
    }

    fn child(
        &mut self,
        parent: usize,
        key: ChildKey,
        thread: impl FnOnce(&Recording) -> String,
    ) -> usize {
        if self.dimension.collapses() && self.keys.get(parent) == Some(&Some(key.clone())) {
            return parent;
        }
        if let Some(&known) = self.children.get(&(parent, key.clone())) {
            return known;
        }
        let row = self.nodes.len();
        let facts = match key {
            ChildKey::Frame(number) => self.facts.get(number as usize).cloned().unwrap_or_default(),
            ChildKey::Thread(_) => FrameProperties::default(),
        };
        let track = match key {
            ChildKey::Thread(track) => track,
            ChildKey::Frame(_) => None,
        };
        let mut node = GraphNode {
            facts,
            track,
            ..GraphNode::default()
        };
        if self.dimension == Dimension::Thread {
            node.thread = thread(self.recording);
            node.facts.method.clone_from(&node.thread);
        }
        self.nodes.push(node);
        self.keys.push(Some(key.clone()));
        self.children.insert((parent, key), row);
        if let Some(node) = self.nodes.get_mut(parent) {
            node.children.push(row);
        }
        row
    }

    fn place(&mut self, stack: Option<StackId>, track: Option<TrackId>) -> usize {
        self.threads.extend(track);
        let by_frames = self.walk(stack);
        match self.dimension {
            Dimension::Thread => self.child(0, ChildKey::Thread(track), |recording| {
                thread_name(recording, track)
            }),
            _ => by_frames,
        }
    }

    /// Walks the frames of a stack that are new, and returns its node.
    fn walk(&mut self, stack: Option<StackId>) -> usize {
        let mut path = Vec::new();
        let mut next = stack;
        let mut row = 0;
        while let Some(id) = next {
            if let Some(&known) = self.stacks.get(&id) {
                row = known;
                break;
            }
            // A chain longer than the table would be a cycle.
            let Some(stack) = self
                .recording
                .stack(id)
                .filter(|_| path.len() <= self.recording.stacks.len())
            else {
                break;
            };
            path.push((id, stack.frame));
            next = stack.parent;
        }
        for (id, frame) in path.into_iter().rev() {
            let (key, line) = self.frame_key(frame);
            if self.dimension != Dimension::Thread {
                row = self.child(row, ChildKey::Frame(key), |_| String::new());
                self.line(row, line);
            }
            self.stacks.insert(id, row);
        }
        row
    }

    /// Shows the line of a method whose first line nobody knows, where all its frames agree.
    fn line(&mut self, row: usize, line: u32) {
        if self.dimension != Dimension::Method {
            return;
        }
        let Some(node) = self.nodes.get_mut(row) else {
            return;
        };
        if node.facts.start_line > 0 || node.lines_differ {
            return;
        }
        node.lines_differ = node.facts.line > 0 && node.facts.line != line;
        node.facts.line = if node.lines_differ { 0 } else { line };
    }

    fn add(&mut self, row: usize, value: i64, scope: Scope) {
        let Some(node) = self.nodes.get_mut(row) else {
            return;
        };
        match scope {
            Scope::Own => node.own = node.own.saturating_add(value),
            Scope::Inclusive => node.value = node.value.saturating_add(value),
        }
    }

    /// Adds one column of a batch of samples.
    pub(super) fn samples(&mut self, batch: &SampleBatch, column: usize, scope: Scope) {
        for sample in batch.iter() {
            let row = self.place(sample.stack, sample.track);
            let value = sample.values.get(column).copied().unwrap_or(0);
            self.add(row, value, scope);
            let stack = sample.stack.and_then(|id| self.recording.stack(id));
            if let (Some(leaves), Some(stack), Scope::Own) = (&mut self.leaves, stack, scope) {
                let sum = leaves.entry((stack.frame, sample.track)).or_default();
                *sum = sum.saturating_add(value);
            }
        }
    }

    /// Adds every span of a thread or stream: its duration is its inclusive value. What is polled on other
    /// tracks, and lanes, would count time twice.
    pub(super) fn spans(&mut self) {
        let spans = &self.recording.spans;
        let aside = |track: TrackId| {
            let row = self.recording.track(track);
            row.is_some_and(|row| matches!(row.kind, TrackKind::Async | TrackKind::Lane))
        };
        let aside: Vec<bool> = spans.track.iter().map(|&track| aside(track)).collect();
        let rows: HashMap<SpanId, usize> = spans
            .id
            .iter()
            .enumerate()
            .map(|(row, &id)| (id, row))
            .collect();
        let mut placed: Vec<Option<usize>> = vec![None; spans.len()];
        let mut path = Vec::new();
        for start in 0..spans.len() {
            if aside.get(start) == Some(&true) {
                continue;
            }
            path.clear();
            let (mut next, mut node) = (Some(start), 0);
            while let Some(row) = next {
                if let Some(Some(known)) = placed.get(row) {
                    node = *known;
                    break;
                }
                if path.len() > spans.len() {
                    break;
                }
                path.push(row);
                let parent = spans.parent.get(row).copied().flatten();
                next = parent.and_then(|id| rows.get(&id).copied());
            }
            while let Some(row) = path.pop() {
                let Some(span) = spans.row(row) else { continue };
                node = self.span_node(node, &span);
                if let Some(slot) = placed.get_mut(row) {
                    *slot = Some(node);
                }
                let collapsed = span
                    .parent
                    .and_then(|id| placed.get(*rows.get(&id)?).copied().flatten());
                if collapsed != Some(node) {
                    let duration = saturated_i64(span.duration());
                    self.add(node, duration, Scope::Inclusive);
                }
            }
        }
    }

    fn span_node(&mut self, parent: usize, span: &traceloom_model::SpanRow<'_>) -> usize {
        self.threads.insert(span.track);
        let key = self.function_key(span.function);
        if self.dimension == Dimension::Thread {
            let track = Some(span.track);
            return self.child(0, ChildKey::Thread(track), |recording| {
                thread_name(recording, track)
            });
        }
        self.child(parent, ChildKey::Frame(key), |_| String::new())
    }

    /// Sums up, sorts, and names the root: by `name`, or `root` when there are several threads.
    pub(super) fn finish(mut self, name: &str, unit: Unit) -> GraphTree {
        for row in (0..self.nodes.len()).rev() {
            let children = self
                .nodes
                .get(row)
                .map(|node| node.children.clone())
                .unwrap_or_default();
            let value = |child: &usize| self.nodes.get(*child).map_or(0, |child| child.value);
            let sum = children.iter().map(value).fold(0, i64::saturating_add);
            if let Some(node) = self.nodes.get_mut(row) {
                node.value = node.value.max(sum).saturating_add(node.own);
            }
        }
        for row in 0..self.nodes.len() {
            let mut children = match self.nodes.get_mut(row) {
                Some(node) => std::mem::take(&mut node.children),
                None => continue,
            };
            let order = |child: &usize| {
                let node = self.nodes.get(*child);
                (
                    std::cmp::Reverse(node.map_or(0, |node| node.value)),
                    node.map_or("", |node| node.facts.method.as_str()),
                )
            };
            children.sort_by(|a, b| order(a).cmp(&order(b)));
            if let Some(node) = self.nodes.get_mut(row) {
                node.children = children;
            }
        }
        let root = if self.threads.len() > 1 { "root" } else { name };
        if let Some(node) = self.nodes.first_mut() {
            root.clone_into(&mut node.facts.method);
        }
        let threads = !self.threads.is_empty();
        let available = Dimension::ALL.into_iter().zip(self.says);
        let available = available.filter(|(dimension, says)| match dimension {
            Dimension::Thread => threads,
            _ => *says,
        });
        let available = available.map(|(dimension, _)| dimension).collect();
        let leaf = |((frame, track), value)| Leaf {
            facts: FrameProperties::of(self.recording, frame, self.language),
            track,
            value,
        };
        GraphTree {
            nodes: self.nodes,
            leaves: self.leaves.into_iter().flatten().map(leaf).collect(),
            unit,
            available,
        }
    }
}

/// Facts of a node that stands for one property; a frame without it belongs to a node that says so.
fn only(text: &str, set: impl FnOnce(&mut FrameProperties, String)) -> FrameProperties {
    let mut facts = FrameProperties {
        method: if text.is_empty() {
            "(unknown)".to_owned()
        } else {
            text.to_owned()
        },
        ..FrameProperties::default()
    };
    set(&mut facts, text.to_owned());
    facts
}

fn thread_name(recording: &Recording, track: Option<TrackId>) -> String {
    let row = track.and_then(|id| recording.track(id));
    let Some(row) = row else {
        return "(unknown)".to_owned();
    };
    match (row.name, row.os_id.or(row.id)) {
        (Some(name), _) => recording.text(name).into_owned(),
        (None, Some(id)) => format!("thread {id}"),
        (None, None) => "(unknown)".to_owned(),
    }
}
