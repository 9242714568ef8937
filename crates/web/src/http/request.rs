//! Requests as they go out: whom they are for decides what of secrets and cookies goes with them.

use http::header;
use http_body_util::Full;
use hyper::body::Bytes;
use ingather_model::fault::Fault;
use url::Url;

use super::credentials::Told;
use super::digest::Proof;
use super::{Client, Condition, decode};

/// What one request is about.
#[derive(Clone, Copy)]
pub(super) struct Outgoing<'a> {
    pub(super) url: &'a Url,
    pub(super) condition: Condition<'a>,
    /// A form that is filled in, and the page that it stands on.
    pub(super) form: Option<(&'a str, &'a Url)>,
}

impl Outgoing<'_> {
    fn method(&self) -> http::Method {
        if self.form.is_some() { http::Method::POST } else { http::Method::GET }
    }
}

impl Client {
    /// The request, and the proof that goes with it.
    pub(super) fn request(
        &self,
        asked: &Outgoing<'_>,
        now: i64,
    ) -> Result<(http::Request<Full<Bytes>>, Option<Proof>), Fault> {
        let Outgoing { url, condition, form } = *asked;
        let mut request = http::Request::builder()
            .method(asked.method())
            .uri(url.as_str())
            .header(header::USER_AGENT, &self.agent)
            .header(header::ACCEPT, "*/*")
            .header(header::ACCEPT_ENCODING, decode::ACCEPTED);
        if let Some(etag) = condition.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(date) = condition.last_modified {
            request = request.header(header::IF_MODIFIED_SINCE, date);
        }
        if let Some((_, page)) = form {
            // Whoever protects a form from being sent by other sites looks at one of these.
            request = request
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header(header::ORIGIN, url.origin().ascii_serialization())
                .header(header::REFERER, page.as_str());
        }
        if let Some(authorization) = self.proxy_authorization.as_ref().filter(|_| url.scheme() == "http") {
            request = request.header(header::PROXY_AUTHORIZATION, authorization);
        }
        let mut proof = None;
        match self.credentials.of_host(url) {
            Some(Told::Always(header)) => request = request.header(header::AUTHORIZATION, header),
            Some(Told::Proof(digest)) => {
                let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
                proof = digest.proof(asked.method().as_str(), target);
                if let Some(proof) = &proof {
                    request = request.header(header::AUTHORIZATION, &proof.header);
                }
            }
            None => {}
        }
        if let Some(cookies) = self.cookies.header(url, now) {
            request = request.header(header::COOKIE, cookies);
        }
        let message = |error| format!("`{url}` cannot be asked for: {error}");
        let body = form.map_or_else(Bytes::new, |(form, _)| Bytes::copy_from_slice(form.as_bytes()));
        let request = request.body(Full::new(body));
        Ok((request.map_err(|error| Fault::broken("bad_request", message(error)))?, proof))
    }
}
