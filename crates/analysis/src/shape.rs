//! SQL by shape: statements that differ in literals only are one.

use std::collections::HashMap;

/// Reduces a statement to its shape: literals and bind variables become `?`, lists of them one `?`,
/// comments go, white space becomes single spaces.
///
/// The text is read by its tokens, not by a grammar, so every dialect and half a statement work too.
/// Names in quotes stay, because a table is no literal.
///
/// ```
/// use traceloom_analysis::shape;
/// assert_eq!(
///     shape::of_sql("select * from t\n where id in (1, 2, 3) and name = 'O''Neil' -- why"),
///     "select * from t where id in (?) and name = ?"
/// );
/// ```
#[must_use]
pub fn of_sql(sql: &str) -> String {
    let mut shape = PrintShape {
        out: String::with_capacity(sql.len().min(4_096)),
        space: false,
        open: Vec::new(),
    };
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        rest = shape.token(c, rest);
    }
    shape.out
}

/// Reduces what a call did to its shape: numbers, addresses and ids become `?`, so that requests for different
/// things are one kind of request.
///
/// ```
/// use traceloom_analysis::shape;
/// assert_eq!(shape::of_title("GET /v1/orders/8731, client: 10.1.2.3"), "GET /v1/orders/?, client: ?");
/// assert_eq!(shape::of_title("/file/6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "/file/?");
/// ```
#[must_use]
pub fn of_title(title: &str) -> String {
    let mut out = String::with_capacity(title.len());
    let mut rest = title;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
        let end = end.unwrap_or(rest.len()).max(first.len_utf8());
        let (word, after) = rest.split_at(end);
        rest = after;
        if !is_id(word) {
            out.push_str(word);
            continue;
        }
        // The next part of an address or of an id in parts.
        let parts = out.strip_suffix(['.', '-', ':']);
        match parts.filter(|before| before.ends_with('?')).map(str::len) {
            Some(before) => out.truncate(before),
            None => out.push('?'),
        }
    }
    out
}

/// Returns true if a word stands for one thing among many: a number, hexadecimal digits, a long key.
fn is_id(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits > 0 && (digits == word.len() || (hex && word.len() >= 4) || word.len() >= 16)
}

struct PrintShape {
    out: String,
    space: bool,
    /// Where the brackets that are open began.
    open: Vec<usize>,
}

impl PrintShape {
    /// Takes the token that `rest` begins with and returns what follows it.
    fn token<'t>(&mut self, first: char, rest: &'t str) -> &'t str {
        let after = |length: usize| rest.get(length..).unwrap_or("");
        let second = rest.chars().nth(1);
        match first {
            c if c.is_whitespace() => {
                self.space = true;
                after(c.len_utf8())
            }
            '-' if second == Some('-') => {
                self.space = true;
                after(rest.find('\n').unwrap_or(rest.len()))
            }
            '/' if second == Some('*') => {
                self.space = true;
                after(rest.find("*/").map_or(rest.len(), |end| end + 2))
            }
            '\'' => {
                self.literal();
                after(quoted(rest, '\''))
            }
            '"' | '`' => {
                let end = quoted(rest, first);
                self.push(rest.get(..end).unwrap_or(rest));
                after(end)
            }
            '$' if dollar_quote(rest).is_some() => {
                self.literal();
                after(dollar_quote(rest).unwrap_or(rest.len()))
            }
            '?' | '$' | ':' | '@' | '0'..='9' | '.' => self.number_or_bind(first, second, rest),
            c if is_word(c) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let word = rest.get(..end).unwrap_or(rest);
                // N'text', X'ff', E'\n': the letter belongs to the literal.
                if end == 1
                    && second == Some('\'')
                    && matches!(c, 'N' | 'n' | 'X' | 'x' | 'E' | 'e' | 'B' | 'b')
                {
                    return after(end);
                }
                self.push(word);
                after(end)
            }
            c => {
                self.sign(c);
                after(c.len_utf8())
            }
        }
    }

    fn number_or_bind<'t>(&mut self, first: char, second: Option<char>, rest: &'t str) -> &'t str {
        let after = |length: usize| rest.get(length..).unwrap_or("");
        let tail = after(first.len_utf8());
        let word = tail.find(|c| !is_word(c)).unwrap_or(tail.len());
        match first {
            // A cast (`x::text`) and an assignment are signs.
            ':' if second == Some(':') => {
                self.push("::");
                after(2)
            }
            '?' => {
                self.literal();
                tail
            }
            '$' | ':' | '@' if word > 0 => {
                self.literal();
                after(1 + word)
            }
            '.' if !second.is_some_and(|c| c.is_ascii_digit()) => {
                self.sign('.');
                tail
            }
            '0'..='9' | '.' => {
                self.literal();
                let mut end = 0;
                let mut before = ' ';
                for c in rest.chars() {
                    let exponent = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
                    if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || exponent) {
                        break;
                    }
                    before = c;
                    end += c.len_utf8();
                }
                after(end)
            }
            sign => {
                self.sign(sign);
                tail
            }
        }
    }

    fn gap(&mut self) {
        if std::mem::take(&mut self.space) && !self.out.is_empty() {
            self.out.push(' ');
        }
    }

    fn push(&mut self, text: &str) {
        self.gap();
        self.out.push_str(text);
    }

    /// A literal, or the next one of a list.
    fn literal(&mut self) {
        let before = self.out.trim_end_matches(' ');
        let signed = before
            .strip_suffix(['-', '+'])
            .map(|before| before.trim_end_matches(' '))
            .filter(|before| before.ends_with(['(', ',', '=', '<', '>']));
        let before = signed.unwrap_or(before);
        if let Some(list) = before.strip_suffix(',').map(str::trim_end)
            && list.ends_with('?')
        {
            self.out.truncate(list.len());
            self.space = false;
            return;
        }
        if signed.is_some() {
            let spaced = before.len() < self.out.trim_end_matches(['-', '+']).len();
            self.out.truncate(before.len());
            self.space = spaced;
        }
        self.push("?");
    }

    fn sign(&mut self, c: char) {
        match c {
            ',' | ')' | ';' => self.space = false,
            _ => self.gap(),
        }
        if c == '(' {
            self.open.push(self.out.len());
        }
        self.out.push(c);
        // Rows of one shape after VALUES are one row: `(?), (?)`.
        if c == ')'
            && let Some(start) = self.open.pop()
        {
            let row = self.out.get(start..).unwrap_or("");
            let above = self.out.get(..start).unwrap_or("").trim_end();
            let twin = above
                .strip_suffix(',')
                .map(str::trim_end)
                .filter(|above| row.starts_with("(?") && above.ends_with(row));
            if let Some(twin) = twin {
                let length = twin.len();
                self.out.truncate(length);
            }
        }
    }
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '#'
}

