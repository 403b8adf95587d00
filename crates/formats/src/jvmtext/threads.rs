//! Thread dumps: one sample for each thread of each dump, with its state.

use traceloom_model::{
    AttrKeyId, Attribute, Class, Frame, FrameId, FrameKind, Function, Sink, Tables, Track, Value,
};

use crate::text::calendar::{clock_in_name, instant};
use crate::text::dumps::{self, DEEPEST, DumpSamples, TextDump};
use crate::{Error, LowerOptions, Part, Source};

/// A thread that is being read.
#[derive(Default)]
struct DumpedThread {
    name: String,
    java_id: Option<u64>,
    os_id: Option<u64>,
    state: String,
    /// Innermost first, as printed.
    frames: Vec<String>,
    lock: Option<String>,
}

impl DumpedThread {
    /// Reads `"name" #12 [4242] daemon prio=5 … nid=0x1a waiting on condition  [0x…]`.
    fn head(line: &str) -> Option<Self> {
        let rest = line.strip_prefix('"')?;
        let close = rest.rfind("\" ").or_else(|| rest.rfind('"'))?;
        let (name, rest) = (rest.get(..close)?, rest.get(close + 1..)?);
        if !rest.contains("prio=") && !rest.contains("tid=") && !rest.contains(" #") {
            return None;
        }
        let word = |prefix: &str| {
            rest.split_whitespace()
                .find_map(|word| word.strip_prefix(prefix))
        };
        let nid = word("nid=");
        // JDK 19 and later print the number of the system in decimal.
        let os_id = nid.and_then(|nid| match nid.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => nid.parse().ok(),
        });
        let state = nid
            .and_then(|nid| rest.split_once(nid))
            .map(|(_, after)| after);
        let state = state.unwrap_or("").split('[').next().unwrap_or("");
        Some(Self {
            name: name.to_owned(),
            java_id: word("#").and_then(|id| id.parse().ok()),
            os_id,
            state: state.trim().to_owned(),
            ..Self::default()
        })
    }

    fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(state) = text.strip_prefix("java.lang.Thread.State: ") {
            self.state = state.to_owned();
        } else if let Some(frame) = text.strip_prefix("at ") {
            if self.frames.len() < DEEPEST {
                self.frames.push(frame.to_owned());
            }
        } else if self.lock.is_none()
            && let Some(lock) = text
                .strip_prefix("- waiting to lock ")
                .or_else(|| text.strip_prefix("- waiting on "))
                .or_else(|| text.strip_prefix("- parking to wait for "))
        {
            self.lock = Some(lock.trim().to_owned());
        }
    }
}

/// Interns a frame such as `a.b.C.d(module@17/C.java:12)`.
fn frame(text: &str, tables: &mut Tables) -> FrameId {
    let (name, place) = text
        .strip_suffix(')')
        .and_then(|t| t.split_once('('))
        .unwrap_or((text, ""));
    // `java.base@17.0.7/java.lang.Object.wait`, or the module before the file.
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    let (module, place) = place.rsplit_once('/').unwrap_or(("", place));
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) => (file, line.parse().unwrap_or(0)),
        None => (place, 0),
    };
    let class = name.rsplit_once('.').map(|(class, _)| class);
    let native = file == "Native Method";
    let known = !native && !file.is_empty() && file != "Unknown Source";
    let file = known.then(|| tables.string(file));
    let class = class.map(|class| {
        let name = tables.string(class);
        tables.class(Class {
            name,
            superclass: None,
            loader: None,
            file,
        })
    });
    let function = Function {
        class,
        library: (!module.is_empty()).then(|| tables.string(module)),
        file,
        ..Function::named(tables.string(name))
    };
    let function = tables.function(function);
    tables.frame(Frame {
        function: Some(function),
        line,
        kind: if native {
            FrameKind::Native
        } else {
            FrameKind::Unknown
        },
        ..Frame::default()
    })
}

struct ThreadDumps {
    time: Option<i64>,
    stamp: Option<i64>,
    thread: Option<DumpedThread>,
    inside: bool,
    state: AttrKeyId,
    lock: AttrKeyId,
}

impl TextDump for ThreadDumps {
    fn begin(&mut self, part: &Part) {
        self.time = clock_in_name(&part.name);
        self.inside = false;
    }

    fn line(&mut self, line: &str, to: &mut DumpSamples) {
        if line.starts_with("Full thread dump ") {
            self.end(to);
            self.inside = true;
            self.time = self.stamp.take().or(self.time);
        } else if let Some((ms, "")) = instant(line.trim_end()) {
            self.end(to);
            self.stamp = Some(ms);
        } else if !self.inside {
        } else if let Some(thread) = DumpedThread::head(line) {
            self.end(to);
            self.thread = Some(thread);
        } else if line.is_empty() || line.starts_with("JNI global ref") {
            // Owned synchronisers come after an empty line and belong to nobody's stack.
            self.end(to);
        } else if let Some(thread) = &mut self.thread {
            thread.line(line);
        }
    }

    fn end(&mut self, to: &mut DumpSamples) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let stack = to.stack(&thread.frames, false, |call, tables| frame(call, tables));
        let name = to.tables.string(&thread.name);
        let track = to.tables.track(Track {
            os_id: thread.os_id,
            id: thread.java_id,
            ..Track::thread(name)
        });
        let mut labels = Vec::new();
        if !thread.state.is_empty() {
            let state = to.tables.string(&thread.state);
            labels.push(Attribute::new(self.state, Value::Text(state)));
        }
        if let Some(lock) = &thread.lock {
            let lock = to.tables.string(lock);
            labels.push(Attribute::new(self.lock, Value::Text(lock)));
        }
        let time = self.time.map(|ms| ms.saturating_mul(1_000_000));
        to.push(track, stack, time, &labels);
    }
}

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    dumps::lower(source, options, sink, "threads", |tables| ThreadDumps {
        time: None,
        stamp: None,
        thread: None,
        inside: false,
        state: tables.attribute_named("state"),
        lock: tables.attribute_named("lock"),
    })
}
