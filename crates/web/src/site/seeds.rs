//! Where a job over a site begins: its start addresses, and the usual sitemaps of their hosts. Sitemaps that robots.txt names come with the first
//! page of a host.

use ingather_contract::repository::{Group, Item, Listing, Page};
use ingather_model::fault::Fault;
use ingather_model::key::Stamp;
use url::Url;

use super::Site;
use crate::container::{self, CONTAINER};
use crate::urls;

/// Path of the sitemap that sites have without saying so.
const SITEMAP: &str = "/sitemap.xml";

/// All of them, in one page.
pub(super) struct Seeds(Option<Vec<Url>>);

impl Seeds {
    pub(super) fn of(site: &Site) -> Seeds {
        let mut seeds: Vec<Url> = site.checked.scope.start().to_vec();
        if site.checked.sitemaps {
            let usual: Vec<Url> = seeds.iter().filter_map(|url| url.join(SITEMAP).ok()).collect();
            seeds.extend(usual);
        }
        seeds.sort();
        seeds.dedup();
        Seeds(Some(seeds))
    }
}

impl Listing for Seeds {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        let groups = self.0.take()?.into_iter().map(|url| {
            let (parent, name) = url.as_str().split_at(urls::parent_bytes(url.as_str()));
            let item = Item { name: name.to_owned(), content: Stamp::NONE, access: Stamp::NONE, identity: 0 };
            Group {
                parent: parent.to_owned(),
                container: Some(CONTAINER.to_owned()),
                items: vec![item],
                ..Group::default()
            }
        });
        Some(Ok(Page { groups: groups.collect(), containers: vec![container::report()], ..Page::default() }))
    }
}

impl Site {
    /// Whether an address is the usual sitemap of a host where the job begins: it may lie outside of the paths of the job.
    pub(super) fn is_sitemap_of_start(&self, url: &Url) -> bool {
        let is_of = |start: &Url| start.join(SITEMAP).is_ok_and(|sitemap| sitemap == *url);
        self.checked.sitemaps && self.checked.scope.start().iter().any(is_of)
    }
}