/// Length of a quoted token; a doubled quote and, in text, a backslash do not end it.
pub(crate) fn quoted(rest: &str, quote: char) -> usize {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote == '\'' {
            chars.next();
        } else if c == quote {
            if chars.peek().is_some_and(|&(_, next)| next == quote) {
                chars.next();
            } else {
                return at + c.len_utf8();
            }
        }
    }
    rest.len()
}

/// Length of `$tag$ … $tag$`, if `rest` begins with one.
pub(crate) fn dollar_quote(rest: &str) -> Option<usize> {
    let tag_end = rest.get(1..)?.find('$')? + 2;
    let tag = rest.get(..tag_end)?;
    let word = tag.get(1..tag_end - 1)?;
    if word.starts_with(|c: char| c.is_ascii_digit()) || !word.chars().all(is_word) {
        return None;
    }
    let end = rest.get(tag_end..)?.find(tag).map(|at| at + 2 * tag_end);
    Some(end.unwrap_or(rest.len()))
}

/// Statements added up by shape.
#[derive(Clone, Debug, Default)]
pub struct SqlShapes {
    rows: HashMap<String, SqlRow>,
}

/// All statements of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlRow {
    /// The shape.
    pub shape: String,
    /// The first statement of it, as it was.
    pub example: String,
    /// How many there were.
    pub count: u64,
    /// Their durations together, in nanoseconds.
    pub total: u64,
}

impl SqlShapes {
    /// Adds a statement that took `duration` nanoseconds.
    pub fn add(&mut self, sql: &str, duration: u64) {
        let shape = of_sql(sql);
        let row = self.rows.entry(shape).or_insert_with_key(|shape| SqlRow {
            shape: shape.clone(),
            example: sql.to_owned(),
            count: 0,
            total: 0,
        });
        row.count += 1;
        row.total = row.total.saturating_add(duration);
    }

    /// Returns the shapes by falling total, then count.
    #[must_use]
    pub fn rows(self) -> Vec<SqlRow> {
        let mut rows: Vec<_> = self.rows.into_values().collect();
        rows.sort_by(|a, b| {
            let order = b.total.cmp(&a.total).then(b.count.cmp(&a.count));
            order.then_with(|| a.shape.cmp(&b.shape))
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_lists_and_binds() {
        let table = [
            ("SELECT 1", "SELECT ?"),
            (
                "select a1 from t2 where x=-5.0e-3",
                "select a1 from t2 where x=?",
            ),
            ("a = -5 and b = 3 - 2", "a = ? and b = ? - ?"),
            ("in ('a', 'b' ,'c')", "in (?)"),
            ("in (?, ?, ?)", "in (?)"),
            ("values (1, 'a'), (2, 'b'),(3,'c')", "values (?)"),
            ("values (1, f(2)), (3, f(4))", "values (?, f(?))"),
            (
                "x = :name and y = $1 and z = @p",
                "x = ? and y = ? and z = ?",
            ),
            ("x::text = '5'", "x::text = ?"),
            ("/* hint */ select /*+ x */ 1 -- end", "select ?"),
            ("\"Order\".\"1\" = N'x'", "\"Order\".\"1\" = ?"),
            ("select $$it's$$, $f$a $$ b$f$, 3", "select ?"),
            ("'never closed", "?"),
            ("a.b.c = t.d", "a.b.c = t.d"),
            (
                "where name = 'it\\'s' and x = 0xFF",
                "where name = ? and x = ?",
            ),
            ("", ""),
            (
                "UPDATE t SET a = 'ü€', b=2\n\tWHERE c IS NULL;",
                "UPDATE t SET a = ?, b=? WHERE c IS NULL;",
            ),
        ];
        for (sql, shape) in table {
            assert_eq!(of_sql(sql), shape, "{sql}");
        }
    }

    #[test]
    fn a_shape_is_its_own_shape() {
        for sql in [
            "select 1, 2 from t where a in ('x','y') and b = -1",
            "values (1,2),(3,4)",
        ] {
            let shape = of_sql(sql);
            assert_eq!(of_sql(&shape), shape);
        }
    }

    #[test]
    fn statements_add_up() {
        let mut shapes = SqlShapes::default();
        shapes.add("select 1", 5);
        shapes.add("delete from t", 6);
        shapes.add("select  2", 7);
        let rows = shapes.rows();
        assert_eq!(
            (rows[0].shape.as_str(), rows[0].count, rows[0].total),
            ("select ?", 2, 12)
        );
        assert_eq!(rows[0].example, "select 1");
        assert_eq!(rows[1].count, 1);
    }
}
