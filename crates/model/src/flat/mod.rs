//! The model as flat tables: one declaration from which CSV, Arrow and Parquet come.
//!
//! A table is a name and its columns; [`Flatten`] is the sink that makes rows. Rows of batches pass as they
//! come. Rows of the model's own tables (functions, stacks, tracks …) may be redefined until the end,
//! so they come when it is finished, and with them everything a join needs.
//!
//! Two columns are told twice, because everybody asks for them: `name` of a span's function and of an
//! event's type. Ids are row numbers, signed as most engines want them. Text that is not UTF-8 is shown
//! with U+FFFD. Addresses are hexadecimal text, because half of them do not fit a signed integer.

mod cell;
mod complete;
mod flatten;
mod schema;
mod value;

pub use cell::Cell;
pub use flatten::{FlatRows, Flatten};
pub use schema::{Column, ColumnType, FlatTable, TABLES};
pub use value::{put_value, value_text};
