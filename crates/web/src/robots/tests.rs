//! The examples of RFC 9309 and of Google's pages about robots.txt, and what a hostile file does.

use proptest::prelude::*;

use super::*;

fn verdict(file: &str, agent: &str, path: &str) -> Verdict {
    Robots::parse(file.as_bytes()).for_agent(agent).verdict(path)
}

fn allowed(file: &str, agent: &str, path: &str) -> bool {
    verdict(file, agent, path).allowed
}

/// One rule, one path: does the rule fit?
fn fits(rule: &str, path: &str) -> bool {
    !allowed(&format!("User-agent: *\nDisallow: {rule}"), "x", path)
}

#[test]
fn the_simple_example_of_the_standard_holds() {
    let file = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
        User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
        User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\n\
        User-Agent: quxbot\n";
    for (agent, path, expected) in [
        ("otherbot", "/example/page.html", false),
        ("otherbot", "/publications/", true),
        ("otherbot", "/a.gif", false),
        ("otherbot", "/a.gif?b", true),
        ("foobot", "/example/page.html", true),
        ("foobot", "/example/allowed.gif", true),
        ("foobot", "/publications/", false),
        ("barbot", "/example/page.html", false),
        ("bazbot", "/example/page.html", false),
        ("barbot", "/a.gif", true),
        ("quxbot", "/example/page.html", true),
    ] {
        assert_eq!(allowed(file, agent, path), expected, "{agent} {path}");
    }
}

#[test]
fn the_longest_match_of_the_standard_decides() {
    let file = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    assert!(allowed(file, "foobot", "/example/page/"));
    let decided = verdict(file, "foobot", "/example/page/disallowed.gif");
    assert_eq!(decided.rule.as_deref(), Some("Disallow: /example/page/disallowed.gif"));
    assert_eq!((decided.allowed, decided.line), (false, Some(3)));
}

#[test]
fn groups_of_one_robot_are_joined() {
    let file = "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\n\
        user-agent: other\ndisallow: /\n\nuser-agent: EXAMPLEBOT/2.0 beta\ndisallow: /baz\n";
    for (path, expected) in [("/foo", false), ("/bar", false), ("/baz", false), ("/boo", true)] {
        assert_eq!(allowed(file, "ExampleBot/1.0 (+http://example.com)", path), expected, "{path}");
    }
}

#[test]
fn lines_of_other_kinds_do_not_end_a_group() {
    let file = "User-agent: a\nSitemap: http://example.com/s.xml\nCrawl-delay: 2\nNonsense: x\nUser-agent: b\nDisallow: /\n";
    assert!(!allowed(file, "a", "/x"));
    assert!(!allowed(file, "b", "/x"));
    assert!(allowed(file, "c", "/x"));
    assert_eq!(Robots::parse(file.as_bytes()).for_agent("a").delay_ms(), Some(2_000));
    assert_eq!(Robots::parse(file.as_bytes()).for_agent("b").delay_ms(), None);
}

#[test]
fn a_robot_with_a_group_of_its_own_does_not_go_by_that_of_everybody() {
    let file = "User-agent: *\nDisallow: /\nUser-agent: in-gather_x\nDisallow: /private\n";
    assert!(allowed(file, "In-Gather_X/3", "/public"));
    assert!(!allowed(file, "In-Gather", "/public"));
    assert!(!allowed(file, "", "/public"));
}

#[test]
fn precedence_is_as_in_the_table_of_google() {
    for (rules, path, expected) in [
        ("allow: /p\ndisallow: /", "/page", true),
        ("allow: /folder\ndisallow: /folder", "/folder/page", true),
        ("disallow: /folder\nallow: /folder", "/folder/page", true),
        ("allow: /page\ndisallow: /*.htm", "/page.htm", false),
        ("allow: /page\ndisallow: /*.ph", "/page.php5", true),
        ("allow: /$\ndisallow: /", "/", true),
        ("allow: /$\ndisallow: /", "/page.htm", false),
    ] {
        assert_eq!(allowed(&format!("user-agent: *\n{rules}"), "x", path), expected, "{rules} {path}");
    }
}

