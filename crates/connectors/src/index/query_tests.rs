//! The query language: what it reads, and that nothing makes it fall over.

use super::*;
use proptest::prelude::*;

fn word(text: &str) -> Node {
    Node::Text { field: TextField::Anywhere, text: text.to_owned(), prefix: false }
}

fn wrong(query: &str) -> String {
    parse(query).unwrap_err().to_string()
}

#[test]
fn words_are_joined_by_and_which_binds_closer_than_or() {
    assert_eq!(parse("a b").unwrap(), Node::And(vec![word("a"), word("b")]));
    assert_eq!(parse("a AND b").unwrap(), Node::And(vec![word("a"), word("b")]));
    assert_eq!(parse("a b OR c").unwrap(), Node::Or(vec![Node::And(vec![word("a"), word("b")]), word("c")]));
    assert_eq!(
        parse("a (b OR c)").unwrap(),
        Node::And(vec![word("a"), Node::Or(vec![word("b"), word("c")])])
    );
    assert_eq!(parse("-a").unwrap(), Node::Not(Box::new(word("a"))));
    assert_eq!(parse("NOT a").unwrap(), Node::Not(Box::new(word("a"))));
    assert_eq!(parse(" * ").unwrap(), Node::All);
    assert_eq!(parse("ORDER NOTE a-b").unwrap(), Node::And(vec![word("ORDER"), word("NOTE"), word("a-b")]));
}

#[test]
fn phrases_prefixes_and_fields() {
    let text = |field, text: &str, prefix| Node::Text { field, text: text.to_owned(), prefix };
    assert_eq!(parse(r#""a \"b\" c""#).unwrap(), word(r#"a "b" c"#));
    assert_eq!(parse("run*").unwrap(), text(TextField::Anywhere, "run", true));
    assert_eq!(parse(r#"title:"a b""#).unwrap(), text(TextField::Title, "a b", false));
    assert_eq!(parse("TYPE:text/*").unwrap(), text(TextField::MediaType, "text/", true));
    assert_eq!(parse("uri:file:///a").unwrap(), text(TextField::Uri, "file:///a", false));
    assert_eq!(parse("meta.Dc.Creator:x").unwrap(), text(TextField::Meta("dc.creator".into()), "x", false));
    assert_eq!(parse("meta.subject:*").unwrap(), text(TextField::Meta("subject".into()), "", true));
    let number = |field, from, to| Node::Number { field, from, to };
    assert_eq!(parse("size:>10kb").unwrap(), number(NumberField::Size, Some(10_241), None));
    assert_eq!(parse("size:..1k").unwrap(), number(NumberField::Size, None, Some(1_025)));
    assert_eq!(parse("modified:<1970").unwrap(), number(NumberField::Modified, None, Some(0)));
    let quarter = number(NumberField::Modified, Some(1_704_067_200_000), Some(1_711_929_600_000));
    assert_eq!(parse("modified:2024-01..2024-03").unwrap(), quarter);
}

#[test]
fn mistakes_are_named_with_their_place() {
    assert!(wrong("").contains("character 1: the query is empty"));
    assert!(wrong("ü (a").contains("character 3: this `(` is not closed"));
    assert!(wrong("a) b").contains("character 2: this `)` closes nothing"));
    assert!(wrong("a \"b").contains("character 3: this double quote is not closed"));
    assert!(wrong("a OR").contains("`OR` needs something on both sides"));
    assert!(wrong("OR a").contains("`OR` needs something on both sides"));
    assert!(wrong("a AND").contains("`AND` needs something on both sides"));
    assert!(wrong("a -").contains("character 3: there is nothing after this negation"));
    assert!(wrong("foo:bar").contains("`foo` is no field"));
    assert!(wrong("title:").contains("character 7: a word or a phrase"));
    assert!(wrong("title:*").contains("letters must stand before this `*`"));
    assert!(wrong("size:big").contains("character 6: write a size"));
    assert!(wrong("modified:2024-13").contains("character 10: write a date"));
    assert!(wrong("()").contains("nothing in these parentheses"));
    assert!(wrong(&"(".repeat(1_000)).contains("nested"));
    let nested = |depth: usize| format!("{}word{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(limits::QUERY_DEPTH_MAX)).is_ok());
    assert!(wrong(&nested(limits::QUERY_DEPTH_MAX + 1)).contains("nested"));
    assert!(wrong(&"-".repeat(1_000)).contains("nested"));
    assert!(wrong(&"a ".repeat(1_000)).contains("parts"));
    assert!(wrong(&"a".repeat(100_000)).contains("longer"));
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
                "..", "2024-01", "10kb", "meta.", "\\", "東京", "\u{1}", "<=", "type:text/*",
            ]),
            0..24,
        )
    ) {
        drop(parse(&parts.concat()));
    }
}
