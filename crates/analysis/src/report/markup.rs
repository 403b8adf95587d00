//! Elements of a report. Everything that comes from a recording passes through [`escape`].

use std::fmt::Write as _;

use crate::page::{escape, escaped};

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alignment {
    /// To the right.
    Number,
    /// To the left.
    Text,
    /// A name of the program's code.
    Name,
    /// A date, to the left on one line.
    When,
}

impl Alignment {
    const fn class(self) -> &'static str {
        match self {
            Self::Number => "",
            Self::Text => "text",
            Self::Name => "text name",
            Self::When => "text when",
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub(super) enum HtmlCell {
    Text(String),
    /// Elements that are escaped already.
    Markup(String),
}

impl HtmlCell {
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => escape(out, text),
            Self::Markup(markup) => out.push_str(markup),
        }
    }
}

impl<T: Into<String>> From<T> for HtmlCell {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

/// Writes a heading that the contents lead to.
pub(super) fn heading(out: &mut String, id: &str, title: &str) {
    let _ = writeln!(out, "<h2 id=\"{}\">{}</h2>", escaped(id), escaped(title));
}

/// Writes a heading within a section.
pub(super) fn smaller_heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "<h3>{}</h3>", escaped(title));
}

/// Writes a paragraph.
pub(super) fn paragraph(out: &mut String, text: &str) {
    let _ = writeln!(out, "<p>{}</p>", escaped(text));
}

/// Writes names with their values.
pub(super) fn facts<'f>(out: &mut String, facts: impl Iterator<Item = (&'f str, &'f str)>) {
    out.push_str("<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
    }
    out.push_str("</dl>\n");
}

/// A number that a report opens with.
pub(super) struct Figure {
    pub value: String,
    pub caption: String,
    /// What it counts should not have been.
    pub is_bad: bool,
}

/// Writes the key figures, each value over what it is.
pub(super) fn figures(out: &mut String, figures: &[Figure]) {
    if figures.is_empty() {
        return;
    }
    out.push_str("<dl class=\"figures\">\n");
    for figure in figures {
        let class = if figure.is_bad { " class=\"bad\"" } else { "" };
        let _ = writeln!(
            out,
            "<div><dt>{}</dt><dd{class}>{}</dd></div>",
            escaped(&figure.caption),
            escaped(&figure.value)
        );
    }
    out.push_str("</dl>\n");
}

/// Writes a table of at most `most` rows and says how many there are more.
pub(super) fn table(
    out: &mut String,
    label: &str,
    head: &[(&str, Alignment)],
    rows: impl ExactSizeIterator<Item = Vec<HtmlCell>>,
    most: usize,
) {
    let more = rows.len().saturating_sub(most);
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\"><table aria-label=\"{}\"><thead><tr>",
        escaped(label)
    );
    for (name, kind) in head {
        // What has no name heads nothing.
        let _ = match *name {
            "" => write!(out, "<td class=\"{}\"></td>", kind.class()),
            name => write!(
                out,
                "<th scope=\"col\" class=\"{}\">{}</th>",
                kind.class(),
                escaped(name)
            ),
        };
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows.take(most) {
        out.push_str("<tr>");
        for (cell, (_, kind)) in row.iter().zip(head) {
            let _ = write!(out, "<td class=\"{}\">", kind.class());
            cell.write(out);
            out.push_str("</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    if more > 0 {
        let _ = writeln!(
            out,
            "<p class=\"soft\">{} more</p>",
            crate::grouped(more as u64)
        );
    }
}

/// Returns an element that opens to show more; `inside` is escaped already.
pub(super) fn details(summary: &str, inside: &str) -> HtmlCell {
    if inside.is_empty() {
        return HtmlCell::Text(summary.to_owned());
    }
    let summary = escaped(summary);
    HtmlCell::Markup(format!(
        "<details><summary>{summary}</summary>{inside}</details>"
    ))
}