#[test]
fn paths_match_as_in_the_table_of_google() {
    let table: &[(&str, &[&str], &[&str])] = &[
        ("/", &["/", "/a", "/a?b"], &[]),
        ("/*", &["/", "/a"], &[]),
        ("/$", &["/"], &["/a", "/?a"]),
        (
            "/fish",
            &[
                "/fish",
                "/fish.html",
                "/fish/salmon.html",
                "/fishheads",
                "/fishheads/yummy.html",
                "/fish.php?id=anything",
            ],
            &["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"],
        ),
        (
            "/fish*",
            &["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=anything"],
            &["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"],
        ),
        (
            "/fish/",
            &["/fish/", "/fish/?id=anything", "/fish/salmon.htm"],
            &["/fish", "/fish.html", "/animals/fish/", "/Fish/Salmon.asp"],
        ),
        (
            "/*.php",
            &[
                "/index.php",
                "/filename.php",
                "/folder/filename.php",
                "/folder/filename.php?parameters",
                "/folder/any.php.file.html",
                "/filename.php/",
            ],
            &["/", "/windows.PHP"],
        ),
        (
            "/*.php$",
            &["/filename.php", "/folder/filename.php"],
            &["/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"],
        ),
        ("/fish*.php", &["/fish.php", "/fishheads/catfish.php?parameters"], &["/Fish.PHP"]),
    ];
    for (rule, yes, no) in table {
        yes.iter().for_each(|path| assert!(fits(rule, path), "{rule} should fit {path}"));
        no.iter().for_each(|path| assert!(!fits(rule, path), "{rule} should not fit {path}"));
    }
}

#[test]
fn escapes_match_as_in_the_table_of_the_standard() {
    for (rule, path) in [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http%3A%2F%2Ffoo.bar"),
        ("/foo/bar?baz=http%3A%2F%2Ffoo.bar", "/foo/bar?baz=http://foo.bar"),
        ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
        ("/path/foo-%24", "/path/foo-$"),
        ("/a$b", "/a$b"),
    ] {
        assert!(fits(rule, path), "{rule} {path}");
    }
    for (rule, path) in [("/a%2Fb", "/a/b"), ("/a%2A", "/ab"), ("/a%", "/a"), ("/a%3Fb", "/a?b")] {
        assert!(!fits(rule, path), "{rule} {path}");
    }
}

#[test]
fn stars_are_placed_wherever_they_fit() {
    for (rule, path, expected) in [
        ("*", "/x", true),
        ("**a", "/xa", true),
        ("/a*b*c$", "/abcbc", true),
        ("/a*b*c$", "/abcb", false),
        ("/a*a$", "/a", false),
        ("/ab*ba$", "/aba", false),
        ("/*a*$", "/xax", true),
        ("a", "/a", false),
    ] {
        assert_eq!(fits(rule, path), expected, "{rule} {path}");
    }
}

#[test]
fn many_stars_take_no_time_of_their_own() {
    let rule = format!("/{}b", "*a".repeat(2_000));
    assert!(!fits(&rule, &format!("/{}", "a".repeat(4_000))));
    assert!(fits(&rule, &format!("/{}b", "a".repeat(4_000))));
}

#[test]
fn lines_are_read_however_they_are_written() {
    let file = "\u{feff}USER-AGENT : *\r\n  disALLOW\t: /a # not /b\r# Disallow: /c\nDisallow:\nDisallow /d\nDissallow: /e";
    for (path, expected) in [("/a", false), ("/b", true), ("/c", true), ("/d", true), ("/e", false)] {
        assert_eq!(allowed(file, "x", path), expected, "{path}");
    }
    assert_eq!(verdict(file, "x", "/a").line, Some(2));
    assert_eq!(verdict(file, "x", "/e").line, Some(6));
}

