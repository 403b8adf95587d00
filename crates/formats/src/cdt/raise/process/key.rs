//! What streams do with the values of a parameter.

use traceloom_model::AttrKeyId;

use super::ProcessStreams;
use crate::cdt::raise::tables::StreamTables;

/// What is known of a parameter by its name and its display rules.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ParameterRules {
    /// It says that the call failed, or did not.
    pub red: bool,
    /// The agent copies it to the row of the call.
    pub index: bool,
    /// Whether values share places, or are long.
    pub kind: Option<bool>,
    /// Its id, once it was written.
    word: Option<u32>,
}

impl ProcessStreams {
    /// Finds what is known of a parameter, once for each.
    #[inline]
    pub(super) fn key(&mut self, id: AttrKeyId, names: &StreamTables) -> ParameterRules {
        match self.keys.get(id.index()) {
            Some(known) => *known,
            None => self.look_up(id, names),
        }
    }

    #[cold]
    fn look_up(&mut self, id: AttrKeyId, names: &StreamTables) -> ParameterRules {
        let Some(row) = names.key(id) else {
            return ParameterRules::default();
        };
        let name = names.bytes(row.name);
        let key = ParameterRules {
            red: name.as_ref() == b"call.red",
            index: row.index,
            kind: big(&name, row.signature.is_some()),
            word: None,
        };
        self.keys.put(id.index(), key);
        key
    }

    /// Returns the id of a parameter, which it gets when it is first written.
    #[inline]
    pub(super) fn word(&mut self, id: AttrKeyId, key: ParameterRules, names: &StreamTables) -> u32 {
        match key.word {
            Some(word) => word,
            None => self.new_word(id, key, names),
        }
    }

    #[cold]
    fn new_word(&mut self, id: AttrKeyId, key: ParameterRules, names: &StreamTables) -> u32 {
        let word = self.words.key(id, names);
        if names.key(id).is_some() {
            let word = Some(word);
            self.keys.put(id.index(), ParameterRules { word, ..key });
        }
        word
    }
}

/// Names whose values share places, and those whose values are long (§3): values that a function renders, such
/// as the binds of a statement, are.
fn big(name: &[u8], rendered: bool) -> Option<bool> {
    let holds = |part: &[u8]| {
        name.windows(part.len())
            .any(|window| window.eq_ignore_ascii_case(part))
    };
    if holds(b"sql") || holds(b"xpath") {
        return Some(true);
    }
    (rendered || holds(b"xml")).then_some(false)
}
