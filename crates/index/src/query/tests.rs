//! The query language: what it reads, and that nothing makes it fall over.

use super::*;
use proptest::prelude::*;

fn word(text: &str) -> Node {
    Node::Text { field: TextField::Anywhere, text: text.to_owned(), prefix: false, bare: true }
}

fn phrase(text: &str) -> Node {
    Node::Text { field: TextField::Anywhere, text: text.to_owned(), prefix: false, bare: false }
}

fn must(text: &str) -> Node {
    word(text).must()
}

fn parse(query: &str) -> Result<Parsed, Fault> {
    super::parse(query, Zone::utc(1_709_210_096_000))
}

fn read(query: &str) -> Node {
    parse(query).unwrap().node
}

fn notes(query: &str) -> String {
    parse(query).unwrap().notes.join("; ")
}

fn wrong(query: &str) -> String {
    parse(query).unwrap_err().to_string()
}

#[test]
fn words_that_stand_next_to_each_other_bind_closer_than_or() {
    assert_eq!(read("a b"), Node::And(vec![word("a"), word("b")]));
    assert_eq!(read("a AND b && c d"), Node::And(vec![must("a"), must("b"), must("c"), word("d")]));
    assert_eq!(read("+a b"), Node::And(vec![must("a"), word("b")]));
    assert_eq!(read("a || b"), read("a OR b"));
    assert_eq!(read("!a"), read("-a"));
    assert_eq!(read("a b OR c"), Node::Or(vec![Node::And(vec![word("a"), word("b")]), word("c")]));
    assert_eq!(read("a (b OR c)"), Node::And(vec![word("a"), Node::Or(vec![word("b"), word("c")])]));
    assert_eq!(read("-a"), Node::Not(Box::new(word("a"))));
    assert_eq!(read("NOT a"), Node::Not(Box::new(word("a"))));
    assert_eq!(read(" * "), Node::All);
    assert_eq!(read("ORDER NOTE a-b"), Node::And(vec![word("ORDER"), word("NOTE"), word("a-b")]));
}

