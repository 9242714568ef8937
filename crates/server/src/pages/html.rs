//! Pages as text. What comes from documents, or from whoever asks, is written as characters and never as marks: there is one function that
//! adds it, and it escapes.

use ingather_operations::search::{Facet, Found, Hit};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Hits of a page.
pub(super) const HITS: u32 = 10;
/// Beginnings of addresses that a page leads to; any other is shown as text.
const SCHEMES: [&str; 4] = ["http://", "https://", "file://", "mailto:"];
/// What stands for itself in a query.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What may be the cause, and whom to ask: whether there is something that somebody may not see, no page says.
const WHY_NOT: &str = "<details><summary>Why do I not find something?</summary>\
    <p>You find what your account may read where it lies. Whoever runs this service can ask about one document: \
    <code>ingather why USER DOCUMENT</code></p>\
    <p>What came or changed a moment ago is found after the next run of its job.</p>\
    <p>A file that could not be read, such as a protected one, is not found by its text. Whoever runs this service sees it: \
    <code>ingather document list JOB --state failed</code></p>\
    <p>Quotes, AND, + and fields are strict. Try plain words, or the beginning of one: <code>repor*</code></p>\
    </details>";

/// A page that grows.
struct Page(String);

impl Page {
    fn titled(title: &str) -> Page {
        let mut page = Page(String::new());
        page.marks("<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>")
            .text(title)
            .marks(
                "</title><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <link rel=\"stylesheet\" href=\"/style.css\"></head><body>",
            );
        page
    }

    /// Marks of the page itself.
    fn marks(&mut self, marks: &'static str) -> &mut Page {
        self.0.push_str(marks);
        self
    }

    /// What comes from elsewhere.
    fn text(&mut self, text: &str) -> &mut Page {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // Signs that turn what follows around would show a name as another one.
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => self.0.push('\u{fffd}'),
                character if character.is_control() && !character.is_whitespace() => self.0.push('\u{fffd}'),
                character => self.0.push(character),
            }
        }
        self
    }

    fn end(&mut self) -> String {
        self.marks("</body></html>");
        std::mem::take(&mut self.0)
    }
}

/// Asks for a key. `form` is in a cookie, too, so that no page of somebody else can send this form.
pub(super) fn login(form: &str, wrong: Option<&str>) -> String {
    let mut page = Page::titled("Ingather: log in");
    page.marks("<main><h1>Ingather</h1>");
    if let Some(wrong) = wrong {
        page.marks("<p role=\"alert\">").text(wrong).marks("</p>");
    }
    page.marks("<form method=\"post\" action=\"/login\"><input type=\"hidden\" name=\"form\" value=\"")
        .text(form)
        .marks(
            "\"><label for=\"key\">API key</label><input type=\"password\" id=\"key\" name=\"key\" required \
             autocomplete=\"current-password\"><button>Log in</button></form></main>",
        )
        .end()
}

/// What was found, or why nothing can be.
pub(super) fn found(
    form: Option<&str>,
    whose: &str,
    query: &str,
    found: Option<Result<Found, String>>,
    offset: u32,
) -> String {
    let mut page = Page::titled(if query.is_empty() { "Ingather" } else { query });
    page.marks("<header class=\"beside\"><h1>Ingather</h1>");
    // Whoever was not logged in here cannot be logged out here.
    if let Some(form) = form {
        page.marks("<form method=\"post\" action=\"/logout\"><input type=\"hidden\" name=\"form\" value=\"")
            .text(form)
            .marks("\"><button>Log out</button></form>");
    }
    page.marks("</header><main><form method=\"get\" action=\"/\" role=\"search\">")
        .marks("<label for=\"q\">Search</label><input type=\"search\" id=\"q\" name=\"q\" value=\"")
        .text(query)
        .marks("\"><button>Find</button></form><p class=\"quiet\">")
        .text(whose)
        .marks("</p>");
    match found {
        None => {}
        Some(Err(why)) => {
            page.marks("<p role=\"alert\">").text(&why).marks("</p>");
        }
        Some(Ok(found)) => results(&mut page, query, &found, offset),
    }
    page.marks("</main>").end()
}

fn results(page: &mut Page, query: &str, found: &Found, offset: u32) {
    page.marks("<p role=\"status\">").text(&counted(found.summary.total)).marks("</p>");
    for note in found.summary.notes.iter().chain(&found.unfinished) {
        page.marks("<p class=\"quiet\">").text(note).marks("</p>");
    }
    if let Some(literal) = &found.literal {
        let words: Vec<&str> = found.summary.corrections.iter().map(|one| one.used.as_str()).collect();
        page.marks("<p>Searched for ").text(&words.join(", ")).marks(". <a href=\"");
        page.text(&address(literal, 0)).marks("\">Search for what was typed</a></p>");
    }
    page.marks("<ol>");
    for hit in &found.hits {
        one(page, hit);
    }
    page.marks("</ol>");
    if let Some(facets) = &found.summary.facets {
        narrower(page, query, "Kinds", "type", &facets.types);
        narrower(page, query, "Jobs", "job", &facets.jobs);
    }
    paging(page, query, found, offset);
    page.marks(WHY_NOT);
}

