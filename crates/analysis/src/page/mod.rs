//! Pages: one file of HTML with all it needs in it, for browsers without network.
//!
//! A page is a list of parts: elements with their data as JSON among them. The style and the script of all parts of a
//! page are one of the [`Kit`]s, which `ui/` builds into `assets/`; a policy in the page lets nothing else run.

mod escape;
mod json;
#[cfg(test)]
pub(crate) mod numbers;

pub(crate) use escape::escape;
pub use escape::escaped;
pub(crate) use json::{Object, json_len, list};

const PAGE: &str = include_str!("../../assets/page.html");

/// Style and script of a page, with the hashes that its policy allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kit {
    style: &'static str,
    style_hash: &'static str,
    script: &'static str,
    script_hash: &'static str,
}

macro_rules! kit {
    ($name:literal) => {
        Kit {
            style: include_str!(concat!("../../assets/", $name, ".css")),
            style_hash: include_str!(concat!("../../assets/", $name, ".css.sha256")),
            script: include_str!(concat!("../../assets/", $name, ".js")),
            script_hash: include_str!(concat!("../../assets/", $name, ".js.sha256")),
        }
    };
}

/// A flame graph.
pub(crate) const FLAME: Kit = kit!("flame");
/// A timeline.
pub(crate) const TIMELINE: Kit = kit!("timeline");
/// A report, with flame graphs and a timeline in it.
pub(crate) const REPORT: Kit = kit!("report");

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

/// Writes a page of parts, every text in them escaped.
#[must_use]
pub(crate) fn page(heading: Heading<'_>, kit: Kit, parts: &[String]) -> String {
    let size: usize = parts.iter().map(String::len).sum();
    let mut out = String::with_capacity(size + kit.style.len() + kit.script.len() + 4 * 1024);
    fill(&mut out, PAGE, |out, name| match name {
        "title" => escape(out, heading.title),
        "about" => escape(out, heading.about),
        "class" => out.push_str(heading.class),
        "style" => out.push_str(kit.style),
        "style_hash" => out.push_str(kit.style_hash.trim_end()),
        "script" => out.push_str(kit.script),
        "script_hash" => out.push_str(kit.script_hash.trim_end()),
        "parts" => parts.iter().for_each(|part| out.push_str(part)),
        _ => {}
    });
    out
}

/// Returns a word of a command, or a path, as a page says it that is mailed: without the folders of whoever made it.
///
/// ```
/// use traceloom_analysis::mailed;
/// assert_eq!(mailed("/captures/dump"), "dump");
/// assert_eq!(mailed("--categories=/etc/kinds.txt"), "--categories=kinds.txt");
/// assert_eq!(mailed("C:\\dumps\\shop"), "shop");
/// assert_eq!(mailed("dumps/shop"), "dumps/shop");
/// assert_eq!(mailed("/api/"), "api");
/// ```
#[must_use]
pub fn mailed(word: &str) -> String {
    let (flag, path) = match word.split_once('=') {
        Some((flag, path)) if flag.starts_with('-') => (flag, path),
        _ => ("", word),
    };
    let bare = path.trim_start_matches(['\'', '"']);
    let has_drive = bare
        .get(1..3)
        .is_some_and(|drive| drive == ":\\" || drive == ":/");
    if !bare.starts_with('/') && !bare.starts_with("\\\\") && !has_drive {
        return word.to_owned();
    }
    let trimmed = bare.trim_end_matches(['/', '\\', '\'', '"']);
    let name = trimmed.rsplit(['/', '\\']).next().unwrap_or("");
    match flag {
        "" => name.to_owned(),
        flag => format!("{flag}={name}"),
    }
}

/// A sentence whose numbers stay with their units where a line ends.
pub(crate) fn glued(sentence: &str) -> String {
    let mut before = ' ';
    let glue = |letter| {
        let is_unit = letter == ' ' && before.is_ascii_digit();
        before = letter;
        if is_unit { '\u{a0}' } else { letter }
    };
    sentence.chars().map(glue).collect()
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
    fn what_is_filled_in_is_not_filled_in_again() {
        let heading = Heading {
            title: "</title><script>\"'\0{{style}}",
            about: "a & b",
            class: "whole",
        };
        let parts = ["<p>one {{title}}</p>".to_owned(), "<p>two</p>".to_owned()];
        let page = page(heading, FLAME, &parts);
        assert!(page.contains("<p>one {{title}}</p><p>two</p>"));
        assert!(
            page.contains(
                "<title>&lt;/title&gt;&lt;script&gt;&quot;&#39;\u{fffd}{{style}}</title>"
            )
        );
        assert_eq!(page.matches("</script>").count(), 1);
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(
            glued("31 % of 13.9 s, 4 times"),
            "31\u{a0}% of 13.9\u{a0}s, 4\u{a0}times"
        );
    }

    #[test]
    fn nothing_runs_but_what_the_policy_names() {
        for kit in [FLAME, TIMELINE, REPORT] {
            let heading = Heading {
                title: "",
                about: "",
                class: "",
            };
            let page = page(heading, kit, &[]);
            assert!(!page.contains("unsafe-inline") && !page.contains("style=\""));
            let policy = format!(
                "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'",
                kit.style_hash.trim_end(),
                kit.script_hash.trim_end()
            );
            assert!(page.contains(&policy));
            // The hashes are of what stands between the tags, to the byte.
            assert!(page.contains(&format!("<style>{}</style>", kit.style)));
            assert!(page.contains(&format!("<script>{}</script>", kit.script)));
        }
    }
}
