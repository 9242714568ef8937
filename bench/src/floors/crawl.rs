//! Crawling a site in a loop: the client of HTTP and the reader of pages that the program has, a list of what is still to be visited, and
//! nothing else. It keeps what is needed to ask again on condition, in one file.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use http::Request as HttpRequest;
use http::header::{CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::response::Parts;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use ingather_extract::{Extracted, Input, Pool, Request, Settings, extract};
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::threads;
use crate::Result;

/// What is no page, as the program sees it.
const NOT_FOLLOWED: &[&str] =
    &["canonical", "stylesheet", "icon", "preload", "prefetch", "dns-prefetch", "preconnect", "nofollow"];

/// The client of the program, without what the program adds to it.
type Asker = Client<HttpConnector, Empty<Bytes>>;

/// What is kept of a site between two rounds: its addresses, and what each page was.
#[derive(Default, Deserialize, Serialize)]
struct Kept {
    addresses: Vec<String>,
    pages: HashMap<u32, Page>,
}

/// What is kept of one page.
#[derive(Clone, Default, Deserialize, Serialize)]
struct Page {
    etag: Option<String>,
    modified: Option<String>,
    links: Vec<u32>,
}

/// What has been reached.
#[derive(Default)]
struct Frontier {
    numbers: HashMap<String, u32>,
    addresses: Vec<String>,
    reached: HashSet<u32>,
    waiting: VecDeque<u32>,
    /// Pages that are being visited and could lead to more.
    at_work: usize,
}

impl Frontier {
    fn number(&mut self, address: &str) -> u32 {
        if let Some(number) = self.numbers.get(address) {
            return *number;
        }
        let number = self.addresses.len() as u32;
        self.addresses.push(address.to_owned());
        self.numbers.insert(address.to_owned(), number);
        number
    }

    fn reach(&mut self, number: u32) {
        if self.reached.insert(number) {
            self.waiting.push_back(number);
        }
    }
}

/// A crawl under way.
struct Crawl {
    /// What all pages begin with.
    folder: String,
    frontier: Mutex<Frontier>,
    stirs: Condvar,
    before: HashMap<u32, Page>,
    pool: Option<Pool>,
}

/// What a thread came to.
#[derive(Default)]
struct Counts {
    pages: usize,
    unchanged: usize,
    links: usize,
    text_bytes: usize,
    kept: HashMap<u32, Page>,
}

/// Crawls what is below the folder of an address: read in this process (`-`) or in children of a program; what `state` holds is asked for on
/// condition, and replaced.
pub(super) fn crawl(root: &str, reader: &str, state: &Path) -> Result<()> {
    let kept: Kept = match std::fs::read(state) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(_) => Kept::default(),
    };
    let pool = match reader {
        "-" => None,
        program => {
            let settings = Settings { program: program.into(), ..Settings::of_this_program(threads())? };
            Some(Pool::new(settings))
        }
    };
    let mut frontier = Frontier::default();
    kept.addresses.iter().for_each(|address| _ = frontier.number(address));
    let first = frontier.number(root);
    frontier.reach(first);
    let crawl = Crawl {
        folder: root.rsplit_once('/').ok_or("an address has a slash")?.0.to_owned() + "/",
        frontier: Mutex::new(frontier),
        stirs: Condvar::new(),
        before: kept.pages,
        pool,
    };
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..threads()).map(|_| scope.spawn(|| crawl.work().map_err(|error| error.to_string()))).collect();
        threads.into_iter().try_fold(Counts::default(), |mut all, thread| {
            let one = thread.join().map_err(|_| "a thread died")??;
            all.pages += one.pages;
            all.unchanged += one.unchanged;
            all.links += one.links;
            all.text_bytes += one.text_bytes;
            all.kept.extend(one.kept);
            Ok::<_, String>(all)
        })
    })?;
    let addresses = crawl.frontier.into_inner().map_err(|_| "a thread died")?.addresses;
    std::fs::write(state, serde_json::to_vec(&Kept { addresses, pages: all.kept })?)?;
    let told = json!({
        "pages": all.pages, "unchanged": all.unchanged, "links": all.links, "text_bytes": all.text_bytes,
    });
    println!("{told}");
    Ok(())
}

