//! A process that follows a script instead of chance.
//!
//! A story is lines of text; `#` begins a comment. A line with a `(` is a method as the agent names it. `scene NAME
//! [VERB PATH]` begins a scene, whose indented lines are called by the line above them: the class and name of a
//! method, `xN` for a method called `N` times, and its own milliseconds, `A..B` by chance or `N`. `sql` and `binds`
//! are values of the method above, `throw` fails the call with the lines below it. `at MS THREAD SCENE [KEY=VALUE]…`
//! plays a scene, with values in the place of `{KEY}`; `running` as the last word leaves it unfinished. `traffic
//! A..B every MS SCENE…` plays scenes in turn on web threads that are free, `pauses A..B every MS D..E` and
//! `pause MS D` stop the process, the last for `D` milliseconds that end at `MS`.

use std::collections::HashMap;

use super::{CallMetrics, Emit, RootCall, Service, ServiceKind, StreamName, utf16};
use crate::cdt::words::tag;
use traceloom_formats::Error;
use traceloom_formats::cdt::trace::{TagValue, TraceAction};
use traceloom_formats::wire::Utf16;

/// Web threads that traffic without a thread of its own runs on.
const WORKERS: usize = 8;

/// Bytes that a millisecond of work allocates, and that the answer to a statement has.
const ALLOCATED: u32 = 41_300;
const ANSWER: u32 = 1_480;

/// A scene to be played.
struct Play {
    start: u32,
    thread: Option<String>,
    scene: String,
    values: Vec<(String, String)>,
    running: bool,
}

#[derive(Default)]
struct Script<'s> {
    /// Methods by class and name.
    methods: HashMap<&'s str, &'s str>,
    scenes: HashMap<&'s str, Scene<'s>>,
    plays: Vec<Play>,
    /// End and length of each, milliseconds since the start.
    pauses: Vec<(u32, u32)>,
}

#[derive(Default)]
struct Scene<'s> {
    verb: &'s str,
    path: &'s str,
    lines: Vec<&'s str>,
}

fn bad(line: &str) -> Error {
    Error::usage(format!("a story cannot have the line `{line}`"))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn number(text: &str) -> Result<u32, Error> {
    text.parse().map_err(|_| bad(text))
}

fn range(text: &str) -> Result<(u32, u32), Error> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    Ok((number(low)?, number(high)?))
}

/// Returns the class and name of a method from its full form: `Order.save` of `void com.acme.Order.save(long) …`.
fn short(method: &str) -> Option<&str> {
    let (head, _) = method.split_once('(')?;
    let (_, path) = head.rsplit_once(' ')?;
    let (class, _) = path.rsplit_once('.')?;
    let cut = class.rfind(['.', '$']).map_or(0, |at| at + 1);
    path.get(cut..)
}

