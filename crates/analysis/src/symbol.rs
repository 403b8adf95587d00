//! Symbols: functions as people read them, free of any reader's ids.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use std::collections::HashMap;
use traceloom_model::bounds::row_number;
use traceloom_model::{FrameId, FrameKind, FunctionId, Recording, Spot, StringId};

use crate::names::{self, FunctionMatch};

/// A row of [`crate::CallTree::symbols`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SymbolId(pub(crate) u32);

impl SymbolId {
    /// Returns the row number, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function, or what stands for one: an address without symbol, samples without stack.
///
/// Trees of different readers are merged by symbol, so two symbols are the same function when their names are equal
/// and neither is a group; the rest is what the first reader knew. Overloads are one function: few formats tell them
/// apart, folded stacks and pprof do not, and two rows of one name tell nobody which is which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// Full name, demangled; `module+0xaddr` for an address without symbol.
    pub name: String,
    /// Argument and return types, where the producer says and all overloads that were met have the same.
    pub signature: Option<String>,
    /// Package, module or namespace, where the producer says.
    pub package: Option<String>,
    /// Jar, crate or binary.
    pub library: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// First line, 0 when unknown; of frames that stand for lines, that line.
    pub line: u32,
    /// How the frame was executed.
    pub kind: FrameKind,
    /// It stands for one line of a function, which ends its name: `com.acme.Order.save:12`.
    pub is_line: bool,
    /// It is no function but a group of calls or samples: a thread, a service, a value of a parameter.
    pub group: bool,
}

impl Symbol {
    /// A symbol of which only the name is known.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Returns `true` if the name, or the shortened one that people are shown, matches.
    #[must_use]
    pub fn is_match(&self, regex: &regex_lite::Regex) -> bool {
        let function = self.function();
        if self.is_line && (regex.is_match(function) || regex.is_match(&names::shorten(function))) {
            return true;
        }
        regex.is_match(&self.name) || regex.is_match(&self.short_name())
    }

    /// Returns the name of the function, without a line.
    #[must_use]
    pub fn function(&self) -> &str {
        let line = self.name.rsplit_once(':').filter(|_| self.is_line);
        line.map_or(&self.name, |(function, _)| function)
    }

    /// Returns the name for people: shortened, a group's on one line.
    #[must_use]
    pub fn short_name(&self) -> Cow<'_, str> {
        const LONGEST: usize = 160;
        if !self.group {
            return names::shorten(&self.name);
        }
        let words = self
            .name
            .split(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let line = words.join(" ");
        match line.char_indices().nth(LONGEST) {
            None => line.into(),
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(&line)).into(),
        }
    }
}

impl FunctionMatch {
    /// Returns `true` if a function is meant.
    #[must_use]
    pub fn is_match(&self, symbol: &Symbol) -> bool {
        match self {
            Self::Name(name) => symbol.function() == name,
            Self::Alike(name) => names::alike(symbol.function()) == *name,
            Self::Regex(regex) => symbol.is_match(regex),
            Self::Nothing => false,
        }
    }
}

/// Stands for frames and spans without function.
pub(crate) const NO_FUNCTION: u32 = u32::MAX - 1;
/// Stands for samples without stack.
pub(crate) const NO_STACK: u32 = u32::MAX - 2;
/// Stands for what has nothing of what is grouped by.
pub(crate) const NO_GROUP: u32 = u32::MAX - 3;
/// Stands for groups beyond the most that are kept apart.
pub(crate) const OTHER_GROUPS: u32 = u32::MAX - 4;
/// Set in keys that are frames or groups; the others are functions.
const FRAME: u32 = 1 << 31;
/// Keys from here on are groups: those of tracks, then those of values.
pub(crate) const TRACK_GROUP: u32 = 0b110 << 29;
/// Set in keys of groups that are values.
pub(crate) const VALUE_GROUP: u32 = 0b111 << 29;

/// Returns true if a key is that of a group.
pub(crate) fn is_group(key: u32) -> bool {
    (TRACK_GROUP..=NO_GROUP).contains(&key)
}