impl Crawl {
    fn frontier(&self) -> MutexGuard<'_, Frontier> {
        self.frontier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next page; none when nothing is left that could lead to one.
    fn next(&self) -> Option<(u32, String)> {
        let mut frontier = self.frontier();
        loop {
            if let Some(number) = frontier.waiting.pop_front() {
                frontier.at_work += 1;
                return Some((number, frontier.addresses[number as usize].clone()));
            }
            if frontier.at_work == 0 {
                return None;
            }
            frontier = self.stirs.wait(frontier).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn over(&self, links: &[u32]) {
        let mut frontier = self.frontier();
        links.iter().for_each(|link| frontier.reach(*link));
        frontier.at_work -= 1;
        self.stirs.notify_all();
    }

    /// One thread: a client of its own, and one page after the other.
    fn work(&self) -> Result<Counts> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
        let mut counts = Counts::default();
        while let Some((number, address)) = self.next() {
            let before = self.before.get(&number);
            let visited = runtime
                .block_on(ask(&client, &address, before))
                .and_then(|answer| self.read(&address, answer, before, &mut counts));
            let links = visited.as_ref().ok().and_then(Option::as_ref).map(|page| page.links.as_slice());
            self.over(links.unwrap_or_default());
            counts.kept.extend(visited?.map(|page| (number, page)));
        }
        Ok(counts)
    }

    /// What a page is and where it leads; none where there is none.
    fn read(
        &self,
        address: &str,
        (head, content): (Parts, Bytes),
        before: Option<&Page>,
        counts: &mut Counts,
    ) -> Result<Option<Page>> {
        counts.pages += usize::from(matches!(head.status.as_u16(), 200 | 304));
        match head.status.as_u16() {
            200 => {}
            304 => {
                counts.unchanged += 1;
                return Ok(before.cloned());
            }
            _ => return Ok(None),
        }
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let name = address.rsplit_once('/').map_or(address, |(_, name)| name).to_owned();
        let request = Request { name, declared: text(CONTENT_TYPE), links: true, ..Request::default() };
        let found = match &self.pool {
            None => extract(&request, Input::memory(content.to_vec())),
            Some(pool) => pool.extract(&request, &mut content.as_ref())?,
        };
        counts.text_bytes += found.text.len();
        let links = self.links(&Url::parse(address)?, &found);
        counts.links += links.len();
        Ok(Some(Page { etag: text(ETAG), modified: text(LAST_MODIFIED), links }))
    }

    /// Pages that a page leads to, each once.
    fn links(&self, page: &Url, found: &Extracted) -> Vec<u32> {
        let all = found.links.iter().flat_map(|links| &links.list);
        let followed = all.filter(|link| !link.rel.split(' ').any(|word| NOT_FOLLOWED.contains(&word)));
        let addresses: HashSet<String> = followed
            .filter_map(|link| {
                let mut url = page.join(&link.address).ok()?;
                url.set_fragment(None);
                url.as_str().starts_with(&self.folder).then(|| url.into())
            })
            .collect();
        let mut frontier = self.frontier();
        addresses.iter().map(|address| frontier.number(address)).collect()
    }
}

/// Asks for a page, on condition where it is known, and takes the whole answer.
async fn ask(client: &Asker, address: &str, before: Option<&Page>) -> Result<(Parts, Bytes)> {
    let mut request = HttpRequest::get(address);
    if let Some(etag) = before.and_then(|page| page.etag.as_deref()) {
        request = request.header(IF_NONE_MATCH, etag);
    }
    if let Some(modified) = before.and_then(|page| page.modified.as_deref()) {
        request = request.header(IF_MODIFIED_SINCE, modified);
    }
    let (head, body) = client.request(request.body(Empty::new())?).await?.into_parts();
    Ok((head, body.collect().await?.to_bytes()))
}