#[test]
fn phrases_prefixes_and_fields() {
    let text = |field, text: &str, prefix| {
        let bare = field == TextField::Anywhere;
        Node::Text { field, text: text.to_owned(), prefix, bare }
    };
    assert_eq!(read(r#""a \"b\" c""#), phrase(r#"a "b" c"#));
    assert_eq!(read("run*"), text(TextField::Anywhere, "run", true));
    assert_eq!(read(r#"title:"a b""#), text(TextField::Title, "a b", false));
    assert_eq!(read("TYPE:text/*"), text(TextField::MediaType, "text/", true));
    assert_eq!(read("uri:file:///a"), text(TextField::Uri, "file:///a", false));
    assert_eq!(read("meta.Dc.Creator:x"), text(TextField::Meta("dc.creator".into()), "x", false));
    assert_eq!(read("meta.subject:*"), text(TextField::Meta("subject".into()), "", true));
    assert_eq!(read("author:*"), text(TextField::Author, "", true));
    assert_eq!(read("lang:German"), text(TextField::Lang, "de", false));
    assert_eq!(read("lang:\"german\""), text(TextField::Lang, "de", false));
    assert_eq!(notes("lang:German"), "`lang:German` is searched as `lang:de`");
    assert_eq!(notes("lang:fra"), "`lang:fra` is searched as `lang:fr`");
    assert_eq!(notes("lang:germn"), "no language is known as `germn`; `lang:de` is one");
    assert!(notes("lang:klingon").contains("such as `lang:de`"), "{}", notes("lang:klingon"));
    assert_eq!([notes("lang:e*"), notes("lang:*"), notes("lang:DE")], [""; 3]);
    assert_eq!(
        (read("lang:de-at"), notes("lang:de")),
        (text(TextField::Lang, "de-at", false), String::new())
    );
    let number = |field, from, to| Node::Number { field, from, to };
    assert_eq!(read("size:1k..1k"), number(NumberField::Size, Some(1_024), Some(1_025)));
    assert_eq!(read("size:*"), number(NumberField::Size, Some(i64::MIN), None));
    assert_eq!(read("size:>10kb"), number(NumberField::Size, Some(10_241), None));
    assert_eq!(read("size:..1k"), number(NumberField::Size, None, Some(1_025)));
    assert_eq!(read("modified:<1970"), number(NumberField::Modified, None, Some(0)));
    let quarter = number(NumberField::Modified, Some(1_704_067_200_000), Some(1_711_929_600_000));
    assert_eq!(read("modified:2024-01..2024-03"), quarter);
}

#[test]
fn mistakes_are_named_with_their_place() {
    assert!(wrong("").contains("character 1: the query is empty"));
    assert!(wrong("a OR").contains("`OR` needs something on both sides"));
    assert!(wrong("OR a").contains("`OR` needs something on both sides"));
    assert!(wrong("a AND").contains("`AND` needs something on both sides"));
    assert!(wrong("a NOT").contains("character 3: there is nothing after this negation"));
    let empty = "character 6: this range is empty, since it ends before it begins";
    assert!(wrong("size:5kb..1kb").contains(empty));
    assert!(wrong("modified:2024-03..2024-01").contains("this range is empty"));
    assert!(wrong("size:big").contains("character 6: write a size"));
    assert!(wrong("modified:2024-13").contains("character 10: write a date"));
    assert!(wrong("()").contains("nothing in these parentheses"));
    assert!(wrong(&"(".repeat(1_000)).contains("the query is empty"));
    let nested = |depth: usize| format!("{}word{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(limits::QUERY_DEPTH_MAX)).is_ok());
    assert!(wrong(&nested(limits::QUERY_DEPTH_MAX + 1)).contains("nested"));
    assert!(wrong(&format!("{}a", "-".repeat(1_000))).contains("nested"));
    assert!(wrong(&"a".repeat(100_000)).contains("longer"));
}

#[test]
fn signs_of_prose_are_words_with_a_note() {
    assert_eq!(read("a \"b c"), Node::And(vec![word("a"), word("b"), word("c")]));
    assert!(notes("a \"b c").contains("the double quote at character 3 is not closed"));
    assert_eq!(read("ü (a"), Node::And(vec![word("ü"), word("a")]));
    assert!(notes("ü (a").contains("the parenthesis at character 3 has no partner and is passed over"));
    assert_eq!(read("1) a 2) (b OR c)"), read("1 a 2 (b OR c)"));
    assert_eq!(read("(a OR b c"), read("a OR b c"));
    let sentence = "THE DESIGN AND TEST OF WAVEGUIDES";
    let Node::And(words) = read(sentence) else { panic!("a sentence is a question") };
    assert_eq!((words.len(), &words[2]), (6, &word("AND")));
    assert!(notes(sentence).contains("is a sentence in capitals"));
    assert_eq!((read("NATO AND EU"), notes("NATO AND EU")), (read("+NATO +EU"), String::new()));
    assert_eq!(read("foo:bar"), word("foo:bar"));
    assert!(
        notes("foo:bar")
            .contains("`foo` is no field, so that `foo:bar` is searched as words; fields are title")
    );
    assert!(notes("titel:bar").contains("`title:` is one"));
    assert!(notes("size: 3").contains("nothing follows `size:`"));
    assert_eq!(notes("at 12:30"), "");
    assert_eq!(
        read("title:\"b"),
        Node::Text { field: TextField::Title, text: "b".into(), prefix: false, bare: false }
    );
    let nothing = word("");
    assert_eq!(read("a - b & c"), Node::And(vec![word("a"), nothing.clone(), word("b"), nothing, word("c")]));
    assert_eq!(read("a (b or c -)"), Node::And(vec![word("a"), read("b or c -")]));
    assert_eq!(read("don't"), word("don't"));
    let Node::And(words) = read(&"word ".repeat(200)) else { panic!("200 words are one question") };
    assert_eq!(words.len(), 200);
}

#[test]
fn dates_are_asked_in_the_zone_of_the_asker() {
    const HOUR: i64 = 3_600_000;
    let zone = Zone { now: 1_709_210_096_000, to_utc: |wall| wall - HOUR };
    let range = |query: &str| match super::parse(query, zone).unwrap().node {
        Node::Number { from, to, .. } => (from, to),
        other => panic!("{other:?}"),
    };
    // 2024-02-29, begun an hour before UTC did.
    let day = (Some(1_709_164_800_000 - HOUR), Some(1_709_251_200_000 - HOUR));
    assert_eq!(range("modified:2024-02-29"), day);
    assert_eq!(range("modified:today"), day);
    assert_eq!(range("modified:2024-02-29T00:00Z").0, Some(1_709_164_800_000));
    let week = Some(1_709_210_096_000 - 7 * 24 * HOUR - HOUR);
    assert_eq!(range("modified:7d"), (week, None));
    assert_eq!(range("modified:>=1w"), (week, None));
    assert_eq!(range("modified:<7d"), (None, week));
    assert!(wrong("modified:7y").contains("`today` or `>7d`"));
}

proptest! {
    #[test]
    fn no_text_makes_it_fall_over(query in "\\PC{0,60}") {
        drop(parse(&query));
    }

    #[test]
    fn no_mixture_of_its_own_signs_makes_it_fall_over(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "a", "ü", " ", "(", ")", "\"", "*", "-", ":", "OR", "AND", "NOT", "title:", "size:>", "modified:",
                "..", "2024-01", "10kb", "+", "!", "||", "&&", "meta.", "\\", "東京", "\u{1}", "<=", "type:text/*",
            ]),
            0..24,
        )
    ) {
        let text = parts.concat();
        // A parenthesis that has no partner never ends the reading: the same query with a word behind it has one word more.
        if let (Ok(_), Ok(more)) = (parse(&text), parse(&format!("{text} behind"))) {
            assert!(format!("{:?}", more.node).contains("behind"), "{text}");
        }
    }
}
