//! Thread dumps: one sample for each thread of each dump, with its state.

use traceloom_model::{
    Attribute, BATCH_ROWS, Class, Clock, Flow, Frame, Function, Order, Profile, SampleBatch,
    SampleRow, Sink, Stack, StackId, Tables, Track, TrackId, Unit, Value, ValueType, ValueTypeId,
};

use crate::text::calendar::{clock_in_name, instant};
use crate::text::line_records::each_line;
use crate::{Error, LowerOptions, Source};

/// Deepest stack read of one thread.
const FRAMES: usize = 65_536;

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
            if self.frames.len() < FRAMES {
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
fn frame(text: &str, tables: &mut Tables) -> traceloom_model::FrameId {
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
            traceloom_model::FrameKind::Native
        } else {
            traceloom_model::FrameKind::Unknown
        },
        ..Frame::default()
    })
}

struct ThreadDumps {
    tables: Tables,
    batch: SampleBatch,
    time: Option<i64>,
    stamp: Option<i64>,
    thread: Option<DumpedThread>,
    inside: bool,
    state: traceloom_model::AttrKeyId,
    lock: traceloom_model::AttrKeyId,
}

impl ThreadDumps {
    fn new() -> Self {
        let mut tables = Tables::new();
        let name = tables.string("threads");
        let value: ValueTypeId = tables.value_type(ValueType::sum(name, Unit::Count));
        let profile = tables.profile(Profile {
            value_types: vec![value],
            default: Some(value),
            ..Profile::default()
        });
        Self {
            state: tables.attribute_named("state"),
            lock: tables.attribute_named("lock"),
            batch: SampleBatch::new(profile, 1),
            time: None,
            stamp: None,
            thread: None,
            inside: false,
            tables,
        }
    }

    fn line(&mut self, line: &str) {
        if line.starts_with("Full thread dump ") {
            self.end();
            self.inside = true;
            self.time = self.stamp.take().or(self.time);
        } else if let Some((ms, "")) = instant(line.trim_end()) {
            self.end();
            self.stamp = Some(ms);
        } else if !self.inside {
        } else if let Some(thread) = DumpedThread::head(line) {
            self.end();
            self.thread = Some(thread);
        } else if line.is_empty() || line.starts_with("JNI global ref") {
            // Owned synchronisers come after an empty line and belong to nobody's stack.
            self.end();
        } else if let Some(thread) = &mut self.thread {
            thread.line(line);
        }
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let mut stack: Option<StackId> = None;
        for text in thread.frames.iter().rev() {
            let frame = frame(text, &mut self.tables);
            stack = Some(self.tables.stack(Stack {
                parent: stack,
                frame,
                truncated: false,
            }));
        }
        let name = self.tables.string(&thread.name);
        let track: TrackId = self.tables.track(Track {
            os_id: thread.os_id,
            id: thread.java_id,
            ..Track::thread(name)
        });
        let mut labels = Vec::new();
        if !thread.state.is_empty() {
            let state = self.tables.string(&thread.state);
            labels.push(Attribute::new(self.state, Value::Text(state)));
        }
        if let Some(lock) = &thread.lock {
            let lock = self.tables.string(lock);
            labels.push(Attribute::new(self.lock, Value::Text(lock)));
        }
        self.batch.push(&SampleRow {
            stack,
            values: &[1],
            time: self.time.map(|ms| ms.saturating_mul(1_000_000)),
            track: Some(track),
            span: None,
            labels: &labels,
        });
    }

    fn push(&mut self, least: usize, sink: &mut dyn Sink) -> Flow {
        if self.batch.len() < least {
            return Flow::Continue(());
        }
        self.tables.push_definitions(sink)?;
        let empty = SampleBatch::new(self.batch.profile, 1);
        sink.samples(std::mem::replace(&mut self.batch, empty))
    }
}

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::None, Clock::Unix);
    let mut dumps = ThreadDumps::new();
    for (part, row) in source.parts().iter().enumerate() {
        dumps.time = clock_in_name(&row.name);
        let mut notes = Vec::new();
        let whole = each_line(
            source,
            part,
            &options.limits,
            &mut |_, line| {
                dumps.line(line);
                dumps.push(BATCH_ROWS, sink)
            },
            &mut |note| {
                notes.push(note);
                Flow::Continue(())
            },
        )?;
        if !whole || notes.into_iter().any(|note| sink.note(note).is_break()) {
            return Ok(());
        }
        dumps.end();
        dumps.inside = false;
    }
    let _ = dumps.push(0, sink);
    Ok(())
}
