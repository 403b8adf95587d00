//! Pages: one file of HTML with all it needs in it, for browsers without network.
//!
//! A page is a list of parts. A part brings its elements, with its data as JSON among them, and the style and the
//! script of its kind, which stand in the page once however many parts there are of it. The script calls
//! `page.part(kind, start)` of `assets/page.js`; what parts share in the browser lies there.

mod escape;
mod json;

pub(crate) use escape::escape;
pub use escape::escaped;
pub(crate) use json::{Object, list};

const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// A piece of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Its elements, every text in them escaped.
    pub(crate) markup: String,
    /// Style of its kind.
    pub(crate) style: &'static str,
    /// Script of its kind.
    pub(crate) script: &'static str,
}

/// What stands above the parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heading<'h> {
    /// Also the title of the window.
    pub(crate) title: &'h str,
    /// One line of text.
    pub(crate) about: &'h str,
    /// Class of the body: `whole` for one part that fills the window.
    pub(crate) class: &'static str,
}

/// Writes a page.
#[must_use]
pub(crate) fn page(heading: Heading<'_>, parts: &[Part]) -> String {
    let size: usize = parts.iter().map(|part| part.markup.len()).sum();
    let mut out = String::with_capacity(size + 64 * 1024);
    fill(&mut out, PAGE, |out, name| match name {
        "title" => escape(out, heading.title),
        "about" => escape(out, heading.about),
        "class" => out.push_str(heading.class),
        "style" => once(out, STYLE, parts.iter().map(|part| part.style)),
        "script" => once(out, SCRIPT, parts.iter().map(|part| part.script)),
        "parts" => parts.iter().for_each(|part| out.push_str(&part.markup)),
        _ => {}
    });
    out
}

/// Writes the texts of all kinds, each once.
fn once<'t>(out: &mut String, base: &'t str, texts: impl Iterator<Item = &'t str>) {
    let mut written = vec![""];
    for text in std::iter::once(base).chain(texts) {
        if !written.contains(&text) {
            out.push_str(text);
            written.push(text);
        }
    }
}

/// Writes `template`, asking for the text of every `{{name}}` in it.
pub(crate) fn fill(out: &mut String, template: &str, mut write: impl FnMut(&mut String, &str)) {
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{")
        && let Some((name, after)) = after.split_once("}}")
    {
        out.push_str(before);
        write(out, name);
        rest = after;
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_brings_its_style_once() {
        let part = |markup: &str| Part {
            markup: markup.to_owned(),
            style: ".bars{}\n",
            script: "page.part('bars', bars);\n",
        };
        let heading = Heading {
            title: "</title><script>\"'\0{{style}}",
            about: "a & b",
            class: "whole",
        };
        let page = page(heading, &[part("<p>one {{title}}</p>"), part("<p>two</p>")]);
        assert_eq!(page.matches(".bars{}").count(), 1);
        assert_eq!(page.matches("page.part('bars', bars);").count(), 1);
        // What is filled in is not filled in again.
        assert!(page.contains("<p>one {{title}}</p><p>two</p>"));
        assert!(
            page.contains(
                "<title>&lt;/title&gt;&lt;script&gt;&quot;&#39;\u{fffd}{{style}}</title>"
            )
        );
        assert_eq!(page.matches("</script>").count(), 1);
    }
}
