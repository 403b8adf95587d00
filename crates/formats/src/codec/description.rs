//! Why a description of what a specification leaves open is refused.

use std::fmt;

/// What is wrong with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptionError {
    /// The line, from 1; 0 for the whole.
    pub line: usize,
    /// What is wrong with it.
    pub text: String,
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.text),
            line => write!(f, "line {line}: {}", self.text),
        }
    }
}

impl std::error::Error for DescriptionError {}
