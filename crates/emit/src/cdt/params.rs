//! Attributes that are not only in the trace.

use super::primitives::{put_text, put_varint};

const PARAMS_VERSION: u8 = 1;
/// Where parameters that a program declares stand in displays.
const ORDER: u32 = 100;
/// The signature of parameters whose values are in the stream of statements.
const STATEMENTS: &str = "sql";

/// Names of attributes that a program declares.
#[derive(Debug, Default)]
pub struct DeclaredParams {
    /// Rows have a copy of these.
    pub indexed: Vec<String>,
    /// Values of these are in sql, but for those that rows have a copy of.
    pub deduplicated: Vec<String>,
}

impl DeclaredParams {
    /// Returns the records of params, the first of which is the version.
    pub fn records(&self) -> Vec<Vec<u8>> {
        let mut records = vec![vec![PARAMS_VERSION]];
        let declared = [(&self.indexed, 1, ""), (&self.deduplicated, 0, STATEMENTS)];
        for (names, index, signature) in declared {
            for name in names {
                let mut record = Vec::new();
                put_text(&mut record, name);
                let list = 0;
                record.extend_from_slice(&[index, list]);
                put_varint(&mut record, ORDER);
                put_text(&mut record, signature);
                records.push(record);
            }
        }
        records
    }
}
