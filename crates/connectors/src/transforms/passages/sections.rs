//! Sections of a text with the marks of Markdown: what stands below each heading, and on which pages.

use ingather_extract::markdown;

/// What is between two headings, the first of them included.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// Its text without the marks of pages.
    pub(super) text: String,
    /// The headings that it stands under, the outermost one first.
    pub(super) headings: Vec<String>,
    /// Where pages begin in it, and their numbers; the first one begins at its beginning.
    pages: Vec<(usize, usize)>,
}

impl Section {
    /// The pages on which some of its text stands: a piece of `text`.
    pub(super) fn pages(&self, piece: &str) -> Vec<usize> {
        let begin = (piece.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let end = begin + piece.len();
        let first = self.pages.partition_point(|(at, _)| *at <= begin).saturating_sub(1);
        let on = self.pages.iter().skip(first).take_while(|(at, _)| *at < end.max(begin + 1));
        on.map(|(_, page)| *page).collect()
    }
}

/// Cuts a text at its headings. A heading without text of its own stays with what follows it.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let paged = text.lines().any(|line| markdown::page_of(line).is_some());
    let mut page = paged.then_some(1);
    let mut sections: Vec<Section> = Vec::new();
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut bare = true;
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        if let Some(number) = markdown::page_of(line).filter(|_| fence.is_none()) {
            page = Some(number);
            if let Some(section) = sections.last_mut() {
                section.pages.push((section.text.len(), number));
            }
            continue;
        }
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        let heading = markdown::heading(line.trim_end()).filter(|_| fence.is_none());
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if let Some((level, words)) = heading {
            headings.retain(|(other, _)| *other < level);
            headings.push((level, words.to_owned()));
        }
        let path =
            || headings.iter().map(|(_, words)| words.clone()).filter(|words| !words.is_empty()).collect();
        if sections.is_empty() || heading.is_some() && !bare {
            let pages = page.map(|page| (0, page)).into_iter().collect();
            sections.push(Section { text: String::new(), headings: path(), pages });
            bare = true;
        }
        if let Some(section) = sections.last_mut() {
            if heading.is_some() {
                section.headings = path();
            }
            section.text.push_str(line);
        }
        bare &= heading.is_some() || line.trim().is_empty();
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_is_cut_at_its_headings() {
        let text = "intro\n\n# One\n\n## Inner\n\n<!-- page 2 -->\n\nwords\n<!-- page 3 -->\nmore\n# Two\n```\n# comment\n```\nend\n";
        let found = sections(text);
        let told: Vec<(&str, String)> =
            found.iter().map(|section| (section.text.trim(), section.headings.join(" > "))).collect();
        assert_eq!(
            told,
            [
                ("intro", String::new()),
                ("# One\n\n## Inner\n\n\nwords\nmore", "One > Inner".to_owned()),
                ("# Two\n```\n# comment\n```\nend", "Two".to_owned()),
            ]
        );
        let place = |section: &Section, words: &str| {
            let at = section.text.find(words).unwrap();
            section.pages(&section.text[at..at + words.len()])
        };
        assert_eq!(place(&found[0], "intro"), [1]);
        assert_eq!(place(&found[1], "words"), [2]);
        assert_eq!(place(&found[1], "Inner\n\n\nwords\nmore"), [1, 2, 3]);
        assert_eq!(place(&found[2], "end"), [3]);
        assert_eq!(place(&sections("no pages\n")[0], "no"), Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "(# |## |a|`|```|\n|<!-- page 7 -->\n){0,40}") {
            let kept: String = text.split_inclusive('\n').filter(|line| markdown::page_of(line).is_none()).collect();
            let found: String = sections(&text).into_iter().map(|section| section.text).collect();
            // A mark inside of code is no mark.
            prop_assert!(found.len() >= kept.len() && found.len() <= text.len());
        }
    }
}
