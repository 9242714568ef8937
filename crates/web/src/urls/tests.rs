//! Which spellings of an address are one page, and which stay apart.

use proptest::prelude::*;

use super::*;

fn normal(text: &str) -> String {
    UrlRules::default().normalise(text).unwrap().into()
}

fn with(change: impl FnOnce(&mut UrlSettings)) -> UrlRules {
    let mut settings = UrlSettings::default();
    change(&mut settings);
    UrlRules::new(settings).unwrap()
}

#[test]
fn spellings_that_make_no_difference_name_one_page() {
    for (written, expected) in [
        ("HTTP://Example.COM:80", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("http://example.com:8080/", "http://example.com:8080/"),
        ("http://example.com./a", "http://example.com/a"),
        ("http://example.com/a#part", "http://example.com/a"),
        ("http://user:secret@example.com/", "http://example.com/"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a/%2e%2E/c", "http://example.com/c"),
        ("http://example.com/%7euser/%61%2f", "http://example.com/~user/a%2F"),
        ("http://example.com/%73ecret%zz", "http://example.com/secret%zz"),
        ("http://example.com/caf\u{e9}", "http://example.com/caf%C3%A9"),
        ("http://example.com/caf%c3%a9", "http://example.com/caf%C3%A9"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http://example.com\\a\\b", "http://example.com/a/b"),
        (" http://exa\nmple.com/\t", "http://example.com/"),
        ("http://B\u{fc}cher.example/", "http://xn--bcher-kva.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://[0:0::1]/", "http://[::1]/"),
        ("http://example.com/?", "http://example.com/"),
        ("http://example.com/?b=1&&a=2", "http://example.com/?b=1&a=2"),
        ("http://example.com/a;jsessionid=1A?PHPSESSID=5&x=1", "http://example.com/a?x=1"),
        ("http://example.com/a;v=1;jsessionid=1A/b", "http://example.com/a;v=1/b"),
        ("http://example.com/a/..;jsessionid=1/b", "http://example.com/b"),
        ("http://example.com/?utm_source=x&UTM_medium=y&sid=1&side=2", "http://example.com/?side=2"),
        ("http://example.com/(S(lit3py55t21z5v55vlm25s55))/p.aspx", "http://example.com/p.aspx"),
        ("http://example.com/(A(x)S(y))/p.aspx", "http://example.com/p.aspx"),
    ] {
        assert_eq!(normal(written), expected, "{written}");
    }
}

#[test]
fn spellings_that_may_make_a_difference_stay_apart() {
    for kept in [
        "http://example.com/A",
        "http://example.com/index.html",
        "http://example.com/a//b",
        "http://example.com/a%2Fb",
        "http://www.example.com/",
        "http://example.com/?b=1&a=2",
        "http://example.com/?a",
        "http://example.com/?a=",
        "http://example.com/%zzA%4",
        "http://example.com/%%41",
        "http://example.com/%4%35",
        "http://example.com/(S)/x",
        "http://example.com/;v=1",
    ] {
        assert_eq!(normal(kept), kept);
    }
}

#[test]
fn what_a_site_does_not_care_about_is_a_setting() {
    let sorted = with(|settings| settings.sort_query = true);
    let url = sorted.normalise("http://example.com/?b=2&a=9&b=1").unwrap();
    assert_eq!(url.as_str(), "http://example.com/?a=9&b=2&b=1");
    let folded = with(|settings| settings.index_pages = vec!["index.html".into()]);
    assert_eq!(
        folded.normalise("http://example.com/a/index.html?x").unwrap().as_str(),
        "http://example.com/a/?x"
    );
    assert_eq!(folded.normalise("http://example.com/my-index.html").unwrap().path(), "/my-index.html");
    let bare = with(|settings| settings.drop_www = true);
    assert_eq!(bare.normalise("http://www.example.com/").unwrap().as_str(), "http://example.com/");
    assert_eq!(bare.normalise("http://www.com/").unwrap().as_str(), "http://www.com/");
    let lower = with(|settings| settings.lower_case_paths = true);
    assert_eq!(
        lower.normalise("http://example.com/A%2fB?Q=R").unwrap().as_str(),
        "http://example.com/a%2Fb?Q=R"
    );
    let all = with(|settings| settings.drop_parameters.clear());
    assert_eq!(all.normalise("http://example.com/?sid=1").unwrap().query(), Some("sid=1"));
}

#[test]
fn links_are_resolved_against_their_page() {
    let rules = UrlRules::default();
    let base = rules.normalise("https://example.com/a/b?c=d").unwrap();
    for (link, expected) in [
        ("e", "https://example.com/a/e"),
        ("../e#f", "https://example.com/e"),
        ("?g", "https://example.com/a/b?g"),
        ("//other.example/x", "https://other.example/x"),
        ("", "https://example.com/a/b?c=d"),
        ("https:x", "https://example.com/a/x"),
    ] {
        assert_eq!(rules.resolve(&base, link).unwrap().as_str(), expected, "{link}");
    }
}

#[test]
fn what_is_no_page_is_refused_with_its_code() {
    let code = |text: &str| UrlRules::default().normalise(text).unwrap_err().code;
    for text in
        ["mailto:a@b", "javascript:alert(1)", "ftp://example.com/", "data:text/plain,x", "file:///etc/passwd"]
    {
        assert_eq!(code(text), "not_web", "{text}");
    }
    for text in ["", "a/b", "http://", "http://...", "http://exa mple/", "http://[::1"] {
        assert_eq!(code(text), "not_an_address", "{text}");
    }
    assert_eq!(code(&format!("http://example.com/{}", "a".repeat(WEB_URL_BYTES_MAX))), "address_too_long");
    // Escaping makes it longer than it was written.
    let umlauts = format!("http://example.com/{}", "\u{e4}".repeat(WEB_URL_BYTES_MAX / 3));
    assert!(umlauts.len() < WEB_URL_BYTES_MAX);
    assert_eq!(code(&umlauts), "address_too_long");
}

#[test]
fn a_list_without_end_is_refused() {
    let names = vec!["a".to_owned(); WEB_NAMES_MAX + 1];
    let refused = UrlRules::new(UrlSettings { drop_parameters: names, ..UrlSettings::default() });
    assert_eq!(refused.unwrap_err().code, "bad_setting");
}

#[test]
fn the_parent_of_a_page_ends_with_the_last_slash_of_its_path() {
    let parent = |key: &'static str| &key[..parent_bytes(key)];
    assert_eq!(parent("http://example.com/a/b"), "http://example.com/a/");
    assert_eq!(parent("http://example.com/a/?x=/y/"), "http://example.com/a/");
    assert_eq!(parent("http://example.com/"), "http://example.com/");
    assert_eq!(parent(""), "");
}

#[test]
fn pages_share_their_host_and_the_domains_above() {
    let of = |text: &str| bins(&Url::parse(text).unwrap());
    assert_eq!(of("http://example.com/"), ["example.com"]);
    assert_eq!(
        of("http://www.example.com:8080/"),
        ["www.example.com:8080", "www.example.com", "example.com"]
    );
    assert_eq!(
        of("http://a.b.c.d.example.com/"),
        ["a.b.c.d.example.com", "c.d.example.com", "d.example.com", "example.com"]
    );
    assert_eq!(of("http://127.0.0.1:81/"), ["127.0.0.1:81", "127.0.0.1"]);
    assert_eq!(of("http://[::1]/"), ["[::1]"]);
    assert_eq!(of("http://localhost/"), ["localhost"]);
}

proptest! {
    #[test]
    fn a_normal_address_stays_as_it_is(
        host in "(www\\.)?[a-z0-9.\u{e4}-]{1,12}\\.?",
        path in "(/|\\.|%2e|%[0-9a-fA-F]{2}|;jsessionid=1|;a|\\(S\\(x\\)\\)|index\\.html|[a-zA-Z \u{e9}%+~]){0,16}",
        query in "(\\?|&|=|sid|utm_a|%[0-9a-f]{2}|%|[a-z/#]){0,16}",
        sort_query: bool,
        drop_www: bool,
        lower_case_paths: bool,
    ) {
        let rules = with(|settings| {
            settings.sort_query = sort_query;
            settings.drop_www = drop_www;
            settings.lower_case_paths = lower_case_paths;
            settings.index_pages = vec!["index.html".into()];
        });
        let Ok(url) = rules.normalise(&format!("http://{host}/{path}?{query}")) else { return Ok(()) };
        let again = rules.normalise(url.as_str()).unwrap();
        prop_assert_eq!(url.as_str(), again.as_str());
    }

    #[test]
    fn any_text_is_an_address_or_refused(text in "\\PC{0,64}") {
        let rules = UrlRules::default();
        let base = Url::parse("http://example.com/a/").unwrap();
        if let Ok(url) = rules.resolve(&base, &text) {
            prop_assert!(matches!(url.scheme(), "http" | "https"));
            prop_assert!(parent_bytes(url.as_str()) > "http://".len());
        }
    }
}
