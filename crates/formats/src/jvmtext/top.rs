//! Output of `top -b`: load, processor and memory as counters, and each row's share of a processor.

use traceloom_model::{
    BATCH_ROWS, Clock, CounterBatch, Flow, Order, Series, Sink, Tables, Track, Unit,
};

use crate::text::calendar::{clock_in_name, time_of_day};
use crate::text::line_records::each_line;
use crate::{Error, LowerOptions, Source};

struct Screens {
    tables: Tables,
    batch: CounterBatch,
    /// Midnight of the first screen, epoch milliseconds; 0 when no date is known.
    midnight: i64,
    time: Option<i64>,
    /// Column numbers of PID, %CPU, %MEM and COMMAND under the last heading.
    columns: Option<[usize; 4]>,
}

impl Screens {
    fn point(
        &mut self,
        name: &str,
        unit: Unit,
        track: Option<traceloom_model::TrackId>,
        value: f64,
    ) {
        let Some(time) = self.time else { return };
        let name = self.tables.string(name);
        let series = self.tables.series(Series { name, unit, track });
        self.batch
            .push(series, time.saturating_mul(1_000_000), value);
    }

    fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("top - ") {
            self.columns = None;
            self.screen(rest);
        } else if let Some(rest) = text
            .strip_prefix("Threads:")
            .or_else(|| text.strip_prefix("Tasks:"))
        {
            let group = if text.starts_with("Threads") {
                "threads"
            } else {
                "tasks"
            };
            self.pairs(group, Unit::Count, 1.0, rest);
        } else if let Some(rest) = text.strip_prefix("%Cpu(s):") {
            self.pairs("cpu", Unit::Percent, 1.0, rest);
        } else if let Some((group, scale, rest)) = memory(text) {
            self.pairs(group, Unit::Bytes, scale, rest);
        } else if text.starts_with("PID ") {
            let at = |name| text.split_whitespace().position(|word| word == name);
            let columns = ["PID", "%CPU", "%MEM", "COMMAND"].map(at);
            self.columns = match columns {
                [Some(pid), Some(cpu), Some(mem), Some(command)] => Some([pid, cpu, mem, command]),
                _ => None,
            };
        } else if let Some(columns) = self.columns {
            self.row(text, columns);
        }
    }

    /// `06:17:33 up 12 days, 10:20,  0 user,  load average: 7.57, 5.18, 5.04`
    fn screen(&mut self, rest: &str) {
        let Some(of_day) = rest.split_whitespace().next().and_then(time_of_day) else {
            return;
        };
        let mut time = self.midnight + of_day;
        // Screens follow each other, so a smaller time is the next day's.
        while self.time.is_some_and(|last| time < last) {
            time += 86_400_000;
        }
        self.time = Some(time);
        if let Some((_, load)) = rest.split_once("load average:") {
            let names = ["load.1m", "load.5m", "load.15m"];
            for (name, value) in names.into_iter().zip(load.split(", ")) {
                if let Ok(value) = value.trim().parse() {
                    self.point(name, Unit::Count, None, value);
                }
            }
        }
    }

    /// `76 total,   1 running`, also without a space between number and word.
    fn pairs(&mut self, group: &str, unit: Unit, scale: f64, rest: &str) {
        for pair in rest.split([',', ';']) {
            let pair = pair.trim().trim_end_matches('.');
            let end = pair.find(|c: char| !c.is_ascii_digit() && c != '.');
            let (number, word) = pair.split_at(end.unwrap_or(pair.len()));
            let word = word.trim().replace(['/', ' '], "_");
            if let (Ok(number), false) = (number.parse::<f64>(), word.is_empty()) {
                self.point(&format!("{group}.{word}"), unit, None, number * scale);
            }
        }
        // `42922.1 avail Mem` follows the swap line's full stop.
        if let Some((_, avail)) = rest.split_once(". ")
            && let Some(number) = avail.trim().strip_suffix("avail Mem")
            && let Ok(number) = number.trim().parse::<f64>()
        {
            self.point("mem.avail", unit, None, number * scale);
        }
    }

    fn row(&mut self, text: &str, [pid, cpu, mem, command]: [usize; 4]) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let word = |at: usize| words.get(at).copied();
        let Some(pid) = word(pid).and_then(|pid| pid.parse::<u64>().ok()) else {
            return;
        };
        let command: Vec<&str> = words.iter().copied().skip(command).collect();
        let command = command.join(" ");
        let share = |at| word(at).and_then(|value| value.parse::<f64>().ok());
        let (cpu, mem) = (share(cpu), share(mem));
        let name = self.tables.string(&command);
        let track = self.tables.track(Track {
            os_id: Some(pid),
            ..Track::thread(name)
        });
        for (name, value) in [("cpu", cpu), ("mem", mem)] {
            if let Some(value) = value {
                self.point(name, Unit::Percent, Some(track), value);
            }
        }
    }

    fn push(&mut self, least: usize, sink: &mut dyn Sink) -> Flow {
        if self.batch.time.len() < least {
            return Flow::Continue(());
        }
        self.tables.push_definitions(sink)?;
        sink.counters(std::mem::take(&mut self.batch))
    }
}

/// Splits `MiB Mem : …` into group, bytes of its unit, and the rest.
fn memory(text: &str) -> Option<(&'static str, f64, &str)> {
    let (unit, rest) = text.split_once(' ')?;
    let scale = match unit {
        "KiB" | "KB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    let (kind, rest) = rest.split_once(':')?;
    let group = match kind.trim() {
        "Mem" => "mem",
        "Swap" => "swap",
        _ => return None,
    };
    Some((group, scale, rest))
}

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut tables = Tables::new();
    let named = source
        .parts()
        .first()
        .and_then(|part| clock_in_name(&part.name));
    let clock = match named {
        Some(_) => Clock::Unix,
        None => Clock::Unknown(Some(tables.string("time of day"))),
    };
    sink.begin(Order::None, clock);
    let mut screens = Screens {
        tables,
        batch: CounterBatch::default(),
        midnight: 0,
        time: None,
        columns: None,
    };
    for (part, row) in source.parts().iter().enumerate() {
        let named = clock_in_name(&row.name).unwrap_or(0);
        screens.midnight = named - named.rem_euclid(86_400_000);
        screens.time = None;
        let mut notes = Vec::new();
        let whole = each_line(
            source,
            part,
            &options.limits,
            &mut |_, line| {
                screens.line(line);
                screens.push(BATCH_ROWS / 2, sink)
            },
            &mut |note| {
                notes.push(note);
                Flow::Continue(())
            },
        )?;
        if !whole || notes.into_iter().any(|note| sink.note(note).is_break()) {
            return Ok(());
        }
    }
    let _ = screens.push(0, sink);
    Ok(())
}