/// The key a function has while a tree grows.
#[inline]
pub(crate) const fn key_of_function(function: Option<FunctionId>) -> u32 {
    match function {
        Some(function) => function.raw() & !FRAME,
        None => NO_FUNCTION,
    }
}

/// The function that [`key_of_function`] made a key of.
pub(crate) const fn function_of_key(key: u32) -> Option<FunctionId> {
    match key & FRAME {
        0 => Some(FunctionId::new(key)),
        _ => None,
    }
}

/// The key a frame has: its function's, its own when it has no function.
pub(crate) fn key_of_frame(tables: &Recording, frame: FrameId) -> u32 {
    match tables.frame(frame).and_then(|row| row.function) {
        Some(function) => key_of_function(Some(function)),
        None => (frame.raw() & !FRAME | FRAME).min(TRACK_GROUP - 1),
    }
}

/// The key a frame has where frames stand for lines: its own, unless nobody knows its line.
pub(crate) fn key_of_line(tables: &Recording, frame: FrameId) -> u32 {
    match tables.frame(frame) {
        Some(row) if row.line > 0 => (frame.raw() & !FRAME | FRAME).min(TRACK_GROUP - 1),
        _ => key_of_frame(tables, frame),
    }
}

/// The key of what runs at a site.
pub(crate) fn key_of_spot(tables: &Recording, spot: Spot) -> u32 {
    match spot {
        Spot::Function(function) => key_of_function(Some(function)),
        Spot::Frame(frame) => key_of_frame(tables, frame),
    }
}

/// A number for each key met. Functions and frames are counted from 0 by their reader, so that two columns
/// answer for all but the two keys at the end.
#[derive(Debug, Default)]
pub(crate) struct KeyMap {
    functions: Vec<u32>,
    frames: Vec<u32>,
    groups: HashMap<u32, u32, RandomState>,
    others: [Option<u32>; 2],
}

impl KeyMap {
    /// Of keys without a number.
    pub const UNSET: u32 = u32::MAX;

    /// Returns the number of `key`, if it was inserted before.
    #[inline(always)]
    pub fn get(&self, key: u32) -> u32 {
        // No other key is as small as the functions are many.
        match self.functions.get(key as usize) {
            Some(&number) => number,
            None => self.of_no_function(key).unwrap_or(Self::UNSET),
        }
    }

    #[inline(never)]
    fn of_no_function(&self, key: u32) -> Option<u32> {
        match key {
            NO_FUNCTION => self.others[0],
            NO_STACK => self.others[1],
            TRACK_GROUP.. => self.groups.get(&key).copied(),
            FRAME.. => self.frames.get((key & !FRAME) as usize).copied(),
            _ => None,
        }
    }

    /// Gives `key` the number that `number` returns, unless it has one.
    pub fn get_or_insert(&mut self, key: u32, number: impl FnOnce() -> u32) {
        let column = match key {
            NO_FUNCTION => {
                self.others[0].get_or_insert_with(number);
                return;
            }
            NO_STACK => {
                self.others[1].get_or_insert_with(number);
                return;
            }
            TRACK_GROUP.. => {
                self.groups.entry(key).or_insert_with(number);
                return;
            }
            key if key & FRAME == 0 => &mut self.functions,
            _ => &mut self.frames,
        };
        let at = (key & !FRAME) as usize;
        if column.len() <= at {
            column.resize(at + 1, Self::UNSET);
        }
        if let Some(slot) = column.get_mut(at).filter(|slot| **slot == Self::UNSET) {
            *slot = number();
        }
    }
}

/// Turns a key into the symbol it stands for, unless it is a group's.
pub(crate) fn symbol_of_key(tables: &Recording, key: u32) -> Symbol {
    match key {
        NO_FUNCTION => Symbol::named("(unknown)"),
        NO_STACK => Symbol::named("(no stack)"),
        key if key & FRAME != 0 => symbol_of_frame(tables, FrameId::new(key & !FRAME)),
        key => symbol_of_function(tables, FunctionId::new(key)),
    }
}

