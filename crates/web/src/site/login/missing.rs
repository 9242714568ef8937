//! Jobs without a login at a site that wants one: what they find is the page with the form, in place of what is asked for.

use std::collections::BTreeMap;
use std::io::Read;

use ingather_contract::call::CallContext;
use ingather_model::limits;
use parking_lot::Mutex;
use url::Url;

use super::form::Forms;
use crate::http::{Answer, Client, Condition};

/// Where pages of a job are redirected to, and from where until it was looked at: a page there that wants a password is perhaps all that the
/// job finds.
#[derive(Default)]
pub(in crate::site) struct Redirected(Mutex<BTreeMap<String, Option<Url>>>);

impl Redirected {
    /// A page is redirected to another one of the job. Only so many are kept: a site that wants a login redirects all to one page.
    pub(in crate::site) fn note(&self, from: &Url, to: &Url) {
        let mut kept = self.0.lock();
        if kept.len() < limits::WEB_NOTES_MAX {
            kept.entry(page_of(to)).or_insert_with(|| Some(from.clone()));
        }
    }

    /// What a person should know of a page, as far as it was read: told once for each.
    pub(in crate::site) fn look(&self, url: &Url, start: &[u8]) -> Option<String> {
        let from = self.0.lock().get_mut(&page_of(url))?.take()?;
        wants_password(start).then(|| sentence(&from, url))
    }

    /// Whether more of a page is to be read for [`Redirected::look`].
    pub(in crate::site) fn is_target(&self, url: &Url) -> bool {
        self.0.lock().get(&page_of(url)).is_some_and(Option::is_some)
    }
}

/// An address without what it is told besides, such as where to go after a login.
fn page_of(url: &Url) -> String {
    let mut page = url.clone();
    page.set_query(None);
    page.set_fragment(None);
    page.into()
}

fn wants_password(page: &[u8]) -> bool {
    Forms::of(&String::from_utf8_lossy(page)).wants_password
}

fn sentence(from: &Url, to: &Url) -> String {
    format!(
        "{from} is redirected to {to}, which wants a password: without one the job finds that page in place of others; \
         give `login` or `credentials` (docs/manual/web.md)"
    )
}

/// The sentence for where a job begins, when that leads to a page that wants a password. A page that cannot be read now tells nothing.
pub(in crate::site) fn look_behind(
    client: &Client,
    call: &CallContext,
    from: &Url,
    to: &Url,
) -> Option<String> {
    let answer = client.ask(call, to, Condition::default()).and_then(crate::http::Response::answer);
    let Ok(Answer::Page(_, body)) = answer else { return None };
    let mut start = Vec::new();
    body.take(limits::WEB_LOGIN_LOOK_BYTES).read_to_end(&mut start).ok()?;
    wants_password(&start).then(|| sentence(from, to))
}
