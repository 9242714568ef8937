//! Takes out of a failing world what its failure does not need.

/// The shortest text found that still fails by the same kind of breach; `wrong` plays a text, at most `plays` times.
pub fn shrink(text: &str, plays: usize, wrong: &dyn Fn(&str) -> Vec<String>) -> String {
    let mut left = plays;
    let kinds = kinds(&wrong(text));
    let mut fails = |lines: &[&str]| {
        left = left.saturating_sub(1);
        left > 0 && {
            let found = wrong(&(lines.join("\n") + "\n"));
            found.iter().any(|told| kind(told).is_some_and(|kind| kinds.contains(&kind)))
                && found.iter().all(|told| !told.contains("\n  mistake: "))
        }
    };
    let is_kept = |line: &str| line.starts_with("output ") || line == "site all versioned";
    let mut lines: Vec<&str> = text.lines().collect();
    let mut size = lines.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < lines.len() {
            let cut = at..at + size;
            // Jobs name their outputs: without them nothing can be said. And what versions stand for is part of what a site is.
            let fewer: Vec<&str> = lines
                .iter()
                .copied()
                .enumerate()
                .filter(|(n, line)| !cut.contains(n) || is_kept(line))
                .map(|(_, line)| line)
                .collect();
            if fewer.len() < lines.len() && fails(&fewer) {
                lines = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    lines.join("\n") + "\n"
}

/// What kind of breach a finding tells of: its sentence without names.
fn kind(found: &str) -> Option<String> {
    let sentence = found.lines().nth(1)?;
    let words = sentence.split_whitespace().filter(|word| word.chars().all(|c| c.is_ascii_alphabetic()));
    let names = [
        "one", "two", "three", "a", "b", "whole", "part", "other", "pages", "links", "inbox", "feed", "anna",
        "bert", "anybody",
    ];
    Some(words.filter(|word| !names.contains(word)).take(4).collect::<Vec<_>>().join(" "))
}

fn kinds(found: &[String]) -> Vec<String> {
    found.iter().filter_map(|told| kind(told)).collect()
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn only_what_is_needed_stays() {
        let wrong = |text: &str| match text.contains("x") && text.contains("y") {
            true => vec!["1: x\n  it was wrong\n".to_owned()],
            false => Vec::new(),
        };
        assert_eq!(shrink("a\nx\nb\nc\ny\nd\n", 100, &wrong), "x\ny\n");
    }

    #[test]
    fn a_shorter_text_that_nobody_understands_is_not_taken() {
        let wrong = |text: &str| match text.contains("job") {
            true => vec!["2: run\n  it was wrong\n".to_owned()],
            false => vec!["1: run\n  mistake: it was wrong\n".to_owned()],
        };
        assert_eq!(shrink("job\nrun\n", 100, &wrong), "job\n");
    }
}