/// Builds the symbol of a function; `#id` when it was never defined.
#[must_use]
pub fn symbol_of_function(tables: &Recording, id: FunctionId) -> Symbol {
    let Some(function) = tables.function(id) else {
        return Symbol::named(format!("#{}", id.raw()));
    };
    let text = |id: Option<StringId>| id.map(|id| tables.text(id).into_owned());
    Symbol {
        name: names::demangle(&tables.text(function.name)).into_owned(),
        signature: text(function.signature),
        package: text(function.package),
        library: text(function.library),
        file: text(function.file),
        line: function.line,
        ..Symbol::default()
    }
}

pub(crate) fn symbol_of_frame(tables: &Recording, id: FrameId) -> Symbol {
    let Some(frame) = tables.frame(id) else {
        return Symbol::named(format!("#{}", id.raw()));
    };
    if let Some(function) = frame.function {
        return line_of(symbol_of_function(tables, function), frame.line);
    }
    let mapping = frame.mapping.and_then(|id| tables.mapping(id));
    let file = mapping.and_then(|row| row.file).map(|id| tables.text(id));
    let (Some(address), file) = (frame.address, file) else {
        return Symbol::named("(unknown)");
    };
    let name = match (&file, mapping) {
        (Some(file), Some(mapping)) => {
            let address = address
                .saturating_sub(mapping.start)
                .saturating_add(mapping.offset);
            names::unsymbolised(file, address)
        }
        _ => format!("{address:#x}"),
    };
    Symbol {
        library: file.map(std::borrow::Cow::into_owned),
        kind: frame.kind,
        ..Symbol::named(name)
    }
}

/// Returns the symbol of a line of a function.
fn line_of(function: Symbol, line: u32) -> Symbol {
    if line == 0 {
        return function;
    }
    Symbol {
        name: format!("{}:{line}", function.name),
        line,
        is_line: true,
        ..function
    }
}

/// Returns true if a symbol stands for no function of the program.
pub(crate) fn is_synthetic(symbol: &Symbol) -> bool {
    matches!(symbol.name.as_str(), "(unknown)" | "(no stack)")
}

/// Interns symbols by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolInterner {
    functions: HashMap<String, u32, RandomState>,
    groups: HashMap<String, u32, RandomState>,
    rows: Vec<Symbol>,
}

impl SymbolInterner {
    pub fn intern(&mut self, symbol: Symbol) -> u32 {
        self.known(&symbol).unwrap_or_else(|| self.add(symbol))
    }

    /// Does what [`SymbolInterner::intern`] does; a symbol that is known is not copied.
    pub fn intern_ref(&mut self, symbol: &Symbol) -> u32 {
        let known = self.known(symbol);
        known.unwrap_or_else(|| self.add(symbol.clone()))
    }

    fn names(&mut self, group: bool) -> &mut HashMap<String, u32, RandomState> {
        match group {
            true => &mut self.groups,
            false => &mut self.functions,
        }
    }

    /// Returns the number of a symbol that there is; of several signatures it has none.
    fn known(&mut self, symbol: &Symbol) -> Option<u32> {
        let id = *self.names(symbol.group).get(&symbol.name)?;
        let known = self.rows.get_mut(id as usize);
        if let Some(known) = known.filter(|known| known.signature != symbol.signature) {
            known.signature = None;
        }
        Some(id)
    }

    fn add(&mut self, symbol: Symbol) -> u32 {
        let id = row_number(self.rows.len());
        self.names(symbol.group).insert(symbol.name.clone(), id);
        self.rows.push(symbol);
        id
    }

    /// Returns the one that is named alike ([`names::alike`]), whatever its signature; of several names the least is
    /// kept.
    pub fn intern_alike(&mut self, symbol: Symbol) -> u32 {
        let next = row_number(self.rows.len());
        let key = names::alike(&symbol.name).into_owned();
        let id = *self.functions.entry(key).or_insert(next);
        match self.rows.get_mut(id as usize) {
            None => self.rows.push(symbol),
            Some(known) if symbol.name < known.name => *known = symbol,
            Some(_) => {}
        }
        id
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the symbols by their numbers.
    pub fn rows(&self) -> &[Symbol] {
        &self.rows
    }

    pub fn into_rows(self) -> Vec<Symbol> {
        self.rows
    }
}