/// Returns `true` for methods that wait for something outside the process or for another thread.
fn waits(name: &str) -> bool {
    [
        "PgPreparedStatement.",
        "PgConnection.",
        "SocketInputStream.",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

impl Service {
    /// Emits what a story tells.
    ///
    /// # Errors
    /// A line that a story cannot have, and what `emit` fails with.
    pub fn tell(&mut self, story: &str, emit: &mut Emit<'_>) -> Result<(), Error> {
        self.begin(emit)?;
        let mut script = self.read(story)?;
        script.plays.sort_by_key(|play| play.start);
        script.pauses.sort_unstable();
        for play in &script.plays {
            self.play(&script, play, emit)?;
        }
        for at in 0..self.threads.len() {
            self.flush(at, emit)?;
        }
        let mut before = 0;
        for (end, delay) in script.pauses {
            self.pause(end - before, delay, emit)?;
            before = end;
        }
        Ok(())
    }

    fn read<'s>(&mut self, story: &'s str) -> Result<Script<'s>, Error> {
        let mut script = Script::default();
        let mut scene = "";
        for line in story.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                _ if line.starts_with('#') => {}
                _ if line.starts_with(' ') => {
                    let scene = script.scenes.get_mut(scene).ok_or_else(|| bad(line))?;
                    scene.lines.push(line);
                }
                ["scene", name, rest @ ..] => {
                    scene = name;
                    let (verb, path) = match rest {
                        [verb, path] => (*verb, *path),
                        _ => ("", ""),
                    };
                    let lines = Vec::new();
                    script.scenes.insert(name, Scene { verb, path, lines });
                }
                ["at", start, thread, scene, rest @ ..] => {
                    let pair = |word: &&str| {
                        let (key, value) = word.split_once('=')?;
                        Some((format!("{{{key}}}"), value.to_owned()))
                    };
                    script.plays.push(Play {
                        start: number(start)?,
                        thread: Some((*thread).to_owned()),
                        scene: (*scene).to_owned(),
                        values: rest.iter().filter_map(pair).collect(),
                        running: rest.last() == Some(&"running"),
                    });
                }
                ["traffic", span, "every", step, scenes @ ..] => {
                    let ((from, to), step) = (range(span)?, number(step)?);
                    let mut start = from;
                    let mut scenes = scenes.iter().cycle();
                    while start < to {
                        let value = 10_000 + self.random.below(80_000);
                        script.plays.push(Play {
                            start,
                            thread: None,
                            scene: scenes.next().copied().unwrap_or("").to_owned(),
                            values: vec![("{n}".to_owned(), value.to_string())],
                            running: false,
                        });
                        start += step / 2 + self.random.below(step);
                    }
                }
                ["pauses", span, "every", step, length] => {
                    let ((from, to), step) = (range(span)?, number(step)?);
                    let (least, most) = range(length)?;
                    let mut end = from;
                    while end < to {
                        let delay = least + self.random.below(most - least + 1);
                        script.pauses.push((end, delay));
                        end += step / 2 + self.random.below(step);
                    }
                }
                ["pause", end, delay] => {
                    let (end, delay) = (number(end)?, number(delay)?);
                    // Nothing pauses a process that stands still already.
                    script
                        .pauses
                        .retain(|&(other, _)| other + delay < end || other > end + delay);
                    script.pauses.push((end, delay));
                }
                _ => {
                    let name = short(line).ok_or_else(|| bad(line))?;
                    script.methods.insert(name, line);
                }
            }
        }
        Ok(script)
    }

    fn play(&mut self, script: &Script<'_>, play: &Play, emit: &mut Emit<'_>) -> Result<(), Error> {
        let scene = script.scenes.get(play.scene.as_str());
        let scene = scene.ok_or_else(|| bad(&play.scene))?;
        let fill = |text: &str| {
            let fill = |text: String, (key, value): &(String, String)| text.replace(key, value);
            play.values.iter().fold(text.to_owned(), fill)
        };
        let start = self.start + i64::from(play.start);
        let stopped = |pause: &&(u32, u32)| {
            let from = pause.0 - pause.1;
            pause.1 > 500 && (from..pause.0).contains(&play.start)
        };
        let free = |thread: &super::WorkerThread| match &play.thread {
            Some(name) => thread.name == *name,
            None => thread.kind == ServiceKind::Web && thread.time <= start,
        };
        // No request is taken while the process stands still.
        let stop = script.pauses.iter().find(stopped);
        let start = match (&play.thread, stop) {
            (None, Some(pause)) => self.start + i64::from(pause.0) + 3,
            _ => start,
        };
        let skip = match play.thread {
            Some(_) => 0,
            None => self.random.index(WORKERS),
        };
        let able = self.threads.iter().enumerate().filter(|(_, it)| free(it));
        let able: Vec<usize> = able.map(|(at, _)| at).take(WORKERS).collect();
        let at = able.get(skip).or(able.last()).copied();
        let at = at.ok_or_else(|| bad(&play.scene))?;
        let lines: Vec<String> = scene.lines.iter().map(|line| fill(line)).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let first = lines
            .first()
            .and_then(|line| line.split_whitespace().next());
        let method = self.known(script, first.unwrap_or(""), emit)?;
        let host = self.random.below(200);
        let path = fill(scene.path);
        let verb = match scene.verb {
            "GET" => "GET",
            "POST" => "POST",
            _ => "",
        };
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        thread.time = thread.time.max(start);
        if play.start < 1000 || thread.events == 0 {
            thread.time = start;
        }
        thread.open = Some(RootCall {
            method,
            start: thread.time,
            title: format!("{verb} {path}, client: 10.12.7.{host}"),
            url: format!("https://shop.example.com{path}"),
            verb,
            record_index: thread.events,
            numbers: CallMetrics {
                memory: 61_440,
                net_read: 420,
                net_written: 900,
                logs: 2,
                ..CallMetrics::default()
            },
            ..RootCall::default()
        });
        self.act(script, at, &lines, play.running, emit)
    }

    /// Plays the lines of a scene; the first of them is the method that the call enters by.
    fn act(
        &mut self,
        script: &Script<'_>,
        at: usize,
        lines: &[&str],
        running: bool,
        emit: &mut Emit<'_>,
    ) -> Result<(), Error> {
        let Some((head, below)) = lines.split_first() else {
            return Ok(());
        };
        let (name, _, own) = Self::call_of(head)?;
        let method = self.known(script, name, emit)?;
        self.event(at, TraceAction::Enter(method), 0, emit)?;
        let own = own.0 + self.random.below(own.1 - own.0 + 1);
        self.pass(at, name, own / 2);
        let thrown = below
            .iter()
            .position(|line| line.trim_start().starts_with("throw "));
        let (calls, thrown) = below.split_at(thrown.unwrap_or(below.len()));
        self.body(script, at, calls, running, emit)?;
        if running {
            return Ok(());
        }
        if let Some((first, rest)) = thrown.split_first() {
            let depth = indent(first);
            let mut text = first.trim_start().trim_start_matches("throw ").to_owned();
            for line in rest {
                let tab = if indent(line) > depth { "\t" } else { "" };
                text = format!("{text}\n{tab}{}", line.trim_start());
            }
            let mut value = Vec::new();
            utf16(&text, &mut value);
            let failure = TagValue::Inline(Utf16(&value));
            self.event(at, TraceAction::Tag(tag("exception"), failure), 0, emit)?;
            let red = TagValue::Indexed(Utf16(&[]));
            self.event(at, TraceAction::Tag(tag("call.red"), red), 0, emit)?;
            let open = self.threads.get_mut(at).and_then(|it| it.open.as_mut());
            if let Some(call) = open {
                call.error = true;
                call.numbers.logs += 14;
            }
        }
        let thread = self.threads.get(at);
        if thread.is_some_and(|thread| thread.kind == ServiceKind::Web) {
            self.web_tags(at, emit)?;
        }
        self.pass(at, name, own - own / 2);
        self.stand_still(script, at);
        self.end(at, emit)
    }

    /// Takes the pauses that a call stood still in from its time on a processor.
    fn stand_still(&mut self, script: &Script<'_>, at: usize) {
        let Some(thread) = self.threads.get_mut(at) else {
            return;
        };
        let Some(call) = &mut thread.open else { return };
        for &(end, delay) in &script.pauses {
            let end = self.start + i64::from(end);
            let inside = end.min(thread.time) - (end - i64::from(delay)).max(call.start);
            let inside = u32::try_from(inside).unwrap_or(0);
            call.numbers.cpu = call.numbers.cpu.saturating_sub(inside);
        }
    }

    /// Plays what a method calls and the values it has.
    fn body(
        &mut self,
        script: &Script<'_>,
        at: usize,
        lines: &[&str],
        running: bool,
        emit: &mut Emit<'_>,
    ) -> Result<(), Error> {
        let mut rest = lines;
        while let Some((head, more)) = rest.split_first() {
            let depth = indent(head);
            let below = more.iter().take_while(|line| indent(line) > depth).count();
            let (below, after) = more.split_at(below);
            rest = after;
            if let Some((key, text)) = head.trim_start().split_once(' ')
                && (key == "sql" || key == "binds")
            {
                self.value(at, key, text, emit)?;
                continue;
            }
            let (name, times, (least, most)) = Self::call_of(head)?;
            let method = self.known(script, name, emit)?;
            for _ in 0..times {
                let own = least + self.random.below(most - least + 1);
                self.event(at, TraceAction::Enter(method), 0, emit)?;
                let before = if below.is_empty() || waits(name) {
                    0
                } else {
                    own / 2
                };
                self.pass(at, name, before);
                self.body(script, at, below, running, emit)?;
                if running {
                    // The innermost method of the first path is where the process ended.
                    return Ok(());
                }
                self.pass(at, name, own - before);
                self.event(at, TraceAction::Exit, 0, emit)?;
            }
        }
        Ok(())
    }

    /// Returns the name, the times and the own milliseconds of a line that is a call.
    fn call_of(line: &str) -> Result<(&str, u32, (u32, u32)), Error> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [name, own] => Ok((name, 1, range(own)?)),
            [name, times, own] => {
                let times = times.strip_prefix('x').ok_or_else(|| bad(line))?;
                Ok((name, number(times)?, range(own)?))
            }
            _ => Err(bad(line)),
        }
    }

    /// Lets time pass in a method, and counts what it does with it.
    fn pass(&mut self, at: usize, name: &str, millis: u32) {
        let Some(thread) = self.threads.get_mut(at) else {
            return;
        };
        thread.time += i64::from(millis);
        let Some(call) = &mut thread.open else { return };
        let numbers = &mut call.numbers;
        if name.ends_with("Lock.lock") {
            numbers.wait += millis;
        } else if !waits(name) {
            numbers.cpu += millis;
            numbers.memory += millis * ALLOCATED;
        }
    }

    fn value(
        &mut self,
        at: usize,
        key: &str,
        text: &str,
        emit: &mut Emit<'_>,
    ) -> Result<(), Error> {
        if key == "binds" {
            let place = Self::place(&mut self.xml, self.rotate, StreamName::Xml, text, emit)?;
            return self.event(
                at,
                TraceAction::Tag(tag("binds"), TagValue::Big(place)),
                0,
                emit,
            );
        }
        let place = match self.texts.get(text) {
            Some(&place) => place,
            None => {
                let place = Self::place(&mut self.sql, self.rotate, StreamName::Sql, text, emit)?;
                self.texts.insert(text.to_owned(), place);
                place
            }
        };
        let open = self.threads.get_mut(at).and_then(|it| it.open.as_mut());
        if let Some(call) = open {
            call.numbers.net_read += ANSWER;
            call.numbers.net_written += u32::try_from(text.len()).unwrap_or(0) + 40;
        }
        let value = TagValue::Deduplicated(place);
        self.event(at, TraceAction::Tag(tag("sql"), value), 0, emit)
    }

    /// Returns the dictionary id of a method of the story.
    fn known(
        &mut self,
        script: &Script<'_>,
        name: &str,
        emit: &mut Emit<'_>,
    ) -> Result<u32, Error> {
        if let Some(&id) = self.named.get(name) {
            return Ok(id);
        }
        let text = script.methods.get(name).ok_or_else(|| bad(name))?;
        (*text).clone_into(&mut self.text);
        let id = self.word(emit)?;
        self.named.insert(name.to_owned(), id);
        Ok(id)
    }
}
