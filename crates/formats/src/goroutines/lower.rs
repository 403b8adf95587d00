//! Goroutines to samples.

use traceloom_model::{
    AttrKeyId, Attribute, BATCH_ROWS, Clock, Flow, Frame, FrameId, Function, Order, Profile,
    SampleBatch, SampleRow, Sink, Stack, StackId, Tables, Track, Unit, Value, ValueType,
};

use crate::text::line_records::each_line;
use crate::{Error, LowerOptions, Source};

/// Deepest stack read of one goroutine.
const FRAMES: usize = 65_536;

#[derive(Debug, Default, PartialEq)]
struct GoroutineCall {
    function: String,
    file: String,
    line: u32,
}

/// A goroutine that is being read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Goroutine {
    id: u64,
    state: String,
    wait_minutes: Option<i64>,
    /// Innermost first, as printed.
    calls: Vec<GoroutineCall>,
    created_by: Option<String>,
    truncated: bool,
    /// The next line is the place of the last function.
    place: bool,
}

impl Goroutine {
    /// Reads `goroutine 18 [chan receive, 2 minutes]:`.
    pub(super) fn head(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("goroutine ")?.strip_suffix("]:")?;
        let (before, states) = rest.split_once('[')?;
        let (id, _) = before.split_once(' ')?;
        let mut states = states.split(',').map(str::trim);
        let state = states.next().unwrap_or_default().to_owned();
        let wait_minutes = states.find_map(|state| state.strip_suffix(" minutes")?.parse().ok());
        Some(Self {
            id: id.parse().ok()?,
            state,
            wait_minutes,
            ..Self::default()
        })
    }

    fn line(&mut self, line: &str) {
        if let Some(place) = line.strip_prefix('\t') {
            let (place, _) = place.rsplit_once(" +0x").unwrap_or((place, ""));
            if let (true, Some(call)) = (self.place, self.calls.last_mut())
                && let Some((file, line)) = place.rsplit_once(':')
            {
                call.file = file.to_owned();
                // A name for code of the program counter alone follows some lines.
                let line = line.split(' ').next().unwrap_or_default();
                call.line = line.parse().unwrap_or(0);
            }
            self.place = false;
            return;
        }
        self.place = false;
        if let Some(by) = line.strip_prefix("created by ") {
            self.created_by = Some(by.to_owned());
        } else if line.starts_with("...") {
            self.truncated = true;
        } else if let Some(open) = line.rfind('(').filter(|_| line.ends_with(')')) {
            let function = line.get(..open).unwrap_or_default();
            if function.is_empty() || self.calls.len() >= FRAMES {
                self.truncated = true;
                return;
            }
            self.place = true;
            self.calls.push(GoroutineCall {
                function: function.to_owned(),
                ..GoroutineCall::default()
            });
        }
    }
}

fn frame(call: &GoroutineCall, tables: &mut Tables) -> FrameId {
    let file = (!call.file.is_empty()).then(|| tables.string(&call.file));
    let function = Function {
        file,
        ..Function::named(tables.string(&call.function))
    };
    let function = tables.function(function);
    tables.frame(Frame {
        line: call.line,
        ..Frame::of(function)
    })
}

struct Dump {
    tables: Tables,
    batch: SampleBatch,
    goroutine: Option<Goroutine>,
    state: AttrKeyId,
    wait_minutes: AttrKeyId,
    created_by: AttrKeyId,
}

impl Dump {
    fn new() -> Self {
        let mut tables = Tables::new();
        let name = tables.string("goroutines");
        let value = tables.value_type(ValueType::sum(name, Unit::Count));
        let profile = tables.profile(Profile {
            value_types: vec![value],
            default: Some(value),
            ..Profile::default()
        });
        Self {
            state: tables.attribute_named("state"),
            wait_minutes: tables.attribute_named("wait_minutes"),
            created_by: tables.attribute_named("created_by"),
            batch: SampleBatch::new(profile, 1),
            goroutine: None,
            tables,
        }
    }