#[test]
fn rules_before_the_first_group_go_for_nobody() {
    assert!(allowed("Disallow: /\nUser-agent: a\nDisallow: /x", "b", "/y"));
    assert!(allowed("User-agent:\nDisallow: /", "b", "/y"));
    assert!(allowed("<html><body>Disallow: /</body></html>", "b", "/y"));
}

#[test]
fn the_file_itself_may_always_be_read() {
    assert!(allowed("User-agent: *\nDisallow: /", "x", "/robots.txt"));
    assert!(!allowed("User-agent: *\nDisallow: /", "x", "/robots.txt?a"));
}

#[test]
fn sitemaps_and_pauses_are_told() {
    let file = "Sitemap: https://example.com/a.xml # all\nUser-agent: a\nCrawl-delay: 1.5\nDisallow: /x\nsitemap:/b.xml\n\
        User-agent: a\nCrawl-delay: 0.2\nUser-agent: b\nCrawl-delay: never\nUser-agent: c\nDisallow:\nUser-agent: d\nCrawl-delay: 1e300\nAllow: /";
    let robots = Robots::parse(file.as_bytes());
    assert_eq!(robots.sitemaps(), ["https://example.com/a.xml", "/b.xml"]);
    assert_eq!(robots.for_agent("a").delay_ms(), Some(1_500));
    assert_eq!(robots.for_agent("b").delay_ms(), None);
    assert_eq!(robots.for_agent("c").delay_ms(), None);
    assert_eq!(robots.for_agent("d").delay_ms(), Some(ROBOTS_DELAY_MS_MAX));
}

#[test]
fn what_stands_behind_the_bound_is_left_out_with_the_line_that_is_cut() {
    let mut file = b"User-agent: *\nDisallow: /first\n".to_vec();
    while file.len() < ROBOTS_BYTES_MAX - 14 {
        file.push(b'\n');
    }
    // The bound falls behind the slash, and half of this rule would close the whole site.
    file.extend_from_slice(b"\nDisallow: /");
    file.truncate(ROBOTS_BYTES_MAX - 2);
    file.extend_from_slice(b"/private\nDisallow: /last\n");
    let robots = Robots::parse(&file);
    assert!(robots.is_cut());
    let rules = robots.for_agent("x");
    assert!(!rules.verdict("/first").allowed);
    assert!(rules.verdict("/last").allowed);
    assert!(rules.verdict("/").allowed);
}

#[test]
fn bytes_of_no_text_are_rules_as_well() {
    let rules =
        Robots::parse(b"User-agent: *\nDisallow: /\xff\xfe\nDis\xffallow: /a\n\0\0:\0\n").for_agent("x");
    assert!(!rules.verdict("/%FF%FE").allowed);
    assert!(rules.verdict("/a").allowed);
}

proptest! {
    #[test]
    fn any_bytes_are_a_file(bytes in proptest::collection::vec(any::<u8>(), 0..256), path in "\\PC{0,32}") {
        let mut file = b"User-agent: *\nDisallow: /".to_vec();
        file.extend_from_slice(&bytes);
        let rules = Robots::parse(&file).for_agent("x");
        let verdict = rules.verdict(&path);
        prop_assert_eq!(verdict.rule.is_some(), verdict.line.is_some());
        prop_assert!(verdict.allowed || verdict.rule.is_some());
    }

    #[test]
    fn a_pattern_fits_what_an_expression_fits(rule in "/[ab*]{0,8}[$]?", path in "/[ab]{0,10}") {
        let (body, end) = match rule.strip_suffix('$') {
            Some(body) => (body, "$"),
            None => (rule.as_str(), ""),
        };
        let expression = regex::Regex::new(&format!("^{}{end}", body.replace('*', ".*"))).unwrap();
        prop_assert_eq!(fits(&rule, &path), expression.is_match(&path), "{} {}", rule, path);
    }
}