fn counted(total: usize) -> String {
    match total {
        0 => "Nothing was found that you may see.".to_owned(),
        1 => "1 hit".to_owned(),
        more => format!("{more} hits"),
    }
}

fn one(page: &mut Page, hit: &Hit) {
    page.marks("<li><h2>");
    let address = hit.link.as_ref().unwrap_or(&hit.uri);
    if may_lead_to(address) {
        page.marks("<a rel=\"noreferrer\" href=\"").text(address).marks("\">").text(&hit.title).marks("</a>");
    } else {
        page.text(&hit.title);
    }
    page.marks("</h2><p>");
    snippet(page, &hit.snippet, &hit.highlights);
    page.marks("</p><p class=\"quiet\">").text(&hit.path).marks("</p>");
    match hit.copies {
        0 => {}
        1 => {
            page.marks("<p class=\"quiet\">and one more with the same text</p>");
        }
        more => {
            page.marks("<p class=\"quiet\">and ")
                .text(&more.to_string())
                .marks(" more with the same text</p>");
        }
    }
    page.marks("</li>");
}

/// Whether a page leads to an address: a browser does what some of them say.
fn may_lead_to(address: &str) -> bool {
    let beginning =
        |scheme: &&str| address.get(..scheme.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(scheme));
    SCHEMES.iter().any(beginning)
}

fn snippet(page: &mut Page, text: &str, highlights: &[[usize; 2]]) {
    let mut at = 0;
    for [start, end] in highlights.iter().copied() {
        let (Some(before), Some(marked)) = (text.get(at..start), text.get(start..end)) else { continue };
        page.text(before).marks("<mark>").text(marked).marks("</mark>");
        at = end;
    }
    page.text(text.get(at..).unwrap_or_default());
}

fn narrower(page: &mut Page, query: &str, title: &'static str, field: &'static str, facets: &[Facet]) {
    let named = || facets.iter().filter(|facet| !facet.value.is_empty() && !facet.value.contains('"'));
    if named().count() < 2 {
        return;
    }
    page.marks("<nav aria-label=\"").marks(title).marks("\"><p>").marks(title).marks(": ");
    for facet in named() {
        let narrower = format!("{query} {field}:\"{}\"", facet.value);
        page.marks("<a href=\"")
            .text(&address(&narrower, 0))
            .marks("\">")
            .text(&facet.value)
            .marks("</a> <span class=\"quiet\">");
        page.text(&facet.count.to_string()).marks("</span> ");
    }
    page.marks("</p></nav>");
}

fn paging(page: &mut Page, query: &str, found: &Found, offset: u32) {
    // What has the same text is counted, and shown once: a page that is not full is the last one.
    let is_full = found.hits.len() >= HITS as usize;
    let more = is_full && (offset as usize).saturating_add(HITS as usize) < found.summary.total;
    if offset == 0 && !more {
        return;
    }
    page.marks("<nav aria-label=\"Pages\" class=\"beside\">");
    if offset > 0 {
        page.marks("<a rel=\"prev\" href=\"")
            .text(&address(query, offset.saturating_sub(HITS)))
            .marks("\">Previous</a>");
    }
    if more {
        page.marks("<a rel=\"next\" href=\"")
            .text(&address(query, offset.saturating_add(HITS)))
            .marks("\">Next</a>");
    }
    page.marks("</nav>");
}

fn address(query: &str, offset: u32) -> String {
    format!("/?q={}&offset={offset}", utf8_percent_encode(query, IN_QUERY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_elsewhere_is_never_a_mark() {
        let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{202e}\u{0}&lt;";
        let mut page = Page(String::new());
        assert!(!page.text(evil).0.contains(['<', '>', '"', '\'', '\u{202e}', '\u{0}']));
        let shown = found(Some(evil), evil, evil, Some(Err(evil.to_owned())), 0);
        assert!(!shown.contains("<script") && !shown.contains("<img"), "{shown}");
        assert!(!login(evil, Some(evil)).contains("<script"));
        assert!(!address(evil, 0).contains(['<', '>', '"', '\'', ' ']));
    }

    #[test]
    fn a_page_leads_nowhere_where_a_browser_would_do_what_the_address_says() {
        for fine in ["http://a/", "HTTPS://a/", "file:///srv/a.txt", "mailto:ann@example.org"] {
            assert!(may_lead_to(fine), "{fine}");
        }
        for wrong in [
            "javascript:alert(1)",
            " javascript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:a",
            "//a",
            "",
            "ü",
        ] {
            assert!(!may_lead_to(wrong), "{wrong}");
        }
    }

    #[test]
    fn highlights_that_do_not_fit_the_text_lose_nothing_of_it() {
        let shown = |text: &str, highlights: &[[usize; 2]]| {
            let mut page = Page(String::new());
            snippet(&mut page, text, highlights);
            page.0
        };
        assert_eq!(shown("a <b> c", &[[2, 5]]), "a <mark>&lt;b&gt;</mark> c");
        assert_eq!(shown("größer", &[[3, 4], [0, 2]]), "<mark>gr</mark>ößer");
        assert_eq!(shown("abc", &[[2, 9], [3, 1]]), "abc");
    }
}