    fn line(&mut self, line: &str) {
        if let Some(goroutine) = Goroutine::head(line.trim_end()) {
            self.end();
            self.goroutine = Some(goroutine);
        } else if line.trim().is_empty() {
            self.end();
        } else if let Some(goroutine) = &mut self.goroutine {
            goroutine.line(line.trim_end());
        }
    }

    fn end(&mut self) {
        let Some(goroutine) = self.goroutine.take() else {
            return;
        };
        let mut stack: Option<StackId> = None;
        for call in goroutine.calls.iter().rev() {
            let frame = frame(call, &mut self.tables);
            stack = Some(self.tables.stack(Stack {
                parent: stack,
                frame,
                truncated: goroutine.truncated && stack.is_none(),
            }));
        }
        let name = self.tables.string(&format!("goroutine {}", goroutine.id));
        let track = self.tables.track(Track {
            id: Some(goroutine.id),
            ..Track::thread(name)
        });
        let state = Value::Text(self.tables.string(&goroutine.state));
        let mut labels = vec![Attribute::new(self.state, state)];
        if let Some(minutes) = goroutine.wait_minutes {
            labels.push(Attribute::new(self.wait_minutes, Value::I64(minutes)));
        }
        if let Some(by) = &goroutine.created_by {
            let by = Value::Text(self.tables.string(by));
            labels.push(Attribute::new(self.created_by, by));
        }
        self.batch.push(&SampleRow {
            stack,
            values: &[1],
            time: None,
            track: Some(track),
            span: None,
            labels: &labels,
        });
    }

    fn push(&mut self, least: usize, sink: &mut dyn Sink) -> Flow {
        if self.batch.len() < least {
            return Flow::Continue(());
        }
        let new = self.tables.take_definitions();
        if !new.is_empty() {
            sink.define(new)?;
        }
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
    let mut dump = Dump::new();
    for part in 0..source.parts().len() {
        let mut notes = Vec::new();
        let whole = each_line(
            source,
            part,
            &options.limits,
            &mut |_, line| {
                dump.line(line);
                dump.push(BATCH_ROWS, sink)
            },
            &mut |note| {
                notes.push(note);
                Flow::Continue(())
            },
        )?;
        if !whole || notes.into_iter().any(|note| sink.note(note).is_break()) {
            return Ok(());
        }
        dump.end();
    }
    let _ = dump.push(0, sink);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let head = |text| Goroutine::head(text);
        let waiting = head("goroutine 18 [chan receive, 2 minutes, locked to thread]:").unwrap();
        assert_eq!((waiting.id, waiting.wait_minutes), (18, Some(2)));
        assert_eq!(waiting.state, "chan receive");
        let newer = head("goroutine 1 gp=0xc000002380 m=0 mp=0x5647 [running]:").unwrap();
        assert_eq!((newer.id, newer.state.as_str()), (1, "running"));
        assert_eq!(head("goroutine profile: total 3"), None);
        assert_eq!(head("goroutine x [running]:"), None);
        assert_eq!(head("goroutine 99999999999999999999 [running]:"), None);
    }

    #[test]
    fn functions_and_places() {
        let mut goroutine = Goroutine::head("goroutine 1 [running]:").unwrap();
        for line in [
            "main.(*Shop).buy(0xc000012345, {0x1, 0x2})",
            "\t/src/shop/main.go:12 +0x1f",
            "main.f[...](...)",
            "\t/src/a:b.go:7",
            "()",
            "...additional frames elided...",
            "created by main.main in goroutine 1",
            "\t/src/shop/main.go:21 +0x1a5",
        ] {
            goroutine.line(line);
        }
        let call = |function: &str, file: &str, line| GoroutineCall {
            function: function.to_owned(),
            file: file.to_owned(),
            line,
        };
        let expected = [
            call("main.(*Shop).buy", "/src/shop/main.go", 12),
            call("main.f[...]", "/src/a:b.go", 7),
        ];
        assert_eq!(goroutine.calls, expected);
        assert!(goroutine.truncated);
        let by = goroutine.created_by.as_deref();
        assert_eq!(by, Some("main.main in goroutine 1"));
    }
}
