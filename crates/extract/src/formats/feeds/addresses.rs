//! Addresses that are relative to others which the document names (RFC 3986 5.2): whoever follows links knows the address of
//! the document and none of those in it.

/// The address that `written` is when it stands where `base` holds. What `base` says nothing of stays as it is written.
pub(super) fn join(base: Option<&str>, written: &str) -> String {
    let written = written.trim();
    let Some((scheme, rest)) = base.and_then(absolute) else { return written.to_owned() };
    if absolute(written).is_some() || scheme_end(written).is_some() {
        return written.to_owned();
    }
    // `http:///host/` has a slash too many.
    let rest = rest.trim_start_matches('/');
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let path = path.split('#').next().unwrap_or_default();
    if let Some(rest) = written.strip_prefix("//") {
        return format!("{scheme}://{rest}");
    }
    let whole = match written.chars().next() {
        None => return format!("{scheme}://{host}{path}"),
        Some('#') => return format!("{scheme}://{host}{path}{written}"),
        Some('?') => {
            return format!("{scheme}://{host}{}{written}", path.split('?').next().unwrap_or_default());
        }
        Some('/') => written.to_owned(),
        Some(_) => {
            let path = path.split('?').next().unwrap_or_default();
            format!("{}/{written}", path.rsplit_once('/').map_or("", |(folder, _)| folder))
        }
    };
    let end = whole.find(['?', '#']).unwrap_or(whole.len());
    format!("{scheme}://{host}{}{}", without_dots(&whole[..end]), &whole[end..])
}

/// Scheme and rest of an address that has both.
fn absolute(address: &str) -> Option<(&str, &str)> {
    let address = address.trim();
    let end = scheme_end(address)?;
    Some((&address[..end], address[end + 1..].strip_prefix("//")?))
}

/// Where the scheme ends that an address begins with.
fn scheme_end(address: &str) -> Option<usize> {
    let end = address.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))?;
    (end > 0 && address[end..].starts_with(':') && address.as_bytes()[0].is_ascii_alphabetic()).then_some(end)
}

/// A path without the steps that lead nowhere or up.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    for (at, step) in steps.iter().enumerate() {
        let is_last = at + 1 == steps.len();
        match *step {
            "." | ".." => {
                if *step == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            step => kept.push(step),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn relative_addresses_lead_where_a_browser_would_go() {
        let base = Some("http://a/b/c/d;p?q");
        for (written, whole) in [
            ("g", "http://a/b/c/g"),
            ("./g/", "http://a/b/c/g/"),
            ("/g?x#y", "http://a/g?x#y"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("", "http://a/b/c/d;p?q"),
            ("..", "http://a/b/"),
            ("../../../g", "http://a/g"),
            ("mailto:x@y", "mailto:x@y"),
            ("https://z/../w", "https://z/../w"),
        ] {
            assert_eq!(join(base, written), whole, "{written}");
        }
    }

    #[test]
    fn without_a_whole_base_an_address_stays_as_it_is() {
        assert_eq!(join(None, " x/y "), "x/y");
        assert_eq!(join(Some("folder/"), "x"), "x");
        assert_eq!(join(Some("http://h"), "x"), "http://h/x");
        assert_eq!(join(Some("http:///h/t/"), "x"), "http://h/t/x");
    }
}
