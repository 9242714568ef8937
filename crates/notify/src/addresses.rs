//! Which addresses a webhook may be at: where nobody has said that it is inside, none that only this machine or this network reaches. What a name
//! stands for is judged when it is connected to, so that no other answer of a name server comes between.

use ingather_contract::addresses::is_public;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Gives public addresses alone.
#[derive(Debug)]
pub(crate) struct PublicAlone(pub(crate) DefaultResolver);

impl Resolver for PublicAlone {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        let mut public = self.empty();
        found.iter().filter(|address| is_public(address.ip())).for_each(|address| public.push(*address));
        match public.is_empty() {
            true => Err(ureq::Error::Io(std::io::Error::other(PRIVATE))),
            false => Ok(public),
        }
    }
}

/// What is said of an address that nobody has allowed.
pub(crate) const PRIVATE: &str = "it leads to an address that only this machine or its network reaches; declare the webhook with `private: true` \
    where that is meant";
