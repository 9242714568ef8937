//! `ingather robots`: the answer is the exit code, and the rule that decides is named.

use crate::sandbox::Sandbox;

#[test]
fn a_robots_txt_is_read_as_the_standard_says_and_the_line_that_decides_is_named() {
    let sandbox = Sandbox::sqlite();
    let file = sandbox.path().join("robots.txt");
    std::fs::write(
        &file,
        "User-agent: *\nDisallow: /private\nAllow: /private/open\n\nUser-agent: strict\nDisallow: /\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let ask = |url: &str, agent: &str| sandbox.run(&["robots", file, url, agent]);
    assert!(ask("/public", "Ingather").exits(0).out.contains("no rule speaks of it"));
    assert!(ask("https://example.org/private/a", "Ingather").exits(1).out.contains("line 2 decides"));
    ask("/private/open/a", "Ingather").exits(0);
    ask("/public", "Strict/2.0").exits(1);
    ask("mailto:a@example.org", "Ingather").refuses(2, &["http"]);
    sandbox.run(&["robots", "absent.txt", "/a", "b"]).refuses(2, &["absent.txt"]);
    let told = sandbox.run(&["robots", file, "/private", "x", "--json"]).exits(1).json();
    assert_eq!(told[0]["allowed"], false);
}
