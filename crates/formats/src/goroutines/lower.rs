//! Goroutines to samples.

use traceloom_model::{AttrKeyId, Attribute, Frame, FrameId, Function, Sink, Tables, Track, Value};

use crate::text::dumps::{self, DEEPEST, DumpSamples, TextDump};
use crate::{Error, LowerOptions, Source};

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
            if function.is_empty() || self.calls.len() >= DEEPEST {
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

struct Goroutines {
    goroutine: Option<Goroutine>,
    state: AttrKeyId,
    wait_minutes: AttrKeyId,
    created_by: AttrKeyId,
}

impl TextDump for Goroutines {
    fn line(&mut self, line: &str, to: &mut DumpSamples) {
        if let Some(goroutine) = Goroutine::head(line.trim_end()) {
            self.end(to);
            self.goroutine = Some(goroutine);
        } else if line.trim().is_empty() {
            self.end(to);
        } else if let Some(goroutine) = &mut self.goroutine {
            goroutine.line(line.trim_end());
        }
    }

    fn end(&mut self, to: &mut DumpSamples) {
        let Some(goroutine) = self.goroutine.take() else {
            return;
        };
        let stack = to.stack(&goroutine.calls, goroutine.truncated, frame);
        let name = to.tables.string(&format!("goroutine {}", goroutine.id));
        let track = to.tables.track(Track {
            id: Some(goroutine.id),
            ..Track::thread(name)
        });
        let state = Value::Text(to.tables.string(&goroutine.state));
        let mut labels = vec![Attribute::new(self.state, state)];
        if let Some(minutes) = goroutine.wait_minutes {
            labels.push(Attribute::new(self.wait_minutes, Value::I64(minutes)));
        }
        if let Some(by) = &goroutine.created_by {
            let by = Value::Text(to.tables.string(by));
            labels.push(Attribute::new(self.created_by, by));
        }
        to.push(track, stack, None, &labels);
    }
}

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    dumps::lower(source, options, sink, "goroutines", |tables| Goroutines {
        goroutine: None,
        state: tables.attribute_named("state"),
        wait_minutes: tables.attribute_named("wait_minutes"),
        created_by: tables.attribute_named("created_by"),
    })
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
