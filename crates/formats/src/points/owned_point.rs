//! A point of our own making, and what is done to it before it is written.

/// A value of a field.
#[derive(Clone, PartialEq, Debug)]
pub enum FieldValue {
    /// A signed integer.
    I64(i64),
    /// An unsigned integer.
    U64(u64),
    /// A float.
    F64(f64),
    /// A boolean.
    Bool(bool),
    /// Text; need not be UTF-8.
    Text(Vec<u8>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list of scalars.
    List(Vec<FieldValue>),
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> Self {
        Self::Text(text.as_bytes().to_vec())
    }
}

/// A point that owns its texts, none of them escaped.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OwnedPoint {
    /// The measurement.
    pub measurement: Vec<u8>,
    /// Tags, sorted by key when written.
    pub tags: Vec<(Vec<u8>, Vec<u8>)>,
    /// Fields, in their order.
    pub fields: Vec<(Vec<u8>, FieldValue)>,
    /// Nanoseconds; none means the time of arrival.
    pub time: Option<i64>,
}

/// A change that [`OwnedPoint::check`] made, with the key it concerns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// What was done, `snake_case`.
    pub kind: &'static str,
    /// The key, or the measurement.
    pub key: String,
}

/// Most bytes of a measurement or tag value.
pub const TEXT_LIMIT: usize = 1024;
/// Most bytes of a tag or field key.
pub const NAME_LIMIT: usize = 256;
/// Most tags of a point.
pub const TAGS_LIMIT: usize = 256;
/// Most fields of a point.
pub const FIELDS_LIMIT: usize = 1024;
/// Most bytes of a text field.
pub const STRING_LIMIT: usize = 32 << 20;

impl OwnedPoint {
    /// A point without tags, fields or time.
    #[must_use]
    pub fn new(measurement: &str) -> Self {
        Self {
            measurement: measurement.as_bytes().to_vec(),
            ..Self::default()
        }
    }

    /// Adds a tag; an empty value is no tag and is left out.
    pub fn tag(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.tags
                .push((key.as_bytes().to_vec(), value.as_bytes().to_vec()));
        }
    }

    /// Adds a field.
    pub fn field(&mut self, key: &str, value: impl Into<FieldValue>) {
        self.fields.push((key.as_bytes().to_vec(), value.into()));
    }

    /// Makes the point legal: cuts what is too long, drops what is too much or said twice, sorts the tags
    /// (`lineproto/SPEC.md` §4.2). Cuts keep characters whole.
    pub fn check(&mut self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        clean_key(
            &mut self.measurement,
            TEXT_LIMIT,
            "measurement_cut",
            &mut warnings,
        );
        if self.measurement.is_empty() {
            warn(&mut warnings, "measurement_empty", &[]);
            self.measurement = b"__default".to_vec();
        }
        // A line that begins with one of these is a comment, or loses its first byte.
        if let Some(first @ (b'#' | b'\t' | 0)) = self.measurement.first_mut() {
            *first = b'_';
            warn(&mut warnings, "measurement_first_byte", &self.measurement);
        }
        self.check_tags(&mut warnings);
        self.check_fields(&mut warnings);
        warnings
    }

    fn check_tags(&mut self, warnings: &mut Vec<Warning>) {
        self.tags
            .retain(|(key, value)| !key.is_empty() && !value.is_empty());
        for (key, value) in &mut self.tags {
            clean_key(key, NAME_LIMIT, "tag_key_cut", warnings);
            clean_key(value, TEXT_LIMIT, "tag_value_cut", warnings);
        }
        self.tags
            .retain(|(key, value)| !key.is_empty() && !value.is_empty());
        self.tags.sort_by(|a, b| a.0.cmp(&b.0));
        self.tags.dedup_by(|again, first| {
            let same = again.0 == first.0;
            if same {
                warn(warnings, "duplicate_key", &again.0);
            }
            same
        });
        for (key, _) in self.tags.iter().skip(TAGS_LIMIT) {
            warn(warnings, "too_many_tags", key);
        }
        self.tags.truncate(TAGS_LIMIT);
    }

    fn check_fields(&mut self, warnings: &mut Vec<Warning>) {
        let mut seen: std::collections::HashSet<Vec<u8>> =
            self.tags.iter().map(|(key, _)| key.clone()).collect();
        let mut fields = std::mem::take(&mut self.fields);
        for (key, value) in &mut fields {
            clean_key(key, NAME_LIMIT, "field_key_cut", warnings);
            let infinite = matches!(value, FieldValue::F64(float) if !float.is_finite());
            if infinite {
                warn(warnings, "not_finite", key);
            }
            if let FieldValue::Text(text) = value
                && text.len() > STRING_LIMIT
            {
                text.truncate(boundary(text, STRING_LIMIT));
                warn(warnings, "field_value_cut", key);
            }
        }
        // Text has no word for NaN; the infinities have the stand-ins of the fork.
        fields.retain(|(_, value)| !matches!(value, FieldValue::F64(float) if float.is_nan()));
        for (key, value) in fields {
            if key.is_empty() || !seen.insert(key.clone()) {
                warn(warnings, "duplicate_key", &key);
            } else if self.fields.len() == FIELDS_LIMIT {
                warn(warnings, "too_many_fields", &key);
            } else {
                self.fields.push((key, value));
            }
        }
    }
}

fn warn(warnings: &mut Vec<Warning>, kind: &'static str, key: &[u8]) {
    let key = String::from_utf8_lossy(key).into_owned();
    warnings.push(Warning { kind, key });
}

/// Removes what a key or tag value cannot carry: line ends inside, a backslash at the end.
fn clean_key(key: &mut Vec<u8>, limit: usize, cut: &'static str, warnings: &mut Vec<Warning>) {
    if key.len() > limit {
        key.truncate(boundary(key, limit));
        warn(warnings, cut, key);
    }
    if key.contains(&b'\n') {
        warn(warnings, "line_end_in_key", key);
        for byte in key.iter_mut().filter(|byte| **byte == b'\n') {
            *byte = b' ';
        }
    }
    if key.last() == Some(&b'\\') {
        warn(warnings, "backslash_at_end", key);
        while key.last() == Some(&b'\\') {
            key.pop();
        }
    }
}

/// The largest cut not above `limit` that is not inside a character.
fn boundary(text: &[u8], limit: usize) -> usize {
    let inside = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (limit.saturating_sub(3)..=limit)
        .rev()
        .find(|at| !inside(at))
        .unwrap_or(limit)
}
