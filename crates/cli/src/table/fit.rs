//! What of a table fits the width of a terminal.

use traceloom_analysis::names::ShortNames;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns between two columns of a table.
pub(super) const GAP: usize = 2;

/// Least width of text that is cut, and of text in the last column.
const LEAST: usize = 12;
const LEAST_LAST: usize = 24;

/// Headings of columns that go first when a terminal is narrow, the least missed at the beginning.
const SPARE: [&str; 20] = [
    "transactions",
    "queue",
    "suspended",
    "partial",
    "generation",
    "seen",
    "open",
    "parks",
    "parked",
    "waits",
    "references",
    "roots",
    "chance",
    "p90",
    "p99",
    "attributes",
    "marks",
    "share",
    "calls",
    "cpu",
];

/// Headings of columns whose texts end with what tells them apart.
const NAMES: [&str; 8] = [
    "function", "method", "caller", "callee", "class", "where", "monitor", "path",
];

/// A column before it is fitted.
#[derive(Clone, Debug)]
pub(super) struct Measured<'h> {
    pub(super) heading: &'h str,
    pub(super) width: usize,
    /// Numbers, times and ids are shown whole.
    pub(super) whole: bool,
    /// Numbers end at the right.
    pub(super) right: bool,
}

/// Returns the width of each column, none for those that are left out.
pub(super) fn fit(columns: &[Measured<'_>], room: usize, keep_all: bool) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = columns.iter().map(|column| Some(column.width)).collect();
    loop {
        let shown = widths.iter().flatten().count();
        let over = (widths.iter().flatten().sum::<usize>() + GAP * shown.saturating_sub(1))
            .saturating_sub(room);
        if over == 0 {
            return widths;
        }
        let least = |at: usize, column: &Measured<'_>| match column.whole {
            true => column.width,
            false if at + 1 == columns.len() => column.width.min(LEAST_LAST),
            false => column.width.min(LEAST.max(column.heading.width())),
        };
        let spare: usize = columns
            .iter()
            .enumerate()
            .filter_map(|(at, column)| Some(widths[at]?.saturating_sub(least(at, column))))
            .sum();
        let victim = (spare < over && !keep_all).then(|| dispensable(columns, &widths));
        if let Some(Some(at)) = victim {
            widths[at] = None;
            continue;
        }
        // The widest text gives way first.
        for _ in 0..over.min(spare) {
            let cut = columns.iter().enumerate().filter_map(|(at, column)| {
                let width = widths[at]?;
                (width > least(at, column)).then_some((width, at))
            });
            if let Some((width, at)) = cut.max() {
                widths[at] = Some(width - 1);
            }
        }
        return widths;
    }
}

/// The shown column that is missed least; the first and the last one stay.
fn dispensable(columns: &[Measured<'_>], widths: &[Option<usize>]) -> Option<usize> {
    let middle = 1..columns.len().saturating_sub(1);
    let shown = middle.filter(|&at| widths[at].is_some());
    let rank = |&at: &usize| {
        let named = SPARE.iter().position(|name| *name == columns[at].heading);
        (named.unwrap_or(SPARE.len()), columns.len() - at)
    };
    shown.min_by_key(rank)
}

/// Cuts a cell under this heading to a width; a name so that only it is meant among `names`.
pub(super) fn cut(
    cell: &str,
    heading: &str,
    width: usize,
    names: Option<&ShortNames<'_>>,
) -> String {
    if let Some(names) = names.filter(|_| NAMES.contains(&heading)) {
        return cut_name(cell, width, names);
    }
    if cell.width() <= width {
        return cell.to_owned();
    }
    format!("{}…", take(cell.chars(), width.saturating_sub(1)))
}

/// Cuts a name to a width where its ends are no other name's of `names`; else it stays whole.
///
/// The end of a name tells more than its beginning, so it gets more of the room unless others end alike.
pub(crate) fn cut_name(name: &str, width: usize, names: &ShortNames<'_>) -> String {
    if name.width() <= width {
        return name.to_owned();
    }
    let room = width.saturating_sub(1);
    for start in [room / 3, room / 2, room * 2 / 3, room / 6, room] {
        let head = take(name.chars(), start);
        let tail = take(name.chars().rev(), room - start);
        let tail: String = tail.chars().rev().collect();
        if names.is_unique(&head, &tail) {
            return format!("{head}…{tail}");
        }
    }
    name.to_owned()
}

/// Takes characters up to a width.
fn take(chars: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    let fits = chars.take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= room
    });
    fits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(heading: &str, width: usize, whole: bool) -> Measured<'_> {
        Measured {
            heading,
            width,
            whole,
            right: whole,
        }
    }

    #[test]
    fn text_gives_way_before_columns_do() {
        let columns = [
            column("id", 8, true),
            column("queue", 8, true),
            column("thread", 30, false),
            column("title", 60, false),
        ];
        assert_eq!(
            fit(&columns, 112, false),
            [Some(8), Some(8), Some(30), Some(60)]
        );
        assert_eq!(
            fit(&columns, 80, false),
            [Some(8), Some(8), Some(29), Some(29)]
        );
        assert_eq!(
            fit(&columns, 50, false),
            [Some(8), None, Some(14), Some(24)]
        );
        assert_eq!(
            fit(&columns, 50, true),
            [Some(8), Some(8), Some(12), Some(24)]
        );
        assert_eq!(fit(&columns, 10, false), [Some(8), None, None, Some(24)]);
    }

    #[test]
    fn names_keep_their_end_and_titles_their_beginning() {
        let name = "c.a.shop.basket.store.BasketRepository.deleteExpired";
        let names = ShortNames::new([name]);
        assert_eq!(
            cut(name, "function", 25, Some(&names)),
            "c.a.shop…ry.deleteExpired"
        );
        assert_eq!(
            cut("GET /orders/1 client", "title", 12, None),
            "GET /orders…"
        );
        assert_eq!(cut("注文注文注文", "title", 6, None), "注文…");
        assert_eq!(cut("short", "title", 6, None), "short");
    }

    #[test]
    fn a_name_is_cut_only_as_far_as_it_stays_the_only_one() {
        let names = [
            "c.a.shop.catalog.FirstStatement.mapInvoice",
            "c.a.shop.catalog.SecondStatement.mapInvoice",
            "c.a.shop.catalog.FirstStatement.mapInvoices",
        ];
        let all = ShortNames::new(names);
        assert_eq!(
            names.map(|name| cut_name(name, 30, &all)),
            [
                "c.a.shop.catalog.Fi…mapInvoice",
                "c.a.shop.catalog.Se…mapInvoice",
                "c.a.shop.…tatement.mapInvoices"
            ]
        );
        assert_eq!(cut_name(names[0], 12, &all), names[0]);
    }
}
