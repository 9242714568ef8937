//! The table of `docs/performance.md`: one line for each goal, replaced by row, so that one row can be measured alone.

use std::path::PathBuf;

use crate::Result;

const BEGIN: &str = "<!-- begin: cargo x bench -->";
const END: &str = "<!-- end: cargo x bench -->";
const HEAD: &str = "| Row | Work | Ingather | Beside it | Measured | Goal | |\n|---|---|---|---|---|---|---|";

/// One line of the table: one goal.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What is done.
    pub(crate) work: String,
    /// Absolute figures of the program.
    pub(crate) ours: String,
    /// Absolute figures of the floor or peer.
    pub(crate) beside: String,
    /// What the goal speaks of.
    pub(crate) what: &'static str,
    /// Its value.
    pub(crate) value: f64,
    /// Unit of the value, such as `×`.
    pub(crate) unit: &'static str,
    /// The bound.
    pub(crate) goal: Goal,
}

/// Bound of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// At most this.
    Most(f64),
    /// At least this.
    Least(f64),
    /// There is none.
    None,
}

impl Goal {
    fn met(self, value: f64) -> Option<bool> {
        match self {
            Goal::Most(bound) => Some(value <= bound),
            Goal::Least(bound) => Some(value >= bound),
            Goal::None => None,
        }
    }
}

impl Line {
    /// Whether the value is beyond its bound.
    pub(crate) fn missed(&self) -> bool {
        self.goal.met(self.value) == Some(false)
    }
}

fn number(value: f64) -> String {
    match value {
        value if value >= 1_000.0 => {
            let digits = format!("{value:.0}");
            let head = digits.len() % 3;
            let mut text = digits[..head].to_owned();
            for at in (head..digits.len()).step_by(3) {
                if !text.is_empty() {
                    text.push(',');
                }
                text.push_str(&digits[at..at + 3]);
            }
            text
        }
        value if value >= 100.0 => format!("{value:.0}"),
        value if value.fract() == 0.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

/// The cells of a line but the first.
pub(crate) fn text(line: &Line) -> String {
    let met = match line.goal.met(line.value) {
        Some(true) => "met",
        Some(false) => "**missed**",
        None => "",
    };
    let goal = match line.goal {
        Goal::Most(bound) => format!("≤ {}", number(bound)),
        Goal::Least(bound) => format!("≥ {}", number(bound)),
        Goal::None => String::new(),
    };
    format!(
        "{} | {} | {} | {} {} {} | {goal} | {met} |",
        line.work,
        line.ours,
        line.beside,
        line.what,
        number(line.value),
        line.unit
    )
}

/// The page and the rows of its table.
pub(crate) struct Page {
    path: PathBuf,
    before: String,
    after: String,
    rows: Vec<(String, String)>,
}

impl Page {
    /// Reads the page.
    pub(crate) fn read(path: &str) -> Result<Page> {
        let text = std::fs::read_to_string(path)?;
        let (before, rest) = text.split_once(BEGIN).ok_or("docs/performance.md has lost its first mark")?;
        let (table, after) = rest.split_once(END).ok_or("docs/performance.md has lost its second mark")?;
        let rows = table
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
            .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
            .collect();
        Ok(Page { path: path.into(), before: before.to_owned(), after: after.to_owned(), rows })
    }

    /// Puts lines in the place of those that a row had.
    pub(crate) fn replace(&mut self, name: &str, lines: &[Line]) {
        self.rows.retain(|(row, _)| row != name);
        self.rows.extend(lines.iter().map(|line| (name.to_owned(), text(line))));
        let order =
            |row: &str| crate::rows::ALL.iter().position(|known| known.name == row).unwrap_or(usize::MAX);
        self.rows.sort_by_key(|(row, _)| order(row));
    }

    /// Writes the page.
    pub(crate) fn write(&self, facts: &str) -> Result<()> {
        let rows: Vec<String> = self.rows.iter().map(|(name, rest)| format!("| `{name}` | {rest}")).collect();
        let table = format!("{BEGIN}\n{facts}\n\n{HEAD}\n{}\n{END}", rows.join("\n"));
        std::fs::write(&self.path, format!("{}{table}{}", self.before, self.after))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(number(1_234_567.0), "1,234,567");
        assert_eq!(number(123_456.0), "123,456");
        assert_eq!(number(2.0), "2");
        assert_eq!(number(1.234), "1.23");
    }

    #[test]
    fn a_row_says_whether_its_goal_is_met() {
        let line = |value, goal| Line {
            work: "w".into(),
            ours: "o".into(),
            beside: "b".into(),
            what: "CPU",
            value,
            unit: "×",
            goal,
        };
        assert_eq!(text(&line(1.5, Goal::Most(2.0))), "w | o | b | CPU 1.50 × | ≤ 2 | met |");
        assert!(text(&line(2.5, Goal::Most(2.0))).contains("missed"));
        assert!(text(&line(2.5, Goal::Least(2.0))).contains(" met"));
    }
}
