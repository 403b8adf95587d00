//! Flags of the command that is typed, without those of all others.

use std::ffi::OsString;
use std::ops::Deref;
use std::sync::OnceLock;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::args::COMMANDS;

/// Commands that print what all of them take.
const ABOUT_ALL: [&str; 2] = ["completions", "man"];

/// Options whose flags are declared where they can be asked for: of the command that is typed, and of all where help, completions
/// or a hint may name them. Declaring all takes half of the instructions of a short run.
pub(crate) struct Declared<T>(T);

impl<T> Deref for Declared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Declared<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Declared<T> {
    fn augment_args(command: Command) -> Command {
        static TYPED: OnceLock<Typed> = OnceLock::new();
        // What is typed to a program of tests are names of tests.
        let typed = TYPED.get_or_init(|| match cfg!(test) {
            true => Typed::Any,
            false => Typed::of(std::env::args_os().skip(1)),
        });
        match typed {
            Typed::Command(typed) if *typed != command.get_name() => command,
            Typed::None => command,
            Typed::Command(_) | Typed::Any => T::augment_args(command),
        }
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// The command whose flags are asked for.
#[derive(PartialEq, Eq, Debug)]
enum Typed {
    /// The one that is the first word typed.
    Command(&'static str),
    /// None: the version is wanted, or a first look at files.
    None,
    /// Any: flags of others may be printed or hinted at.
    Any,
}

impl Typed {
    fn of(words: impl Iterator<Item = OsString>) -> Self {
        let command = |word: &OsString| COMMANDS.into_iter().find(|command| word == command);
        let is_flag = |word: &OsString| word.as_encoded_bytes().starts_with(b"-") && word != "-";
        let mut words = words.peekable();
        match words.peek() {
            None => Self::Any,
            Some(first) if first == "help" => Self::Any,
            Some(first) if first == "--version" || first == "-V" => Self::None,
            Some(first) => match command(first) {
                Some(command) if ABOUT_ALL.contains(&command) => Self::Any,
                Some(command) => Self::Command(command),
                None if words.any(|word| is_flag(&word) || command(&word).is_some()) => Self::Any,
                None => Self::None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_declared_of_what_is_typed() {
        let typed = |line: &str| Typed::of(line.split_whitespace().map(OsString::from));
        assert_eq!(typed("top x --sort name"), Typed::Command("top"));
        assert_eq!(typed("--version"), Typed::None);
        assert_eq!(typed("dump/ - other"), Typed::None);
        for any in [
            "", "man", "help top", "x top", "x --sort", "--help", "--tz UTC",
        ] {
            assert_eq!(typed(any), Typed::Any, "{any}");
        }
    }
}
