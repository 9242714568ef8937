//! What the failures of a network and the words of a server mean for a document.

use std::error::Error;
use std::io::ErrorKind;
use std::net::IpAddr;

use hyper_util::client::legacy;
use ingather_model::fault::{Exhausted, Fault, Reason};
use ingather_model::limits::{WEB_HEAD_BYTES_MAX, WEB_RETRY_AFTER_MS_MAX, WEB_TLS_ATTEMPTS_MAX};
use jiff::fmt::rfc2822::DateTimeParser;

use super::connect::ConnectError;

/// Of a request that got no answer.
pub(super) fn of_request(error: &legacy::Error, host: &str) -> Fault {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if let Some(error) = at.downcast_ref::<ConnectError>() {
            return of_connect(error);
        }
        if let Some(error) = at.downcast_ref::<hyper::Error>() {
            return of_http(error, host);
        }
        cause = at.source();
    }
    Fault::passing("connection", format!("no answer of `{host}`: {error}"))
}

/// Whether a connection ended before a byte of the answer came. One that was kept may be closed by its server at any time (RFC 9112, 9.5).
pub(super) fn has_no_answer(error: &legacy::Error) -> bool {
    let causes = std::iter::successors(Some(error as &(dyn Error + 'static)), |cause| (*cause).source());
    let is_ended = |cause: &(dyn Error + 'static)| {
        let http = cause.downcast_ref::<hyper::Error>().map(|error| error.is_incomplete_message());
        let ended = [ErrorKind::ConnectionReset, ErrorKind::ConnectionAborted, ErrorKind::BrokenPipe];
        let io = cause.downcast_ref::<std::io::Error>().map(|error| ended.contains(&error.kind()));
        http.or(io).unwrap_or(false)
    };
    causes.into_iter().any(is_ended)
}

fn of_connect(error: &ConnectError) -> Fault {
    let message = error.to_string();
    // An address that is written out is that of the page. What a name leads to is the word of a name server, which may be another one in the next
    // network: it says nothing of the page.
    match error {
        ConnectError::Private(host) if is_written_out(host) => Fault::refused("private_address", message),
        ConnectError::Private(_) => Fault::broken("private_address", message),
        ConnectError::NoContact(_) => Fault::broken("no_contact", message),
        ConnectError::Name(..) => Fault::passing("dns", message),
        ConnectError::Connect(..) => Fault::passing("connect", message),
        ConnectError::Late(_) => Fault::passing("timeout", message),
        ConnectError::Tls(..) => Fault::passing_soon("tls", message, WEB_TLS_ATTEMPTS_MAX),
        ConnectError::Proxy(..) => Fault::passing("proxy", message),
    }
}

/// Whether a host is an address, and no name.
fn is_written_out(host: &str) -> bool {
    host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

/// Of an answer that breaks off or is none.
fn of_http(error: &hyper::Error, host: &str) -> Fault {
    let message = format!("the answer of `{host}` cannot be read: {}", with_causes(error));
    if error.is_parse_too_large() {
        let bound = format!("{message}; its head has {WEB_HEAD_BYTES_MAX} bytes at most");
        return Fault::broken("head_too_large", bound);
    }
    match error.is_parse() || error.is_parse_status() {
        true => Fault::broken("bad_answer", message),
        false => Fault::passing("cut_off", message),
    }
}

/// Of a body that breaks off.
pub(super) fn of_body(error: &hyper::Error, host: &str) -> Fault {
    Fault::passing("cut_off", format!("the page of `{host}` breaks off: {}", with_causes(error)))
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(at) = cause {
        text.push_str(&format!(": {at}"));
        cause = at.source();
    }
    text
}

/// Of a status that is no page. `retry_after` as in the header, `now` in milliseconds since 1970.
pub(super) fn of_status(status: u16, host: &str, retry_after: Option<&str>, now: i64) -> Fault {
    let says = format!("`{host}` answers {status}");
    match status {
        401 | 403 => Fault::unreadable(format!("{says}: this reader may not have it")),
        408 | 425 | 429 | 500..=599 => Fault::Passing {
            reason: Reason::new(if status == 429 { "too_many_requests" } else { "server" }, says),
            retry_in_ms: retry_after.and_then(|text| retry_in_ms(text, now)),
            attempts_max: None,
            give_up_at: None,
            when_exhausted: Exhausted::Skip,
        },
        // It is about this request, or this reader: of the page it says nothing.
        400..=499 => Fault::broken("client_status", format!("{says}: it does not give this page")),
        _ => Fault::broken("bad_status", format!("{says}, which means nothing here")),
    }
}

/// Of an answer that is a part of a page: the rest of it is not gone.
pub(super) fn of_part(host: &str) -> Fault {
    Fault::broken("partial", format!("`{host}` gives a part of the page, and was asked for all of it"))
}

/// Dates of headers; a wrong day of the week is of no account.
const DATES: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);

/// Seconds, or a date.
pub(crate) fn retry_in_ms(text: &str, now: i64) -> Option<i64> {
    let text = text.trim();
    let wait = match text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        true => text.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1_000),
        false => DATES.parse_timestamp(text).ok()?.as_millisecond().saturating_sub(now),
    };
    Some(wait.clamp(0, WEB_RETRY_AFTER_MS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(status: u16, after: &str) -> Option<i64> {
        // 25 June 2010, 15:00 UTC.
        match of_status(status, "h", Some(after), 1_277_478_000_000) {
            Fault::Passing { retry_in_ms, .. } => retry_in_ms,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_says_when_to_come_back() {
        for (after, expected) in [
            ("120", Some(120_000)),
            ("0", Some(0)),
            ("Fri, 25 Jun 2010 15:00:10 GMT", Some(10_000)),
            ("Fri, 25 Jun 2010 14:00:00 GMT", Some(0)),
            ("99999999999999999999", Some(WEB_RETRY_AFTER_MS_MAX)),
            ("Fri, 25 Jun 2110 15:00:00 GMT", Some(WEB_RETRY_AFTER_MS_MAX)),
            ("-5", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(retry(429, after), expected, "{after}");
            assert_eq!(retry(503, after), expected, "{after}");
        }
    }

    #[test]
    fn a_status_has_its_consequence() {
        for (status, expected) in [
            (401, "unreadable"),
            (403, "unreadable"),
            (400, "client_status"),
            (418, "client_status"),
            (429, "too_many_requests"),
            (500, "server"),
            (503, "server"),
            (600, "bad_status"),
            (101, "bad_status"),
        ] {
            assert_eq!(of_status(status, "h", None, 0).reason().code, expected, "{status}");
        }
    }

    #[test]
    fn nothing_that_is_about_a_request_is_a_decision_about_a_page() {
        for status in (100..700).filter(|status| !matches!(status, 401 | 403 | 407)) {
            let fault = of_status(status, "h", None, 0);
            assert!(matches!(fault, Fault::Broken(_) | Fault::Passing { .. }), "{status}: {fault:?}");
        }
    }

    #[test]
    fn what_a_name_leads_to_for_a_moment_is_no_decision_about_a_page() {
        for (host, is_refused) in [("127.0.0.1", true), ("[::1]", true), ("docs.example.org", false)] {
            let fault = of_connect(&ConnectError::Private(host.to_owned()));
            assert_eq!(matches!(fault, Fault::Refused(_)), is_refused, "{host}");
            let fault = of_connect(&ConnectError::NoContact(host.to_owned()));
            assert!(
                matches!(fault, Fault::Broken(_)),
                "a contact that is taken away leaves out no page: {host}"
            );
        }
    }
}
